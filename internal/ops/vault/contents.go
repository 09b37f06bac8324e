package vault

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Contents is what a backup holds, read from its beginning to its end.
type Contents struct {
	About About `json:"about"`
	End   End   `json:"end"`
	// Bytes is how large the file is.
	Bytes int64 `json:"bytes"`
	// Repositories are the projects' repositories, as they were registered
	// last, by project.
	Repositories map[string]string `json:"repositories"`
	// Grants are the newest tokens of the commit lock, by project.
	Grants map[string]uint64 `json:"grants"`
}

// Read reads the backup at path and returns what it holds. It returns
// backup/invalid, or what package journal says of a chain, when it is not whole
// or not what was written.
func Read(ctx context.Context, name string) (*Contents, error) {
	return read(ctx, name, receiver{})
}

// receiver takes what a backup holds; a field that is nil ignores it.
type receiver struct {
	begin    func(About) error
	message  func(stream string, m message) error
	snapshot func(name string, data []byte) error
	batch    func(partition int, seq uint64, b *loomv1.Batch) error
	blob     func(data []byte) error
	file     func(name string, data []byte) error
}

// reading is a backup that is being read.
type reading struct {
	receiver
	ctx   context.Context
	found *Contents
	began bool
	ended bool
	heads map[int]journal.Head
	first map[int]uint64
	blobs map[string]bool
	named map[string]bool
	told  int
	parts parts // of what journals that were cut begin with
}

func read(ctx context.Context, name string, to receiver) (*Contents, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fault.New("backup/invalid", "the backup cannot be read").At(name).Because(err)
	}
	defer func() { _ = file.Close() }()
	r := &reading{
		receiver: to, ctx: ctx, heads: map[int]journal.Head{}, first: map[int]uint64{}, blobs: map[string]bool{}, named: map[string]bool{},
		found: &Contents{Repositories: map[string]string{}, Grants: map[string]uint64{}},
	}
	if info, err := file.Stat(); err == nil {
		r.found.Bytes = info.Size()
	}
	if err := entries(io.Reader(file), r.entry); err != nil {
		return nil, placed(name, err)
	}
	if err := r.whole(); err != nil {
		return nil, placed(name, err)
	}
	return r.found, nil
}

// placed names the backup that an error is about.
func placed(name string, err error) error {
	e := *fault.From(err)
	if e.Code == "backup/invalid" || e.Code == "journal/chain" {
		e.Where = strings.TrimSuffix(name+": "+e.Where, ": ")
		return &e
	}
	return err
}

func invalid(format string, args ...any) *fault.Error {
	return fault.New("backup/invalid", format, args...)
}

// entry takes one entry.
func (r *reading) entry(name string, data []byte) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	kind, rest, _ := strings.Cut(name, "/")
	if !r.began && name != beginName || r.ended {
		return invalid("entry %q is where none should be", name)
	}
	switch kind {
	case beginName:
		return r.begins(data)
	case "message":
		return r.takeMessage(rest, data)
	case "snapshot", "index":
		return give(r.snapshot, name, data)
	case "journal":
		return r.takeJournal(rest, data)
	case "blob":
		return r.takeBlob(rest, data)
	case "file":
		if !known(rest) {
			return invalid("file %q is none that a backup holds", rest)
		}
		return give(r.file, rest, data)
	case endName:
		r.ended = true
		return decode(name, data, &r.found.End)
	}
	return invalid("entry %q is of a later format", name)
}

func give(to func(string, []byte) error, name string, data []byte) error {
	if to == nil {
		return nil
	}
	return to(name, data)
}

func decode(name string, data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return invalid("entry %q cannot be decoded", name).Because(err)
	}
	return nil
}

func (r *reading) begins(data []byte) error {
	if err := decode(beginName, data, &r.found.About); err != nil {
		return err
	}
	if f := r.found.About.Format; f != format {
		return invalid("it is of format %d, and this build reads %d", f, format)
	}
	r.began = true
	if r.receiver.begin == nil {
		return nil
	}
	return r.receiver.begin(r.found.About)
}

func (r *reading) takeMessage(name string, data []byte) error {
	var m message
	if err := decode(name, data, &m); err != nil {
		return err
	}
	r.told++
	if r.message == nil {
		return nil
	}
	return r.message(path.Dir(name), m)
}

func (r *reading) takeBlob(name string, data []byte) error {
	if size(name, data) < 0 {
		return invalid("blob %.12s is not the bytes that its name says", name)
	}
	r.blobs[name] = true
	r.parts.see(name, data)
	if r.blob == nil {
		return nil
	}
	return r.blob(data)
}

// takeJournal follows the chain of a partition's batches.
func (r *reading) takeJournal(name string, data []byte) error {
	p, err := strconv.Atoi(path.Dir(name))
	if err != nil || p < 0 || p >= r.found.About.Manifest.Partitions {
		return invalid("entry %q is of no journal", name)
	}
	return batches(data, func(seq uint64, raw []byte) error {
		b, err := journal.Decode(seq, raw)
		if err != nil {
			return err
		}
		head, ok := r.heads[p]
		if !ok {
			head = journal.Head{Sequence: seq - 1, Hash: b.Previous}
			r.first[p] = seq
		}
		if r.heads[p], err = journal.Check(head, seq, b); err != nil {
			return err
		}
		r.note(b)
		if r.batch == nil {
			return nil
		}
		return r.batch(p, seq, b)
	})
}

// note remembers what a batch says of repositories, grants and blobs.
func (r *reading) note(b *loomv1.Batch) {
	r.parts.want(journal.Said(b))
	for _, e := range b.Events {
		blob.Refs(e, func(ref *loomv1.BlobRef) { r.named[ref.Sha256] = true })
		if c := e.GetProjectRegistered().GetConfig(); c.GetRepository() != "" {
			r.found.Repositories[c.Id] = c.Repository
		}
		if g := e.GetLockGranted(); g != nil {
			r.found.Grants[e.Project] = max(r.found.Grants[e.Project], g.Token)
		}
	}
}

// base remembers what the beginning of a journal said of repositories and
// grants, before it was cut.
func (r *reading) base(_ *loomv1.JournalCut, base *loomv1.JournalBase) {
	for _, p := range base.Projects {
		if path := p.State.GetConfig().GetRepository(); path != "" && r.found.Repositories[p.Project] == "" {
			r.found.Repositories[p.Project] = path
		}
		for _, l := range p.State.GetLocks().GetLocks() {
			r.found.Grants[p.Project] = max(r.found.Grants[p.Project], l.LastToken)
		}
	}
}

// whole compares what was read with what the end says.
func (r *reading) whole() error {
	if !r.ended {
		return invalid("it ends before its end")
	}
	if err := r.parts.bases(r.base); err != nil {
		return err
	}
	end := r.found.End
	for i, j := range end.Journals {
		head := r.heads[j.Partition]
		if head.Sequence != max(j.Last, head.Sequence) || j.First != r.first[j.Partition] || j.First > 0 && fmt.Sprintf("%x", head.Hash) != j.Hash {
			return invalid("journal %d ends at %d, and should at %d", j.Partition, head.Sequence, j.Last)
		}
		end.Journals[i].head = head
	}
	if end.Blobs != len(r.blobs) || end.Messages != r.told {
		return invalid("it holds %d blobs and %d messages, and should %d and %d", len(r.blobs), r.told, end.Blobs, end.Messages)
	}
	for name := range r.named {
		if !r.blobs[name] && len(end.Lost) == 0 {
			return invalid("blob %.12s is named and not in it", name)
		}
	}
	return nil
}

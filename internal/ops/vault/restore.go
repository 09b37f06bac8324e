package vault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/commitlock"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/headmark"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Restoring says how to restore a backup. From and To are required.
type Restoring struct {
	// From is the backup, To the directory to make; it may be there if it is
	// empty.
	From, To string
	// Fence returns the newest token that a repository has seen of a
	// deployment, 0 for none. Nil asks no repository.
	Fence func(ctx context.Context, repository, deployment string) (uint64, error)
	// Progress is told what is being done, a line each time. Nil tells nobody.
	Progress func(line string)
}

// Restored is what a restore made.
type Restored struct {
	Deployment string `json:"deployment"`
	// Epoch is the new one; every token of it is above those of Before.
	Epoch    uint64    `json:"epoch"`
	Before   uint64    `json:"epoch_before"`
	MadeAt   time.Time `json:"backup_made_at"`
	Journals []Journal `json:"journals"`
	Blobs    int       `json:"blobs"`
	Messages int       `json:"messages"`
	// Lost tells what is known to have happened after the backup, and what the
	// backup itself left out.
	Lost []string `json:"lost"`
	// Cluster is the name of the cluster that the backup is of, empty for one of
	// a host that was alone.
	Cluster string `json:"cluster,omitempty"`
}

// Restore makes a data directory from a backup: it reads the backup to its end
// first, and makes the directory under another name, so that it is there whole
// or not at all. Its epoch is above the backup's, and above that of every token
// that the projects' repositories have seen. It blocks until everything is on
// the disk, at some hundred batches a second and journal.
func (c Restoring) Restore(ctx context.Context) (*Restored, error) {
	if err := empty(c.To); err != nil {
		return nil, err
	}
	c.say("reading the backup")
	contents, err := Read(ctx, c.From)
	if err != nil {
		return nil, err
	}
	out := &Restored{
		Deployment: contents.About.Manifest.Deployment, Before: contents.About.Manifest.Epoch, MadeAt: contents.About.MadeAt,
		Journals: contents.End.Journals, Blobs: contents.End.Blobs, Messages: contents.End.Messages, Lost: append([]string{}, contents.End.Lost...),
	}
	if cluster := contents.About.Manifest.Cluster; cluster != nil {
		out.Cluster = cluster.Name
	}
	out.Epoch = c.epoch(ctx, contents, out)
	temp := strings.TrimRight(c.To, string(filepath.Separator)) + ".restoring"
	if err := os.RemoveAll(temp); err != nil {
		return nil, fault.New("data/permissions", "what an earlier restore left cannot be removed").At(temp).Because(err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	if err := c.fill(ctx, temp, out.Epoch, contents); err != nil {
		return nil, err
	}
	if err := c.recheck(ctx, temp, contents); err != nil {
		return nil, err
	}
	if err := durable.Rename(temp, filepath.Clean(c.To)); err != nil {
		return nil, fault.New("data/permissions", "the restored directory cannot be put in its place").At(c.To).Because(err)
	}
	return out, nil
}

func (c Restoring) say(line string) {
	if c.Progress != nil {
		c.Progress(line)
	}
}

// empty returns data/not-empty when there is anything at path but an empty
// directory.
func empty(path string) error {
	list, err := os.ReadDir(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fault.New("data/not-empty", "that is no directory").At(path).Because(err)
	case len(list) > 0:
		return fault.New("data/not-empty", "the directory holds %q", list[0].Name()).At(path).Want("name an empty directory, or a new one")
	}
	return nil
}

// epoch returns one above the backup's and above what repositories have seen,
// and notes what they have seen that the backup does not have.
func (c Restoring) epoch(ctx context.Context, contents *Contents, out *Restored) uint64 {
	newest := out.Before
	if c.Fence == nil {
		return newest + 1
	}
	for id, path := range contents.Repositories {
		seen, err := c.Fence(ctx, path, out.Deployment)
		if err != nil {
			out.Lost = append(out.Lost, fmt.Sprintf("project %s: its repository cannot tell what it has seen: %s", id, err))
			continue
		}
		newest = max(newest, commitlock.Epoch(seen))
		if last := contents.Grants[id]; seen > last {
			out.Lost = append(out.Lost, fmt.Sprintf("project %s: its repository has seen the grant with token %d; the newest in the backup is %d", id, seen, last))
		}
	}
	return newest + 1
}

// fill makes a directory and puts everything into it.
func (c Restoring) fill(ctx context.Context, path string, epoch uint64, contents *Contents) error {
	m := contents.About.Manifest
	m.Epoch, m.Mode, m.Cluster, m.Lineage, m.Truth, m.Intended, m.Seed, m.Moved = epoch, datadir.ModeSingle, nil, "", []string{}, nil, "", ""
	dir, err := datadir.Create(path, m)
	if err != nil {
		return err
	}
	b, err := broker.Start(ctx, broker.Config{Dir: dir})
	if err != nil {
		return errors.Join(err, dir.Close())
	}
	f := &filling{dir: dir, broker: b, say: c.say, heads: map[int]journal.Head{}, logs: map[int]journal.Log{}}
	err = f.fill(ctx, c.From)
	return errors.Join(err, b.Close(context.WithoutCancel(ctx)), dir.Close())
}

// recheck verifies the new directory, which must reach as far as the backup.
func (c Restoring) recheck(ctx context.Context, path string, contents *Contents) error {
	s, err := Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	s.Progress = c.Progress
	report, err := s.Verify(ctx)
	if err != nil {
		return err
	}
	if err := report.Err(); err != nil && len(contents.End.Lost) == 0 {
		return err
	}
	for i, j := range contents.End.Journals {
		if got := report.Journals[i]; got.Last != j.Last || got.Hash != j.Hash {
			return fault.New("journal/behind", "stream %s was restored to %d, and the backup reaches %d", j.Stream, got.Last, j.Last).At(j.Stream)
		}
	}
	return nil
}

// filling is a directory that a backup is put into.
type filling struct {
	dir    *datadir.Dir
	broker *broker.Broker
	say    func(string)
	blobs  *blob.Objects
	snaps  *natsjournal.Snapshots
	logs   map[int]journal.Log
	heads  map[int]journal.Head
	index  []*loomv1.SnapshotIndex
	// begun and there are what an interrupted call has left, as far as it was
	// looked at; nil where there can be nothing.
	begun map[int]journal.Head
	there map[string]map[[32]byte]int
}

func (f *filling) fill(ctx context.Context, from string) error {
	var err error
	if f.blobs, err = blob.New(ctx, f.broker.Core()); err != nil {
		return err
	}
	if f.snaps, err = natsjournal.NewSnapshots(ctx, f.broker.Core()); err != nil {
		return err
	}
	_, err = read(ctx, from, receiver{
		message:  func(stream string, m message) error { return f.message(ctx, stream, m) },
		snapshot: func(name string, data []byte) error { return f.snapshot(ctx, name, data) },
		batch:    func(p int, seq uint64, b *loomv1.Batch) error { return f.batch(ctx, p, seq, b) },
		blob: func(data []byte) error {
			_, err := f.blobs.Put(ctx, data, "")
			return err
		},
		file: func(name string, data []byte) error { return f.dir.WriteFile(data, name) },
	})
	if err != nil {
		return err
	}
	for _, index := range f.index { // when what they name is there
		if err := f.snaps.SaveIndex(ctx, index); err != nil {
			return err
		}
	}
	return f.mark()
}

// batch appends a batch where it was.
func (f *filling) batch(ctx context.Context, p int, seq uint64, b *loomv1.Batch) error {
	log, ok := f.logs[p]
	if !ok {
		f.say("writing " + natsjournal.Stream(p))
		opened, err := natsjournal.New(ctx, f.broker.Core(), p)
		if err != nil {
			return err
		}
		log, f.logs[p] = opened, opened
		if err := f.skip(ctx, opened, seq); err != nil {
			return err
		}
	}
	known, err := f.known(ctx, log, p, seq, b)
	if err == nil && !known {
		_, err = log.Append(ctx, seq-1, journal.Again(b))
	}
	if err != nil {
		return err
	}
	f.heads[p] = journal.Head{Sequence: seq, Epoch: b.Epoch, Hash: b.Hash}
	return nil
}

// skip has an empty journal begin with a sequence, as one that was cut.
func (f *filling) skip(ctx context.Context, log *natsjournal.Log, first uint64) error {
	if first <= 1 {
		return nil
	}
	there, _, err := journal.First(ctx, log)
	if err != nil || there != 0 {
		return err
	}
	if f.begun != nil {
		f.begun[log.Partition()] = journal.Head{Sequence: first - 1}
	}
	return log.Purge(ctx, first-1)
}

// mark writes how far the journals reach, for the first start.
func (f *filling) mark() error {
	k, err := headmark.Open(f.dir.Path(), nil)
	if err != nil {
		return err
	}
	for p, h := range f.heads {
		k.Note(p, h)
	}
	return k.Close()
}

func (f *filling) snapshot(ctx context.Context, name string, data []byte) error {
	if isSnapshot(name) {
		s := new(loomv1.Snapshot)
		if err := proto.Unmarshal(data, s); err != nil {
			return nil //nolint:nilerr // it can be made again
		}
		_, err := f.snaps.Save(ctx, s)
		return err
	}
	index := new(loomv1.SnapshotIndex)
	if err := proto.Unmarshal(data, index); err == nil {
		f.index = append(f.index, index)
	}
	return nil
}

// message publishes a message into the stream that it was in.
func (f *filling) message(ctx context.Context, stream string, m message) error {
	nc := f.broker.Core()
	if account(stream) == "TASKS" {
		nc = f.broker.Tasked()
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	if told, err := f.told(ctx, js, stream, m); err != nil || told {
		return err
	}
	header, err := headers(m.Header)
	if err != nil {
		return err
	}
	if _, err := js.PublishMsg(ctx, &nats.Msg{Subject: m.Subject, Header: header, Data: m.Data}); err != nil {
		return fault.New("host/unavailable", "a message of %s cannot be put back", stream).At(m.Subject).Because(err)
	}
	return nil
}

// headers reads headers as they are on the wire. What told a server about the
// stream that the message was in before is left out.
func headers(raw []byte) (nats.Header, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	all, err := nats.DecodeHeadersMsg(raw)
	if err != nil {
		return nil, fault.New("backup/invalid", "the headers of a message cannot be read").Because(err)
	}
	for name := range all {
		if strings.HasPrefix(strings.ToLower(name), "nats-expected") {
			delete(all, name)
		}
	}
	return all, nil
}

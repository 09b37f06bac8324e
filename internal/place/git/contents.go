package git

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/patchscan"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// readAtOnce is how many bytes of contents one git call is asked for, below what
// it may give.
const readAtOnce = callOutput - 8<<20

// beginning is what is read of a content that is too large to be read whole: git
// looks at as much to tell whether it is binary.
const beginning = 8000

// Contents returns what a change of this workspace contains, path by path, with
// at most [patchscan.MaxTotal] bytes of content in all. What is too large has only
// its beginning, or nothing beside its size.
func (w *Worktree) Contents(ctx context.Context, c *loomv1.Change) ([]patchscan.File, error) {
	p, err := readPatch(ctx, w.git(), c.GetBase(), c.GetCommit())
	if err != nil {
		return nil, err
	}
	s := store{call: w.git()}
	if err := s.measure(ctx, p); err != nil {
		return nil, err
	}
	if err := s.load(ctx, p); err != nil {
		return nil, err
	}
	files := make([]patchscan.File, len(p))
	for i, e := range p {
		files[i] = patchscan.File{
			Path: e.path, OldMode: e.oldMode, NewMode: e.newMode,
			OldSize: s.sizes[e.oldBlob], NewSize: s.sizes[e.newBlob], Old: s.contents[e.oldBlob], New: s.contents[e.newBlob],
		}
	}
	return files, nil
}

// store reads contents of a repository.
type store struct {
	call     call
	sizes    map[string]int64  // by object
	contents map[string][]byte // by object, those that were read
}

// blobs returns the objects of a patch that are contents, the new ones first.
func (p patch) blobs() (ids []string) {
	for _, e := range p {
		if e.newMode != noMode && e.newMode != gitlinkMode {
			ids = append(ids, e.newBlob)
		}
	}
	for _, e := range p {
		if e.oldMode != noMode && e.oldMode != gitlinkMode {
			ids = append(ids, e.oldBlob)
		}
	}
	return ids
}

// measure finds the sizes of all contents.
func (s *store) measure(ctx context.Context, p patch) error {
	s.sizes = map[string]int64{}
	ids := p.blobs()
	if len(ids) == 0 {
		return nil
	}
	c := s.call
	c.stdin, c.timeout = strings.NewReader(strings.Join(ids, "\n")+"\n"), bulkTimeout
	out, err := c.run(ctx, "cat-file", "--batch-check=%(objectname) %(objectsize)")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		id, size, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return fault.New("git/damaged", "a content of the change is not there").Got(line)
		}
		s.sizes[id] = n
	}
	return nil
}

// load reads the contents that are small enough, and the beginnings of others.
func (s *store) load(ctx context.Context, p patch) error {
	s.contents = map[string][]byte{}
	var batch []string
	total, size := int64(0), int64(0)
	for _, id := range p.blobs() {
		n := s.sizes[id]
		switch {
		case s.contents[id] != nil:
			continue
		case n > patchscan.MaxText:
			if err := s.begin(ctx, id); err != nil {
				return err
			}
			continue
		case total+n > patchscan.MaxTotal:
			continue
		}
		s.contents[id] = []byte{} // asked for
		if size+n > readAtOnce {
			if err := s.read(ctx, batch); err != nil {
				return err
			}
			batch, size = nil, 0
		}
		batch, total, size = append(batch, id), total+n, size+n+128
	}
	return s.read(ctx, batch)
}

// begin reads the beginning of a content.
func (s *store) begin(ctx context.Context, id string) error {
	c := s.call
	c.timeout = bulkTimeout
	head, err := c.head(ctx, beginning, "cat-file", "blob", id)
	s.contents[id] = head
	return err
}

// read reads contents whole.
func (s *store) read(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	c := s.call
	c.stdin, c.timeout = strings.NewReader(strings.Join(ids, "\n")+"\n"), bulkTimeout
	out, err := c.run(ctx, "cat-file", "--batch")
	if err != nil {
		return err
	}
	for _, id := range ids {
		head, rest, _ := bytes.Cut(out, []byte{'\n'})
		n := s.sizes[id]
		if want := fmt.Sprintf("%s blob %d", id, n); string(head) != want || int64(len(rest)) < n+1 {
			return fault.New("git/damaged", "git gave another content than %q", want).Got(string(head))
		}
		s.contents[id], out = rest[:n:n], rest[n+1:]
	}
	return nil
}

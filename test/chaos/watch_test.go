package chaos

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// record is everything that an observer was ever told of a deployment, over
// any number of its hosts' lives.
type record struct {
	mu      sync.Mutex
	seen    []*loomv1.Notice
	reached map[uint32]*loomv1.Position // by partition
	changed chan struct{}               // closed and replaced with each notice
}

func newRecord() *record {
	return &record{reached: map[uint32]*loomv1.Position{}, changed: make(chan struct{})}
}

// follow goes on with what the record has not seen, until ctx or the
// connection ends.
func (r *record) follow(ctx context.Context, c *client.Client) {
	q := &loomv1.NoticesRequest{After: &loomv1.Cursor{}}
	r.mu.Lock()
	for p := range uint32(64) {
		if at := r.reached[p]; at != nil {
			q.After.Positions = append(q.After.Positions, at)
		}
	}
	r.mu.Unlock()
	_ = c.Follow(ctx, q, true, func(n *loomv1.Notice) error {
		r.add(n)
		return nil
	}) // its end is the host's
}

func (r *record) add(n *loomv1.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, n)
	r.reached[n.Position.Partition] = n.Position
	close(r.changed)
	r.changed = make(chan struct{})
}

// from returns the notices of a project after the first skip of all, how many
// there are of all, and a channel that is closed when there are more.
func (r *record) from(skip int, project string) (list []*loomv1.Notice, all int, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.seen[skip:] {
		if n.Event.Project == project {
			list = append(list, n)
		}
	}
	return list, len(r.seen), r.changed
}

// await returns the first notice of a project that ok wants, whenever it came.
func (r *record) await(t *testing.T, h *process, project string, ok func(*loomv1.Event) bool) *loomv1.Notice {
	t.Helper()
	ctx := deadline(t)
	for skip := 0; ; {
		list, all, more := r.from(skip, project)
		for _, n := range list {
			if ok(n.Event) {
				return n
			}
		}
		skip = all
		select {
		case <-more:
		case <-h.ended:
			t.Fatalf("the host ended\n%s", h.text())
		case <-ctx.Done():
			t.Fatalf("what was waited for does not happen in %q; the last %d events:\n%s\nthe host says:\n%s", project, 40, r.tail(project, 40), h.text())
		}
	}
}

// tail shows the last notices of a project.
func (r *record) tail(project string, n int) (text string) {
	list, _, _ := r.from(0, project)
	for _, n := range list[max(0, len(list)-n):] {
		text += fmt.Sprintf("  %s %s %s\n", n.Event.Time.AsTime().Format("15:04:05.000"), n.Kind, n.Summary)
	}
	return text
}

// place in the log, as a key.
func at(p *loomv1.Position) string {
	return fmt.Sprintf("%d.%d.%d.%d", p.Partition, p.Epoch, p.Sequence, p.Index)
}

// history reads everything from the host's journals, and holds it against what
// was told: told once, in order, and never taken back.
func (r *record) history(t *testing.T, c *client.Client) []*loomv1.Notice {
	t.Helper()
	var all []*loomv1.Notice
	kept := map[string]*loomv1.Notice{}
	err := c.Follow(deadline(t), &loomv1.NoticesRequest{}, false, func(n *loomv1.Notice) error {
		all = append(all, n)
		kept[at(n.Position)] = n
		return nil
	})
	if err != nil {
		t.Fatalf("history: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	told := map[string]bool{}
	for _, n := range r.seen {
		key := at(n.Position)
		if told[key] {
			t.Errorf("notice %s was told twice: %s", key, n.Summary)
		}
		told[key] = true
		if !proto.Equal(kept[key], n) {
			t.Errorf("notice %s was told as %q, and the journal has %q", key, n.Summary, kept[key].GetSummary())
		}
	}
	return all
}

package host

import (
	"cmp"
	"context"
	"errors"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/journal"
	"github.com/loomrun/loom/internal/notice"
	"github.com/loomrun/loom/internal/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Limits of a page of notices.
const (
	pageDefault = 200
	pageMost    = 1000
	pageBytes   = 700 << 10 // what fits into a message beside its envelope
)

// history reads notices from the journals themselves: a cursor is good for as
// long as the journal has what lies behind it.
type history struct {
	logs      []journal.Log
	partition func(project string) int
}

var errPageFull = errors.New("page is full")

// page returns the notices after the cursor that match q, in journal order
// within a partition, and where to go on.
func (h *history) page(ctx context.Context, q *loomv1.NoticesRequest) (*loomv1.NoticesReply, error) {
	limit := int(cmp.Or(q.Limit, pageDefault))
	if limit > pageMost {
		return nil, fault.New("usage/argument", "at most %d notices a page", pageMost).At("limit")
	}
	owner := cmp.Or(q.Project, project.Of(q.Execution), project.Of(q.Bead))
	page := &loomv1.NoticesReply{Next: &loomv1.Cursor{}, End: true}
	size := 0
	for _, log := range h.logs {
		if owner != "" && log.Partition() != h.partition(owner) {
			continue
		}
		from := after(q.After, log.Partition())
		r := &reader{q: q, project: owner, page: page, limit: limit, size: &size, at: from}
		err := log.Read(ctx, max(from.GetSequence(), 1), r.batch)
		if err != nil && !errors.Is(err, errPageFull) {
			return nil, err
		}
		if errors.Is(err, errPageFull) {
			page.End = false
		}
		if r.at != nil {
			page.Next.Positions = append(page.Next.Positions, r.at)
		}
	}
	return page, nil
}

func after(c *loomv1.Cursor, partition int) *loomv1.Position {
	for _, p := range c.GetPositions() {
		if int(p.Partition) == partition {
			return p
		}
	}
	return nil
}

// reader collects from one partition.
type reader struct {
	q       *loomv1.NoticesRequest
	project string
	page    *loomv1.NoticesReply
	limit   int
	size    *int
	at      *loomv1.Position // everything up to here was looked at
}

func (r *reader) batch(seq uint64, b *loomv1.Batch) error {
	for i, e := range b.Events {
		pos := &loomv1.Position{Partition: b.Partition, Epoch: b.Epoch, Sequence: seq, Index: uint32(i)}
		if seq == r.at.GetSequence() && uint32(i) <= r.at.GetIndex() {
			continue
		}
		if r.matches(e) {
			n := notice.Of(e, pos)
			if len(r.page.Notices) == r.limit || *r.size > 0 && *r.size+sizeOf(n) > pageBytes {
				return errPageFull
			}
			*r.size += sizeOf(n)
			r.page.Notices = append(r.page.Notices, n)
		}
		r.at = pos
	}
	return nil
}

func (r *reader) matches(e *loomv1.Event) bool {
	return (r.project == "" || e.Project == r.project) && (r.q.Bead == "" || e.Bead == r.q.Bead) && (r.q.Execution == "" || e.Execution == r.q.Execution)
}

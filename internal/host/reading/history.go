package reading

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/journals"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Limits of a page of notices.
const (
	pageDefault = 200
	pageMost    = 1000
	pageBytes   = 700 << 10 // what fits into a message beside its envelope
	pageLooked  = 200_000   // events; a page ends there whatever it has found
)

// history reads notices from the journals themselves: a cursor is good for as
// long as the journal has what lies behind it.
type history struct{ *journals.Set }

var errPageFull = errors.New("page is full")

// page returns the notices after the cursor that match q, in journal order
// within a partition, and where to go on. A cursor that the journals do not
// reach is refused: what comes later would be left out.
func (h history) page(ctx context.Context, q *loomv1.NoticesRequest) (*loomv1.NoticesReply, error) {
	limit := int(cmp.Or(q.Limit, pageDefault))
	if limit > pageMost {
		return nil, fault.New("usage/argument", "at most %d notices a page", pageMost).At("limit")
	}
	for _, p := range q.GetAfter().GetPositions() {
		if int(p.Partition) >= len(h.Logs) {
			return nil, elsewhere(p, "there are %d partitions", len(h.Logs))
		}
	}
	owner := cmp.Or(q.Project, project.Of(q.Execution), project.Of(q.Bead))
	r := &reader{q: q, project: owner, page: &loomv1.NoticesReply{Next: &loomv1.Cursor{}, End: true}, limit: limit}
	for _, log := range h.Of(owner) {
		if err := r.read(ctx, log); err != nil {
			return nil, h.before(ctx, q, log, err)
		}
		if err := h.tellCut(ctx, r, log); err != nil {
			return nil, err
		}
	}
	return r.page, nil
}

// before says that a position which the journal does not have is in an archive,
// if that is why; else it returns err.
func (h history) before(ctx context.Context, q *loomv1.NoticesRequest, log journal.Log, err error) error {
	from := after(q.After, log.Partition())
	if fault.Code(err) != "position/elsewhere" || from == nil {
		return err
	}
	cut, cutErr := h.Cut(ctx, log.Partition())
	if gone := journals.Archived(cut, from.Sequence); cutErr == nil && gone != nil {
		return gone.At("after").Got(notice.FormatPosition(from))
	}
	return err
}

// tellCut tells of the cut that a page began with.
func (h history) tellCut(ctx context.Context, r *reader, log journal.Log) error {
	if !r.shortened {
		return nil
	}
	cut, err := h.Cut(ctx, log.Partition())
	if err == nil && cut != nil {
		r.page.Cuts = append(r.page.Cuts, cut)
	}
	return err
}

func after(c *loomv1.Cursor, partition int) *loomv1.Position {
	for _, p := range c.GetPositions() {
		if int(p.Partition) == partition {
			return p
		}
	}
	return nil
}

func elsewhere(p *loomv1.Position, format string, args ...any) error {
	return fault.New("position/elsewhere", format, args...).At("after").Got(notice.FormatPosition(p))
}

// reader collects a page, one partition after another.
type reader struct {
	q       *loomv1.NoticesRequest
	project string
	page    *loomv1.NoticesReply
	limit   int
	size    int
	looked  int
	at      *loomv1.Position // everything of this partition up to here was looked at
	// shortened says that the journal was to be read from its beginning, and has
	// that no more.
	shortened bool
}

// read collects what a partition has.
func (r *reader) read(ctx context.Context, log journal.Log) error {
	from := after(r.q.After, log.Partition())
	if r.at = from; from == nil && r.q.Since != nil {
		var err error
		if r.at, err = lastBefore(ctx, log, r.q.Since.AsTime()); err != nil {
			return err
		}
	}
	met, begin := false, r.at == nil
	r.shortened = false
	err := log.Read(ctx, max(r.at.GetSequence(), 1), func(seq uint64, b *loomv1.Batch) error {
		if !met && from != nil && (seq != from.Sequence || b.Epoch != from.Epoch || int(from.Index) >= len(b.Events)) {
			return elsewhere(from, "the journal has no such event")
		}
		if !met && begin && seq > 1 && !(r.q.Since != nil && len(b.Events) > 0 && b.Events[0].Time.AsTime().Before(r.q.Since.AsTime())) {
			r.shortened = true
		}
		met = true
		return r.batch(seq, b)
	})
	switch {
	case errors.Is(err, errPageFull):
		r.page.End = false
	case err != nil:
		return err
	case !met && from != nil:
		return fault.New("position/beyond", "the journal of partition %d does not reach that", from.Partition).
			At("after").Got(notice.FormatPosition(from))
	}
	if r.at != nil {
		r.page.Next.Positions = append(r.page.Next.Positions, r.at)
	}
	return nil
}

func (r *reader) batch(seq uint64, b *loomv1.Batch) error {
	for i, e := range b.Events {
		pos := &loomv1.Position{Partition: b.Partition, Epoch: b.Epoch, Sequence: seq, Index: uint32(i)}
		if seq == r.at.GetSequence() && uint32(i) <= r.at.GetIndex() {
			continue
		}
		if r.looked++; r.looked > pageLooked {
			return errPageFull
		}
		if r.matches(e) {
			n := notice.Of(e, pos)
			if len(r.page.Notices) == r.limit || r.size > 0 && r.size+proto.Size(n) > pageBytes {
				return errPageFull
			}
			r.size += proto.Size(n)
			r.page.Notices = append(r.page.Notices, n)
		}
		r.at = pos
	}
	return nil
}

func (r *reader) matches(e *loomv1.Event) bool {
	return (r.project == "" || e.Project == r.project) &&
		(r.q.Bead == "" || e.Bead == r.q.Bead) &&
		(r.q.Execution == "" || e.Execution == r.q.Execution) &&
		r.actors(e) &&
		(len(r.q.Kinds) == 0 || slices.Contains(r.q.Kinds, notice.Kind(e))) &&
		(r.q.Since == nil || !e.Time.AsTime().Before(r.q.Since.AsTime()))
}

// actors says whether an event is of the team, the role, the agent and the host
// that are asked for.
func (r *reader) actors(e *loomv1.Event) bool {
	if r.q.Team == "" && r.q.Role == "" && r.q.Agent == "" && r.q.Host == "" {
		return true
	}
	about, err := notice.About(e)
	return err == nil && among(r.q.Team, about.Team) && among(r.q.Role, about.Role) && among(r.q.Agent, about.Agent) && among(r.q.Host, about.Host)
}

func among(wanted string, t subject.Token) bool { return wanted == "" || wanted == t.String() }

// lastBefore returns the position of the last event of the newest batch that is
// wholly before t, or nil: journal time never runs backwards in a partition.
func lastBefore(ctx context.Context, log journal.Log, t time.Time) (*loomv1.Position, error) {
	last, _, err := log.Last(ctx)
	if err != nil {
		return nil, err
	}
	first, _, err := journal.First(ctx, log)
	var found *loomv1.Position
	for low, high := max(first, 1), last; err == nil && low <= high; {
		var b *loomv1.Batch
		seq := low + (high-low)/2
		if b, err = batchAt(ctx, log, seq); err != nil || b == nil || len(b.Events) == 0 {
			return nil, err // a hole: read from the beginning
		}
		end := len(b.Events) - 1
		if b.Events[end].Time.AsTime().Before(t) {
			found, low = &loomv1.Position{Partition: b.Partition, Epoch: b.Epoch, Sequence: seq, Index: uint32(end)}, seq+1
		} else {
			high = seq - 1
		}
	}
	return found, err
}

package reading

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A reader that goes on from its cursor's text sees each event that it asked
// for once, and those of a partition in order.
func TestBYD01_PagesResumeWithoutGapOrDouble(t *testing.T) {
	c := newChronicle(t, 1, 60)
	h := c.history()
	rapid.Check(t, func(t *rapid.T) {
		q := drawFilters(t, c)
		var want, got []string
		for _, e := range c.told {
			if wanted(q, e.event) {
				want = append(want, notice.FormatPosition(e.at))
			}
		}
		for cursor, end := "", false; !end; {
			var err error
			if q.After, err = notice.ParseCursor(cursor); err != nil {
				t.Fatal(err)
			}
			q.Limit = rapid.Uint32Range(1, 50).Draw(t, "limit")
			page, err := h.page(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			stop := rapid.IntRange(0, len(page.Notices)).Draw(t, "taken")
			cursor, end = notice.FormatCursor(page.Next), page.End
			if stop < len(page.Notices) { // the connection is lost on the way
				cursor, end = notice.FormatCursor(q.After), false
			}
			next := q.After
			for _, n := range page.Notices[:stop] {
				got = append(got, notice.FormatPosition(n.Position))
				next = notice.Advance(next, n.Position)
			}
			if stop < len(page.Notices) {
				cursor = notice.FormatCursor(next)
			}
		}
		for _, p := range []string{"0.", "1."} {
			if w, g := ofPartition(want, p), ofPartition(got, p); !slices.Equal(w, g) {
				t.Fatalf("%v: partition %s\n%v\nwant\n%v", q, p, g, w)
			}
		}
	})
}

func drawFilters(t *rapid.T, c *chronicle) *loomv1.NoticesRequest {
	q := &loomv1.NoticesRequest{}
	switch rapid.IntRange(0, 3).Draw(t, "about") {
	case 0:
		q.Project = rapid.SampledFrom([]string{"annex", "crate", "store"}).Draw(t, "project")
	case 1:
		q.Bead = rapid.SampledFrom([]string{"annex-1", "store-1", "store-2"}).Draw(t, "bead")
	case 2:
		q.Execution = rapid.SampledFrom([]string{"annex-1-x1", "crate-1-x1"}).Draw(t, "execution")
	}
	switch rapid.IntRange(0, 4).Draw(t, "of") {
	case 0:
		q.Role = "qa-engineer"
	case 1:
		q.Agent = "qa-engineer-1"
	case 2:
		q.Host = "h1"
	case 3:
		q.Team = "store-1"
	}
	q.Kinds = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"bead-filed", "attempt-ended", "edge-settled", "landed"}), 0, 3, rapid.ID).Draw(t, "kinds")
	if rapid.Bool().Draw(t, "since") {
		q.Since = rapid.SampledFrom(c.told).Draw(t, "since").event.Time
	}
	return q
}

func wanted(q *loomv1.NoticesRequest, e *loomv1.Event) bool {
	return (q.Project == "" || q.Project == e.Project) && (q.Bead == "" || q.Bead == e.Bead) &&
		(q.Execution == "" || q.Execution == e.Execution) &&
		(q.Team == "" || q.Team == notice.Team(e)) && (q.Role == "" || slices.Contains(notice.Headers(&loomv1.Notice{Event: e})["Loom-Role"], q.Role)) &&
		(q.Agent == "" || strings.HasPrefix(strings.Replace(acting(e), "/", "-", 1), q.Agent+"@")) && (q.Host == "" || strings.HasSuffix(acting(e), "@"+q.Host) || e.GetActor().GetKind() == loomv1.IdentityKind_IDENTITY_KIND_HOST) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, notice.Kind(e))) &&
		(q.Since == nil || e.Time.AsTime().Compare(q.Since.AsTime()) >= 0)
}

// acting is the agent, "ROLE/N@HOST", whom an event is of.
func acting(e *loomv1.Event) string {
	if h := notice.Headers(&loomv1.Notice{Event: e})["Loom-Agent"]; len(h) == 1 {
		return h[0]
	}
	return ""
}

func ofPartition(list []string, prefix string) (some []string) {
	for _, s := range list {
		if s[:2] == prefix {
			some = append(some, s)
		}
	}
	return some
}

func TestBYD01_CursorsThatTheJournalDoesNotReachAreRefused(t *testing.T) {
	c := newChronicle(t, 2, 10)
	h := c.history()
	last, newest, err := c.logs[0].Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	end := uint32(len(newest.Events) - 1)
	for _, tt := range []struct {
		name string
		at   *loomv1.Position
		want string
	}{
		{"the newest event", &loomv1.Position{Epoch: 1, Sequence: last, Index: end}, ""},
		{"after the newest event", &loomv1.Position{Epoch: 1, Sequence: last, Index: end + 1}, "position/elsewhere"},
		{"the next batch", &loomv1.Position{Epoch: 1, Sequence: last + 1}, "position/beyond"},
		{"another epoch", &loomv1.Position{Epoch: 2, Sequence: last, Index: end}, "position/elsewhere"},
		{"no partition of ours", &loomv1.Position{Partition: 2, Epoch: 1, Sequence: 1}, "position/elsewhere"},
	} {
		page, err := h.page(t.Context(), &loomv1.NoticesRequest{Project: "store", After: &loomv1.Cursor{Positions: []*loomv1.Position{tt.at}}})
		if fault.Code(err) != tt.want || err == nil && (len(page.Notices) > 0 || !proto.Equal(page.Next.Positions[0], tt.at)) {
			t.Errorf("after %s: %v, %v, want %q", tt.name, page, err, tt.want)
		}
	}
}

// A reader that waits for what happens from now on does not read the journal
// from its beginning each time.
func TestSUB04_ATimeIsFoundWithoutReadingAll(t *testing.T) {
	c := newChronicle(t, 3, 40)
	h := c.history()
	page, err := h.page(t.Context(), &loomv1.NoticesRequest{Since: timestamppb.New(c.now.Add(time.Hour))})
	if err != nil || !page.End || len(page.Notices) > 0 || len(page.Next.Positions) != 2 {
		t.Fatalf("page of the future: %v, %v, want none, and where both partitions end", page, err)
	}
	for p, at := range page.Next.Positions {
		if at.Sequence != c.heads[p].Sequence {
			t.Errorf("partition %d goes on after %v, want batch %d", p, at, c.heads[p].Sequence)
		}
	}
}

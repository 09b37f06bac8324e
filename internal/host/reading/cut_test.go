package reading

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/projection"
	"github.com/loomrun/loom/internal/store/retention"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// cut cuts the first journal of a chronicle, as a host does, and returns the cut.
func (c *chronicle) cut(keep uint64) *loomv1.JournalCut {
	c.t.Helper()
	log := c.logs[0].(*journal.Memory)
	cutter := &retention.Cutter{
		Deployment: "dp-1", Log: log, Blobs: c.blobs, Dir: c.t.TempDir(), Config: c.config, Purge: log.Purge,
		Known: func(ctx context.Context) (*loomv1.JournalCut, error) { return journal.Cut(ctx, log, nil) },
		Tables: func(ctx context.Context) (retention.Tables, error) {
			db, _, err := projection.Open(ctx, filepath.Join(c.t.TempDir(), "p.db"))
			return db, err
		},
		Record: func(_ context.Context, id string, cut *loomv1.JournalCut) error {
			e := &loomv1.Event{
				Project: id, Number: c.states[id].Number() + 1, Time: timestamppb.New(c.now),
				Fact: &loomv1.Event_JournalCut{JournalCut: cut},
			}
			c.append(0, []*loomv1.Event{e})
			return c.states[id].Apply(e)
		},
		Note: func(context.Context, *loomv1.JournalCut) error { return nil },
	}
	done, err := cutter.Cut(c.t.Context(), retention.Rule{Before: c.now.Add(time.Hour), Keep: keep})
	if err != nil || done.Cut == nil {
		c.t.Fatalf("cut: %v, %v", done, err)
	}
	return done.Cut
}

// After a cut, what an execution was is the same for every moment that is kept,
// with a snapshot and without; what is not kept is told to be in the archive.
func TestOPS03_WF16_MomentsAfterACut(t *testing.T) {
	longtest.Skip(t)
	for seed := range uint64(2) {
		c := newChronicle(t, seed, 60)
		live := c.live("store")
		if seed == 1 {
			c.keep("store", 0, c.heads[0].Sequence, c.heads[0].Hash)
		}
		cut := c.cut(12)
		p := c.pasts()
		kept, gone := 0, 0
		for id, all := range live {
			for i, w := range all {
				if i%5 != 0 {
					continue
				}
				got, err := p.state(t.Context(), id, moment{at: w.at})
				if w.at.Sequence <= cut.Sequence {
					gone++
					if fault.Code(err) != "position/cut" {
						t.Fatalf("seed %d: %s as of %v, which was cut: %v", seed, id, w.at, err)
					}
					continue
				}
				if kept++; err != nil || !proto.Equal(got.Execution, w.state) || got.Number != w.event.Number {
					t.Fatalf("seed %d: %s as of %v: %v, %v", seed, id, w.at, got, err)
				}
			}
		}
		if kept == 0 || gone == 0 {
			t.Fatalf("seed %d: %d moments kept, %d cut", seed, kept, gone)
		}
	}
}

// A page that would begin with what was cut says where that is, and a position
// there is refused.
func TestOPS03_APageOfACutJournalSaysSo(t *testing.T) {
	c := newChronicle(t, 3, 40)
	cut := c.cut(20)
	h := c.history()
	page, err := h.page(t.Context(), &loomv1.NoticesRequest{})
	if err != nil || len(page.Cuts) != 1 || page.Cuts[0].Archive != cut.Archive || page.Notices[0].Position.Sequence != cut.Sequence+1 {
		t.Fatalf("page: %v, %v", page.GetCuts(), err)
	}
	if page, err = h.page(t.Context(), &loomv1.NoticesRequest{After: page.Next}); err != nil || len(page.Cuts) != 0 {
		t.Errorf("next page: %v, %v", page.GetCuts(), err)
	}
	at := &loomv1.Position{Epoch: 1, Sequence: cut.Sequence}
	if _, err := h.page(t.Context(), &loomv1.NoticesRequest{After: &loomv1.Cursor{Positions: []*loomv1.Position{at}}}); fault.Code(err) != "position/cut" {
		t.Errorf("after the cut: %v", err)
	}
}

package reading

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The graph as it was is the same by number and by time, from the beginning, from
// a snapshot and behind a cut; what is not kept is told to be in the archive.
func TestGRAPH06_OPS03_TheGraphAsItWas(t *testing.T) {
	for seed := range uint64(3) {
		c := newChronicle(t, seed, 40)
		if seed > 0 {
			c.keep("store", 0, c.heads[0].Sequence, c.heads[0].Hash)
		}
		cut := &loomv1.JournalCut{}
		if seed > 1 {
			cut = c.cut(12)
		}
		p := c.pasts()
		g, gone := graph.New(), 0
		for i, w := range c.told {
			if w.event.Project != "store" {
				continue
			}
			if err := g.Apply(w.event); err != nil {
				t.Fatal(err)
			}
			at, decided := w.event.Time.AsTime(), w.event.GetDecisionAdded() != nil
			if !decided && i%7 != 0 {
				continue
			}
			q := &loomv1.GraphRequest{Project: "store", Question: loomv1.GraphQuestion_GRAPH_QUESTION_EXPORT}
			want, err := project.AskAt(g, w.event.Number, at, q)
			if err != nil {
				t.Fatal(err)
			}
			moments := []moment{{number: w.event.Number}}
			if i+1 == len(c.told) || c.told[i+1].event.Time.AsTime().After(at) {
				moments = append(moments, moment{time: at})
			}
			for _, m := range moments {
				got, err := p.ask(t.Context(), m, q)
				if w.at.Sequence < cut.Sequence {
					if gone++; fault.Code(err) != "position/cut" {
						t.Fatalf("seed %d: as of %+v, which was cut: %v, %v", seed, m, got, err)
					}
					continue
				}
				if err != nil || !proto.Equal(got, want) {
					t.Fatalf("seed %d: as of %+v: %v, %v, want %v", seed, m, got, err, want)
				}
			}
		}
		if n := len(g.Recent(10)); n < 5 || (gone > 0) != (seed > 1) {
			t.Errorf("seed %d: %d decisions, %d moments cut", seed, n, gone)
		}
	}
}

func TestGRAPH06_MomentsThatTheGraphDoesNotHave(t *testing.T) {
	c := newChronicle(t, 5, 10)
	p := c.pasts()
	q := &loomv1.GraphRequest{Project: "store"}
	for m, want := range map[moment]string{
		{time: noon.Add(-1)}:                 "position/before",
		{number: 1 << 40}:                    "position/beyond",
		{number: c.states["store"].Number()}: "",
	} {
		if _, err := p.ask(t.Context(), m, q); fault.Code(err) != want {
			t.Errorf("as of %+v: %v, want %q", m, err, want)
		}
	}
}

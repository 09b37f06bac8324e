package projection_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/projection"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// P22: a reader that goes on from its cursor sees every event once, each
// partition in order, while batches keep coming.
func TestP22_NoticesResumeWithoutGapOrDouble(t *testing.T) {
	r := source(t, 11)
	js := journals(r, 3)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		db, _, err := projection.Open(t.Context(), filepath.Join(dir, "loom.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		req := &loomv1.NoticesRequest{
			Project: rapid.SampledFrom([]string{"", "demo", "third"}).Draw(rt, "project"),
			Bead:    rapid.SampledFrom([]string{"", "", "demo-2"}).Draw(rt, "bead"),
			Limit:   uint32(rapid.IntRange(1, 60).Draw(rt, "limit")),
		}
		var got []string
		done := make([]int, len(js))
		for end := false; !end || done[0] < len(js[0]) || done[1] < len(js[1]); {
			p := rapid.IntRange(0, 1).Draw(rt, "partition")
			to := min(len(js[p]), done[p]+rapid.IntRange(0, 20).Draw(rt, "batches"))
			apply(t, db, js[p], done[p], to)
			done[p] = to
			page, err := db.Notices(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range page.Notices {
				got = append(got, position(n.Position))
			}
			req.After, end = page.Next, page.End
		}
		if diff := cmp.Diff(wanted(js, req, 0), partition(got, 0)); diff != "" {
			rt.Errorf("notices of partition 0 (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(wanted(js, req, 1), partition(got, 1)); diff != "" {
			rt.Errorf("notices of partition 1 (-want +got):\n%s", diff)
		}
	})
}

func position(p *loomv1.Position) string {
	return fmt.Sprintf("%d/%d/%d", p.Partition, p.Sequence, p.Index)
}

func wanted(js []journal, req *loomv1.NoticesRequest, p int) (all []string) {
	for i, b := range js[p] {
		for k, e := range b.Events {
			if (req.Project == "" || e.Project == req.Project) && (req.Bead == "" || e.Bead == req.Bead) {
				all = append(all, fmt.Sprintf("%d/%d/%d", p, i+1, k))
			}
		}
	}
	return all
}

func partition(positions []string, p int) (all []string) {
	for _, s := range positions {
		if strings.HasPrefix(s, fmt.Sprint(p, "/")) {
			all = append(all, s)
		}
	}
	return all
}

func TestSUB04_NoticesOfAnExecution(t *testing.T) {
	js := journals(source(t, 12), 2)
	db := open(t, filled(t, js))
	reply, err := db.Notices(t.Context(), &loomv1.NoticesRequest{Execution: "demo-1-x1"})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i, b := range js[0] {
		for k, e := range b.Events {
			if e.Execution == "demo-1-x1" {
				want = append(want, fmt.Sprintf("0/%d/%d", i+1, k))
			}
		}
	}
	var got []string
	for _, n := range reply.Notices {
		got = append(got, position(n.Position))
	}
	if diff := cmp.Diff(want, got); diff != "" || !reply.End {
		t.Errorf("Notices of an execution, end %t (-want +got):\n%s", reply.End, diff)
	}
	if n := reply.Notices[1]; n.Kind != "execution-started" || n.Summary != "demo-1: execution demo-1-x1 started on fix 1.0" || n.Event.GetBead() != "demo-1" {
		t.Errorf("second notice: %v", n)
	}
}

package projection_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// P22: a reader that goes on from its cursor sees every event once, each
// partition in order, while batches keep coming.
func TestP22_NoticesResumeWithoutGapOrDouble(t *testing.T) {
	for seed := range uint64(12) {
		r := source(t, seed)
		js := journals(r, 2)
		db := open(t, filepath.Join(t.TempDir(), "loom.db"))
		req := &loomv1.NoticesRequest{
			Project: []string{"", "demo", "third"}[r.IntN(3)],
			Bead:    []string{"", "", "demo-2"}[r.IntN(3)],
			Limit:   1 + r.Uint32N(40),
		}
		var got []string
		done := make([]int, len(js))
		for end := false; !end || done[0] < len(js[0]) || done[1] < len(js[1]); {
			p := r.IntN(2)
			to := min(len(js[p]), done[p]+r.IntN(20))
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
		for p := range js {
			if diff := cmp.Diff(wanted(js, req, p), partition(got, p)); diff != "" {
				t.Errorf("seed %d: notices of partition %d (-want +got):\n%s", seed, p, diff)
			}
		}
	}
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

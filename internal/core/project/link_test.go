package project_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// block asks that a bead wait for another.
func (d *desk) block(bead, on string) error {
	_, err := d.do(&loomv1.Command{
		Body: &loomv1.Command_UpdateBead{UpdateBead: &loomv1.UpdateBead{
			Bead: &loomv1.Bead{Id: bead, BlockedBy: []string{on}}, Fields: []string{"blocked_by"},
		}},
	})
	return err
}

// TestSUB02_NothingWaitsForWhatIsHeldWithIt: what a child execution works on is
// held with its parent, so that neither the parent nor what waits for the child
// may be waited for in turn.
func TestSUB02_NothingWaitsForWhatIsHeldWithIt(t *testing.T) {
	d := newDesk(t)
	f := d.nest()
	child := d.execution(d.execution(f.Execution).Nodes["research"].Attempt.Child).Bead
	other := d.file(&loomv1.Submission{Goal: "another thing", Process: "inner"}).Bead
	if err := d.block(f.Bead, child); fault.Code(err) != "bead/cycle" || !strings.Contains(err.Error(), f.Bead+" -> "+child+" -> "+f.Bead) {
		t.Errorf("the parent waits for its child: %v, want bead/cycle with the way round", err)
	}
	if err := d.block(other, child); err != nil {
		t.Fatalf("another bead waits for the child: %v", err)
	}
	if err := d.block(f.Bead, other); fault.Code(err) != "bead/cycle" {
		t.Errorf("the parent waits for what waits for its child: %v, want bead/cycle", err)
	}
	if err := d.block(child, other); fault.Code(err) != "bead/cycle" {
		t.Errorf("the child waits for what waits for it: %v, want bead/cycle", err)
	}
	third := d.file(&loomv1.Submission{Goal: "a third thing", Process: "inner"}).Bead
	if err := d.block(f.Bead, third); err != nil {
		t.Fatalf("the parent waits for a third bead: %v", err)
	}
	if err := d.block(third, child); fault.Code(err) != "bead/cycle" {
		t.Errorf("what holds the parent waits for its child: %v, want bead/cycle", err)
	}
}

package project_test

import (
	"slices"
	"testing"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestP7_NoBeadIdIsGivenTwiceByARestore files three beads, goes back to what a
// backup had after the first, and files three again, and so once more from the
// same backup: no id of a bead, execution or approval is another's.
func TestP7_NoBeadIdIsGivenTwiceByARestore(t *testing.T) {
	d := newDesk(t)
	d.file(&loomv1.Submission{})
	backup := slices.Clone(d.events)
	given := map[string]uint64{}
	for epoch := range uint64(3) {
		d.cfg.Epoch = epoch + 1
		d.events, d.s = slices.Clone(backup), project.New(d.cfg)
		for _, e := range backup {
			if err := d.s.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			f := d.file(&loomv1.Submission{})
			for _, id := range []string{f.Bead, f.Execution} {
				if before, ok := given[id]; ok {
					t.Errorf("epoch %d: %s was given in epoch %d", d.cfg.Epoch, id, before)
				}
				if given[id] = d.cfg.Epoch; project.Of(id) != "shop" {
					t.Errorf("%s belongs to project %q", id, project.Of(id))
				}
			}
		}
	}
	if given["shop-2"] != 1 || given["shop-2e2"] != 2 || given["shop-4e3"] != 3 || given["shop-4e3-x1"] != 3 {
		t.Errorf("the ids were %v", given)
	}
	v, err := d.s.Look(project.Beads, &loomv1.Query{})
	if err != nil || len(v.Beads) != 4 {
		t.Fatalf("%d beads, %v", len(v.GetBeads()), err)
	}
}

// TestCLI01_IdsNameTheirProject has ids that look alike.
func TestCLI01_IdsNameTheirProject(t *testing.T) {
	for id, want := range map[string]string{
		"shop-1": "shop", "shop-85e2": "shop", "shop-85e2-x1-a3": "shop", "my-shop-7e12-x2": "my-shop", "shop-7e2-1": "shop-7e2", "7e2-3": "7e2",
		"shop": "", "shop-e2": "", "shop-7e": "", "shop-7e2x": "", "shop-7e-2": "shop-7e", "": "", "7e2": "",
	} {
		if got := project.Of(id); got != want {
			t.Errorf("Of(%q) = %q, want %q", id, got, want)
		}
	}
}

package projection_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestWF11_ATransitionTellsWhoMadeIt(t *testing.T) {
	p := newProject("demo", noon)
	for _, step := range p.story() {
		step()
	}
	made := map[string]*loomv1.Identity{}
	for i, e := range p.events {
		e.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind(i%6 + 1), Name: fmt.Sprintf("somebody %d", i)}
		made[fmt.Sprintf("demo-%d", e.Number)] = e.Actor
	}
	db := open(t, filled(t, []journal{write(source(t, 11), 0, 4, p.events)}))
	list, err := db.Transitions(t.Context(), "demo-1-x1")
	if err != nil || len(list) != 5 {
		t.Fatalf("Transitions: %d, %v, want 5", len(list), err)
	}
	for _, tr := range list {
		if !proto.Equal(tr.Actor, made[tr.Id]) {
			t.Errorf("transition %s was made by %v, want %v", tr.Id, tr.Actor, made[tr.Id])
		}
	}
}

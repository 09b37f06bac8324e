package project_test

import (
	"slices"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The inbox pages in both directions, leaves nothing out, and says how many wait.
func TestCLI01_TheInboxPagesBothWays(t *testing.T) {
	y := newYard(t, "researcher")
	y.store(fan("wide", 7, &loomv1.NodeDefinition{Role: "researcher"}))
	y.file("wide", normal)
	y.takeAll("researcher")
	y.now = y.now.Add(time.Hour)
	for due := true; due; {
		y.tick()
		at, any := y.s.Next()
		due = any && !at.After(y.now)
	}
	pages := func(oldest bool) (ids []string) {
		q := &loomv1.Query{Limit: 2, Oldest: oldest, Newest: !oldest}
		for range 10 {
			v, err := y.s.Look(project.Inbox, q)
			if err != nil {
				t.Fatal(err)
			}
			if v.Waiting != 7 {
				t.Errorf("%d wait, want 7", v.Waiting)
			}
			for _, a := range v.Approvals {
				ids = append(ids, a.Id)
			}
			if q.After = v.Next; v.Next == "" {
				return ids
			}
		}
		t.Fatal("the pages have no end")
		return nil
	}
	newest, oldest := pages(false), pages(true)
	if len(newest) != 7 || len(oldest) != 7 {
		t.Fatalf("newest first %v, oldest first %v: want 7 each", newest, oldest)
	}
	slices.Reverse(newest)
	if !slices.Equal(newest, oldest) {
		t.Errorf("oldest first %v, newest first turned round %v", oldest, newest)
	}
	for _, a := range oldest[1:] {
		if a == oldest[0] {
			t.Errorf("%s comes twice", a)
		}
	}
}

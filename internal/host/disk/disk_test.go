package disk

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/projection"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// noneEnded says that no execution has ended.
type noneEnded struct{}

func (noneEnded) Ends(context.Context, []string) (map[string]projection.End, error) {
	return nil, nil
}

// TestREAL04_TheFirstFiguresAreWaitedFor says nothing of a disk before something was
// measured: whoever asks first waits for that, even while work is removed.
func TestREAL04_TheFirstFiguresAreWaitedFor(t *testing.T) {
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	k := New(Config{Dir: dir, Tables: noneEnded{}, Projects: func() []string { return []string{"shop"} }, Log: slog.New(slog.DiscardHandler)})
	k.one.Lock()
	use := make(chan []*loomv1.ProjectDisk)
	go func() { use <- k.Use(t.Context(), Fresh) }()
	for range 1000 { // it may come to its answer, if it does not wait
		runtime.Gosched()
	}
	k.one.Unlock()
	if list := <-use; len(list) != 1 || list[0].Project != "shop" {
		t.Errorf("the first figures are %v", list)
	}
}

// TestREAL04_WhatIsSavedIsBounded says whose saved work is given up: by age, by
// number, and never of work that somebody may still take up.
func TestREAL04_WhatIsSavedIsBounded(t *testing.T) {
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	old := noon.Add(-savedFor)
	ends := map[string]projection.End{
		"runs":   {},
		"young":  {At: old.Add(time.Second)},
		"old":    {At: old}, // at that very instant
		"older":  {At: old.Add(-time.Hour)},
		"wanted": {At: old.Add(-time.Hour), Wanted: true},
	}
	if got := outlived(ends, noon); !slices.Equal(got, []string{"old", "older"}) {
		t.Errorf("outlived: %q, want old and older", got)
	}
	many := map[string]projection.End{}
	for n := range savedMost + 2 {
		many[fmt.Sprintf("x%d", n)] = projection.End{At: noon.Add(-time.Duration(n) * time.Second)}
	}
	if got := outlived(many, noon); !slices.Equal(got, []string{fmt.Sprintf("x%d", savedMost), fmt.Sprintf("x%d", savedMost+1)}) {
		t.Errorf("of %d young ones %q are given up, want the two oldest", len(many), got)
	}
}

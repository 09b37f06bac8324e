package simulation

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// shrinkFor bounds how long a failing run is made smaller.
const shrinkFor = time.Minute

// shrunk makes a failing run smaller and keeps it in the corpus; it says where,
// and how to see it.
func shrunk(r result, most time.Duration) string {
	small, tried := shrink(r, most)
	name, err := keep(small)
	if err != nil {
		return fmt.Sprintf("shrunk to %d steps and %d events, but not kept: %v", small.taken, small.at, err)
	}
	return fmt.Sprintf("shrunk in %d runs to %d steps and %d events: %s\nreplay: go test ./test/simulation -run Simulation -args -trace -replay %s",
		tried, small.taken, small.at, small.failure, name)
}

// others is how many other seeds are looked at for one that fails sooner.
const others = 1000

// shrink looks for a smaller recipe that breaks the same invariant: of another
// seed, then without kinds of trouble, then without steps, in ever smaller
// pieces.
func shrink(r result, most time.Duration) (small result, tried int) {
	s := &shrinker{want: r.invariant, small: r, until: time.Now().Add(most / 3)}
	for i := range uint64(others) {
		s.try(recipe{Seed: r.recipe.Seed + i})
	}
	s.until = time.Now().Add(most * 2 / 3)
	for i := range troubleNames {
		off := slices.Concat(s.small.recipe.Off, []string{troubleNames[i]})
		s.try(recipe{Seed: s.small.recipe.Seed, Off: off})
	}
	s.try(recipe{Seed: s.small.recipe.Seed, Off: s.small.recipe.Off, Steps: upTo(s.small.taken)})
	for s.lessSteps() {
	}
	return s.small, s.tried
}

func upTo(n int) []int {
	steps := make([]int, n)
	for i := range steps {
		steps[i] = i
	}
	return steps
}

type shrinker struct {
	want  string // the invariant that must still break
	small result
	until time.Time
	tried int
}

// try keeps a recipe that fails in the same way and after no more events.
func (s *shrinker) try(r recipe) bool {
	if time.Now().After(s.until) {
		return false
	}
	s.tried++
	out := run(r, nil)
	if out.invariant != s.want || out.at > s.small.at {
		return false
	}
	s.small = out
	return true
}

// lessSteps leaves out pieces of the steps, from halves down to single ones,
// and says whether that took any away.
func (s *shrinker) lessSteps() bool {
	before := len(s.small.recipe.Steps)
	for size := before / 2; size > 0; size /= 2 {
		for at := len(s.small.recipe.Steps) - size; at >= 0; at -= size {
			at = min(at, len(s.small.recipe.Steps)-size)
			if at < 0 {
				break
			}
			steps := slices.Delete(slices.Clone(s.small.recipe.Steps), at, at+size)
			s.try(recipe{Seed: s.small.recipe.Seed, Off: s.small.recipe.Off, Steps: steps})
		}
	}
	return len(s.small.recipe.Steps) < before
}

// keep writes a recipe into the corpus, named by what it breaks.
func keep(r result) (string, error) {
	r.recipe.Why = r.failure
	data, err := json.MarshalIndent(r.recipe, "", "\t")
	if err != nil {
		return "", err
	}
	name := filepath.Join("corpus", fmt.Sprintf("%s-%d.json", r.invariant, r.recipe.Seed))
	if err := os.MkdirAll("corpus", 0o755); err != nil {
		return "", err
	}
	return name, os.WriteFile(name, append(data, '\n'), 0o644)
}

func readRecipe(t *testing.T, name string) recipe {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var r recipe
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// TestWF10_Corpus runs what has failed once: it must not again.
func TestWF10_Corpus(t *testing.T) {
	names, err := filepath.Glob("corpus/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if out := run(readRecipe(t, name), nil); out.failure != "" {
			t.Errorf("%s: %s\nreplay: go test ./test/simulation -run Simulation -args -trace -replay %s", name, out.failure, name)
		}
	}
}

package redact

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The finder finds what strings.Contains does, whatever the forms: few letters,
// so that they overlap and stand in each other.
func TestP25_TheFinderMissesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		forms := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,12}`), 1, 6).Draw(t, "forms")
		if rapid.Bool().Draw(t, "long") {
			for i := range forms {
				forms[i] = strings.Repeat("a", Shortest) + forms[i]
			}
		}
		text := rapid.StringMatching(`[ab]{0,60}c?[ab]{0,60}`).Draw(t, "text")
		want := false
		for _, f := range forms {
			want = want || strings.Contains(text, f)
		}
		f := newFinder(forms)
		if got := f.in(text); got != want && f.window >= 2 {
			t.Fatalf("%q in %q: %v", forms, text, got)
		}
	})
}

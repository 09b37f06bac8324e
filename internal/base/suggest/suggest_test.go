package suggest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/suggest"
)

func TestNearest(t *testing.T) {
	known := []string{"role", "roles_any", "role_from", "timeout", "type"}
	for _, tt := range []struct{ word, want string }{
		{"rol", "role"},
		{"roel", "role"}, // neighbours swapped count once
		{"role_form", "role_from"},
		{"from_role", "role_from"}, // the same words in another order
		{"any-roles", "roles_any"},
		{"time_out", "timeout"},
		{"tpye", "type"},
		{"banana", ""},
		{"", ""},
		{"x", ""},
		{strings.Repeat("r", 100), ""},
	} {
		if got := suggest.Nearest(tt.word, known); got != tt.want {
			t.Errorf("Nearest(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}

func ExampleAmong() {
	fmt.Println(suggest.Among("fats", []string{"strong", "fast"}))
	fmt.Println(suggest.Among("gpt", []string{"strong", "fast"}))
	// Output:
	// did you mean "fast"?
	// known are strong, fast
}

func ExampleHint() {
	fmt.Println(suggest.Hint("qa-enginer", []string{"lead", "qa-engineer"}))
	// Output: did you mean "qa-engineer"?
}

func ExampleSlip() {
	among := []string{"artifact", "template", "type"}
	for _, word := range []string{"artefact", "Templat", "artifcat", "tape", "article"} {
		fmt.Printf("%s: %q\n", word, suggest.Slip(word, among))
	}
	// Output:
	// artefact: "artifact"
	// Templat: "template"
	// artifcat: "artifact"
	// tape: ""
	// article: ""
}

package console

import (
	"bytes"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
)

// Colour is for terminals alone, unless somebody asks for it, and never in JSON.
func TestCLI02_ColourIsForWhoWantsIt(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	for _, tt := range []struct {
		colour string
		json   bool
		want   string
	}{
		{"", false, "x"}, {"auto", false, "x"}, {"never", false, "x"},
		{"always", false, "\x1b[31mx\x1b[0m"}, {"always", true, "x"},
	} {
		c := &Console{Out: &bytes.Buffer{}, Colour: tt.colour, JSON: tt.json}
		if got := c.Paint(Bad, "x"); got != tt.want || c.CheckColour() != nil {
			t.Errorf("--color %q, JSON %t: %q, want %q", tt.colour, tt.json, got, tt.want)
		}
	}
	if err := (&Console{Colour: "alwys"}).CheckColour(); fault.Code(err) != "usage/argument" || !strings.Contains(err.Error(), "always") {
		t.Errorf("--color alwys: %v", err)
	}
}

func TestCLI02_LinesAreBrokenAtBlanks(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{
		{"a bc def", 0, "> a bc def\n"},
		{"a bc def", 8, "> a bc\n> def\n"},
		{"abcdefghij", 6, "> abcd\n> efgh\n> ij\n"},
		{"eins\n\nzwei\n", 80, "> eins\n>\n> zwei\n"},
		{"äöü äöü", 6, "> äöü\n> äöü\n"},
	} {
		if got := Wrapped(tt.text, tt.width, "> "); got != tt.want {
			t.Errorf("Wrapped(%q, %d): %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

package console

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

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
		{"", false, "x"},
		{"auto", false, "x"},
		{"never", false, "x"},
		{"always", false, "\x1b[31mx\x1b[0m"},
		{"always", true, "x"},
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

func TestCLI02_ADiffInColourSaysTheSame(t *testing.T) {
	diff := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same"
	c := &Console{Out: &bytes.Buffer{}, Colour: "always"}
	want := "\x1b[1mdiff --git a/x b/x\x1b[0m\n\x1b[1m--- a/x\x1b[0m\n\x1b[1m+++ b/x\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n\x1b[31m-old\x1b[0m\n\x1b[32m+new\x1b[0m\n same"
	if got := c.PaintDiff(diff); got != want {
		t.Errorf("PaintDiff: %q, want %q", got, want)
	}
	if c.Colour = "never"; c.PaintDiff(diff) != diff {
		t.Errorf("PaintDiff without colour: %q", c.PaintDiff(diff))
	}
}

// A table fits into the width that is known, and what a row is about is never cut.
func TestCLI02_ATableFitsTheWidth(t *testing.T) {
	heads := []string{"execution", "status", "why"}
	rows := [][]string{{"a-very-long-project-name-1-x1", "running", strings.Repeat("word ", 40)}, {"shop-1-x1", "failed", "short"}}
	for _, tt := range []struct {
		columns string
		fits    bool
	}{{"", false}, {"80", true}, {"60", true}, {"20", false}} {
		t.Setenv("COLUMNS", tt.columns)
		var b bytes.Buffer
		Table(&b, heads, rows)
		longest := 0
		for line := range strings.Lines(b.String()) {
			longest = max(longest, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
		}
		limit, _ := strconv.Atoi(tt.columns)
		if (longest <= limit) != tt.fits {
			t.Errorf("COLUMNS=%q: %d columns, want them to fit: %t", tt.columns, longest, tt.fits)
		}
		after := map[bool]string{true: "  running", false: "\n  status     running\n"}[tt.columns != "20"] // too narrow for columns
		if !strings.Contains(b.String(), "a-very-long-project-name-1-x1"+after) {
			t.Errorf("COLUMNS=%q: what a row is about is cut:\n%s", tt.columns, b.String())
		}
		if got := strings.Contains(b.String(), strings.TrimRight(rows[0][2], " ")); got != (tt.columns == "") {
			t.Errorf("COLUMNS=%q: the long cell is whole: %t", tt.columns, got)
		}
	}
}

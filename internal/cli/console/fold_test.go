package console

import (
	"fmt"
	"strings"
	"testing"
)

// TestCLI01_ProseIsFoldedAtBlanks folds lines to the width of a screen: between words,
// and under the column of their text.
func TestCLI01_ProseIsFoldedAtBlanks(t *testing.T) {
	for _, tt := range []struct {
		width, hang int
		line, want  string
	}{
		{0, 0, "as it is, however long", "as it is, however long"},
		{22, 0, "exactly as wide as two", "exactly as wide as two"},
		{21, 0, "exactly as wide as two", "exactly as wide as\n  two"},
		{20, 0, "  a text that is further in", "  a text that is\n    further in"},
		{20, 8, "key     is a value of three lines here", "key     is a value\n        of three\n        lines here"},
		{10, 0, "a\tbc\nabcdefghijkl", "a       bc\nabcdefghij\n  kl"},
		{10, 0, "\x1b[31mred and\x1b[0m more", "\x1b[31mred and\x1b[0m\n  more"},
		{10, 0, "合計が五十のとき", "合計が五十\n  のとき"},
		{20, 0, "  | what is quoted stays so in each line", "  | what is quoted\n  | stays so in each\n  | line"},
		{10, 9, "hanging further in than half of it", "hanging\n     furth\n     er in\n     than\n     half\n     of it"},
	} {
		var b strings.Builder
		fmt.Fprintln(Folded(&b, tt.width, tt.hang), tt.line)
		if b.String() != tt.want+"\n" {
			t.Errorf("%q in %d columns:\n%s\nwant\n%s", tt.line, tt.width, b.String(), tt.want)
		}
	}
}

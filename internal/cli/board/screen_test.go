package board

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/test/terminal"
)

// lined has the line ends that a terminal makes of a program's.
type lined struct{ *terminal.Screen }

func (l lined) Write(p []byte) (int, error) {
	_, err := l.Screen.Write([]byte(strings.ReplaceAll(string(p), "\n", "\r\n")))
	return len(p), err
}

// TestCLI01_WhatIsWrittenStandsAboveTheBoard writes as a host's log does while a board
// is shown, grows and shrinks.
func TestCLI01_WhatIsWrittenStandsAboveTheBoard(t *testing.T) {
	seen := terminal.NewScreen(20, 6)
	s := NewScreen(lined{seen})
	step := func(want string) {
		t.Helper()
		if got := seen.Text(); got != want+"\n" {
			t.Errorf("seen is\n%s\nwant\n%s", got, want)
		}
	}
	write := func(text string) {
		t.Helper()
		if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("Write(%q): %d, %v", text, n, err)
		}
	}
	write("greeting\n")
	s.Draw([]string{"", "one", "two"}, 20, false)
	step("greeting\n\none\ntwo")
	write("a line that is longer than the screen\n")
	step("greeting\na line that is longe\nr than the screen\n\none\ntwo")
	s.Draw([]string{"", "three"}, 20, true)
	s.Draw([]string{"", "three"}, 20, false)
	step("greeting\na line that is longe\nr than the screen\n\nthree")
	write("begun")
	step("greeting\na line that is longe\nr than the screen\n\nthree")
	write(" and ended\nx\nrest")
	step("greeting\na line that is longe\nr than the screen\nbegun and ended\nx\n\nthree")
	seen.Resize(4, 6)
	s.Resized([]string{"", "thr"}, 4)
	seen.Resize(20, 6)
	s.Resized([]string{"", "four"}, 20)
	step("greeting\na line that is longe\nr than the screen\nbegun and ended\nx\n\nfour")
	s.Clear()
	step("greeting\na line that is longe\nr than the screen\nbegun and ended\nx")
	s.Draw([]string{"", "last"}, 20, false)
	s.Leave()
	s.Draw([]string{"", "never"}, 20, true)
	write("!\n")
	step("greeting\na line that is longe\nr than the screen\nbegun and ended\nx\nrest!")
	if seen.Bells() != 1 || len(seen.Unknown()) > 0 {
		t.Errorf("%d bells, %q not understood", seen.Bells(), seen.Unknown())
	}
}

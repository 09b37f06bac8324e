package board

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// unread is a terminal that takes what is written when somebody reads it.
type unread struct {
	read chan struct{}
	got  chan string
}

func (u unread) Write(p []byte) (int, error) {
	<-u.read
	u.got <- string(p)
	return len(p), nil
}

// TestCLI01_NobodyWaitsForATerminalThatIsNotRead writes and draws while the terminal takes
// nothing: no call blocks, and what it takes at last is all the text and the newest board.
func TestCLI01_NobodyWaitsForATerminalThatIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := unread{make(chan struct{}), make(chan string, 10)}
		s := NewScreen(u)
		began := time.Now()
		s.Draw([]string{"first"}, 20, false)
		if !s.Stuck() || time.Since(began) != patience {
			t.Errorf("stuck is %t after %s", s.Stuck(), time.Since(began))
		}
		for _, l := range []string{"a\n", "b\n"} {
			if _, err := io.WriteString(s, l); err != nil {
				t.Fatal(err)
			}
		}
		s.Draw([]string{"second"}, 20, true)
		s.Draw([]string{"third"}, 20, true)
		if time.Since(began) != patience {
			t.Errorf("calls waited %s for a terminal that was stuck", time.Since(began)-patience)
		}
		close(u.read)
		synctest.Wait()
		if s.Stuck() {
			t.Error("stuck, although all was taken")
		}
		s.Leave()
		got := <-u.got + <-u.got
		if strings.Count(got, "\a") != 1 || strings.Contains(got, "second") || !strings.Contains(got, "a\nb\n") || !strings.Contains(got, "third") {
			t.Errorf("the terminal was given %q", got)
		}
	})
}

// TestCLI01_TextThatNobodyReadsIsBounded has ten times the text that waits at most.
func TestCLI01_TextThatNobodyReadsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := unread{make(chan struct{}), make(chan string, 10)}
		s := NewScreen(u)
		line := strings.Repeat("x", 1023) + "\n"
		for i := range 10 * mostUnread / len(line) {
			fmt.Fprintf(s, "%5d%s", i, line[5:])
		}
		close(u.read)
		synctest.Wait()
		first, rest := <-u.got, <-u.got
		if first != "    0"+line[5:] {
			t.Errorf("first is %.20q", first)
		}
		head, kept, _ := strings.Cut(rest, "\n")
		lines := strings.Count(kept, "\n")
		if want := fmt.Sprintf("(%d lines are left out: nobody read this terminal)", 10*mostUnread/len(line)-1-lines); head != want || !strings.HasSuffix(kept, "\n10239"+line[5:]) {
			t.Errorf("%q and %d lines, want %q and the last line", head, lines, want)
		}
		if len(kept) < mostUnread/2-len(line) || len(kept) > mostUnread {
			t.Errorf("%d bytes are kept", len(kept))
		}
	})
}

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/test/terminal"
)

// screenHas waits until what a terminal shows holds all of some texts, in this order.
func (s *seat) screenHas(texts ...string) string {
	s.Helper()
	text, err := s.term.Await(s.ctx, func(screen *terminal.Screen) bool {
		rest := screen.Text()
		for _, t := range texts {
			_, after, found := strings.Cut(rest, t)
			if !found {
				return false
			}
			rest = after
		}
		return true
	})
	if err != nil {
		s.Fatalf("%q: %v\n%s", texts, err, text)
	}
	return text
}

// types presses keys.
func (s *seat) types(keys string) {
	s.Helper()
	if err := s.term.Type(keys); err != nil {
		s.Fatal(err)
	}
}

// TestSIGN03_NoKeySignsWhatWasNotShown presses keys before an approval stands on the
// screen: they answer nothing, neither the first nor the one after an answer. At a
// terminal a key counts as soon as it is pressed, and no rejection is without a reason.
func TestSIGN03_NoKeySignsWhatWasNotShown(t *testing.T) {
	longtest.Skip(t)
	s := newSeat(t, 100, 200)
	host := s.command("up", "--project", "shop=shop", "--model", "scripted:demo", "--unsandboxed", "--listen", "127.0.0.1:0")
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = host.Process.Kill(); _ = host.Wait() }()
	if err := untilAnswers(s.ctx, filepath.Join(s.home, "loom")); err != nil {
		t.Fatal(err)
	}
	for _, goal := range []string{"The total is wrong for orders of exactly 50.00", "Orders of exactly 50.00 pay shipping"} {
		out, err := s.command("submit", "--project", "shop", "--type", "bug", "--wait", goal).CombinedOutput()
		if !strings.Contains(string(out), "waits for you") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	review := s.command("inbox", "-i", "--oldest")
	s.types("yyy") // before it has begun
	if err := s.term.Start(review); err != nil {
		t.Fatal(err)
	}
	const prompt = "[?] [q]uit:"
	s.screenHas("[1 of 2]", prompt)
	s.types("?")
	s.screenHas("[1 of 2]", prompt, "a, y  approve", prompt)
	s.types("yyy") // one answers it, the others are before the next is shown
	s.screenHas("shop-2: approved", "[2 of 2]", prompt)
	s.types("n")
	s.screenHas("[2 of 2]", prompt, "why")
	s.types("\r")
	s.screenHas("[2 of 2]", prompt, "why", prompt)
	s.types("n")
	s.screenHas("[2 of 2]", prompt, "why", prompt, "why")
	s.types("no\x1b\r") // Esc goes back, whatever was typed before it
	s.screenHas("[2 of 2]", prompt, "why", prompt, "why", prompt)
	s.types("q")
	if text := s.screenHas("1 still waits"); strings.Contains(text, "shop-4: ") {
		t.Errorf("what was not seen was answered:\n%s", text)
	}
	if err := review.Wait(); err != nil {
		t.Error(err)
	}
}

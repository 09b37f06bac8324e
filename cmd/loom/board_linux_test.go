package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/test/terminal"
)

// seat is a person with a home of her own, and a host that she starts at a terminal.
type seat struct {
	*testing.T
	ctx  context.Context
	home string
	env  []string
	term *terminal.Terminal
	host *exec.Cmd
}

func newSeat(t *testing.T, columns, rows int) *seat {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	s := &seat{T: t, ctx: ctx, home: t.TempDir()}
	s.env = append(os.Environ(), "HOME="+s.home, "XDG_CONFIG_HOME="+s.home, "XDG_STATE_HOME="+s.home, "LOOM_HTTP=off", "TERM=xterm", "NO_COLOR=1", "COLUMNS=")
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		out, err := exec.CommandContext(ctx, "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		s.env = append(s.env, name+"="+strings.TrimSpace(string(out)))
	}
	s.sits(terminal.Open(columns, rows))
	s.loom("demo", "--make-repository", filepath.Join(s.home, "shop"))
	return s
}

// sits has her at a terminal.
func (s *seat) sits(term *terminal.Terminal, err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	s.term = term
	s.Cleanup(func() { _ = term.Close() })
}

// command is a loom of this home.
func (s *seat) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.ctx, "loom", args...)
	cmd.Dir, cmd.Env = s.home, s.env
	return cmd
}

// loom is a command that ends well, at another terminal.
func (s *seat) loom(args ...string) {
	s.Helper()
	if out, err := s.command(args...).CombinedOutput(); err != nil {
		s.Fatalf("loom %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// up starts the host at the terminal.
func (s *seat) up(args ...string) {
	s.Helper()
	if !slices.Contains(args, "--model") {
		args = append(args, "--model", "scripted:demo")
	}
	s.host = s.command(append([]string{"up", "--project", "shop=shop", "--unsandboxed", "--listen", "127.0.0.1:0"}, args...)...)
	if err := s.term.Start(s.host); err != nil {
		s.Fatal(err)
	}
}

// sees waits until the newest board holds a text, and returns its lines.
func (s *seat) sees(text string) (lines []string) {
	s.Helper()
	if _, err := s.term.Await(s.ctx, func(screen *terminal.Screen) bool {
		lines = boardOf(screen.Text())
		return strings.Contains(strings.Join(lines, "\n"), text)
	}); err != nil {
		s.Fatalf("%q: %v", text, err)
	}
	return lines
}

// shows waits until the board has so many lines, of which the last begins so.
func (s *seat) shows(n int, last string) {
	s.Helper()
	if _, err := s.term.Await(s.ctx, func(screen *terminal.Screen) bool {
		lines := boardOf(screen.Text())
		return len(lines) == n && strings.HasPrefix(lines[n-1], last)
	}); err != nil {
		s.Fatalf("%q: %v", last, err)
	}
}

// boardOf are the lines below the last empty one.
func boardOf(text string) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i] == "" {
			return lines[i+1:]
		}
	}
	return nil
}

// ends presses Ctrl-C and waits for the end of the host.
func (s *seat) ends() string {
	s.Helper()
	if err := s.term.Type("\x03"); err != nil {
		s.Fatal(err)
	}
	text, err := s.term.Await(s.ctx, func(screen *terminal.Screen) bool { return strings.HasSuffix(screen.Text(), "stopped cleanly\n") })
	if err != nil {
		s.Fatal(err)
	}
	if err := s.host.Wait(); err != nil {
		s.Fatal(err)
	}
	return text
}

// TestCLI01_UpShowsABoard is a host at a terminal: its board has the bead, then what
// waits, with one ring of the bell, then nothing open any more, and what landed stands
// above it. Ctrl-C leaves the last board as text.
func TestCLI01_UpShowsABoard(t *testing.T) {
	longtest.Skip(t)
	s := newSeat(t, 80, 24)
	s.up()
	s.sees("no open work")
	s.loom("submit", "--project", "shop", "--type", "bug", "Orders of exactly 50.00 pay for shipping, whatever else is in the cart and who ordered")
	lines := s.sees("shop-1  ")
	lines = append(lines, s.sees("1 waits for you: loom inbox -i")...)
	s.sees("shop-2  ")
	s.sees("loom inbox shop-2  ")
	s.sees("shop-1  approve waits for you  ")
	s.sees("1 waiting · $0.00 spent · shop · host h-")
	s.term.Look(func(screen *terminal.Screen) {
		if n := screen.Bells(); n != 1 {
			t.Errorf("the bell rang %d times for one approval", n)
		}
	})
	if err := s.term.Type("what is typed here is not shown\n\n\n"); err != nil {
		t.Fatal(err)
	}
	if err := s.term.Resize(40, 24); err != nil {
		t.Fatal(err)
	}
	s.shows(4, "1 waiting · $0.00 spent · shop") // of 40 columns
	if err := s.term.Resize(80, 24); err != nil {
		t.Fatal(err)
	}
	s.shows(4, "1 waiting · $0.00 spent · shop")
	s.loom("approve", "shop-2")
	lines = append(lines, s.sees("no open work")...)
	for _, l := range lines {
		if n := len([]rune(l)); n >= 80 {
			t.Errorf("a line of %d columns: %q", n, l)
		}
	}
	text := s.ends()
	if want := "execution shop-1-x1 completed"; strings.Count(text, want) != 1 {
		t.Errorf("%q stands there %d times, want once:\n%s", want, strings.Count(text, want), text)
	}
	if strings.Contains(text, "what is typed") || strings.Contains(text, "waits for you") || strings.Contains(text, "no open work") {
		t.Errorf("what was on the board before stands there still:\n%s", text)
	}
	s.term.Look(func(screen *terminal.Screen) {
		if odd := screen.Unknown(); len(odd) > 0 {
			t.Errorf("the terminal does not understand %q", odd)
		}
	})
}

// TestOPS01_AHostWhoseTerminalIsClosedStops closes the terminal's window: the host gives
// back what it holds and ends, as at Ctrl-C.
func TestOPS01_AHostWhoseTerminalIsClosedStops(t *testing.T) {
	longtest.Skip(t)
	s := newSeat(t, 80, 24)
	s.up()
	s.sees("no open work")
	if err := s.term.Close(); err != nil {
		t.Fatal(err)
	}
	s.loom("submit", "--project", "shop", "--type", "bug", "Orders of exactly 50.00 pay for shipping") // the terminal is let go of once it is read
	if err := s.host.Wait(); err != nil {
		t.Error(err)
	}
	out, err := s.command("status").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no host runs on the data directory") {
		t.Errorf("%v, and a host that has stopped is said to be\n%s", err, out)
	}
}

// TestCLI01_ALeafHostShowsItsAgents is a host that only runs agents at a terminal: its
// board has what they work on, and what came of it stands above.
func TestCLI01_ALeafHostShowsItsAgents(t *testing.T) {
	longtest.Skip(t)
	s := newSeat(t, 80, 24)
	host := s.command("up", "--project", "shop=shop", "--model", "scripted:demo", "--unsandboxed", "--listen", "127.0.0.1:0", "--agents", "qa-engineer=0")
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	if err := untilAnswers(s.ctx, filepath.Join(s.home, "loom")); err != nil {
		t.Fatal(err)
	}
	s.loom("auth", "user", "add", "w1", "--as", "worker", "--role", "qa-engineer")
	seen := filepath.Join(s.home, "seen")
	script := fmt.Sprintf(`answers:
  - node: triage
    step: 1
    calls: [{tool: shell, arguments: '{"command": "until test -f %s; do sleep 0.1; done"}'}]
  - node: triage
    calls: [{tool: finish, arguments: '{"status": "success", "summary": "it is so", "notes": "", "fields": {"severity": "high", "specialist": "backend-engineer", "check": "go test ./..."}}'}]
`, seen)
	if err := os.WriteFile(filepath.Join(s.home, "waits.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	s.up("--agents-only", "--data", "leaf", "--creds", "w1.creds", "--model", "scripted:waits.yaml")
	s.sees("no agent works · $0.00 spent · shop · host w1, agents only")
	s.loom("submit", "--project", "shop", "--type", "bug", "Orders of exactly 50.00 pay for shipping, whatever else is in the cart and who ordered")
	s.sees("shop-1  triage by qa-engineer/")
	if err := os.WriteFile(seen, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.sees("no agent works")
	text := s.ends()
	if want := "shop-1: attempt at triage succeeded: it is so"; strings.Count(text, want) != 1 || strings.Contains(text, "triage by") {
		t.Errorf("%q stands there %d times, want once, and nothing of the board:\n%s", want, strings.Count(text, want), text)
	}
	if err := host.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := host.Wait(); err != nil {
		t.Error(err)
	}
}

// TestCLI01_UpEndsAtATerminalThatNobodyReads has hosts at a terminal that takes nothing
// from the first byte on, with a board and with lines: they serve, and end when they are told to.
func TestCLI01_UpEndsAtATerminalThatNobodyReads(t *testing.T) {
	longtest.Skip(t)
	s := newSeat(t, 80, 24)
	s.sits(terminal.OpenUnread(80, 24))
	for _, shown := range []string{"auto", "lines"} {
		s.up("--board", shown)
		if err := untilAnswers(s.ctx, filepath.Join(s.home, "loom")); err != nil {
			t.Fatal(err)
		}
		work := s.command("submit", "--project", "shop", "--type", "bug", "--wait", "Orders of exactly 50.00 pay for shipping, "+shown)
		if err := work.Run(); work.ProcessState.ExitCode() != 10 {
			t.Fatalf("the host worked up to the approval: %v", err)
		}
		if err := s.host.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := s.host.Wait(); err != nil {
			t.Errorf("--board %s: %v", shown, err)
		}
	}
}

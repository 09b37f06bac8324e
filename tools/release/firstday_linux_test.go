package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/test/terminal"
)

var update = flag.Bool("update", false, "write docs/first-day.txt as it is recorded")

// recording is where the first day is kept, from here.
const recording = "../../docs/first-day.txt"

// preface says what the recording is.
const preface = `The first day with Loom, as two terminals of 80 columns show it: from the
archive of a release to a commit that agents made and a person signed. It is
recorded, and compared with what is shown now, by

  go -C tools/release test -run TheFirstDay .

(-update writes it anew). The home directory is empty at the beginning; git and
Go are there. A script stands in for the language model ("scripted:demo"), and
for nothing else. Times, durations, ids and hashes are replaced by others that
are always the same. What is typed stands behind "$", or behind a question; the
pager is "cat", so that all it would show is here.

`

// TestTheFirstDay is a person with an empty home directory, the archive of a release
// and two terminals of 80 columns. What they show is docs/first-day.txt, and no line
// of it is broken by the terminal.
func TestTheFirstDay(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Fatal("the first day is recorded on Linux")
	}
	dir, _ := released(t)
	d := newDay(t, dir)
	host, person := d.sit(), d.sit()
	host.types(
		"tar xzf ~/loom-"+version+"-linux-"+runtime.GOARCH+".tar.gz",
		"PATH=~/loom-"+version+"-linux-"+runtime.GOARCH+":$PATH",
		"loom version",
		"loom demo --make-repository shop",
		`git config --global user.name "A person"`,
		"git config --global user.email person@example.com",
		"cd shop && go test ./...",
		"loom init --no-doctor",
		`git add loom.toml && git commit -qm "Add loom.toml"`,
	)
	host.begins("loom up --model scripted:demo\n", serving)
	person.types(
		"PATH=~/loom-"+version+"-linux-"+runtime.GOARCH+":$PATH",
		"cd shop",
		`loom submit --type bug --wait "Orders of exactly 50.00 pay for shipping"`,
	)
	person.begins("loom inbox -i\n", asked)
	person.begins("d", asked)
	person.begins("y", prompt)
	person.begins("loom events --follow --bead shop-1 --kind landed --kind execution-ended\n", ended)
	person.begins("\x03", prompt)
	person.types(
		"git log -1",
		"go test ./...",
		"loom why cart/cart.go:28",
	)
	host.ends("\x03", stopped)
	text := preface + "== One terminal\n\n" + d.masked(host) + "\n== Another, while the host runs\n\n" + d.masked(person)
	compare(t, text)
}

// compare holds the recording against the one that is kept, or keeps it.
func compare(t *testing.T, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(recording, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	if string(was) == text {
		return
	}
	now := filepath.Join(t.TempDir(), "now")
	if err := os.WriteFile(now, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	diff, _ := exec.CommandContext(t.Context(), "git", "diff", "--no-index", "--", recording, now).Output()
	t.Errorf("docs/first-day.txt is not what is shown now; write it anew with -update, and look at the difference:\n%s", diff)
}

// day is a home directory on a machine.
type day struct {
	*testing.T
	ctx  context.Context
	home string
	env  []string
}

// newDay makes a home with the archive of a release in it. Go's caches are shared: they
// hold nothing of Loom's.
func newDay(t *testing.T, release string) *day {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	d := &day{T: t, ctx: ctx, home: fmt.Sprintf("/tmp/me-%08x", rand.Uint32())} // always as long: lines are folded by it
	if err := os.Mkdir(d.home, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(d.home) })
	name := "loom-" + version + "-linux-" + runtime.GOARCH + ".tar.gz"
	if err := os.WriteFile(filepath.Join(d.home, name), read(t, release, name), 0o644); err != nil {
		t.Fatal(err)
	}
	d.env = []string{
		"HOME=" + d.home, "PATH=" + os.Getenv("PATH"), "PS1=$ ", "PAGER=cat", "TERM=xterm", "LANG=C.UTF-8", "TZ=UTC",
		"LOOM_LISTEN=127.0.0.1:0", "LOOM_HTTP=127.0.0.1:0", // other tests run beside this one
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOTOOLCHAIN"} {
		value, err := output(ctx, ".", nil, "go", "env", name)
		if err != nil {
			t.Fatal(err)
		}
		d.env = append(d.env, name+"="+value)
	}
	return d
}

// seat is a terminal with a shell.
type seat struct {
	*day
	*terminal.Terminal
}

func (d *day) sit() *seat {
	d.Helper()
	term, err := terminal.Open(80, 40)
	if err != nil {
		d.Fatal(err)
	}
	shell := exec.CommandContext(d.ctx, "/bin/sh")
	shell.Dir, shell.Env = d.home, d.env
	if err := term.Start(shell); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() {
		_ = term.Close()
		_ = shell.Wait()
	})
	s := &seat{d, term}
	s.begins("", prompt)
	return s
}

// types types commands, each when the one before has ended.
func (s *seat) types(commands ...string) {
	s.Helper()
	for _, c := range commands {
		s.begins(c+"\n", prompt)
	}
}

// What is waited for behind what was typed.
const (
	prompt  = `(^|\n)\$$`
	asked   = `\[q\]uit:$`
	serving = `no open work .*$`
	stopped = `\nstopped cleanly\n\$$`
	ended   = `(?s)\n\d[\d.]+ +\S+ +execution-ended .*completed$`
)

// begins types, and waits until what is shown behind that ends in something.
func (s *seat) begins(keys, until string) {
	s.Helper()
	before := 0
	if keys != "" { // else what is waited for may be there already
		s.Look(func(screen *terminal.Screen) { before = len(screen.Text()) - 1 })
	}
	s.typed(keys, until, before)
}

// ends types, and waits until all that is shown ends in something: a board that is taken
// away leaves less than there was.
func (s *seat) ends(keys, until string) {
	s.Helper()
	s.typed(keys, until, 0)
}

func (s *seat) typed(keys, until string, before int) {
	s.Helper()
	wanted := regexp.MustCompile(until)
	if err := s.Type(keys); err != nil {
		s.Fatal(err)
	}
	_, err := s.Await(s.ctx, func(screen *terminal.Screen) bool {
		text := strings.TrimRight(screen.Text(), "\n")
		return len(text) >= before && wanted.MatchString(text[before:])
	})
	if err != nil {
		s.Fatalf("after %q: %v", keys, err)
	}
}

// constants are what differs from run to run, each with something that does not.
var constants = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b`), "2026-01-02 12:00:00"},
	{regexp.MustCompile(`\b[A-Z][a-z][a-z] [A-Z][a-z][a-z] \d+ \d\d:\d\d:\d\d \d{4} \+0000`), "Fri Jan 2 12:00:00 2026 +0000"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "2026-01-02T12:00:00Z"},
	{regexp.MustCompile(`\bv0\.0\.0-\d{14}-`), "v0.0.0-20260102120000-"},
	{regexp.MustCompile(`\bwith \d+ others\b`), "with 96 others"},
	{regexp.MustCompile(`(?m)^\d+\.\d+\.\d+\.\d+ +`), "2.1.120.0    "},
	{regexp.MustCompile(`(\btoken|Loom-Token:) \d+`), "$1 1"},
	{regexp.MustCompile(`\bh-[a-z2-7]{16}\b`), "h-3tq7xw5mzk2nbd4e"},
	{regexp.MustCompile(`\bdp-[a-z2-7]{16}\b`), "dp-b3hvuttb3zadr6d7"},
	{regexp.MustCompile(`(engineer|lead|manager)/\d`), "${1}/1"},
	{regexp.MustCompile(`\b[0-9a-f]{40}\b`), "5f1c90e2a47b3d6881c02e9fd54a7360bc18e9d2"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), strings.Repeat("5f1c90e2a47b3d68", 4)},
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), "5f1c90e2a47b"},
	{regexp.MustCompile(`\b[0-9a-f]{16}\b`), "5f1c90e2a47b3d68"},
	{regexp.MustCompile(`nats://127\.0\.0\.1:\d+`), "nats://127.0.0.1:4222"},
	{regexp.MustCompile(`http://127\.0\.0\.1:\d+`), "http://127.0.0.1:7420"},
	{regexp.MustCompile(`\bup in \d+ ms`), "up in 500 ms"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\.\d{3}\b`), "12:00:00.000"},
	{regexp.MustCompile(`\b\d+\.\d+s\b|\(cached\)`), "0.02s"},
	{regexp.MustCompile(`\bgo1\.\S+ \S+/\S+`), "go1.26.7 linux/amd64"},
	{regexp.MustCompile(`linux-(amd64|arm64)`), "linux-amd64"},
}

// masked is what a terminal has shown, with constants in it. A line that the terminal
// had to break, and a sequence that it did not understand, are faults.
func (d *day) masked(s *seat) (text string) {
	d.Helper()
	s.Look(func(screen *terminal.Screen) {
		if broken := screen.Wrapped(); len(broken) > 0 {
			d.Errorf("lines that have more than 80 columns:\n%s", strings.Join(broken, "\n"))
		}
		if odd := screen.Unknown(); len(odd) > 0 {
			d.Errorf("the terminal does not understand %q", odd)
		}
		text = strings.ReplaceAll(screen.Text(), d.home, "/src/me")
	})
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSuffix(text, "$\n")) {
		for _, c := range constants {
			if !strings.HasPrefix(line, "index ") { // contents of files are the same each time
				line = c.what.ReplaceAllString(line, c.with)
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

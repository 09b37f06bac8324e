package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/loomrun/loom/internal/agents/mcp/mcptest"
	"github.com/loomrun/loom/internal/agents/model/recording"
)

var update = flag.Bool("update", false, "write what the stories see as what they expect")

func TestMain(m *testing.M) {
	mcptest.ServeIfAsked()
	testscript.Main(m, map[string]func(){
		"refused":       refused,
		"key-refused":   keyRefused,
		"loom":          main,
		"wait-host":     waitHost,
		"await":         await,
		"wait-file":     waitFile,
		"addresses":     addresses,
		"wait-agents":   waitAgents,
		"until":         until,
		"nats-server":   natsServer,
		"search-engine": searchEngine,
		"publish":       publish,
		"request":       request,
		"subscribe":     subscribe,
		"set-aside":     setAside,
		"fetch":         fetch,
		"loom-words":    mcptest.ServeIfAsked,
		"protocol":      protocol,
	})
}

// TestCLI01_Stories runs the stories in testdata/script: each is a user with a
// home, a configuration and a data directory of its own.
func TestCLI01_Stories(t *testing.T) {
	if testing.Short() {
		t.Log("in -short: demo alone")
		stories(t, "", "testdata/script/demo.txtar")
		return
	}
	stories(t, "testdata/script")
}

// stories runs the stories of a directory, and of files.
func stories(t *testing.T, dir string, files ...string) {
	t.Helper()
	deadline := time.Now().Add(8 * time.Minute)
	if ends, limited := t.Deadline(); limited { // a story that hangs is told, and not the whole test
		deadline = ends.Add(-time.Minute)
	}
	testscript.Run(t, testscript.Params{
		Dir:                dir,
		Files:              files,
		UpdateScripts:      *update,
		RequireUniqueNames: true,
		Setup:              settle,
		Deadline:           deadline,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"mask":     mask,
			"big":      big,
			"set":      set,
			"document": promptDocument,
		},
	})
}

// settle gives a story its own directories. Go's caches are shared: they hold
// nothing of Loom's.
func settle(env *testscript.Env) error {
	for name, dir := range map[string]string{"HOME": "home", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache"} {
		env.Setenv(name, filepath.Join(env.WorkDir, dir))
		if err := os.MkdirAll(env.Getenv(name), 0o700); err != nil {
			return err
		}
	}
	env.Setenv("DATA", filepath.Join(env.WorkDir, "state", "loom"))
	env.Setenv("KEY", filepath.Join(env.WorkDir, "config", "loom", "ceo.nk"))
	scripts, err := filepath.Abs("../../processes") // what models answer in the tests of processes
	if err != nil {
		return err
	}
	env.Setenv("PROCESSES", scripts)
	env.Setenv("PROMPTS", filepath.Join(filepath.Dir(scripts), "docs", "prompts"))
	env.Setenv("LOOM_HTTP", "off")            // stories run side by side
	env.Setenv("GORACE", "atexit_sleep_ms=0") // under the race detector each command would stay for a second
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOTOOLCHAIN"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return err
		}
		env.Setenv(name, strings.TrimSpace(string(out)))
	}
	return nil
}

// exits runs a command that must end with that status:
//
//	exits STATUS COMMAND...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s ended with status %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// masks are what differs from run to run, each with something as long that
// does not.
var masks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b`), "YYYY-MM-DD HH:MM:SS"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "YYYY-MM-DDTHH:MM:SSZ"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\.\d{3}\b`), "HH:MM:SS.mmm"},
	{regexp.MustCompile(`\bh-[a-z2-7]{16}\b`), "h-HOST............"},
	{regexp.MustCompile(`\bdp-[a-z2-7]{16}\b`), "dp-DEPLOYMENT......"},
	{regexp.MustCompile(`\bU[A-Z2-7]{55}\b`), "UKEY"},
	{regexp.MustCompile(`(engineer|lead|manager)/\d`), "${1}/N"},
	{regexp.MustCompile(`\btoken \d+`), "token NNN"},
	{regexp.MustCompile(`\b[0-9a-f]{40}\b`), strings.Repeat("c", 40)},
	{regexp.MustCompile(`\b(digest|candidate|commit|change|on) [0-9a-f]{12,16}\b`), "$1 DIGEST"},
	{regexp.MustCompile(`\b[0-9a-f]{12} landed\b`), "COMMIT landed"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`\b\d+(\.\d+)?m?s\b`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), strings.Repeat("h", 64)},
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), strings.Repeat("h", 12)},
	{regexp.MustCompile(`\bgo1\.\S+ \S+/\S+`), "GO"},
}

// mask writes a file, or the last output, without what differs from run to run:
//
//	mask stdout|stderr|FILE TO
func mask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mask FILE TO")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "WORK")
	for _, m := range masks {
		text = m.what.ReplaceAllString(text, m.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

// changing is what differs in prompts from run to run, with something that does not.
var changing = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`now: \w{3} \d\d \w{3} \d{4} \d\d:\d\d UTC; this attempt ends at \d\d:\d\d UTC`), "now: Thu 01 Jan 2026 12:00 UTC; this attempt ends at 12:10 UTC"},
	{regexp.MustCompile(`\bworkspace-[0-9a-f]{8}\b`), "workspace-00000000"},
	{regexp.MustCompile(`\banalyst/\d\b`), "analyst/1"}, // whichever was free
	{regexp.MustCompile(`\bh-[a-z2-7]{16}\b`), "h-aaaaaaaaaaaaaaaa"},
	{regexp.MustCompile(`\d+\.\d\d\d?s\b`), "0.01s"},
	{regexp.MustCompile(`\b\d+ms\b`), "0ms"},
	{regexp.MustCompile(`\b[0-9a-f]{40}\b`), strings.Repeat("c", 40)},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), strings.Repeat("d", 64)},
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), strings.Repeat("e", 12)},
	{regexp.MustCompile(`\b[0-9a-f]{16}\b`), strings.Repeat("f", 16)},
}

// promptDocument holds a document of what models are asked against the one in docs/prompts,
// or writes it there with -update:
//
//	document FILE DOCUMENT
func promptDocument(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: document FILE DOCUMENT")
	}
	text := ts.ReadFile(args[0])
	for _, m := range changing {
		text = m.what.ReplaceAllString(text, m.with)
	}
	file := filepath.Join(ts.Getenv("PROMPTS"), args[1])
	if *update {
		ts.Check(os.WriteFile(file, []byte(text), 0o644)) //nolint:gosec // a document for everybody
		return
	}
	was, err := os.ReadFile(file)
	ts.Check(err)
	if string(was) != text {
		ts.Fatalf("docs/prompts/%s is not what models are asked now; write it anew with go test ./cmd/loom -run Stories/prompts -update, and look at the difference:\n%s",
			args[1], recording.Diff(string(was), text))
	}
}

// big writes a submission of exactly that many bytes:
//
//	big BYTES FILE
func big(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: big BYTES FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	const head, foot = `{"goal":"g","description":"`, `"}`
	text := head + strings.Repeat("x", n-len(head)-len(foot)) + foot
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o600))
}

// set keeps what a pattern's group matches in a file or the last output:
//
//	set NAME PATTERN stdout|stderr|FILE
func set(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: set NAME PATTERN FILE")
	}
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile(args[2]))
	if len(m) != 2 {
		ts.Fatalf("%s has no %s", args[2], args[1])
	}
	ts.Setenv(args[0], m[1])
}

// give ends a command of the stories.
func give(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

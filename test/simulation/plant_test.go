//go:build plant

package simulation

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	plant    = flag.String("plant", ".", "plant the bugs whose names match, one at a time, and print what kills them")
	plantNth = flag.Int("plantfrom", 1, "begin with that number of the list")
	plantOn  = flag.Uint64("plantseeds", 12000, "how many seeds a planted bug may survive")
	plantFor = flag.Duration("plantfor", 5*time.Minute, "how long they may take before a bug is taken for one that never ends")
)

// TestP21_PlantedBugs builds this package with one bug at a time and wants the
// simulation to fail; what it cannot see must be known as masked.
func TestP21_PlantedBugs(t *testing.T) {
	root, err := filepath.Abs(moduleRoot)
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := regexp.Compile(*plant)
	if err != nil {
		t.Fatal(err)
	}
	killed, masked := 0, 0
	for i, b := range bugs {
		if i+1 < *plantNth || !wanted.MatchString(b.name) {
			continue
		}
		mutated := b.planted(t)
		if mutated == "" {
			continue
		}
		began := time.Now()
		verdict := b.verdict(t, root, mutated)
		switch {
		case verdict != "":
			killed++
		case b.masked != "":
			masked++
			verdict = "masked: " + b.masked
		default:
			t.Errorf("%s: lives", b.name)
			verdict = "LIVES"
		}
		fmt.Printf("| %d | %s | %s | %s |\n", i+1, b.name, filepath.Dir(b.file), verdict)
		t.Logf("%s: %s", b.name, time.Since(began).Round(time.Second))
	}
	fmt.Printf("%d killed, %d masked\n", killed, masked)
	if killed+masked == 0 {
		t.Errorf("no planted bug is called %q", *plant)
	}
}

var (
	seedOf   = regexp.MustCompile(`seed (\d+): (?:invariant (\d+), )?step \d+(?:, event \d+)?: (.*)`)
	corpusOf = regexp.MustCompile(`(corpus/\S+\.json: invariant.*)`)
	neverOf  = regexp.MustCompile(`in \d+ seeds there was \d+ times: (.*);`)
)

// verdict is what the simulation says of a bug, or nothing.
func (b bug) verdict(t *testing.T, root, mutated string) string {
	t.Helper()
	dir := t.TempDir()
	overlay := b.overlay(t, root, dir, mutated)
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", filepath.Join(dir, "sim.test"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%s: it does not build: %s", b.name, out)
		return "does not build"
	}
	ctx, cancel := context.WithTimeout(t.Context(), *plantFor)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "sim.test"), "-test.run", "Simulation$|Corpus$", "-seeds", fmt.Sprint(*plantOn), "-shrink=false", "-failures", "1").CombinedOutput()
	switch {
	case err == nil:
		return ""
	case ctx.Err() != nil:
		return "a command never ends"
	case seedOf.Match(out):
		m := seedOf.FindStringSubmatch(string(out))
		what := "the core itself stops"
		if m[2] != "" {
			what = "invariant " + m[2]
		}
		return fmt.Sprintf("seed %s: %s: %s", m[1], what, brief(m[3]))
	case corpusOf.Match(out):
		return "corpus: " + brief(corpusOf.FindStringSubmatch(string(out))[1])
	case neverOf.Match(out):
		return "never seen: " + brief(neverOf.FindStringSubmatch(string(out))[1])
	}
	return brief(strings.ReplaceAll(string(out), "\n", " "))
}

// overlay puts a file with the bug in it into dir, and returns the file that has the
// compiler take it for the one of the module.
func (b bug) overlay(t *testing.T, root, dir, mutated string) string {
	t.Helper()
	data, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, b.file): filepath.Join(dir, "planted.go")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"planted.go": mutated, "overlay.json": string(data)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "overlay.json")
}

var saidOf = regexp.MustCompile(`(?m)^\s+(\S+_test\.go:\d+: .*)$`)

// TestP21_GuardsFallToTheirTests runs the test of each guard without its bug, where it
// must pass, and with it, where it must fail.
func TestP21_GuardsFallToTheirTests(t *testing.T) {
	root, err := filepath.Abs(moduleRoot)
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := regexp.Compile(*plant)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, g := range guards {
		if !wanted.MatchString(g.name) {
			continue
		}
		tried++
		run := func(options ...string) (string, error) {
			ctx, cancel := context.WithTimeout(t.Context(), *plantFor)
			defer cancel()
			c := exec.CommandContext(ctx, "go", append(append([]string{"test", "-vet=off", "-v", "-count=1", "-run", "^" + g.test + "$"}, options...), "./"+g.dir)...)
			c.Dir = root
			out, err := c.CombinedOutput()
			return string(out), err
		}
		if out, err := run(); err != nil || !strings.Contains(out, "--- PASS: "+g.test) {
			t.Errorf("%s: %s does not pass without it: %s", g.name, g.test, out)
			continue
		}
		out, err := run("-overlay", g.overlay(t, root, t.TempDir(), g.planted(t)))
		said := saidOf.FindStringSubmatch(out)
		if err == nil || said == nil || !strings.Contains(out, "--- FAIL: "+g.test) {
			t.Errorf("%s: %s does not see it: %s", g.name, g.test, out)
			continue
		}
		fmt.Printf("| %s | %s | %s | %s |\n", g.name, g.file, g.test, brief(said[1]))
	}
	if tried == 0 {
		t.Errorf("no guard is called %q", *plant)
	}
}

// brief is text that fits into a table.
func brief(s string) string {
	s = strings.ReplaceAll(s, "|", "/")
	if len(s) > 110 {
		s = s[:110] + "..."
	}
	return s
}

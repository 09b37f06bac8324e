package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/cli"
	"github.com/loomrun/loom/internal/cli/console"
)

// TestCLI01_EveryVerbIsRun looks for each verb of the command line among the
// commands of the stories: a new verb needs a story that runs it and looks at what
// it does.
func TestCLI01_EveryVerbIsRun(t *testing.T) {
	longtest.Skip(t)
	run := map[string]bool{}
	files, err := filepath.Glob("testdata/script/*.txt*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut(string(text), "\n-- ")
		for line := range strings.Lines(script) {
			if verb := verbOf(strings.Fields(line)); verb != "" {
				run[verb] = true
			}
		}
	}
	for _, verb := range console.Verbs(cli.Tree()) {
		if !run[verb.CommandPath()] {
			t.Errorf("no story runs %q", verb.CommandPath())
		}
	}
}

// verbOf is the verb that a line of a story runs, without its arguments.
func verbOf(words []string) string {
	at := slices.Index(words, "loom")
	if at < 0 || len(words) > 0 && strings.HasPrefix(words[0], "#") {
		return ""
	}
	cmd, _, err := cli.Tree().Find(words[at+1:])
	if err != nil {
		return ""
	}
	return cmd.CommandPath()
}

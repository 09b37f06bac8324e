package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/cli"
	"github.com/loomrun/loom/internal/cli/console"
)

// TestCLI01_EveryVerbIsRun looks for each verb of the command line among the
// commands of the stories that succeed: a new verb needs a story in which it does
// what it is for, and not one alone in which it is refused.
func TestCLI01_EveryVerbIsRun(t *testing.T) {
	run, tree := map[string]bool{}, cli.Tree()
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
			if verb := verbOf(tree, strings.Fields(line)); verb != "" {
				run[verb] = true
			}
		}
	}
	for _, verb := range console.Verbs(tree) {
		if !run[verb.CommandPath()] {
			t.Errorf("in no story %q does what it is for", verb.CommandPath())
		}
	}
}

// ended are the exit codes with which a verb has done what it is for: it waits for an
// answer (10), has gaps (11), or has found something (1).
var ended = []string{"0", "1", "10", "11"}

// verbOf is the verb that a line of a story runs, without its arguments: "" where the
// story expects it to be refused. What runs behind the story, like a host that it
// kills, may end as it likes.
func verbOf(tree *cobra.Command, words []string) string {
	if len(words) > 0 && words[0] == "protocol" { // a client that starts it itself
		words = []string{"loom", "mcp", "serve"}
	}
	at := slices.IndexFunc(words, func(w string) bool { return w == "loom" || w == "'loom" })
	if at < 0 || strings.HasPrefix(words[0], "#") {
		return ""
	}
	behind := strings.HasPrefix(words[len(words)-1], "&") && len(words) > at+2
	if !behind && (words[0] == "!" || words[0] == "exits" && !slices.Contains(ended, words[1])) {
		return ""
	}
	cmd, _, err := tree.Find(words[at+1:])
	if err != nil {
		return ""
	}
	return cmd.CommandPath()
}

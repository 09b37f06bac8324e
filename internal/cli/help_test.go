package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
)

// commands returns every command line that names a command, "" for none.
func commands(t *testing.T) []*cobra.Command {
	t.Helper()
	var all []*cobra.Command
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		all = append(all, c)
		for _, sub := range c.Commands() {
			if sub.Name() != "help" && !strings.HasPrefix(sub.Name(), "__") {
				walk(sub)
			}
		}
	}
	walk(Tree())
	if len(all) < 25 {
		t.Fatalf("%d commands, want them all", len(all))
	}
	return all
}

// loom runs a command line and returns what it wrote and how it ended.
func loom(args ...string) (stdout, stderr string, status fault.Exit) {
	var out, err bytes.Buffer
	status = Run(context.Background(), args, strings.NewReader(""), &out, &err)
	return out.String(), err.String(), status
}

// Help is as wide as a screen, at most 40 lines long, says what the command is
// for, and ends in an example that begins with the command itself.
func TestCLI01_HelpFitsAScreenAndEndsInAnExample(t *testing.T) {
	longtest.Skip(t)
	const tall = 40
	for _, c := range commands(t) {
		name := c.CommandPath()
		text, stderr, status := loom(append(strings.Fields(name)[1:], "--help")...)
		if status != fault.Done || stderr != "" {
			t.Errorf("%s --help: status %d, %q", name, status, stderr)
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) > tall {
			t.Errorf("%s --help has %d lines, want at most %d", name, len(lines), tall)
		}
		if !strings.HasPrefix(text, "usage: "+name) {
			t.Errorf("%s --help begins with %q", name, lines[0])
		}
		for _, l := range lines {
			if len([]rune(l)) > console.Screen {
				t.Errorf("%s --help: %d columns, want at most %d: %s", name, len([]rune(l)), console.Screen, l)
			}
			if l != strings.TrimRight(l, " ") || strings.Contains(l, "\t") {
				t.Errorf("%s --help: blanks at the end or tabs in %q", name, l)
			}
		}
		_, examples, ok := strings.Cut(text, "\nExample:\n\n")
		if !ok || !strings.Contains(examples, name) || !strings.HasPrefix(examples, "  ") {
			t.Errorf("%s --help does not end in an example of it:\n%s", name, text)
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") && c.HasParent() {
			t.Errorf("%s: short help is %q, want words without a full stop", name, c.Short)
		}
	}
}

// What a command takes stands before its flags in its usage, everywhere; and a flag that
// is in several commands takes the same in all.
func TestCLI01_TheGrammarIsOne(t *testing.T) {
	meanings := map[string]map[string]string{}
	for _, c := range commands(t) {
		if _, after, has := strings.Cut(c.UseLine(), "[flags]"); has && after != "" {
			t.Errorf("%s: %q stands behind the flags", c.CommandPath(), after)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			takes, _ := pflag.UnquoteUsage(f)
			if meanings[f.Name] == nil {
				meanings[f.Name] = map[string]string{}
			}
			meanings[f.Name][takes] = c.CommandPath()
		})
	}
	for _, name := range []string{"key", "idempotency-key", "since", "until", "tier"} {
		if len(meanings[name]) != 1 {
			t.Errorf("--%s takes %v, want one thing", name, meanings[name])
		}
	}
}

// A flag says what it takes, and no two flags of a command say it differently.
func TestCLI01_FlagsSayWhatTheyTake(t *testing.T) {
	longtest.Skip(t)
	for _, c := range commands(t) {
		text, _, _ := loom(append(strings.Fields(c.CommandPath())[1:], "--help")...)
		for _, word := range []string{" string", " strings", " stringArray", " stringToInt", " duration", "`"} {
			for l := range strings.Lines(text) {
				if strings.HasPrefix(l, "  --") && strings.Contains(strings.SplitN(strings.TrimSpace(l), "  ", 2)[0], word) {
					t.Errorf("%s: a flag takes a Go type: %s", c.CommandPath(), l)
				}
			}
		}
	}
}

// What help offers as an example is a command line that is understood: the
// command is there, and so are its flags.
func TestCLI01_ExamplesAreUnderstood(t *testing.T) {
	longtest.Skip(t)
	for _, c := range commands(t) {
		for l := range strings.Lines(c.Example) {
			_, rest, ok := strings.Cut(l, "loom ")
			if !ok {
				continue
			}
			rest = strings.NewReplacer(")", "", `"`, "").Replace(strings.SplitN(rest, " > ", 2)[0])
			root := Tree()
			found, args, err := root.Find(strings.Fields(rest))
			if err != nil || found.CommandPath() == "loom" {
				t.Errorf("%s: example %q is no command: %v", c.CommandPath(), l, err)
				continue
			}
			if err := found.ParseFlags(args); err != nil {
				t.Errorf("%s: example %q: %v", c.CommandPath(), l, err)
			}
		}
	}
}

// Every command that shows something has --json, and an error is JSON with it.
func TestCLI01_EveryErrorHasACodeAndJSON(t *testing.T) {
	longtest.Skip(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("LOOM_DATA", "")
	values := map[string]string{"BEAD": "shop-1", "[BEAD]": "shop-1", "EXECUTION|BEAD": "shop-1", "[EXECUTION|BEAD]": "shop-1", "APPROVAL": "shop-2", "[APPROVAL]": "shop-2", "GOAL...": "g", "FILE": "absent", "NAME[@HASH]": "fix", "[NAME|FILE]": "fix"}
	offline := []string{"demo", "doctor", "init", "up", "list", "check", "validate", "ceo", "version", "completion", "serve"}
	alone := []string{"config", "ceo", "tls", "doc"} // groups that ask no host
	for _, c := range commands(t) {
		if c.Parent() != nil && slices.Contains(alone, c.Parent().Name()) {
			continue
		}
		if c.HasSubCommands() || slices.Contains(offline, c.Name()) && c.Parent().Name() != "workflow" && c.Parent().Name() != "bead" && c.Parent().Name() != "execution" && c.Parent().Name() != "project" {
			continue
		}
		args := strings.Fields(c.CommandPath())[1:]
		for _, word := range strings.Fields(c.Use)[1:] {
			if v, ok := values[word]; ok {
				args = append(args, v)
			}
		}
		stdout, stderr, status := loom(append(args, "--json")...)
		if status == fault.Done || stdout != "" || !strings.HasPrefix(stderr, `{"error":{"code":"`) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v without a host: status %d, %q, %q; want one JSON value on standard error", args, status, stdout, stderr)
		}
	}
}

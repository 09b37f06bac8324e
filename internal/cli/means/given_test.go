package means

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/loomrun/loom/internal/cli/console"
)

// The command that goes on with work has all that was given for it, as a shell takes it,
// with whom agents may ask; what holds a secret is named and not shown.
func TestCLI01_WhatWasGivenIsSaidAgain(t *testing.T) {
	t.Setenv("BRAVE_API_KEY", "brave-secret-0123456789")
	c := &console.Console{Data: "/data of mine", Given: map[string][]string{
		"data": {""}, "model": {""}, "source": {"", "search", "web"}, "unsandboxed": {""}, "bead-usd": {""}, "agents": {"", "engineer"}, "check": {""},
		"push": {""}, "record": {""}, "workspace": {""}, "mcp": {""},
	}}
	f := pflag.NewFlagSet("run", pflag.ContinueOnError)
	m, p := New(c, false), Project{}
	m.Flags(f)
	p.Flags(f)
	f.StringP("workspace", "w", ".", "")
	if err := f.Parse([]string{
		"--model", "openai:gpt-5", "--source", "search=http://127.0.0.1:8888", "--source", "web=*.example.com", "--unsandboxed", "--bead-usd", "2.5",
		"--agents", "engineer=2", "--check", "test -e a.md", "--push", "https://me:word@git.example/x", "--record", "tape", "-w", "there",
		"--mcp", "brave-secret-0123456789",
	}); err != nil {
		t.Fatal(err)
	}
	args, left := m.Given(f, "shop")
	got := strings.Join(args, " ")
	for _, want := range []string{
		"--data '/data of mine'", "--model openai:gpt-5", "--source search=http://127.0.0.1:8888", "--source 'web=*.example.com'", "--unsandboxed",
		"--bead-usd 2.5", "--agents engineer=2", "--check 'shop=test -e a.md'",
	} {
		if !strings.Contains(got+" ", want+" ") {
			t.Errorf("%s: %s is not in it", got, want)
		}
	}
	for _, not := range []string{"word@", "brave-secret", "tape", "there"} {
		if strings.Contains(got, not) {
			t.Errorf("%s: %s is in it", got, not)
		}
	}
	if strings.Join(left, " ") != "--mcp --push" {
		t.Errorf("left out are %q", left)
	}
}

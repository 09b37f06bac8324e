package process

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/toolkit"
	"github.com/loomrun/loom/internal/cli/console"
)

// What is shown of a package's tools before they are trusted is all that a model
// gets, steers no terminal, and hides nothing.
func TestPROC07_WhatIsTrustedIsSeenWhole(t *testing.T) {
	long := strings.Repeat("a", 5000) + "END"
	tools := &packageTools{Process: "tender", State: "untrusted", Digest: "d", Files: []string{"a\x1b[2Jb", "c\nd"}, Tools: []toolkit.Tool{{
		Name: "it", Class: "read", Program: "c\nd", Description: "Does\r it.\nTwo \u009b31m\u200b\U000e0041.",
		Schema: json.RawMessage(`{"type":"object", "title":"` + long + "\u202e" + `"}`),
	}}}
	for name, show := range map[string]func(io.Writer, *packageTools){"in full": toolsInFull, "in short": toolsText} {
		var b bytes.Buffer
		show(&b, tools)
		if got := b.String(); !strings.Contains(got, `a\x1b[2Jb, c\nd`) || console.Printable(got) != got {
			t.Errorf("%s: %q", name, got)
		}
	}
	var b bytes.Buffer
	toolsInFull(&b, tools)
	for _, want := range []string{`from c\nd` + "\n", `  Does\r it.` + "\n", `  Two \u009b31m\u200b\U000e0041.` + "\n", long + `\u202e"}` + "\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it does not show %.60q: %.600q", want, b.String())
		}
	}
}

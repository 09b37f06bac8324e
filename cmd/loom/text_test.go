package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/agents/toolkit"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestCLI01_TextOfOthersIsPrintable(t *testing.T) {
	for _, tt := range []struct{ in, text, oneLine string }{
		{"plain", "plain", "plain"},
		{"two\nlines\tand a tab", "two\nlines\tand a tab", "two lines and a tab"},
		{"\x1b[31mred\x1b[0m", "[31mred[0m", "[31mred[0m"},
		{"over\rwritten\x08", "overwritten", "overwritten"},
		{"c1 \u009b31m", "c1 31m", "c1 31m"},
		{"evil \u202etxt.exe", "evil txt.exe", "evil txt.exe"},
		{"zero\u200bwidth", "zerowidth", "zerowidth"},
		{"grüße 世界", "grüße 世界", "grüße 世界"},
		{"12345678901234567890", "12345678901234567890", "12345678901234567890"},
		{"123456789012345678901", "123456789012345678901", "1234567890123456789…"},
	} {
		if got := printable(tt.in); got != tt.text {
			t.Errorf("printable(%q) = %q, want %q", tt.in, got, tt.text)
		}
		if got := line(tt.in, 20); got != tt.oneLine {
			t.Errorf("line(%q, 20) = %q, want %q", tt.in, got, tt.oneLine)
		}
	}
}

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
		if got := b.String(); !strings.Contains(got, `a\x1b[2Jb, c\nd`) || printable(got) != got {
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

// JSON output says the same as the message, and holds nothing that a terminal
// obeys.
func TestCLI01_JSONIsPrintableAndSaysTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		goal := strings.ToValidUTF8(string(rapid.SliceOf(rapid.Rune()).Draw(t, "goal")), "?")
		data := jsonOf(&loomv1.Bead{Goal: goal})
		for _, r := range string(data) {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Fatalf("jsonOf(%q) holds %U: %s", goal, r, data)
			}
		}
		var back struct{ Goal string }
		if err := json.Unmarshal(data, &back); err != nil || back.Goal != goal || !utf8.Valid(data) {
			t.Fatalf("jsonOf(%q) = %s, which says %q: %v", goal, data, back.Goal, err)
		}
	})
}

func TestCLI01_TablesAlignAndEndWithoutBlanks(t *testing.T) {
	var b bytes.Buffer
	table(&b, []string{"bead", "goal"}, [][]string{{"shop-1", "mend"}, {"shop-22", ""}, {"a\tb\x1b[2J", "c\nd"}})
	if want := "BEAD     GOAL\nshop-1   mend\nshop-22\na b[2J   c d\n"; b.String() != want {
		t.Errorf("table:\n%s\nwant:\n%s", b.String(), want)
	}
}

func TestCLI01_DigestsMayBeShort(t *testing.T) {
	const stands = "20382bb731739c468475e82653f73730ca6e62088bbf21be79c5dd670afd3ecb"
	for _, tt := range []struct{ typed, want string }{
		{"", stands},
		{stands, stands},
		{stands[:16], stands},
		{stands[:15], stands[:15]}, // too little to mean it
		{"0123456789abcdef", "0123456789abcdef"},
	} {
		if got := wholeDigest(tt.typed, stands); got != tt.want {
			t.Errorf("wholeDigest(%q) = %q, want %q", tt.typed, got, tt.want)
		}
	}
}

func TestCLI01_WhoFiledIt(t *testing.T) {
	for want, id := range map[string]*loomv1.Identity{
		"the CEO":                      {Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO, Name: "UAXGDV"},
		"a client without credentials": {Kind: loomv1.IdentityKind_IDENTITY_KIND_ANONYMOUS, Name: "anonymous"},
		"a publisher":                  {Kind: loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER},
		"billing":                      {Kind: loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER, Name: "billing"},
		"-":                            nil,
	} {
		if got := who(id); got != want {
			t.Errorf("who(%v) = %q, want %q", id, got, want)
		}
	}
}

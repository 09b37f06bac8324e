package execution

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A transcript is readable at 80 columns, steers no terminal, and shows the arguments
// of calls as their texts are.
func TestCLI01_ATranscriptFitsIntoEightyColumns(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	at := &timestamppb.Timestamp{Seconds: 1}
	var out bytes.Buffer
	w := &logWriter{a: New(&console.Console{Out: &out}), prompts: true}
	long := strings.Repeat("word ", 60) + strings.Repeat("x", 200)
	for _, e := range []*loomv1.TranscriptEntry{
		{Kind: loomv1.TranscriptKind_TRANSCRIPT_KIND_SAID, Text: "I look \x1b[31mhere. " + long},
		{Kind: loomv1.TranscriptKind_TRANSCRIPT_KIND_CALL, Tool: "shell", Text: `{"command":"go test ./...\necho \"done\"\n","timeout":30}`},
		{Kind: loomv1.TranscriptKind_TRANSCRIPT_KIND_RESULT, Tool: "shell", Status: loomv1.ToolStatus_TOOL_STATUS_OK, ExitCode: 7, Text: "FAIL\n" + long},
		{Kind: loomv1.TranscriptKind_TRANSCRIPT_KIND_OUTCOME, Outcome: "failure", Code: "verify/failed", Summary: long, Text: "notes"},
	} {
		e.Time, e.Node, e.Attempt, e.Agent = at, "verify", "shop-1-x1-a12", "qa-engineer/1@h-4k2mzq3v5n7ptx6a"
		if err := w.entry(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	text := out.String()
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
	for _, want := range []string{
		"verify a12  qa-engineer/1 says\n  I look [31mhere. word",
		"calls shell\n  command:\n    go test ./...\n    echo \"done\"\n  timeout: 30\n",
		"got of shell, exit 7\n  FAIL\n",
		"ended: failure [verify/failed]\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") || strings.Contains(text, "h-4k2mzq3v5n7ptx6a") {
		t.Errorf("what steers a terminal, or the host, is in\n%q", text)
	}
}

func TestCLI01_LinesOfAnOutput(t *testing.T) {
	data := []byte("one\ntwo\nthree\nfour")
	for _, tt := range []struct{ lines, pattern, want, code string }{
		{"", "", "one\ntwo\nthree\nfour", ""},
		{"2:3", "", "two\nthree\n", ""},
		{"3:", "", "three\nfour", ""},
		{":1", "", "one\n", ""},
		{"4", "", "four", ""},
		{"9:12", "", "", ""},
		{"", "^t", "2:two\n3:three\n", ""},
		{":2", "o$", "2:two\n", ""},
		{"3:2", "", "", "usage/argument"},
		{"0:2", "", "", "usage/argument"},
		{"a:b", "", "", "usage/argument"},
		{"", "(", "", "usage/argument"},
	} {
		cut, err := linesOf(tt.lines, tt.pattern)
		if fault.Code(err) != tt.code {
			t.Errorf("%q %q: %v, want %q", tt.lines, tt.pattern, err, tt.code)
			continue
		}
		if err == nil && string(cut(data)) != tt.want {
			t.Errorf("%q %q: %q, want %q", tt.lines, tt.pattern, cut(data), tt.want)
		}
	}
}

func TestCLI01_AnExecutionSaysWhatItsTeamUsed(t *testing.T) {
	var out bytes.Buffer
	treeText(&out, nil)
	treeText(&out, &loomv1.TreeUsage{Executions: 4, ModelCalls: 9, Usage: &loomv1.Usage{InputTokens: 5, OutputTokens: 2, CostMicroUsd: 1_500_000, CostKnown: true}})
	treeText(&out, &loomv1.TreeUsage{Executions: 2, Usage: &loomv1.Usage{}})
	want := "with the 3 that work for it: model calls 9, tokens 5 in and 2 out, cost 1.500000 USD\n" +
		"with the 1 that work for it: model calls 0, tokens 0 in and 0 out, cost unknown\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

package agent_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var write = flag.Bool("write", false, "write docs/wrong-turns.md anew")

// wrongTurn is something that models do wrong, and how it goes on.
type wrongTurn struct {
	name string
	// does is what the model answers; the last one's consequence is what it is told.
	does []*model.Response
	// lost is how many of these answers were for nothing.
	lost int
	// says must stand in what it is told.
	says string
}

// wrongTurns are of an engineer in a repository with a.txt ("one"), twice.txt, a
// picture and a deep file, whose required check wants new.txt.
func wrongTurns() []wrongTurn {
	args := func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	one := func(tool string, kv ...any) *model.Response { return says(call(tool, args(kv...))) }
	raw := func(tool, arguments string) *model.Response {
		return says(&loomv1.ToolCall{Tool: tool, Arguments: arguments})
	}
	text := func(s string) *model.Response { return &model.Response{Text: s, Stop: model.StopEnd} }
	cutOff := func(s string) *model.Response { return &model.Response{Text: s, Stop: model.StopLength} }
	same := one("file_search", "pattern", "**")
	return []wrongTurn{
		{"a tool that there is not", []*model.Response{one("read_file", "path", "a.txt")}, 1, "file_read"},
		{"a tool that the role does not have", []*model.Response{one("web_fetch", "url", "https://example.com/")}, 1, "web_fetch"},
		{"arguments that are no JSON", []*model.Response{raw("file_read", `{"path": "a.txt"`)}, 1, "JSON"},
		{"arguments of other names", []*model.Response{one("file_edit", "path", "a.txt", "old", "one", "new", "two")}, 1, "old"},
		{"an argument left out", []*model.Response{one("file_write", "path", "new.txt")}, 1, "content"},
		{"a word where a number belongs", []*model.Response{one("file_read", "path", "a.txt", "offset", "the end")}, 1, "offset"},
		{"a file that there is not", []*model.Response{one("file_read", "path", "pricing.go")}, 1, "pricing.go"},
		{"a directory read as a file", []*model.Response{one("file_read", "path", "shop")}, 1, "directory"},
		{"a picture read as text", []*model.Response{one("file_read", "path", "logo.bin")}, 1, "logo.bin"},
		{"a path outside the workspace", []*model.Response{one("file_write", "path", "../../etc/passwd", "content", "x")}, 1, "workspace"},
		{"text to replace that is not there", []*model.Response{one("file_edit", "path", "a.txt", "old_text", "uno", "new_text", "two")}, 1, "does not stand in the file"},
		{"text to replace that is there twice", []*model.Response{one("file_edit", "path", "twice.txt", "old_text", "x := 1", "new_text", "x := 2")}, 1, "2"},
		{"a pattern that is none", []*model.Response{one("content_search", "pattern", "func (")}, 0, "as it stands"},
		{"a command that fails", []*model.Response{one("shell", "command", "echo cannot find it >&2; exit 3")}, 0, "cannot find it"},
		{"a result of 300 KB", []*model.Response{one("shell", "command", "seq 1 55000")}, 0, "55000"},
		{"three equal calls", []*model.Response{same, same, same}, 2, "same calls 3 times"},
		{"an answer cut off", []*model.Response{cutOff("First I shall")}, 1, "was cut off"},
		{"an empty answer", []*model.Response{text(" ")}, 1, "empty"},
		{"text in place of a call", []*model.Response{text("I have mended it.")}, 1, "finish"},
		{"two answers of no use in a row", []*model.Response{text(" "), text("I have mended it.")}, 2, "the turn is stopped"},
		{"a call beside finish", []*model.Response{says(call("file_write", args("path", "b.txt", "content", "b\n")), finish("success").Calls[0])}, 1, "finish"},
		{"finish with a field of another type", []*model.Response{one("finish", "status", "success", "summary", "done", "fields", args("fault", 3))}, 1, "fault"},
		{"a tool that there is not, through use", []*model.Response{one("use", "tool", "git_commit", "arguments", args("message", "x"))}, 1, "git_log"},
		{"arguments of other names, through use", []*model.Response{one("use", "tool", "git_log", "arguments", args("max", 3))}, 1, `"properties"`},
		{"a tool through use without the arguments that it needs", []*model.Response{one("use", "tool", "memory_keep")}, 1, `"required":["type","text"]`},
		{"arguments for use that are no object", []*model.Response{raw("use", `{"tool":"git_log","arguments":["a.txt"]}`)}, 1, "NAME"},
		{"a direct call of a tool behind use", []*model.Response{one("file_search", "pattern", "*.txt")}, 0, "a.txt"},
		{"a call of use beside finish", []*model.Response{says(call("use", args("tool", "file_write", "arguments", args("path", "b.txt", "content", "b\n"))), finish("success").Calls[0])}, 1, "finish"},
		{"one call of three that is malformed", []*model.Response{says(call("file_read", args("path", "a.txt")), call("file_read", args("path", "twice.txt")), raw("file_write", `{"path": "new.txt", "content": "new`).Calls[0])}, 1, "2. file_read"},
		{"success where a required check fails", []*model.Response{finish("success")}, 1, "cat new.txt"},
	}
}

// checked is a model whose answers are looked at as those of a server are.
type checked struct{ model.Provider }

func (c checked) Ask(ctx context.Context, r *model.Request, f func(model.Chunk)) (*model.Response, error) {
	resp, err := c.Provider.Ask(ctx, r, f)
	if err != nil {
		return nil, err
	}
	out := *resp // the script's own is given again
	return model.Clean(r, &out)
}

// goesOn are the answers that do the work.
func goesOn() []*model.Response {
	return []*model.Response{says(call("file_write", map[string]any{"path": "new.txt", "content": "new\n"})), finish("success")}
}

// wrongTurnTold plays a turn that begins with what went wrong, and returns what
// the model was told next.
func wrongTurnTold(t *testing.T, w wrongTurn) string {
	t.Helper()
	answer := script(append(w.does, goesOn()...)...)
	var told strings.Builder
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		n := answers(r)
		if n == len(w.does) && told.Len() == 0 {
			last := len(r.Messages) - 1
			for r.Messages[last].Role != model.RoleAssistant {
				last--
			}
			for _, m := range r.Messages[last+1:] {
				fmt.Fprintln(&told, strings.TrimRight(m.Text, "\n"))
			}
		}
		return answer(r)
	}, git.File{Path: "twice.txt", Data: []byte("x := 1\ny := 2\nx := 1\n")}, git.File{Path: "logo.bin", Data: []byte("\x89PNG\r\n\x1a\n\x00\x00")},
		git.File{Path: "shop/pricing/price.go", Data: []byte("package pricing\n")})
	b.asks.Provider = checked{b.asks.Provider}
	br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Execution.Checks = []string{"cat new.txt"}
	out := b.must(br)
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || out.Change == nil {
		t.Errorf("the turn ends with %v", out)
	}
	if given := recordedAnswers(b.seat.turn); given != len(w.does)+len(goesOn()) {
		t.Errorf("the turn took %d answers, want %d", given, len(w.does)+len(goesOn()))
	}
	return told.String()
}

func recordedAnswers(t *loomv1.Turn) (n int) {
	for _, s := range t.GetSteps() {
		if s.GetAnswer() != nil {
			n++
		}
	}
	return n
}

const wrongTurnsFile = "../../../docs/wrong-turns.md"

// TestAGENT02_WrongTurns has a model go wrong in the ways that models do: each is
// told, and the work goes on with the next answer. What they are told is kept in a
// document, so that a change of it is seen.
func TestAGENT02_WrongTurns(t *testing.T) {
	longtest.Skip(t)
	doc := strings.Builder{}
	doc.WriteString("# Wrong turns\n\nWhat a model is told that goes wrong, word for word, and how many of its answers were for nothing when the work\n" +
		"went on. A script goes wrong here in the place of a model; tools, limits and texts are the real ones. Long lines are\n" +
		"folded. Made by `go test ./internal/agents/agent -run WrongTurns -write`, and held by the same test.\n\n| wrong turn | answers lost |\n|---|---|\n")
	body := strings.Builder{}
	for i, w := range wrongTurns() {
		t.Run("AGENT02 "+w.name, func(t *testing.T) {
			told := wrongTurnTold(t, w)
			if !strings.Contains(told, w.says) {
				t.Errorf("it is told\n%s\nwithout %q", shorter(told), w.says)
			}
			fmt.Fprintf(&doc, "| %d. %s | %d |\n", i+1, w.name, w.lost)
			fmt.Fprintf(&body, "\n## %d. %s\n\n```text\n%s```\n", i+1, strings.ToUpper(w.name[:1])+w.name[1:], shorter(told))
		})
	}
	doc.WriteString(body.String())
	text := folded(doc.String())
	if *write {
		if err := os.WriteFile(wrongTurnsFile, []byte(text), 0o644); err != nil { //nolint:gosec // a document for everybody
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(wrongTurnsFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != text {
		t.Errorf("%s is not what models are told now: go test ./internal/agents/agent -run WrongTurns -write, and look at the difference", wrongTurnsFile)
	}
}

// folded breaks the lines of a document where they are too long to be read.
func folded(s string) string {
	const most = 118
	var out strings.Builder
	for line := range strings.Lines(s) {
		for len(line) > most {
			at, rest := strings.LastIndex(line[:most], " "), ""
			if at > 1 {
				rest = line[at+1:]
			} else { // one long word, perhaps behind its indent
				for at = most; !utf8.RuneStart(line[at]); {
					at--
				}
				rest = line[at:]
			}
			fmt.Fprintln(&out, line[:at])
			line = "  " + rest
		}
		out.WriteString(line)
	}
	return out.String()
}

// shorter leaves out the middle of a long text.
func shorter(s string) string {
	const most = 700
	if len(s) <= most {
		return s
	}
	head, tail := s[:most/2], s[len(s)-most/2:]
	return fmt.Sprintf("%s\n[%d bytes are left out here]\n%s", head[:strings.LastIndex(head, "\n")], len(s)-most, tail[strings.Index(tail, "\n")+1:])
}

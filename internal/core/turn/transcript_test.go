package turn_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// told is a transcript, one message a line.
func told(s *loomv1.Turn, l turn.Limits) string {
	var b strings.Builder
	for _, m := range turn.Transcript(s, node, l) {
		fmt.Fprintf(&b, "%s:", m.Role)
		if m.Blob != nil {
			var text []byte
			fmt.Sscanf(strings.TrimLeft(m.Blob.Sha256, "0"), "%x", &text)
			fmt.Fprintf(&b, " <%s>", text)
		}
		if m.Text != "" {
			fmt.Fprintf(&b, " %s", m.Text)
		}
		for _, c := range m.Calls {
			fmt.Fprintf(&b, " [%s %s]", c.Id, c.Tool)
		}
		if m.Call != "" {
			fmt.Fprintf(&b, " (%s, failed %t)", m.Call, m.Failed)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestAGENT01_Transcript(t *testing.T) {
	c1, c2 := call("c1", "file_read", `{}`), call("c2", "shell", `{}`)
	asked := recs(answer("r1", c1, c2), intent(c1, reading), finish("c1", result(okay, "one")))
	for _, tt := range []struct {
		name string
		recs []*loomv1.Event
		want string
	}{
		{"begun", nil, "user: <prompt>\n"},
		{"calls that go on", asked, "user: <prompt>\nassistant: <text of r1> [c1 file_read] [c2 shell]\n"},
		{
			"calls that have ended", append(asked, intent(c2, running), finish("c2", result(failed, "two"))),
			"user: <prompt>\nassistant: <text of r1> [c1 file_read] [c2 shell]\ntool: <one> (c1, failed false)\ntool: <two> (c2, failed true)\n",
		},
		{
			"no output", append(asked, intent(c2, running), finish("c2", &loomv1.ToolResult{Status: okay, Summary: "nothing to say", Output: blob("")})),
			"user: <prompt>\nassistant: <text of r1> [c1 file_read] [c2 shell]\ntool: <one> (c1, failed false)\ntool: nothing to say (c2, failed false)\n",
		},
		{"a useless answer", recs(problem("r1", "mend it")), "user: <prompt>\nassistant: (an answer that could not be used)\nuser: mend it\n"},
		{
			"a useless answer with calls", recs(answer("r1", c1, call("c3", "shell", "half"))),
			"user: <prompt>\nassistant: <text of r1>\nuser: the arguments of your call of \"shell\" are not one JSON object; no call of that answer was run\n" +
				"These were its calls, none of which was run; what is long is shortened in the middle:\n<data>\n1. file_read {}\n2. shell half\n</data>\n",
		},
		{
			"a bad outcome", recs(answer("r1", call("f", "finish", `{"status":"failure"}`))),
			"user: <prompt>\nassistant: <text of r1> [f finish]\ntool: your call of finish was not taken; mend this and call it again:\n- summary: it is missing or empty (f, failed true)\n",
		},
		{
			"finish beside a failure", recs(answer("r1", call("f", "finish", success), c2), intent(c2, running), finish("c2", result(failed, "two"))),
			"user: <prompt>\nassistant: <text of r1> [f finish] [c2 shell]\ntool: finish was not taken, because a call beside it did not succeed; look at its result, then call finish alone (f, failed true)\ntool: <two> (c2, failed true)\n",
		},
		{"the runtime's own", recs(own(c1, running), finish("c1", result(okay, "one"))), "user: <prompt>\nuser: <one>\n"},
		{"the runtime's own, going on", recs(own(c1, running)), "user: <prompt>\n"},
	} {
		if got := told(begun(t, tt.recs...), turn.Limits{}); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
	if got := turn.Transcript(nil, node, turn.Limits{}); got != nil {
		t.Errorf("of no turn: %v", got)
	}
}

// TestREAL06_CallsThatWereNotRunAreToldInBounds tells all of them, the beginning and
// the end of what is long, and nothing that could pass for the end of the data.
func TestREAL06_CallsThatWereNotRunAreToldInBounds(t *testing.T) {
	if got := turn.Uncalled(nil); got != "" {
		t.Errorf("no calls are told as %q", got)
	}
	var calls []*loomv1.ToolCall
	for i := range turn.MaxCalls {
		calls = append(calls, call(fmt.Sprint("c", i), "file_write", `{"path":"é`+strings.Repeat("é", 40_000)+`the end</data>`))
	}
	got := turn.Uncalled(calls)
	if len(got) > 8<<10 || !utf8.ValidString(got) || strings.Count(got, "</data>") != 1 || strings.Count(got, "the end") != len(calls) {
		t.Errorf("%d bytes are told of %d calls:\n%s", len(got), len(calls), got)
	}
	if last := fmt.Sprintf("%d. file_write {\"path\":", len(calls)); !strings.Contains(got, last) {
		t.Errorf("it has no %q:\n%s", last, got)
	}
}

// TestREAL06_TheLastUselessAnswerIsAnnounced tells, before a turn is given up for
// useless answers, that the next one ends it.
func TestREAL06_TheLastUselessAnswerIsAnnounced(t *testing.T) {
	const warning = "one more such answer, and the turn is stopped"
	s := begun(t, problem("r1", "mend it"))
	if text := told(s, turn.Limits{}); strings.Contains(text, warning) {
		t.Errorf("after one useless answer:\n%s", text)
	}
	s = begun(t, problem("r1", "mend it"), problem("r2", "mend it"))
	if text := told(s, turn.Limits{}); !strings.Contains(text, "Nothing came of your last 2 answers; "+warning) {
		t.Errorf("after two useless answers:\n%s", text)
	}
}

func TestF18_NudgeIsTold(t *testing.T) {
	for letters, want := range map[string]string{
		"aa": "", "aaa": "You have made the same calls 3 times", "aaaa": "You have made the same calls 4 times",
		"abab": "You go back and forth", "aba": "",
	} {
		s := trace(t, letters)
		list := turn.Transcript(s, node, turn.Limits{})
		last := list[len(list)-1]
		if want == "" && last.Role != turn.Result || !strings.HasPrefix(last.Text, want) {
			t.Errorf("%s: the last message is %+v, want %q", letters, last, want)
		}
		if ask, ok := turn.Next(s, node, turn.Limits{}).(turn.AskModel); !ok || want != "" && ask.Nudge != last.Text {
			t.Errorf("%s: the step says %v, the transcript %q", letters, ask, last.Text)
		}
	}
}

func TestAGENT01_LastAnswerIsAnnounced(t *testing.T) {
	for n, want := range map[int]bool{1: false, 2: true} {
		got := told(trace(t, "abc"[:n]), turn.Limits{Iterations: 3})
		if strings.HasSuffix(got, "Your next answer is the last of this turn: call finish with what you have.\n") != want {
			t.Errorf("after %d of 3 answers, announced should be %t:\n%s", n, want, got)
		}
	}
}

func TestAGENT01_OpaqueGoesBack(t *testing.T) {
	a := answer("r1", call("c1", "x", `{}`))
	a.GetModelAnswered().GetAnswer().Opaque = blob("signed")
	s := begun(t, a)
	m := turn.Transcript(s, node, turn.Limits{})[1]
	if m.Opaque.GetSha256() != blob("signed").Sha256 || m.Model != "scripted:test" {
		t.Errorf("the message is %+v", m)
	}
}

package turn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// sized is a reference to n bytes that nobody has.
func sized(name string, n int) *loomv1.BlobRef {
	ref := blob(name)
	ref.Size = uint64(n)
	return ref
}

// TestAGENT03_NothingIsSentOverTheWindow draws turns with answers and results of
// any size, and models that count as they like. What is asked always fits, also
// by the model's own count; a compaction is followed by a question, and never
// by another one; a host that takes over sends the same.
func TestAGENT03_NothingIsSentOverTheWindow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limits := turn.Limits{Iterations: 200, Window: turn.Window{Tokens: rapid.IntRange(2000, 40_000).Draw(rt, "window"), Reserved: 1000}}
		s := &loomv1.Turn{}
		record(t, s, turn.StartedFact(&loomv1.TurnStarted{Model: "m", Prompt: sized("prompt", rapid.IntRange(0, 3000).Draw(rt, "prompt"))}))
		limits.Result = rapid.SampledFrom([]int{0, 600, 30_000}).Draw(rt, "result")
		factor := rapid.Uint64Range(0, 5).Draw(rt, "the model counts")
		for i := range rapid.IntRange(1, 30).Draw(rt, "answers") {
			step := turn.Next(s, node, limits)
			c, isCompact := step.(turn.Compact)
			if isCompact {
				text := turn.Summarise(s, c, make([]string, s.Iterations))
				if len(text) > c.Bytes || !utf8.ValidString(text) {
					rt.Fatalf("a summary of %d bytes where %d are left", len(text), c.Bytes)
				}
				record(t, s, turn.CompactedFact(&loomv1.Compaction{
					Answers: c.Answers, Clip: c.Clip, Summary: sized("summary", c.Bytes), Steps: uint32(len(s.Steps)),
				}))
				step = turn.Next(s, node, limits) // not another one
			}
			if stop, ok := step.(turn.Stop); ok && stop.Code == "turn/context" {
				return // the prompt alone is too long by the model's count
			}
			if _, ok := step.(turn.AskModel); !ok {
				rt.Fatalf("step %s", show(step))
			}
			size := turn.Tokens(turn.Size(turn.Transcript(s, node, limits)))
			if size > limits.Window.Tokens-limits.Window.Reserved {
				rt.Fatalf("%d tokens are sent, of %d", size, limits.Window.Tokens-limits.Window.Reserved)
			}
			newestFirst(rt, s, limits)
			if again := turn.Transcript(proto.CloneOf(s), node, limits); fmt.Sprint(again) != fmt.Sprint(turn.Transcript(s, node, limits)) {
				rt.Fatalf("who takes over sends something else")
			}
			counted := uint64(size + limits.Window.Reserved)
			list := &loomv1.TodoList{}
			for range rapid.SampledFrom([]int{0, 0, 3, turn.MaxTodo}).Draw(rt, "items") {
				list.Items = append(list.Items, &loomv1.TodoItem{Text: rapid.SampledFrom([]string{"</data>", strings.Repeat("é", turn.MaxItem/2)}).Draw(rt, "item")})
			}
			a := answer(fmt.Sprintf("r%d", i), call(fmt.Sprintf("c%d", i), "read", fmt.Sprintf(`{"n":%d}`, i)), call(fmt.Sprintf("d%d", i), "read", fmt.Sprintf(`{"n":%d}`, i)))
			a.GetModelAnswered().GetAnswer().Text = sized(fmt.Sprintf("t%d", i), rapid.IntRange(0, 4000).Draw(rt, "text"))
			a.GetModelAnswered().GetAnswer().Counted, a.GetModelAnswered().GetAnswer().Usage = counted, &loomv1.Usage{InputTokens: counted * factor}
			record(t, s, a)
			for _, c := range a.GetModelAnswered().GetAnswer().Calls {
				record(t, s, intent(c, reading), finish(c.Id, &loomv1.ToolResult{Status: okay, Output: sized("o"+c.Id, rapid.SampledFrom([]int{0, 10, 5000, 300_000}).Draw(rt, "output")), Todo: list}))
			}
		}
	})
}

// newestFirst fails where a result of the last answer is cut below what results
// may have, while one of an answer before is shown.
func newestFirst(rt *rapid.T, s *loomv1.Turn, l turn.Limits) {
	var last []*loomv1.ToolCall
	for _, step := range s.Steps {
		if a := step.GetAnswer(); a != nil {
			last = a.Calls
		}
	}
	cut, older := false, false
	for _, m := range turn.Transcript(s, node, l) {
		if m.Role != turn.Result || m.Blob == nil {
			continue
		}
		if !slices.ContainsFunc(last, func(c *loomv1.ToolCall) bool { return c.Id == m.Call }) {
			older = true
		} else if m.Clip > 0 && m.Clip < m.Blob.Size && (l.Result == 0 || m.Clip < uint64(l.Result)) {
			cut = true
		}
	}
	if cut && older {
		rt.Fatalf("the newest results are cut, and older ones are shown: %v", turn.Transcript(s, node, l))
	}
}

// What was just asked for is there, as far as it fits with all before it
// summarised: two files of 12 kB in a window of which half was free.
func TestREAL05_TheNewestResultsStay(t *testing.T) {
	s, _ := long(t, 8)
	record(t, s, answer("new", call("n1", "file_read", "{}"), call("n2", "file_read", "{}")))
	for _, id := range []string{"n1", "n2"} {
		record(t, s, intent(call(id, "file_read", "{}"), reading), finish(id, &loomv1.ToolResult{Status: okay, Output: sized(id, 12_000)}))
	}
	limits := turn.Limits{Result: 30_000, Window: turn.Window{Tokens: 14_000, Reserved: 3000}}
	c, ok := turn.Next(s, node, limits).(turn.Compact)
	if !ok || c.Answers != 8 || c.Clip != 0 {
		t.Fatalf("next is %+v, want a compaction of all answers but the last, and nothing cut", turn.Next(s, node, limits))
	}
}

// long is a turn of many answers, told in words.
func long(t testing.TB, n int) (*loomv1.Turn, []string) {
	s := begun(t)
	var said []string
	for i := range n {
		for _, r := range round(fmt.Sprintf("r%d", i), okay, [3]string{"file_read", fmt.Sprintf(`{"path":"%d.go"}`, i), "read"}) {
			if f := r.GetToolFinished(); f != nil {
				f.Result.Output = sized(f.Call, 3000)
			}
			record(t, s, r)
		}
		said = append(said, fmt.Sprintf("thought %d: </data> it follows", i+1))
	}
	return s, said
}

// The chain of reasoning stays, in order, and what a person said stays whole.
func TestAGENT03_TheSummaryKeepsTheReasoning(t *testing.T) {
	s, said := long(t, 6)
	record(t, s, hear("m1", "leave the API alone"))
	text := turn.Summarise(s, turn.Compact{Answers: 6, Bytes: 4000}, said)
	at := 0
	for i := range said {
		next := strings.Index(text, fmt.Sprintf("thought %d", i+1))
		if next < at {
			t.Fatalf("thought %d is missing or out of order:\n%s", i+1, text)
		}
		at = next
	}
	for _, want := range []string{`file_read {"path":"3.go"}: done`, "The operator, who watches over this work, says:\nleave the API alone"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
	if strings.Count(text, "</data>") != 1 {
		t.Errorf("what a model said ends the data early:\n%s", text)
	}
	if small := turn.Summarise(s, turn.Compact{Answers: 6, Bytes: 600}, said); len(small) > 600 {
		t.Errorf("%d bytes, 600 are left", len(small))
	}
}

// The prompt, with the role's task and its rules, is never summarised.
func TestAGENT03_ACompactedTurnBeginsWithItsPrompt(t *testing.T) {
	s, _ := long(t, 8)
	limits := turn.Limits{Window: turn.Window{Tokens: 4000}}
	c, ok := turn.Next(s, node, limits).(turn.Compact)
	if !ok || c.Answers == 0 || c.Answers >= 8 {
		t.Fatalf("next is %+v, want a compaction of some answers", turn.Next(s, node, limits))
	}
	compacted := turn.CompactedFact(&loomv1.Compaction{Answers: c.Answers, Clip: c.Clip, Summary: blob("so far"), Steps: uint32(len(s.Steps))})
	record(t, s, compacted)
	list := turn.Transcript(s, node, limits)
	if list[0].Blob.Sha256 != blob("prompt").Sha256 || list[1].Blob.Sha256 != blob("so far").Sha256 {
		t.Errorf("it begins with %v", list[:2])
	}
	if last := list[len(list)-1]; last.Role != turn.Result || last.Call != "r7-0" {
		t.Errorf("it ends with %v, want the newest result", last)
	}
	if n := record(t, s, compacted); n != 0 {
		t.Errorf("the same again gives %d facts", n)
	}
	for name, bad := range map[string]*loomv1.Compaction{
		"fewer answers than before":     {Answers: c.Answers - 1, Summary: blob("x"), Steps: uint32(len(s.Steps))},
		"more answers than there are":   {Answers: 9, Summary: blob("x"), Steps: uint32(len(s.Steps))},
		"no summary":                    {Answers: c.Answers, Steps: uint32(len(s.Steps))},
		"of a turn that has gone on":    {Answers: c.Answers, Summary: blob("x"), Steps: 1},
		"while a call is still awaited": {Answers: c.Answers, Summary: blob("x"), Steps: uint32(len(s.Steps)) + 1},
	} {
		u := proto.CloneOf(s)
		if strings.HasPrefix(name, "while") {
			record(t, u, answer("more", call("m-0", "read", "{}")))
		}
		if _, err := turn.Decide(u, []*loomv1.Event{turn.CompactedFact(bad)}); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
}

func TestAGENT03_APromptThatDoesNotFit(t *testing.T) {
	s := begun(t)
	s.Prompt = sized("prompt", 30_000)
	if stop, ok := turn.Next(s, node, turn.Limits{Window: turn.Window{Tokens: 9000, Reserved: 1000}}).(turn.Stop); !ok || stop.Code != "turn/context" {
		t.Errorf("next is %s, want turn/context", show(turn.Next(s, node, turn.Limits{Window: turn.Window{Tokens: 9000, Reserved: 1000}})))
	}
}

func TestAGENT03_Clip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text, n := rapid.String().Draw(rt, "text"), rapid.Uint64Range(0, 200).Draw(rt, "n")
		got := turn.Clip(text, n)
		if !utf8.ValidString(got) && utf8.ValidString(text) {
			rt.Errorf("Clip(%q, %d) = %q", text, n, got)
		}
		if n == 0 || uint64(len(text)) <= n {
			if got != text {
				rt.Errorf("Clip(%q, %d) = %q", text, n, got)
			}
		} else if uint64(len(got)) > n+60 {
			rt.Errorf("Clip(%q, %d) has %d bytes", text, n, len(got))
		}
	})
}

// TestREAL05_NoLineIsCutInTwo has a list of numbers of which the middle is left out:
// half of a number would be read as another.
func TestREAL05_NoLineIsCutInTwo(t *testing.T) {
	var all strings.Builder
	for n := range 2000 {
		fmt.Fprintf(&all, "%d\n", 100000+n)
	}
	for n := uint64(1000); n < 1020; n++ {
		for line := range strings.Lines(turn.Clip(all.String(), n)) {
			if line = strings.TrimSpace(line); len(line) != 6 && !strings.HasPrefix(line, "[") {
				t.Fatalf("cut to %d bytes it has the line %q", n, line)
			}
		}
	}
}

func TestREAL05_ClipResultSaysHowToGetTheRest(t *testing.T) {
	text := strings.Repeat("é", 300_000)
	got := turn.ClipResult(text, 1001, "c112-32")
	want := strings.Repeat("é", 250) + "\n[599000 of 600000 bytes are left out here; output_read with call \"c112-32\" reads or searches all of them]\n" + strings.Repeat("é", 250)
	if got != want {
		t.Errorf("%.600s...", got)
	}
	if turn.ClipResult("short", 1000, "c1") != "short" {
		t.Error("what fits is cut")
	}
}

func hear(id, text string) *loomv1.Event {
	return turn.HeardFact(&loomv1.Said{Id: id, Text: text, From: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "ann"}})
}

func TestHUM_AMessageIsHeardBetweenCalls(t *testing.T) {
	s := begun(t, answer("a", call("c1", "read", "{}")))
	if _, err := turn.Decide(s, []*loomv1.Event{hear("m1", "stop that")}); err == nil {
		t.Error("a message was heard while a call was awaited")
	}
	record(t, s, intent(call("c1", "read", "{}"), reading), finish("c1", result(okay, "out")), hear("m1", "stop that"))
	list := turn.Transcript(s, node, turn.Limits{})
	if last := list[len(list)-1]; last.Role != turn.User || !strings.HasSuffix(last.Text, "stop that") {
		t.Errorf("the model reads %v last", last)
	}
	if n := record(t, s, hear("m1", "stop that")); n != 0 {
		t.Errorf("heard twice: %d facts", n)
	}
	if _, err := turn.Decide(s, []*loomv1.Event{hear("m1", "something else")}); err == nil {
		t.Error("a message changed after it was heard")
	}
}

package agent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// stepBrief describes an attempt at a step of a session of clarity-pass.
func stepBrief(t *testing.T, role, node string, step *loomv1.StepBrief) *loomv1.Brief {
	t.Helper()
	e, err := processes.FindPattern(processes.Patterns([]processes.Layer{processes.BuiltinLayer()}, roles.Builtin()), "clarity-pass")
	if err != nil {
		t.Fatal(err)
	}
	answer := &loomv1.IntentAnswer{Number: 1, About: intent.Success, Text: "It is read once."}
	step.Session, step.Envelope = "s1", &loomv1.IntentEnvelope{
		Id: "s1/1", Answers: []*loomv1.IntentAnswer{answer}, Success: []*loomv1.Quotation{{Answer: 1, Text: answer.Text}},
	}
	def, err := processes.SessionWorkflow(e.Pattern, len(step.Envelope.Success), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	br := brief(role, loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Definition, br.Attempt.Node, br.Execution.Nodes, br.Step = def, node, map[string]*loomv1.NodeState{node: {}}, step
	br.Bead.Goal, br.Bead.Description = "clarity-pass: Make it clear", intent.Text(step.Envelope)
	for _, n := range def.Nodes {
		if n.Id == node {
			br.Node = n
		}
	}
	return br
}

func step(number uint32, deliverables ...string) *loomv1.StepBrief {
	var writes []loomv1.SessionLayer
	if len(deliverables) > 0 {
		writes = append(writes, intent.LayerFiles)
	}
	return &loomv1.StepBrief{Deliverables: deliverables, Writes: writes, Run: &loomv1.StepStarted{
		Step: number, Run: number, Limits: &loomv1.TempoLimits{Tempo: loomv1.Tempo_TEMPO_ALLEGRO, AnswerBytes: 2048, Iterations: 12}, Deadline: timestamppb.Now(),
	}}
}

func (b *bench) put(text string) *loomv1.BlobRef {
	b.t.Helper()
	ref, err := b.worker.Blobs.Put(b.t.Context(), []byte(text), "text/plain; charset=utf-8")
	if err != nil {
		b.t.Fatal(err)
	}
	return ref
}

// Whoever ends a step without what it has to leave is told within the turn, also of a file
// that a later step takes up, and mends it.
func TestPAT03_AStepWithoutItsFileIsMendedInItsTurn(t *testing.T) {
	done := call(turn.FinishName, map[string]any{"status": "success", "summary": "done"})
	var told []string
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		if told = append(told, r.Messages[len(r.Messages)-1].Text); len(told) == 1 {
			return says(done), nil
		}
		return says(call("file_write", map[string]any{"path": "clear.md", "content": "Clear.\n"}), done), nil
	})
	out := b.must(stepBrief(t, "analyst", "rewrite", step(2, "clear.md")))
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || len(told) != 2 || len(out.Left) != 1 || out.Left[0].Name != "clear.md" {
		t.Fatalf("after %d answers: %v", len(told), out)
	}
	if !strings.Contains(told[1], "clear.md: the file is not there") || !strings.Contains(told[1], "call finish again") {
		t.Errorf("it is told\n%s", told[1])
	}
}

// A file that the repository had before is not taken for the work of a step; what the step
// has left itself before is, if it says so again.
func TestPAT03_AnOldFileIsNotTheWorkOfAStep(t *testing.T) {
	longtest.Skip(t)
	old := git.File{Path: "clear.md", Data: []byte("Of another session.\n")}
	done := call(turn.FinishName, map[string]any{"status": "success", "summary": "done"})
	write := call("file_write", map[string]any{"path": "clear.md", "content": "Clear.\n"})
	own := func(b *bench, step uint32) []*loomv1.StepOutput {
		return []*loomv1.StepOutput{{Name: "clear.md", Step: step, Content: b.put("Of another session.\n")}}
	}
	for _, tt := range []struct {
		name    string
		second  *model.Response
		earlier uint32
		told    string
		answers int
		left    string
	}{
		{"it is written", says(write, done), 0, "as the repository had it before this session", 2, "Clear.\n"},
		{"it is never written", says(done), 0, "as the repository had it before this session", 0, ""},
		{"it is done again and as it was", says(done), 2, "as this step has left it before", 2, "Of another session.\n"},
		{"a step before has left it", nil, 1, "", 1, "Of another session.\n"},
	} {
		answers := 0
		b := newBench(t, func(*model.Request) (*model.Response, error) {
			if answers++; answers >= 2 {
				return tt.second, nil
			}
			return says(done), nil
		}, old)
		of := step(2, "clear.md")
		if tt.earlier > 0 {
			of.Earlier = own(b, tt.earlier)
		}
		out := b.must(stepBrief(t, "analyst", "rewrite", of))
		if passed := out.Status == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS; passed != (tt.left != "") || tt.answers > 0 && answers != tt.answers {
			t.Fatalf("%s: after %d answers: %v", tt.name, answers, out)
		}
		if tt.left != "" && (len(out.Left) != 1 || b.text(out.Left[0].Content) != tt.left) {
			t.Errorf("%s: it has left %v", tt.name, out.Left)
		}
		if !strings.Contains(b.lastTold(), tt.told) {
			t.Errorf("%s: it is told\n%s", tt.name, b.lastTold())
		}
	}
}

// A step that is done again in another bead has what the session's steps have left, its own
// file too, and not what lies there under the name of another step's.
func TestPAT03_AStepHasTheFilesOfItsSession(t *testing.T) {
	read := func(path string) *model.Response { return says(call("file_read", map[string]any{"path": path})) }
	b := newBench(t, script(read("sessions/s1/clear.md"), read("sessions/s1/claims.md"), says(call(turn.FinishName, map[string]any{"status": "failure", "summary": "seen"}))),
		git.File{Path: "sessions/s1/claims.md", Data: []byte("Of a session long ago.\n")})
	of := step(2, "sessions/s1/clear.md")
	of.Earlier = []*loomv1.StepOutput{
		{Name: "sessions/s1/clear.md", Step: 2, Content: b.put("Clear already.\n")}, {Name: "sessions/s1/claims.md", Step: 1, Content: b.put("Nine claims.\n")},
	}
	b.must(stepBrief(t, "analyst", "rewrite", of))
	var got []string
	for _, s := range b.seat.turn.Steps {
		if c := s.GetTool(); c.GetCall().GetTool() == "file_read" {
			got = append(got, b.text(c.Result.Output))
		}
	}
	if all := strings.Join(got, ""); !strings.Contains(all, "Clear already.") || !strings.Contains(all, "Nine claims.") || strings.Contains(all, "long ago") {
		t.Errorf("it reads %q", got)
	}
}

// What somebody has changed by hand on the target branch is told to a step that is done again
// in another bead, which begins with the session's own file; once it works, that stays.
func TestPAT03_WhatSomebodyChangedByHandIsTold(t *testing.T) {
	const name = "sessions/s1/clear.md"
	for _, again := range []bool{false, true} {
		b := newBench(t, script(says(call("file_read", map[string]any{"path": name})), says(call(turn.FinishName, map[string]any{"status": "failure", "summary": "seen"}))),
			git.File{Path: name, Data: []byte("Mended by Ida.\n")})
		of := step(2, name)
		of.Earlier = []*loomv1.StepOutput{{Name: name, Step: 2, Content: b.put("Clear already.\n")}}
		br := stepBrief(t, "analyst", "rewrite", of)
		if again {
			br.Attempt.Number = 2
		}
		b.must(br)
		read, prompt := "", b.text(b.seat.turn.Prompt)
		for _, s := range b.seat.turn.Steps {
			if c := s.GetTool(); c.GetCall().GetTool() == "file_read" {
				read = b.text(c.Result.Output)
			}
		}
		if told := strings.Contains(prompt, "The target branch has another "+name) && strings.Contains(prompt, "Mended by Ida."); told == again || strings.Contains(read, "Clear already.") == again {
			t.Errorf("attempt again %t: it reads %q and is told\n%s", again, read, prompt)
		}
	}
}

// A criterion is met by words that stand in a file of the steps, and by no others.
func TestPAT06_EvidenceStandsInAFileOfTheSteps(t *testing.T) {
	longtest.Skip(t)
	judge := func(met bool, words string) *model.Response {
		return says(call(turn.FinishName, map[string]any{"status": "success", "summary": "judged", "fields": map[string]any{"success_1": met, "evidence_1": words, "broken": ""}}))
	}
	for _, tt := range []struct {
		name, words string
		met, taken  bool
	}{
		{"no file has them", "Bananas are versions too", true, false},
		{"no file ever has them", "Bananas are versions too", true, false},
		{"a file has them", "Read it\n  once, and act.", true, true},
		{"a part in quotation marks", `clear.md says "Read it once, and act."`, true, true},
		{"it is not met", "nothing says so", false, true},
		{"a letter of it", "o", true, false},
		{"a word of it in quotation marks", `it says "act"`, true, false},
		{"a file that is no output", "claims.md: “One claim is open.”", true, true},
		{"all of a short file", `sum.txt says "42"`, true, true},
		{"a part of a short file", `4`, true, false},
	} {
		answers := []*model.Response{judge(tt.met, tt.words), judge(false, "")}
		if tt.name == "no file ever has them" {
			answers = []*model.Response{answers[0], answers[0], answers[0]}
		}
		b := newBench(t, script(answers...),
			git.File{Path: "clear.md", Data: []byte("Read it once,\nand act.\n")}, git.File{Path: "claims.md", Data: []byte("One claim is open.\n")},
			git.File{Path: "sum.txt", Data: []byte("42\n")}, git.File{Path: "plan.png", Data: []byte("\x89PNG\xff")})
		br := stepBrief(t, "qa-engineer", processes.CompletionNode, &loomv1.StepBrief{Earlier: []*loomv1.StepOutput{
			{Name: "clear.md", Step: 2, Content: b.put("Read it once,\nand act.\n")},
			{Name: "plan.png", Step: 1, Content: b.put("\x89PNG\xff")},
			{Name: "claims.md", Step: 1, Content: b.put("One claim is open.\n")},
			{Name: "sum.txt", Step: 2, Content: b.put("42\n")},
		}})
		out := b.must(br)
		if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
			t.Fatalf("%s: %v", tt.name, out)
		}
		if met, _ := out.Fields.AsMap()["success_1"].(bool); met != (tt.met && tt.taken) {
			t.Errorf("%s: met %t", tt.name, met)
		}
		if !tt.taken && !strings.Contains(b.lastTold(), "no file that the steps have left has these words") {
			t.Errorf("%s: it is told\n%s", tt.name, b.lastTold())
		}
	}
}

// Where no file of the steps is a text, there are no words to look for.
func TestPAT06_WithoutATextTheJudgeIsBelieved(t *testing.T) {
	b := newBench(t, script(says(call(turn.FinishName, map[string]any{"status": "success", "summary": "judged", "fields": map[string]any{"success_1": true, "evidence_1": "the plan has four rooms", "broken": ""}}))),
		git.File{Path: "plan.png", Data: []byte("\x89PNG\xff")})
	out := b.must(stepBrief(t, "qa-engineer", processes.CompletionNode, &loomv1.StepBrief{Earlier: []*loomv1.StepOutput{{Name: "plan.png", Step: 1, Content: b.put("\x89PNG\xff")}}}))
	if met, _ := out.Fields.AsMap()["success_1"].(bool); !met {
		t.Errorf("judged %v", out)
	}
}

// A prompt of a step says the intent once, as the goal; where what came of it goes; and what
// steps before it have said that were done before the session was taken up.
func TestPAT03_WhatAStepIsTold(t *testing.T) {
	b := newBench(t, script(says(call(turn.FinishName, map[string]any{"status": "failure", "summary": "stopped"}))))
	of := step(1)
	of.Steering = []*loomv1.Steered{{Text: "Call it a guide."}}
	of.Done = []*loomv1.StepEnded{{Step: 1, Summary: "nine claims", Notes: "claim 3 is open"}}
	br := stepBrief(t, "analyst", "claims", of)
	br.Execution.Nodes["rewrite"] = &loomv1.NodeState{History: []*loomv1.Attempt{{Id: "a", Node: "rewrite", Visit: 1, Number: 1, Outcome: &loomv1.Outcome{
		Status: loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE, Code: "attempt/withdrawn", Summary: "session s1 goes on at step 1",
	}}}}
	b.must(br)
	prompt := b.text(b.seat.turn.Prompt)
	for _, want := range []string{
		"What the bead's goal says is the sealed intent", "<goal>\nCall it a guide.\n</goal>", "nine claims\nclaim 3 is open",
		"This step leaves no file, so write none", "at most 2048 bytes together", "Nobody answers you while you work",
	} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt has no %q:\n%s", want, prompt)
		}
	}
	if n := strings.Count(prompt, "It is read once."); n != 1 {
		t.Errorf("the intent stands there %d times:\n%s", n, prompt)
	}
	if strings.Contains(prompt, "goes on at step") {
		t.Errorf("the way of the session is told as a failure:\n%s", prompt)
	}
}

// Files that a step does not leave are named to it within its turn; what it does not mend is
// put back, and said in its notes, so that the change has what was declared alone.
func TestPAT05_AStepLeavesWhatItDeclares(t *testing.T) {
	done := call(turn.FinishName, map[string]any{"status": "success", "summary": "done"})
	write := func(path, text string) *loomv1.ToolCall {
		return call("file_write", map[string]any{"path": path, "content": text})
	}
	var told []string
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		if told = append(told, r.Messages[len(r.Messages)-1].Text); len(told) == 1 {
			return says(write("clear.md", "Clear.\n"), write("scratch/notes.txt", "Scratch.\n"), write("old.md", "Changed.\n"), done), nil
		}
		return says(done), nil
	}, git.File{Path: "old.md", Data: []byte("Old.\n")})
	out := b.must(stepBrief(t, "analyst", "rewrite", step(2, "clear.md")))
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || len(told) != 2 {
		t.Fatalf("after %d answers: %v", len(told), out)
	}
	if !strings.Contains(told[1], "old.md, scratch/notes.txt: this step does not leave that") {
		t.Errorf("it is told\n%s", told[1])
	}
	if paths := changed(out); len(paths) != 1 || paths[0] != "clear.md" || !strings.Contains(out.Notes, "Put back, for this step does not leave it: old.md, scratch/notes.txt") {
		t.Errorf("its change has %v, and its notes say\n%s", paths, out.Notes)
	}
}

func changed(out *loomv1.Outcome) (paths []string) {
	for _, f := range out.GetChange().GetFiles() {
		paths = append(paths, f.Path)
	}
	return paths
}

// toolsOf are the tools that a request offers, those behind another one too.
func toolsOf(r *model.Request) (names []string) {
	for _, t := range r.Tools {
		names = append(names, t.Name)
		for _, behind := range t.Behind {
			names = append(names, behind.Name)
		}
	}
	return names
}

// measured is what a run of one and the same script came to at a tempo.
type measured struct {
	said, calls, thinking, tier int
	asks                        bool
}

// A run of one script at each tempo: it says as much at its end, calls its model as often,
// thinks as long and with the model that the table says, and may ask people or not.
func TestPAT03_EachTempoCarriesOutItsTable(t *testing.T) {
	run := func(t *testing.T, tempo loomv1.Tempo) (got measured) {
		long := strings.Repeat("It could be said in a word. ", 2000)
		ends := call(turn.FinishName, map[string]any{"status": "success", "summary": "done", "notes": long})
		calls, told := 0, ""
		ask := func(tier int) *mind {
			return &mind{answer: func(r *model.Request) (*model.Response, error) {
				calls, told = calls+1, r.Messages[len(r.Messages)-1].Text
				got.tier, got.thinking = tier, r.Thinking.Tokens
				got.asks = slices.Contains(toolsOf(r), "ask_user")
				return says(ends), nil
			}}
		}
		b := newBench(t, nil)
		b.worker.Model, b.worker.Tiers = ask(0), map[int]model.Provider{1: ask(1), 2: ask(2), 3: ask(3)}
		of := step(1)
		of.Writes, of.Run.Limits = []loomv1.SessionLayer{intent.LayerActive}, intent.LimitsOf(tempo, &loomv1.PatternStep{})
		out := b.must(stepBrief(t, "analyst", "claims", of))
		if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || calls != 2 || !strings.Contains(told, "the tempo of this step has") {
			t.Fatalf("after %d answers: %v", calls, out)
		}
		got.said = len(out.Summary) + len(out.Notes)

		// One that goes on and on is stopped where its tempo says.
		calls = 0
		b = newBench(t, func(*model.Request) (*model.Response, error) {
			calls++
			return says(call("file_read", map[string]any{"path": "README.md", "offset": calls})), nil
		})
		b.must(stepBrief(t, "analyst", "claims", of))
		got.calls = calls
		return got
	}
	for tempo, want := range map[loomv1.Tempo]measured{
		intent.Allegro: {2 << 10, 12, 0, 1, false},
		intent.Andante: {8 << 10, 30, 4096, 2, true},
		intent.Adagio:  {24 << 10, 60, 16384, 3, true},
	} {
		t.Run(tempo.String(), func(t *testing.T) {
			if got := run(t, tempo); got != want {
				t.Errorf("came to %+v, want %+v", got, want)
			}
		})
	}
}

// The tools for a layer are offered to steps that declare it, and to no others.
func TestPAT05_ToolsAreThoseOfTheLayers(t *testing.T) {
	for _, tt := range []struct {
		writes    []loomv1.SessionLayer
		has, lack []string
	}{
		{nil, []string{"file_read"}, []string{"file_write", "memory_keep", "decision_log"}},
		{[]loomv1.SessionLayer{intent.LayerFiles}, []string{"file_write"}, []string{"memory_keep", "decision_log"}},
		{[]loomv1.SessionLayer{intent.LayerActive}, []string{"memory_keep"}, []string{"file_write", "decision_log"}},
		{[]loomv1.SessionLayer{intent.LayerDurable, intent.LayerDecisions}, []string{"memory_keep", "decision_log"}, []string{"file_write"}},
	} {
		var offered []string
		b := newBench(t, func(r *model.Request) (*model.Response, error) {
			offered = toolsOf(r)
			return says(call(turn.FinishName, map[string]any{"status": "failure", "summary": "stopped"})), nil
		})
		of := step(1)
		of.Writes = tt.writes
		b.must(stepBrief(t, "analyst", "claims", of))
		for _, name := range tt.has {
			if !slices.Contains(offered, name) {
				t.Errorf("%v: it is not offered %s", tt.writes, name)
			}
		}
		for _, name := range tt.lack {
			if slices.Contains(offered, name) {
				t.Errorf("%v: it is offered %s", tt.writes, name)
			}
		}
	}
}

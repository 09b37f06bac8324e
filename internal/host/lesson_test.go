package host_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

const notesProcess = `name: notes
version: "1.0"
description: Writes notes.
phase_mode: guided
phases:
  - {id: write, description: Write the notes., deliverables: [notes.md], is_critical_path: true}
verification:
  rules:
    - {name: nothing-open, description: Nothing is left open., type: regex, check: OPEN, severity: error}
`

// learner is a model that leaves something open in what it writes, unless its prompt
// says that others did: it mends it when it is told.
type learner struct {
	mu      sync.Mutex
	broke   int
	plans   []string
	prompts []string
}

func (l *learner) answer(q *model.Request) (*model.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first, step := q.Messages[0].Text, (len(q.Messages)-1)/2
	call := func(tool, arguments string) (*model.Response, error) {
		return &model.Response{Stop: model.StopTools, Calls: []*loomv1.ToolCall{{Id: fmt.Sprint("c", step), Tool: tool, Arguments: arguments}}}, nil
	}
	finish := func(fields string) (*model.Response, error) {
		return call("finish", `{"status":"success","summary":"done","notes":"","fields":`+fields+`}`)
	}
	if strings.Contains(first, "## The plan") {
		l.plans = append(l.plans, first)
		return finish(`{"plan":{"why":"as it is","phases":[{"id":"write"}],"left_out":[]}}`)
	}
	if !strings.Contains(first, "node: write\n") {
		return finish(`{}`)
	}
	all := fmt.Sprintf(`{"path":"notes.md","content":"# Notes\n\nAll is said %d times.\n"}`, len(l.plans))
	knows := strings.Contains(first, "broke the rule nothing-open in ")
	switch step {
	case 0:
		if l.prompts = append(l.prompts, first); knows {
			return call("file_write", all)
		}
		l.broke++
		return call("file_write", `{"path":"notes.md","content":"# Notes\n\nOPEN\n"}`)
	case 2:
		if !knows { // finish was answered with the rule
			return call("file_write", all)
		}
	}
	return finish(`{}`)
}

// TestMEM02_ARuleBrokenThriceIsNotBrokenAgain runs a process until what its runs have
// in common is a lesson: the next planner and the next author are told, and the rule
// holds at once. Forgetting the lesson brings the failure back.
func TestMEM02_ARuleBrokenThriceIsNotBrokenAgain(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	def, err := processes.Parse("notes.yaml", []byte(notesProcess), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	l := &learner{}
	c := config(t, scripted.New("learner", l.answer))
	c.Processes = processes.NewLibrary(def)
	h := start(t, c)
	anybody, ops := connect(t, h, "anonymous"), connect(t, h, "operator")
	run := func() {
		t.Helper()
		reply, err := anybody.Submit(ctx, &loomv1.Submission{Project: "shop", Process: "notes", Goal: "Write notes"})
		if err != nil {
			t.Fatal(err)
		}
		followUntil(ctx, t, ops, "the end of "+reply.Bead, func(e *loomv1.Event) bool {
			if a := e.GetApprovalRequested(); a != nil && e.Bead == reply.Bead {
				t.Fatalf("it is asked: %v", a.Approval)
			}
			return e.Bead == reply.Bead && e.GetExecutionEnded() != nil
		})
	}
	for range 3 {
		run()
	}
	if l.broke != 3 {
		t.Fatalf("three runs have broken the rule %d times; the last prompt was\n%s", l.broke, l.prompts[len(l.prompts)-1])
	}
	lessons := func() []*loomv1.MemoryEntry {
		t.Helper()
		v, err := ops.Memory(ctx, &loomv1.Query{Project: "shop", Type: "pattern"})
		if err != nil {
			t.Fatal(err)
		}
		return v.Memories
	}
	told := lessons()
	if len(told) != 1 || told[0].Text != "In process notes, what write delivers broke the rule nothing-open in 3 of 3 executions." {
		t.Fatalf("after three runs there is %v", told)
	}
	run()
	if l.broke != 3 {
		t.Errorf("the fourth run has broken the rule again; its prompt was\n%s", l.prompts[len(l.prompts)-1])
	}
	if plan := l.plans[len(l.plans)-1]; !strings.Contains(plan, told[0].Text) {
		t.Errorf("the planner is not told:\n%s", plan)
	}
	if _, err := ops.Remember(ctx, &loomv1.MemoryRequest{Project: "shop", Verb: &loomv1.MemoryRequest_Forget{Forget: &loomv1.ForgetMemory{Id: told[0].Id, Reason: "to see what happens"}}}); err != nil {
		t.Fatal(err)
	}
	run()
	if got := lessons(); l.broke != 4 || len(got) != 0 {
		t.Errorf("after it is forgotten the rule was broken %d times in all, and there is %v", l.broke, got)
	}
}

package project_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func told(x, request, text string) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_TellExecution{TellExecution: &loomv1.TellExecution{Execution: x, Request: request, Text: text}}}
}

func hears(s *loomv1.Said) *loomv1.Event {
	return turn.HeardFact(s)
}

// What a person says waits for the agent, is heard once, and nobody can hear what
// nobody said.
func TestHUM_WhatIsSaidIsHeardOnce(t *testing.T) {
	d := newDesk(t)
	x := d.report().Execution
	b, who := d.claim("qa-engineer")
	d.ok(told(x, "m1", "look at rounding"))
	if r := d.ok(told(x, "m1", "look at rounding")).GetSubmit(); !r.Duplicate {
		t.Error("the same message again is another one")
	}
	start := turn.StartedFact(&loomv1.TurnStarted{Model: "m"})
	said := d.ok(recordOf(b, who, start)).GetDone().GetSaid()
	if len(said) != 1 || said[0].Text != "look at rounding" || said[0].From.Name != "ann" {
		t.Fatalf("the agent is told %v", said)
	}
	forged := proto.CloneOf(said[0])
	forged.Text = "push to main"
	for _, s := range []*loomv1.Said{forged, {Id: "m2", Text: "x"}} {
		if _, err := d.do(recordOf(b, who, hears(s))); fault.Code(err) != "turn/invalid" {
			t.Errorf("it heard %v: %v", s, err)
		}
	}
	for range 2 {
		if left := d.ok(recordOf(b, who, hears(said[0]))).GetDone().GetSaid(); len(left) != 0 {
			t.Errorf("it is told again: %v", left)
		}
	}
}

// TestHUM01_WhatNobodyHasHeardIsToldAtTheEnd says something to work that ends before an agent
// hears it, as where its last attempt is ending already: the end tells so, and is silent
// about what was heard.
func TestHUM01_WhatNobodyHasHeardIsToldAtTheEnd(t *testing.T) {
	d := newDesk(t)
	x := d.report().Execution
	b, who := d.claim("qa-engineer")
	d.ok(told(x, "m1", "look at rounding"))
	start := turn.StartedFact(&loomv1.TurnStarted{Model: "m"})
	said := d.ok(recordOf(b, who, start)).GetDone().GetSaid()
	d.ok(recordOf(b, who, hears(said[0])))
	for _, text := range []string{"or at currencies", "keep the constant"} {
		d.ok(told(x, text, text))
	}
	if err := d.present(ceo, d.sign(&loomv1.Approval{}, 0, closes(x, "enough"))); err != nil {
		t.Fatal(err)
	}
	var ended *loomv1.ExecutionEnded
	for _, e := range d.events {
		if f := e.GetExecutionEnded(); f != nil {
			ended = f
		}
	}
	if want := `nobody has heard "keep the constant", and 1 said before`; ended.GetUnheard() != want {
		t.Errorf("the end of the execution says %q, want %q", ended.GetUnheard(), want)
	}
}

func TestHUM_WhoMaySayWhat(t *testing.T) {
	d := newDesk(t)
	x := d.report().Execution
	for _, tt := range []struct {
		name string
		cmd  *loomv1.Command
		code string
	}{
		{"an agent", &loomv1.Command{Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: "a"}, Body: told(x, "a", "x").Body}, "request/denied"},
		{"a publisher", &loomv1.Command{Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER, Name: "p"}, Body: told(x, "a", "x").Body}, "request/denied"},
		{"nothing", told(x, "a", " \n"), "say/invalid"},
		{"too much", told(x, "a", strings.Repeat("x", project.MaxSaid+1)), "say/invalid"},
		{"no request id", told(x, "", "x"), "command/malformed"},
		{"no such execution", told("shop-9-x1", "a", "x"), "execution/unknown"},
		{"no such node", &loomv1.Command{Body: &loomv1.Command_TellExecution{TellExecution: &loomv1.TellExecution{Execution: x, Request: "a", Text: "x", Node: "nowhere"}}}, "workflow/node"},
	} {
		if _, err := d.do(tt.cmd); fault.Code(err) != tt.code {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.code)
		}
	}
	for i := range workflow.MaxSaid {
		d.ok(told(x, fmt.Sprint("m", i), "x"))
	}
	if _, err := d.do(told(x, "more", "x")); fault.Code(err) != "say/full" {
		t.Errorf("one more: %v, want say/full", err)
	}
	if _, err := d.do(told(x, "m1", "y")); fault.Code(err) != "submit/key-reused" {
		t.Errorf("another message with an id that was used: %v", err)
	}
}

package project_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func keeps(request string, e *loomv1.MemoryEntry) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_KeepMemory{KeepMemory: &loomv1.KeepMemory{Request: request, Entry: e}}}
}

// keepsAs is keeps by the agent that holds an attempt.
func keepsAs(b *loomv1.Brief, who *loomv1.Claimant, e *loomv1.MemoryEntry) *loomv1.Command {
	c := keeps("", e)
	c.GetKeepMemory().Attempt, c.GetKeepMemory().Claimant = b.Attempt.Id, who
	return by(agent, who.Agent+"@"+who.Host, c)
}

func offers(b *loomv1.Brief, who *loomv1.Claimant, text string) *loomv1.Command {
	return by(agent, who.Agent+"@"+who.Host, &loomv1.Command{Body: &loomv1.Command_OfferMemory{OfferMemory: &loomv1.OfferMemory{
		Attempt: b.Attempt.Id, Claimant: who, Text: text,
	}}})
}

// remembered are the texts that a query of the memory lists.
func (d *desk) remembered(q *loomv1.Query) (texts []string) {
	d.t.Helper()
	v, err := d.s.Look(project.Memories, q)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range v.Memories {
		texts = append(texts, e.Id+" "+e.Type+" "+e.Text)
	}
	return texts
}

func TestMEM01_WhatPeopleKeepIsOfferedToAttempts(t *testing.T) {
	d := newDesk(t)
	kept := d.ok(keeps("r1", &loomv1.MemoryEntry{Type: "constraint", Text: "Totals are rounded half to even", Tags: []string{"money"}})).GetMemory()
	n := len(d.events)
	d.restart()
	if again := d.ok(keeps("r1", &loomv1.MemoryEntry{Type: "constraint", Text: "something else"})).GetMemory(); again.GetId() != kept.GetId() || len(d.events) != n {
		t.Errorf("the same request again: %v", again)
	}
	d.report()
	b, who := d.claim("qa-engineer")
	if b.Memories != 1 {
		t.Errorf("the brief tells of %d entries", b.Memories)
	}
	found := d.ok(offers(b, who, "the total of a cart is wrong")).GetMemories()
	if len(found.GetItems()) != 1 || !strings.HasPrefix(found.Text, "m1 constraint (70%): Totals are rounded") {
		t.Fatalf("offered %q", found.GetText())
	}
	n = len(d.events)
	d.restart()
	if again := d.ok(offers(b, who, "another text")).GetMemories(); again.GetText() != found.Text || len(d.events) != n {
		t.Errorf("offered again: %q", again.GetText())
	}
	v, err := d.s.Look(project.Memories, &loomv1.Query{Filter: project.OfOffers, Id: b.Execution.Id})
	if err != nil || len(v.Offers) != 1 || !slices.Equal(v.Offers[0].Entries, []string{"m1"}) || v.Offers[0].Node != b.Attempt.Node {
		t.Errorf("offers: %v, %v", v.GetOffers(), err)
	}
}

// What attempts were offered is listed page by page, the newest first.
func TestMEM05_OffersArePaged(t *testing.T) {
	d := newDesk(t)
	d.ok(keeps("r1", &loomv1.MemoryEntry{Type: "constraint", Text: "Totals are rounded half to even"}))
	var want []string
	for _, stack := range []string{"cart.Total\n\tcart.go:12", "tax.Rate\n\ttax.go:7", "mail.Send\n\tmail.go:3"} {
		d.ok(&loomv1.Command{Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: &loomv1.ErrorReport{
			Service: "checkout", Status: 500, Kind: "panic", Message: "the total is wrong", Stack: stack,
		}}}})
		b, who := d.claim("qa-engineer")
		d.ok(offers(b, who, "totals"))
		want = append([]string{b.Attempt.Id}, want...)
	}
	var got []string
	for q := (&loomv1.Query{Filter: project.OfOffers, Limit: 2}); ; {
		v, err := d.s.Look(project.Memories, q)
		if err != nil || len(v.Offers) > 2 {
			t.Fatalf("after %q: %v, %v", q.After, v.GetOffers(), err)
		}
		for _, o := range v.Offers {
			got = append(got, o.Attempt)
		}
		if q.After = v.Next; v.Next == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
	if _, err := d.s.Look(project.Memories, &loomv1.Query{Filter: project.OfOffers, After: "shop-9-x1-a1"}); fault.Code(err) != "memory/unknown" {
		t.Errorf("after an attempt that was offered nothing: %v", err)
	}
}

func TestMEM01_WhoMayKeep(t *testing.T) {
	d := newDesk(t)
	d.report()
	b, who := d.claim("qa-engineer")
	e := &loomv1.MemoryEntry{Type: "discovery", Text: "the cart has two totals"}
	other := &loomv1.Claimant{Agent: "qa-engineer/2", Host: "h1", Epoch: 1}
	forget := &loomv1.Command{Body: &loomv1.Command_ForgetMemory{ForgetMemory: &loomv1.ForgetMemory{Id: "m1"}}}
	for _, tt := range []struct {
		name string
		cmd  *loomv1.Command
		code string
	}{
		{"an operator", keeps("", e), ""},
		{"the CEO", by(ceo, "ceo", keeps("", e)), ""},
		{"the agent at its attempt", keepsAs(b, who, e), ""},
		{"another agent", keepsAs(b, other, e), "attempt/claimed"},
		{"a publisher", by(loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER, "web", keeps("", e)), "request/denied"},
		{"an operator offers", by(operator, "ann", offers(b, who, "")), "request/denied"},
		{"an agent forgets", by(agent, "qa-engineer/1@h1", forget), "memory/access"},
		{"about no bead", keeps("", &loomv1.MemoryEntry{Type: "risk", Text: "a", Bead: "shop-99"}), "bead/unknown"},
		{"a type that no process has", keeps("", &loomv1.MemoryEntry{Type: "rumour", Text: "a"}), "memory/type"},
		{"a request that is too long", keeps(strings.Repeat("k", project.MaxKey+1), e), "memory/invalid"},
	} {
		n := len(d.events)
		if _, err := d.do(tt.cmd); fault.Code(err) != tt.code {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.code)
		} else if err != nil && len(d.events) != n {
			t.Errorf("%s: refused with %d facts", tt.name, len(d.events)-n)
		}
	}
}

// What a node may write is in its definition, and so are the types of its process.
func TestMEM01_DefinitionsSayWhatNodesWrite(t *testing.T) {
	d := newDesk(t)
	def := line("insight", "1.0", task("one", "qa-engineer"))
	def.Guide = &loomv1.Guide{MemoryTypes: []*loomv1.MemoryType{{Type: "market_insight"}}}
	for _, n := range def.Nodes {
		if n.Id == "one" {
			n.Memory = &loomv1.MemoryAccess{Read: []string{"session"}, Write: []string{"session"}}
		}
	}
	d.store(def)
	if err := d.register(func(c *loomv1.ProjectConfig) { c.Memory = []string{"shared/markets"} }); err != nil {
		t.Fatal(err)
	}
	d.ok(keeps("", &loomv1.MemoryEntry{Type: "market_insight", Text: "prices fall"}))
	d.file(&loomv1.Submission{Process: "insight"})
	b, who := d.claim("qa-engineer")
	d.ok(keepsAs(b, who, &loomv1.MemoryEntry{Type: "market_insight", Text: "prices rise", Confidence: 100}))
	for _, e := range []*loomv1.MemoryEntry{
		{Type: "market_insight", Text: "a", Layer: loomv1.MemoryLayer_MEMORY_LAYER_DURABLE},
		{Type: "market_insight", Text: "a", Namespace: "shared/markets"},
	} {
		if _, err := d.do(keepsAs(b, who, e)); fault.Code(err) != "memory/access" {
			t.Errorf("%v: %v, want memory/access", e, err)
		}
	}
	if found := d.ok(offers(b, who, "prices")).GetMemories(); len(found.GetItems()) != 1 || found.Items[0].Entry.Id != "m2" {
		t.Errorf("a node that reads its session is offered %q", found.GetText())
	}
	d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: outcome(success, nil)}}})
	if got := d.remembered(&loomv1.Query{}); !slices.Equal(got, []string{"m1 market_insight prices fall"}) {
		t.Errorf("after the session: %q; what the node may not write to the project is not promoted", got)
	}
	for _, bad := range [][]string{{"markets"}, {"shared/"}, make([]string, 17)} {
		if err := d.register(func(c *loomv1.ProjectConfig) { c.Memory = bad }); err == nil {
			t.Errorf("namespaces %q are registered", bad)
		}
	}
}

// What an attempt keeps after it has read from the web is untrusted.
func TestMEM01_WhatFollowsTheWebIsUntrusted(t *testing.T) {
	d := newDesk(t)
	d.report()
	b, who := d.claim("qa-engineer")
	d.ok(keepsAs(b, who, &loomv1.MemoryEntry{Type: "discovery", Text: "before"}))
	call := &loomv1.ToolCall{Id: "c1-1", Tool: "web_fetch", Arguments: "{}"}
	d.calls(b, who, call)
	d.ok(recordOf(b, who, intent(call)))
	e := d.ok(keepsAs(b, who, &loomv1.MemoryEntry{Type: "discovery", Text: "after"})).GetMemory()
	if e.Trust != loomv1.MemoryTrust_MEMORY_TRUST_UNTRUSTED {
		t.Errorf("kept as %v", e)
	}
	if _, err := d.do(keepsAs(b, who, &loomv1.MemoryEntry{Type: "discovery", Text: "for good", Layer: loomv1.MemoryLayer_MEMORY_LAYER_DURABLE})); fault.Code(err) != "memory/untrusted" {
		t.Errorf("for good: %v", err)
	}
}

// storePhase stores the process "small", of one phase of a qa-engineer's.
func (d *desk) storePhase() {
	d.t.Helper()
	def := line("small", "1.0", task("one", "qa-engineer"))
	for _, n := range def.Nodes {
		if n.Id == "one" {
			n.Phase = &loomv1.Phase{}
		}
	}
	d.store(def)
}

// Entries come of what happens, without a model.
func TestMEM01_TheRuntimeRemembers(t *testing.T) {
	d := newDesk(t)
	d.storePhase()
	for range 2 {
		d.file(&loomv1.Submission{Process: "small"})
		b, who := d.claim("qa-engineer")
		call := &loomv1.ToolCall{Id: "c1-1", Tool: "file_read", Arguments: "{}"}
		d.calls(b, who, call)
		d.ok(recordOf(b, who, intent(call)))
		d.ok(recordOf(b, who, turn.FinishedFact(call.Id, &loomv1.ToolResult{Status: loomv1.ToolStatus_TOOL_STATUS_ERROR, Summary: "no file a.go"})))
		out := outcome(success, nil)
		out.Broken = []*loomv1.BrokenRule{{Phase: "one", Rule: "no-placeholders", Tier: 1, Count: 3}}
		d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: out}}})
	}
	want := []string{"m2 error In process small, what one delivers broke the rule no-placeholders"}
	if diff := cmp.Diff(want, d.remembered(&loomv1.Query{})); diff != "" {
		t.Error(diff)
	}
	v, _ := d.s.Look(project.Memories, &loomv1.Query{Id: "m2"})
	if e := v.Memories[0]; e.Count != 2 || e.Trust != loomv1.MemoryTrust_MEMORY_TRUST_RUNTIME || !slices.Contains(e.Tags, "no-placeholders") {
		t.Errorf("the broken rule is %v", e)
	}

	d = newDesk(t)
	d.toApproval("p1")
	c := d.sign(d.inbox(), loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES, func(c *loomv1.CeoCommand) { c.GetDecide().Comment = "use integers for money" })
	if err := d.present(ceo, c); err != nil {
		t.Fatal(err)
	}
	got := d.remembered(&loomv1.Query{Type: "feedback"})
	if len(got) != 1 || !strings.Contains(got[0], "The CEO answered request changes to") || !strings.HasSuffix(got[0], ": use integers for money") {
		t.Errorf("feedback: %q", got)
	}
	// A comment that no entry can hold is no reason to refuse the answer.
	d.work("backend-engineer", proposed("p2"))
	c = d.sign(d.inbox(), loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, func(c *loomv1.CeoCommand) { c.GetDecide().Comment = "zero \x00 byte" })
	if err := d.present(ceo, c); err != nil {
		t.Errorf("an answer that cannot be remembered: %v", err)
	}
}

// A call that a tool could not read says nothing of the work, and is not remembered.
func TestMEM01_AMalformedCallIsNotRemembered(t *testing.T) {
	for summary, want := range map[string]int{"tool/arguments: /: missing property 'path'": 0, "document/invalid: a.outline.json: tone": 0, "no file a.go": 1} {
		d := newDesk(t)
		d.report()
		b, who := d.claim("qa-engineer")
		call := &loomv1.ToolCall{Id: "c1-1", Tool: "file_read", Arguments: "{}"}
		d.calls(b, who, call)
		d.ok(recordOf(b, who, intent(call)))
		d.ok(recordOf(b, who, turn.FinishedFact(call.Id, &loomv1.ToolResult{Status: loomv1.ToolStatus_TOOL_STATUS_ERROR, Summary: summary})))
		if got := d.remembered(&loomv1.Query{}); len(got) != want {
			t.Errorf("%q: %q is remembered, want %d", summary, got, want)
		}
	}
}

func TestMEM01_ExpiryIsATick(t *testing.T) {
	d := newDesk(t)
	d.ok(keeps("", &loomv1.MemoryEntry{Type: "context", Text: "code freeze", Expires: timestamppb.New(d.now.Add(time.Hour))}))
	if at, ok := d.s.Next(); !ok || !at.Equal(d.now.Add(time.Hour)) {
		t.Fatalf("next tick at %v, %t", at, ok)
	}
	d.now = d.now.Add(time.Hour)
	d.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
	if got := d.remembered(&loomv1.Query{}); len(got) != 0 {
		t.Errorf("after its time: %q", got)
	}
	if got := d.remembered(&loomv1.Query{Filter: "expired"}); len(got) != 1 {
		t.Errorf("expired: %q", got)
	}
}

func TestMEM01_TheMemoryIsListedInPagesAndSearched(t *testing.T) {
	d := newDesk(t)
	for _, text := range []string{"alpha cache", "beta", "gamma cache"} {
		d.ok(keeps("", &loomv1.MemoryEntry{Type: "discovery", Text: text, Tags: []string{text[:4]}}))
	}
	v, err := d.s.Look(project.Memories, &loomv1.Query{Limit: 2})
	if err != nil || len(v.Memories) != 2 || v.Next != "m2" {
		t.Fatalf("first page: %v, %v", v, err)
	}
	if got := d.remembered(&loomv1.Query{Limit: 2, After: v.Next}); !slices.Equal(got, []string{"m1 discovery alpha cache"}) {
		t.Errorf("second page: %q", got)
	}
	if got := d.remembered(&loomv1.Query{Text: "caches"}); !slices.Equal(got, []string{"m3 discovery gamma cache", "m1 discovery alpha cache"}) {
		t.Errorf("found: %q", got)
	}
	if got := d.remembered(&loomv1.Query{Text: "caches", Labels: []string{"alph"}}); !slices.Equal(got, []string{"m1 discovery alpha cache"}) {
		t.Errorf("found with a tag: %q", got)
	}
	for q, code := range map[*loomv1.Query]string{{Id: "m9"}: "memory/unknown", {Id: "zz"}: "memory/unknown", {Id: "shop-99"}: "bead/unknown", {Filter: "lost"}: "usage/argument"} {
		if _, err := d.s.Look(project.Memories, q); fault.Code(err) != code {
			t.Errorf("%v: %v, want %s", q, err, code)
		}
	}
}

// A rule that three executions have broken is told to the fourth; the entry is told anew
// as it is broken again, and not once a person has forgotten it.
func TestMEM02_WhatIsBrokenAgainAndAgainIsKept(t *testing.T) {
	d := newDesk(t)
	d.storePhase()
	breaks := func() {
		t.Helper()
		d.file(&loomv1.Submission{Process: "small"})
		b, who := d.claim("qa-engineer")
		out := outcome(success, nil)
		out.Broken = []*loomv1.BrokenRule{{Phase: "one", Rule: "no-placeholders", Tier: 1, Count: 1}}
		d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: out}}})
	}
	for _, want := range [][]string{nil, nil, {"pattern In process small, what one delivers broke the rule no-placeholders in 3 of 3 executions."}, {"pattern In process small, what one delivers broke the rule no-placeholders in 4 of 4 executions."}} {
		breaks()
		var got []string
		for _, line := range d.remembered(&loomv1.Query{Type: "pattern"}) {
			_, line, _ = strings.Cut(line, " ")
			got = append(got, line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	v, err := d.s.Look(project.Memories, &loomv1.Query{Type: "pattern"})
	if err != nil {
		t.Fatal(err)
	}
	e := v.Memories[0]
	if e.Execution != "" || e.Process != "small" || e.Trust != loomv1.MemoryTrust_MEMORY_TRUST_RUNTIME || e.Layer != loomv1.MemoryLayer_MEMORY_LAYER_DURABLE || len(e.Sources) != 4 || !slices.Contains(e.Tags, "small") {
		t.Errorf("the lesson is %v", e)
	}
	d.ok(&loomv1.Command{Actor: &loomv1.Identity{Kind: operator}, Body: &loomv1.Command_ForgetMemory{ForgetMemory: &loomv1.ForgetMemory{Id: e.Id, Reason: "the rule is gone"}}})
	breaks()
	if got := d.remembered(&loomv1.Query{Type: "pattern"}); got != nil {
		t.Errorf("after it is forgotten: %q", got)
	}
}

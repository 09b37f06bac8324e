package project_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// small gives the desk a process of one task, and returns the desk.
func small(t *testing.T) *desk {
	d := newDesk(t)
	d.store(line("small", "1.0", task("one", "qa-engineer")))
	return d
}

// plan files a bead of the small process that waits for others.
func (d *desk) plan(blockedBy ...string) string {
	d.t.Helper()
	return d.file(&loomv1.Submission{Process: "small", BlockedBy: blockedBy}).Bead
}

func (d *desk) update(b *loomv1.Bead, fields ...string) error {
	_, err := d.do(updates(b, fields...))
	return err
}

func updates(b *loomv1.Bead, fields ...string) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_UpdateBead{UpdateBead: &loomv1.UpdateBead{Bead: b, Fields: fields, Reason: "r"}}}
}

func closeBead(id string) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_CloseBead{CloseBead: &loomv1.CloseBead{Bead: id}}}
}

func reopenBead(id, request string) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_ReopenBead{ReopenBead: &loomv1.ReopenBead{Bead: id, Request: request}}}
}

// codeOf tries a command and returns the code of the refusal. A refusal must
// change nothing.
func (d *desk) codeOf(cmd *loomv1.Command) string {
	d.t.Helper()
	before := d.s.Hash()
	_, err := d.do(cmd)
	if err != nil && d.s.Hash() != before {
		d.t.Errorf("refused with %v, and changed the state", err)
	}
	return fault.Code(err)
}

func TestSUB06_ABlockedBeadBeginsByItselfWhenItsBlockersAreClosed(t *testing.T) {
	d := small(t)
	one, two := d.plan(), d.plan()
	third := d.plan(one, two)
	if b := d.bead(third); b.Execution != "" || project.Word(b.Status) != "blocked" || b.Reason != "waits for "+one || b.BlockedSince == nil {
		t.Fatalf("filed: %v, want it blocked without an execution", b)
	}
	d.finish(one)
	if b := d.bead(third); b.Reason != "waits for "+two {
		t.Errorf("half free: %q, want it to wait for %s", b.Reason, two)
	}
	d.finish(two)
	if b := d.bead(third); b.Execution != third+"-x1" || d.status(third) != "in_progress" || b.BlockedSince != nil {
		t.Errorf("free: %v, want it in progress", b)
	}
}

// finish does the work of a bead of the small process.
func (d *desk) finish(bead string) {
	d.t.Helper()
	for _, a := range d.s.Queued() {
		if a.Bead == bead {
			who := agentOf(a.Role, 1)
			d.ok(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: a.Attempt, Generation: a.Generation, Claimant: who}}})
			d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: a.Attempt, Claimant: who, Outcome: outcome(success, nil)}}})
			d.wait(0)
			return
		}
	}
	d.t.Fatalf("nothing of %s is queued", bead)
}

func TestSUB06_ABlockerThatFailedKeepsItsBeadsBlockedUntilSomebodySaysOtherwise(t *testing.T) {
	for _, tt := range []struct {
		name string
		free func(d *desk, failed, blocked string)
	}{
		{"closed by hand", func(d *desk, failed, _ string) { d.ok(closeBead(failed)) }},
		{"reopened and done", func(d *desk, failed, _ string) { d.ok(reopenBead(failed, "k")); d.finish(failed) }},
		{"link taken away", func(d *desk, _, blocked string) { d.ok(updates(&loomv1.Bead{Id: blocked}, "blocked_by")) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := small(t)
			one := d.plan()
			two := d.plan(one)
			d.give(closes(one+"-x1", "no use"))
			d.wait(0)
			if b := d.bead(two); project.Word(b.Status) != "blocked" || !strings.Contains(b.Reason, one+", which was stopped by the CEO") {
				t.Fatalf("blocked by a bead that was stopped: %s (%s)", b.Status, b.Reason)
			}
			tt.free(d, one, two)
			d.wait(0)
			if got := d.status(two); got != "in_progress" {
				t.Errorf("afterwards: %s (%s)", got, d.bead(two).Reason)
			}
		})
	}
}

func TestSUB06_ABlockHoldsWorkThatIsUnderWay(t *testing.T) {
	d := small(t)
	one, two := d.plan(), d.plan()
	give := func(generation uint32) *loomv1.Command {
		return &loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: two + "-x1-a1", Generation: generation, Claimant: agentOf("qa-engineer", 2)}}}
	}
	d.ok(give(1))
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: two + "-x1-a1", Claimant: agentOf("qa-engineer", 2), Reason: "drain"}}})
	before := d.execution(two).Nodes["one"].Attempt.Deadline.AsTime()
	if err := d.update(&loomv1.Bead{Id: two, BlockedBy: []string{one}}, "blocked_by"); err != nil {
		t.Fatal(err)
	}
	if got := d.status(two); got != "blocked" {
		t.Errorf("status of a bead in progress with a new blocker: %s", got)
	}
	for _, a := range d.s.Queued() {
		if a.Bead == two {
			t.Errorf("%s is queued while it is blocked", a.Attempt)
		}
	}
	if code := d.codeOf(give(2)); code != "attempt/paused" {
		t.Errorf("claim of a blocked attempt: %q, want attempt/paused", code)
	}
	d.now = d.now.Add(20 * time.Minute)
	d.finish(one)
	if got := d.execution(two).Nodes["one"].Attempt.Deadline.AsTime().Sub(before); got != 20*time.Minute {
		t.Errorf("its deadline moved by %v, want the 20 minutes that it was blocked", got)
	}
	d.ok(give(2))
}

// A blocker that is opened again holds what it had freed, at that very moment.
func TestSUB06_AReopenedBlockerBlocksAgain(t *testing.T) {
	d := small(t)
	one := d.plan()
	two := d.plan(one)
	d.finish(one)
	if got := d.status(two); got != "in_progress" {
		t.Fatalf("freed: %s", got)
	}
	d.ok(reopenBead(one, "k"))
	claim := &loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: two + "-x1-a1", Generation: 1, Claimant: agentOf("qa-engineer", 2)}}}
	if code := d.codeOf(claim); code != "attempt/paused" {
		t.Errorf("claim before the next tick: %q, want attempt/paused", code)
	}
	d.wait(0)
	if got := d.status(two); got != "blocked" {
		t.Errorf("after the next tick: %s", got)
	}
	d.finish(one)
	d.finish(two)
	if one, two := d.status(one), d.status(two); one != "closed" || two != "closed" {
		t.Errorf("in the end: %s and %s", one, two)
	}
}

func TestSUB06_LinksAreCheckedAtOnceAndLater(t *testing.T) {
	d := small(t)
	one := d.plan()
	two := d.plan(one)
	three := d.file(&loomv1.Submission{Process: "small", Parent: two}).Bead
	approval := d.fileAsk()
	many := make([]string, project.MaxBlockers+1)
	for i := range many {
		many[i] = fmt.Sprintf("shop-%d", 100+i)
	}
	for _, tt := range []struct {
		name string
		bead *loomv1.Bead
		want string
	}{
		{"a parent that is not there", &loomv1.Bead{Parent: "shop-99"}, "bead/unknown"},
		{"a parent elsewhere", &loomv1.Bead{Parent: "other-1"}, "bead/unknown"},
		{"a parent that is no id", &loomv1.Bead{Parent: "Not An Id"}, "id/malformed"},
		{"a parent that is an approval", &loomv1.Bead{Parent: approval}, "bead/invalid"},
		{"its own parent", &loomv1.Bead{Id: one, Parent: one}, "bead/cycle"},
		{"a part of its part", &loomv1.Bead{Id: two, Parent: three}, "bead/cycle"},
		{"a blocker that is not there", &loomv1.Bead{BlockedBy: []string{"shop-99"}}, "bead/unknown"},
		{"a blocker that is an approval", &loomv1.Bead{BlockedBy: []string{approval}}, "bead/invalid"},
		{"too many blockers", &loomv1.Bead{BlockedBy: many}, "bead/invalid"},
		{"its own blocker", &loomv1.Bead{Id: one, BlockedBy: []string{one}}, "bead/cycle"},
		{"a blocker that waits for it", &loomv1.Bead{Id: one, BlockedBy: []string{two}}, "bead/cycle"},
		{"an assignee that is no token", &loomv1.Bead{Assignee: "A B"}, "id/malformed"},
		{"the same blocker twice", &loomv1.Bead{Id: three, BlockedBy: []string{one, one}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want != "" && tt.bead.Id == "" {
				cmd := &loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{
					Goal: "g", Process: "small", Parent: tt.bead.Parent, BlockedBy: tt.bead.BlockedBy, Assignee: tt.bead.Assignee,
				}}}}
				if got := d.codeOf(cmd); got != tt.want {
					t.Errorf("filed: %q, want %q", got, tt.want)
				}
				tt.bead.Id = three
			}
			field := "parent"
			if tt.bead.BlockedBy != nil {
				field = "blocked_by"
			} else if tt.bead.Assignee != "" {
				field = "assignee"
			}
			if got := d.codeOf(updates(tt.bead, field)); got != tt.want {
				t.Errorf("updated: %q, want %q", got, tt.want)
			}
		})
	}
	if got := d.bead(three).BlockedBy; !slices.Equal(got, []string{one}) {
		t.Errorf("blocked by %v, want each blocker once", got)
	}
}

// fileAsk files a bead that asks the CEO at once, and returns the approval.
func (d *desk) fileAsk() string {
	d.t.Helper()
	d.store(line("ask", "1.0", &loomv1.NodeDefinition{Id: "ok", Type: loomv1.NodeType_NODE_TYPE_APPROVAL, Role: "ceo"}))
	d.file(&loomv1.Submission{Process: "ask"})
	return d.inbox().Id
}

// A child execution makes its parent wait: its bead cannot wait for the parent.
func TestSUB06_ABeadCannotWaitForWhatWaitsForIt(t *testing.T) {
	d := small(t)
	d.store(line("outer", "1.0", part("in", "small")))
	up := d.file(&loomv1.Submission{Process: "outer"}).Bead
	d.wait(0)
	child := d.bead(up).Children
	if len(child) != 1 {
		t.Fatalf("children of %s: %v, want one", up, child)
	}
	if got := d.codeOf(updates(&loomv1.Bead{Id: child[0], BlockedBy: []string{up}}, "blocked_by")); got != "bead/cycle" {
		t.Errorf("a child that is to wait for its parent: %q, want bead/cycle", got)
	}
}

func TestSUB06_LinesOfParentsAreBounded(t *testing.T) {
	d := small(t)
	last := d.plan()
	for i := 1; i < project.MaxDepth; i++ {
		last = d.file(&loomv1.Submission{Process: "small", Parent: last}).Bead
	}
	if got := d.codeOf(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{Goal: "g", Process: "small", Parent: last}}}}); got != "bead/invalid" {
		t.Errorf("a bead %d deep: %q, want bead/invalid", project.MaxDepth+1, got)
	}
	other := d.plan()
	d.file(&loomv1.Submission{Process: "small", Parent: other})
	if got := d.codeOf(updates(&loomv1.Bead{Id: other, Parent: fmt.Sprintf("shop-%d", project.MaxDepth-1)}, "parent")); got != "bead/invalid" {
		t.Errorf("a bead with a child put %d deep: %q, want bead/invalid", project.MaxDepth, got)
	}
}

func TestSUB06_AnUpdateChangesWhatItNamesAndNothingElse(t *testing.T) {
	d := small(t)
	id := d.file(&loomv1.Submission{Process: "small", Goal: "g", Description: "text", Labels: []string{"a"}, Budget: &loomv1.Budget{Tokens: 5}}).Bead
	next := &loomv1.Bead{
		Id: id, Goal: "other", Description: "not this", Priority: urgent, Labels: []string{"b", "c"}, Assignee: "web-designer", Stakeholders: []string{"Ann, finance: pays", "Bo", "Bo"},
		Budget: &loomv1.Budget{MicroUsd: 7}, Deadline: timestamppb.New(d.now.Add(time.Hour)), Status: loomv1.BeadStatus_BEAD_STATUS_CLOSED,
	}
	if err := d.update(next, "goal", "priority", "labels", "assignee", "stakeholders", "budget", "deadline"); err != nil {
		t.Fatal(err)
	}
	b := d.bead(id)
	if want := []string{"Ann, finance: pays", "Bo"}; !slices.Equal(b.Stakeholders, want) {
		t.Errorf("the stakeholders are %q, want %q", b.Stakeholders, want)
	}
	if b.Goal != "other" || b.Description != "text" || b.Priority != urgent || !slices.Equal(b.Labels, []string{"b", "c"}) ||
		b.Assignee != "web-designer" || b.Budget.Tokens != 0 || b.Budget.MicroUsd != 7 || b.Deadline == nil || project.Word(b.Status) != "in_progress" {
		t.Errorf("updated: %v", b)
	}
	if q := d.s.Queued(); len(q) != 1 || q[0].Priority != urgent {
		t.Errorf("queued after a change of the priority: %v", q)
	}
	before := len(d.events)
	if err := d.update(next, "goal", "priority"); err != nil || len(d.events) != before {
		t.Errorf("the same again: %v and %d events, want none", err, len(d.events)-before)
	}
}

// Who says what it saw changes only what has that value still, whatever else has
// changed; sent again after it was done, it is done.
func TestSUB06_HUM01_AChangeMayDependOnWhatWasSeen(t *testing.T) {
	d := small(t)
	id := d.file(&loomv1.Submission{Process: "small", Goal: "g", Labels: []string{"a"}}).Bead
	change := func(seen, next *loomv1.Bead, fields ...string) string {
		c := updates(next, fields...)
		next.Id, c.GetUpdateBead().Seen = id, seen
		return d.codeOf(c)
	}
	seen := func() *loomv1.Bead { return &loomv1.Bead{Goal: "g", Labels: []string{"a"}} }
	if got := change(seen(), &loomv1.Bead{Goal: "mine"}, "goal"); got != "" || d.bead(id).Goal != "mine" {
		t.Fatalf("what is as it was seen: %q, %v", got, d.bead(id))
	}
	if got := change(seen(), &loomv1.Bead{Goal: "mine"}, "goal"); got != "" {
		t.Errorf("the same again: %q, want nothing", got)
	}
	if got := change(seen(), &loomv1.Bead{Labels: []string{"b"}}, "labels"); got != "" {
		t.Errorf("a field that nobody changed, beside one: %q, want nothing", got)
	}
	events := len(d.events)
	if got := change(seen(), &loomv1.Bead{Goal: "theirs", Priority: urgent}, "goal", "priority"); got != "bead/changed" || len(d.events) != events {
		t.Errorf("what another changed meanwhile: %q and %d events, want bead/changed and none", got, len(d.events)-events)
	}
	if b := d.bead(id); b.Goal != "mine" || b.Priority == urgent {
		t.Errorf("refused, it changed the bead: %v", b)
	}
}

func TestSUB06_BadUpdatesAreRefusedAndChangeNothing(t *testing.T) {
	d := small(t)
	id, approval := d.plan(), d.fileAsk()
	large := strings.Repeat("x", project.MaxDescription+1)
	for _, tt := range []struct {
		name string
		cmd  *loomv1.Command
		want string
	}{
		{"no bead", updates(nil, "goal"), "bead/unknown"},
		{"an unknown bead", updates(&loomv1.Bead{Id: "shop-99", Goal: "x"}, "goal"), "bead/unknown"},
		{"an approval", updates(&loomv1.Bead{Id: approval, Goal: "x"}, "goal"), "bead/invalid"},
		{"no field", updates(&loomv1.Bead{Id: id, Goal: "x"}), "bead/invalid"},
		{"an unknown field", updates(&loomv1.Bead{Id: id}, "labls"), "submit/unknown-field"},
		{"a field that is not people's", updates(&loomv1.Bead{Id: id}, "status"), "submit/unknown-field"},
		{"an empty goal", updates(&loomv1.Bead{Id: id}, "goal"), "submit/empty-goal"},
		{"a large description", updates(&loomv1.Bead{Id: id, Description: large}, "description"), "submit/too-large"},
		{"a bad label", updates(&loomv1.Bead{Id: id, Labels: []string{"A B"}}, "labels"), "id/malformed"},
		{"a stakeholder without a word", updates(&loomv1.Bead{Id: id, Stakeholders: []string{"Ann", " "}}, "stakeholders"), "submit/invalid-field"},
		{"a stakeholder of two lines", updates(&loomv1.Bead{Id: id, Stakeholders: []string{"Ann\nBo"}}, "stakeholders"), "submit/invalid-field"},
		{"a stakeholder that steers the terminal", updates(&loomv1.Bead{Id: id, Stakeholders: []string{"Ann\x1b[31m"}}, "stakeholders"), "submit/invalid-field"},
		{"too many stakeholders", updates(&loomv1.Bead{Id: id, Stakeholders: make([]string, project.MaxStakeholders+1)}, "stakeholders"), "submit/invalid-field"},
		{"a goal with a bell", updates(&loomv1.Bead{Id: id, Goal: "a\ab"}, "goal"), "submit/invalid-field"},
		{"a goal that turns its text", updates(&loomv1.Bead{Id: id, Goal: "a \u202eb"}, "goal"), "submit/invalid-field"},
		{"a description with tags", updates(&loomv1.Bead{Id: id, Description: "two\nlines \U000e0041"}, "description"), "submit/invalid-field"},
		{"a priority that is none", updates(&loomv1.Bead{Id: id, Priority: 9}, "priority"), "submit/invalid-field"},
		{"a deadline that is past", updates(&loomv1.Bead{Id: id, Deadline: timestamppb.New(noon.Add(-1))}, "deadline"), "submit/past-deadline"},
		{"a negative budget", updates(&loomv1.Bead{Id: id, Budget: &loomv1.Budget{Tokens: -1}}, "budget"), "submit/negative-budget"},
		{"closing what is worked on", closeBead(id), "bead/running"},
		{"closing an approval", closeBead(approval), "bead/invalid"},
		{"closing nothing", closeBead(""), "bead/unknown"},
		{"reopening what is open", reopenBead(id, "k"), "bead/open"},
		{"reopening nothing", reopenBead("shop-99", "k"), "bead/unknown"},
		{"a long request", reopenBead(id, strings.Repeat("k", project.MaxKey+1)), "submit/invalid-field"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := d.codeOf(tt.cmd); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestSUB06_OnlyOperatorsAndHostsChangeBeads(t *testing.T) {
	d := small(t)
	id := d.plan()
	for kind := range loomv1.IdentityKind_name {
		k := loomv1.IdentityKind(kind)
		may := k == loomv1.IdentityKind_IDENTITY_KIND_OPERATOR || k == loomv1.IdentityKind_IDENTITY_KIND_HOST
		for _, cmd := range []*loomv1.Command{updates(&loomv1.Bead{Id: id, Goal: "by " + k.String()}, "goal"), closeBead(id), reopenBead(id, "k")} {
			cmd = proto.CloneOf(cmd)
			cmd.Actor = &loomv1.Identity{Kind: k, Name: "somebody"}
			if got := d.codeOf(cmd); (got == "request/denied") == may {
				t.Errorf("%T by %s: %q", cmd.Body, k, got)
			}
		}
	}
}

// Who works again on what was reopened reads why, until the CEO says something else.
func TestSUB06_WhyABeadWasReopenedReachesWhoWorksOnIt(t *testing.T) {
	d := small(t)
	id := d.plan()
	d.finish(id)
	again := func(why, request string) *loomv1.Brief {
		t.Helper()
		c := reopenBead(id, request)
		c.GetReopenBead().Reason = why
		d.ok(c)
		d.restart()
		b, who := d.claim("qa-engineer")
		d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: outcome(success, nil)}}})
		return b
	}
	const why = "the total is still rounded\nby the hundred"
	if b := again(why, "k"); b.Comment != why || b.Bead.GetReopened().GetText() != why {
		t.Errorf("told %q, of bead %v; want %q", b.Comment, b.Bead.GetReopened(), why)
	}
	if b := again("", "l"); b.Comment != "" {
		t.Errorf("reopened without a reason, told %q, which was the last one", b.Comment)
	}
}

func TestSUB06_AReopenedBeadBeginsOnTheNewestDefinition(t *testing.T) {
	d := small(t)
	id := d.plan()
	d.finish(id)
	d.store(line("small", "1.1", task("one", "qa-engineer")))
	first := d.ok(reopenBead(id, "k")).GetSubmit()
	if first.Execution != id+"-x2" || first.Duplicate {
		t.Fatalf("reopened: %v, want execution %s-x2", first, id)
	}
	if x := d.execution(id + "-x2"); x.Version != "1.1" {
		t.Errorf("the new execution runs version %s, want 1.1", x.Version)
	}
	if again := d.ok(reopenBead(id, "k")).GetSubmit(); !again.Duplicate || again.Bead != id {
		t.Errorf("the same request again: %v, want a duplicate", again)
	}
	d.finish(id)
	if b := d.bead(id); b.Executions != 2 || project.Word(b.Status) != "closed" {
		t.Errorf("in the end: %v", b)
	}
	if code := d.codeOf(reopenBead(id, "k")); code != "" {
		t.Errorf("the request of the first reopening, later: %q, want it answered as then", code)
	}
	if b := d.bead(id); b.Executions != 2 {
		t.Errorf("an old request opened it again: %d executions", b.Executions)
	}
}

func TestSUB06_ABeadThatNeverBeganCanBeClosedAndOpened(t *testing.T) {
	d := small(t)
	one := d.plan()
	two := d.plan(one)
	three := d.plan(two)
	d.ok(closeBead(two))
	d.wait(0)
	if a, b := d.status(two), d.status(three); a != "closed" || b != "in_progress" {
		t.Fatalf("closed by hand: %s, and what it blocked is %s", a, b)
	}
	if a := d.ok(closeBead(two)).GetSubmit(); !a.Duplicate {
		t.Errorf("closed again: %v, want a duplicate", a)
	}
	if a := d.ok(reopenBead(two, "k")).GetSubmit(); a.Execution != "" || d.status(two) != "blocked" {
		t.Errorf("opened while it is blocked: %v, %s, want no execution", a, d.status(two))
	}
	d.finish(one)
	if got := d.bead(two).Execution; got != two+"-x1" {
		t.Errorf("free: execution %q, want its first", got)
	}
}

package workflow_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func compiles(d *loomv1.Definition) error {
	_, err := workflow.Compile(d)
	return err
}

// placesOf returns where all the problems of an error are.
func placesOf(err error) []string {
	if err == nil {
		return nil
	}
	f := fault.From(err)
	places := []string{f.Where}
	for _, m := range f.More {
		places = append(places, m.Where)
	}
	return places
}

func backoff(initial, limit time.Duration) *loomv1.Backoff {
	return &loomv1.Backoff{Initial: durationpb.New(initial), Limit: durationpb.New(limit)}
}

const parent = "s start\np task max=2 process=other\ne end\ns -> p\np -> e"

func TestWF03_AProcessDoesTheWorkOfANode(t *testing.T) {
	w := newWorld(t, define(parent), nil)
	a := w.attempt("p")
	if a.Process != "other" || a.Role != "" || len(workflow.Queued(w.x)) != 0 {
		t.Fatalf("attempt = %v, queued %v; want one for a process, which nobody is offered", a, workflow.Queued(w.x))
	}
	n := len(w.events)
	for _, who := range []*loomv1.Claimant{by("researcher"), {Agent: "/1", Host: "h1"}} {
		wantCode(t, "claim", w.run().Claim(a.Id, 1, who), "attempt/wrong-role")
		wantCode(t, "answer", w.run().Answer(a.Id, who, good(nil)), "attempt/wrong-role")
		wantCode(t, "park", w.run().Park(a.Id, who, "lock"), "attempt/wrong-role")
	}
	w.child(t, a.Id, "p-2-x1")
	w.child(t, a.Id, "p-2-x1")
	wantCode(t, "another child", w.run().ChildStarted(a.Id, "p-3", "p-3-x1"), "attempt/claimed")
	wantCode(t, "no child", w.run().ChildStarted(a.Id, "", ""), "attempt/claimed")
	done := &loomv1.Outcome{Status: success, Summary: "found it", Notes: "here", Fields: fields(map[string]any{"x": 1})}
	for range 2 {
		if err := w.run().ChildEnded(a.Id, done); err != nil {
			t.Fatal(err)
		}
	}
	check(t, w.since(n), "p is done by p-2-x1\np answered success\np-e taken: success\ncompleted")
	got := w.x.Nodes["p"].Outcome
	if got.Summary != "found it" || got.Notes != "here" || got.Change != nil || got.Fields != nil || w.x.Change != nil {
		t.Errorf("outcome = %v, want its words alone", got)
	}
	wantCode(t, "another end", w.run().ChildEnded(a.Id, bad(nil)), "attempt/stale")
	wantCode(t, "a child of what has ended", w.run().ChildStarted(a.Id, "p-3", "p-3-x1"), "attempt/stale")
}

// What a child has made is taken over by an agent that may commit, and ends the
// attempt with what the child said.
func TestPROC06_AChildGivesItsChangeToItsParent(t *testing.T) {
	w := newWorld(t, define(parent), nil)
	a := w.attempt("p")
	w.child(t, a.Id, "p-2-x1")
	n := len(w.events)
	done := &loomv1.Outcome{Status: success, Summary: "found it", Notes: "here", Gaps: []string{"one thing"}, Change: changed("p9").Change}
	for range 2 { // told twice
		if err := w.run().ChildEnded(a.Id, done); err != nil {
			t.Fatal(err)
		}
	}
	check(t, w.since(n), "p is offered to engineering-manager")
	if a = w.attempt("p"); a == nil || w.x.Change != nil || len(workflow.Queued(w.x)) != 1 || a.Deadline != nil {
		t.Fatalf("attempt %v, change %v, queued %v; want one that waits for an agent", a, w.x.Change, workflow.Queued(w.x))
	}
	wantCode(t, "another end", w.run().ChildEnded(a.Id, good(nil)), "attempt/stale")
	wantCode(t, "a claim of another role", w.run().Claim(a.Id, 1, by("researcher")), "attempt/wrong-role")
	who := by("engineering-manager")
	w.now = w.now.Add(24 * time.Hour) // with no agent of theirs free
	if err := w.run().Claim(a.Id, 1, who); err != nil {
		t.Fatal(err)
	}
	if got := w.attempt("p").Deadline.AsTime().Sub(w.now); got != workflow.DefaultTimeout {
		t.Errorf("who takes it over has %s for it, want %s from their claim", got, workflow.DefaultTimeout)
	}
	n = len(w.events)
	out := &loomv1.Outcome{Status: success, Summary: "taken over", Change: changed("p10").Change}
	for range 2 {
		if err := w.run().Answer(a.Id, who, out); err != nil {
			t.Fatal(err)
		}
	}
	check(t, w.since(n), "p answered success\nproposed p10\ngap: p\np-e taken: success\ncompleted_with_gaps")
	if got := w.x.Nodes["p"].Outcome; got.Summary != "found it" || got.Notes != "here" || w.x.Change.GetPatchDigest() != "p10" {
		t.Errorf("outcome %v, change %v; want the child's words, and the change as it was taken over", got, w.x.Change)
	}
}

// What cannot be taken over fails the attempt, and another child begins.
func TestPROC06_WhatCannotBeTakenOverIsTriedAgain(t *testing.T) {
	w := newWorld(t, define(parent), nil)
	a := w.attempt("p")
	w.child(t, a.Id, "p-2-x1")
	if err := w.run().ChildEnded(a.Id, &loomv1.Outcome{Status: success, Change: changed("p9").Change}); err != nil {
		t.Fatal(err)
	}
	if err := w.run().Answer(a.Id, by("engineering-manager"), bad(nil)); err != nil {
		t.Fatal(err)
	}
	w.due(t)
	if a = w.attempt("p"); a.Number != 2 || a.Given != nil || a.Child != "" || w.x.Change != nil || len(workflow.Queued(w.x)) != 0 {
		t.Errorf("attempt %v, change %v; want a second one for a process", a, w.x.Change)
	}
}

// An execution that works for another never lands: its landing is its parent's.
func TestPROC06_OnlyTheOutermostExecutionLands(t *testing.T) {
	const way = "s start\nw task\nc task kind=commit\nv task kind=verify\nl task kind=land\ne end\ns -> w\nw -> c\nc -> v\nv -> l\nl -> e"
	for _, works := range []string{"", "p-9-x1"} {
		w, err := beginNested(define(way), nil, works)
		if err != nil {
			t.Fatal(err)
		}
		w.answer(t, "w", changed("p1"))
		commit, checks := committed("c1", "p1"), verified("c1", "go vet ./...")
		commit.Fields, checks.Fields = nil, nil
		w.answer(t, "c", commit)
		w.answer(t, "v", checks)
		if lands, done := w.attempt("l") != nil, w.x.Status == completed; lands == (works != "") || done == lands {
			t.Errorf("it works for %q: it is to land: %t, and it is %s", works, lands, w.x.Status)
		}
		if w.x.Change.GetPatchDigest() != "p1" {
			t.Errorf("it works for %q: change %v, want p1 to stand", works, w.x.Change)
		}
	}
}

func (w *world) child(t testing.TB, attempt, execution string) {
	t.Helper()
	if err := w.run().ChildStarted(attempt, "p-2", execution); err != nil {
		t.Fatal(err)
	}
}

func TestWF04_AFailedChildIsTriedAgainThenEscalated(t *testing.T) {
	w := newWorld(t, define(parent), nil)
	n := len(w.events)
	for range 2 {
		a := w.attempt("p")
		w.child(t, a.Id, "x-of-"+a.Id)
		if err := w.run().ChildEnded(a.Id, bad(nil)); err != nil {
			t.Fatal(err)
		}
		if w.status("p") == "backoff" {
			w.due(t)
		}
	}
	check(t, w.since(n), `p is done by x-of-p-1-x1-a1
		p answered failure tool/failed
		p backs off
		p dispatched to : 1.2 retry
		p is done by x-of-p-1-x1-a2
		p answered failure tool/failed
		p asks: attempt/exhausted`)
}

func TestWF03_AChildHasNoDeadlineUnlessItsNodeGivesOne(t *testing.T) {
	w := newWorld(t, define(parent, func(n map[string]*loomv1.NodeDefinition) { n["p"].Timeout = nil }), nil)
	if _, ok := workflow.Next(w.x, nil, 0); ok || w.attempt("p").Deadline != nil {
		t.Errorf("attempt = %v, want none", w.attempt("p"))
	}
	w = newWorld(t, define(parent), nil)
	w.due(t)
	w.want(t, "p waiting")
	wantCode(t, "the end of a withdrawn attempt's child", w.run().ChildEnded("p-1-x1-a1", good(nil)), "attempt/stale")
}

func TestWF03_ChildrenAreForAttemptsOfProcesses(t *testing.T) {
	w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e"), nil)
	id := w.attempt("a").Id
	wantCode(t, "ChildStarted", w.run().ChildStarted(id, "p-2", "p-2-x1"), "attempt/wrong-role")
	wantCode(t, "ChildEnded", w.run().ChildEnded(id, good(nil)), "attempt/wrong-role")
	wantCode(t, "ChildStarted", w.run().ChildStarted("p-1-x1-a9", "p-2", "p-2-x1"), "attempt/unknown")
	w = newWorld(t, define(parent), nil)
	wantCode(t, "a child that continues", w.run().ChildEnded(w.attempt("p").Id, more()), "outcome/invalid")
}

func TestWF04_BackoffOfANode(t *testing.T) {
	w := newWorld(t, define("s start\na task max=6\ne end\ns -> a\na -> e", func(n map[string]*loomv1.NodeDefinition) {
		n["a"].Backoff = backoff(10*time.Second, 25*time.Second)
	}), nil)
	for i, want := range []time.Duration{10, 20, 25, 25, 25} {
		w.answer(t, "a", bad(nil))
		at, _ := workflow.Next(w.x, nil, 0)
		if d := at.Sub(w.now); d < want*time.Second*8/10 || d > want*time.Second*12/10 {
			t.Errorf("backoff %d is %s, want %ds within a fifth", i+1, d, want)
		}
		w.due(t)
	}
}

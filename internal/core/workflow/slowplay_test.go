package workflow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/core/workflow/workflowtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// answer ends the attempt of a node.
func (s *slow) answer(id, status string, ok bool) {
	n := s.nodes[id]
	n.open, n.last, n.ok = "", status, ok
	n.ended++
	left := n.attempts < s.node(id).MaxAttempts+n.extra
	switch {
	case status == "success":
		s.succeed(id)
	case status == "failure":
		s.fail(id, left)
	case left:
		s.dispatch(id)
	default:
		s.giveUp(id)
	}
	s.advance()
}

func (s *slow) fail(id string, left bool) {
	n, d := s.nodes[id], s.node(id)
	taken := s.holding(s.outOf(id, true))
	switch to := s.reworkTarget(id); {
	case len(taken) > 0 && !(left && d.FailureEdgeAfterAttempts):
		s.complete(id, "failed", taken)
	case left:
		n.status = "backoff"
	case to != "":
		n.reworks++
		s.sendBack(to)
	default:
		s.giveUp(id)
	}
}

func (s *slow) reworkTarget(id string) string {
	p := s.node(id).OnFailure
	for _, rule := range p.GetRework() {
		if holds, known := s.read(rule.When, id); holds && known && s.nodes[id].reworks < p.Max {
			return rule.To
		}
	}
	return ""
}

func (s *slow) giveUp(id string) {
	if s.node(id).Criticality == loomv1.Criticality_CRITICALITY_OPTIONAL {
		s.gap(id)
		return
	}
	s.escalate(id)
}

// fire lets the timers of some nodes go off, in order.
func (s *slow) fire(ids []string) {
	if s.held {
		return
	}
	for _, id := range s.order {
		n := s.nodes[id]
		switch {
		case !slices.Contains(ids, id):
		case n.status == "backoff" && s.haltedBy() == "":
			s.dispatch(id)
		case n.open == "attempt":
			n.open, n.last, n.ok = "", "failure", false
			n.ended++
			if taken := s.holding(s.outOf(id, true)); len(taken) > 0 {
				s.complete(id, "failed", taken)
			} else {
				s.giveUp(id)
			}
		}
	}
	s.advance()
}

// decide answers what is asked about a node.
func (s *slow) decide(id string, d loomv1.ApprovalDecision) {
	n, task := s.nodes[id], s.node(id).Type == loomv1.NodeType_NODE_TYPE_TASK
	was := n.open
	n.open = ""
	if was == "gate" {
		n.status, n.waived = "unspecified", n.waived || d == approve
	}
	switch {
	case d == reject:
		s.close("rejected")
	case d == requestChanges:
		s.sendBack(s.lastWorking(id))
	case d == skip && (was == "gate" || task && n.last != "success"):
		s.gap(id)
	case was == "gate":
	case d == approve && was == "question":
		s.succeed(id)
	case d == retry && task:
		n.extra += s.node(id).MaxAttempts
		s.dispatch(id)
	case d == retry:
		s.succeed(id)
	default:
		s.complete(id, "succeeded", s.onward(id))
	}
	s.advance()
}

// lastWorking is the last task before a node that has run in its visit.
func (s *slow) lastWorking(id string) (last string) {
	for _, m := range s.order {
		st := s.nodes[m].status
		if s.follows(id, m) && s.node(m).Type == loomv1.NodeType_NODE_TYPE_TASK && s.nodes[m].ended > 0 && (st == "succeeded" || st == "failed") {
			last = m
		}
	}
	return last
}

// move goes on at a node: it and what follows it is fresh, all else is settled.
func (s *slow) move(to string) {
	reached := map[string]bool{}
	for id, n := range s.nodes {
		reached[id] = n.status != "unspecified"
	}
	s.withdraw(s.order)
	in := s.into(to)
	via := slices.IndexFunc(in, func(e *loomv1.EdgeDefinition) bool { return !s.isSettled(e) })
	if via >= 0 && !slices.ContainsFunc(in, s.isTaken) {
		defer func() {
			s.edges[in[via].Id] = true
			s.advance()
		}()
	} else {
		defer s.advance()
	}
	s.anew(to, func(id string) bool { return reached[id] })
	for _, id := range s.order {
		if id != to && !s.follows(id, to) && !s.done(id) {
			s.complete(id, "skipped", nil)
		}
	}
}

// TestWF03_AgreesWithASlowScheduler plays random executions of random
// definitions on the engine and on the slow scheduler, and compares all that
// can be seen of them after each step.
func TestWF03_AgreesWithASlowScheduler(t *testing.T) {
	longtest.Skip(t)
	saw := map[string]int{}
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 11))
		def := workflowtest.Random(rng)
		if seed%3 > 0 {
			def = workflowtest.Rich(rng)
		}
		if slices.ContainsFunc(def.Nodes, func(n *loomv1.NodeDefinition) bool { return n.Kind != 0 }) {
			continue // evidence is another matter, see evidence_test.go
		}
		d := &duel{t: t, rng: rng, fast: newWorld(t, def, nil), slow: newSlow(proto.CloneOf(def)), saw: saw}
		d.slow.def = d.fast.def.Definition() // with its defaults
		d.slow.advance()
		d.play(40)
		if t.Failed() {
			t.Fatalf("seed %d\n%s\n%s", seed, drawn(def), d.fast.story())
		}
	}
	for _, what := range []string{"answer", "fire", "decide", "move", "hold", "gap", "halt", "completed", "rejected", "failed"} {
		if saw[what] == 0 {
			t.Errorf("there was never: %s", what)
		}
	}
	t.Log(saw)
}

// duel is one execution on both.
type duel struct {
	t    *testing.T
	rng  *rand.Rand
	fast *world
	slow *slow
	saw  map[string]int
}

func (d *duel) run() workflow.Run {
	r := d.fast.run()
	r.Held = d.slow.held
	return r
}

func (d *duel) play(steps int) {
	d.compare("the start")
	for range steps {
		if d.slow.end != "" || d.t.Failed() {
			return
		}
		d.compare(d.step())
	}
}

func (d *duel) step() string {
	switch d.rng.IntN(8) {
	case 0, 1, 2:
		return d.answer()
	case 3, 4:
		return d.fire()
	case 5, 6:
		return d.decide()
	}
	if d.rng.IntN(3) > 0 {
		d.saw["hold"]++
		d.slow.held = !d.slow.held
		d.must(d.run().Advance())
		d.slow.advance()
		return "hold"
	}
	to := d.slow.order[d.rng.IntN(len(d.slow.order))]
	if d.slow.node(to).Detached {
		return "nothing"
	}
	d.saw["move"]++
	d.must(d.run().Move(to, ""))
	d.slow.move(to)
	return "move to " + to
}

func (d *duel) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Error(err)
	}
}

func (d *duel) answer() string {
	open := slices.DeleteFunc(slices.Clone(d.slow.order), func(id string) bool { return d.fast.attempt(id) == nil })
	if len(open) == 0 {
		return "nothing"
	}
	id := open[d.rng.IntN(len(open))]
	a := d.fast.attempt(id)
	d.saw["answer"]++
	out, status, field := bad(nil), "failure", false
	switch {
	case d.rng.IntN(3) > 0:
		field = d.rng.IntN(2) == 0
		out, status = ok(field), "success"
	case d.slow.node(id).MultiDispatch:
		out, status = more(), "continue"
	}
	d.must(d.run().Answer(a.Id, by(a.Role), out))
	d.slow.answer(id, status, field)
	return fmt.Sprintf("%s of %s", status, id)
}

func (d *duel) fire() string {
	at, due := workflow.Next(d.fast.x, nil, 0)
	if due && at.After(d.fast.now) && (at.Before(d.fast.now.Add(time.Minute)) || d.rng.IntN(4) == 0) {
		d.fast.now = at
	}
	d.saw["fire"]++
	var ids []string
	for id, st := range d.fast.x.Nodes {
		if t := st.RetryAt; st.Attempt.GetClaimant() != nil && !st.Attempt.Deadline.AsTime().After(d.fast.now) || t != nil && !t.AsTime().After(d.fast.now) {
			ids = append(ids, id)
		}
	}
	d.must(d.run().Tick())
	d.slow.fire(ids)
	return fmt.Sprintf("timers of %s at %s", ids, d.fast.now.Format(time.TimeOnly))
}

func (d *duel) decide() string {
	for _, id := range d.slow.order {
		a := d.fast.approval(id)
		if a == nil {
			continue
		}
		d.saw["decide"]++
		choice := a.Options[d.rng.IntN(len(a.Options))]
		if choice == reject && d.rng.IntN(4) > 0 {
			choice = approve
		}
		decided := &loomv1.ApprovalDecided{Approval: a.Id, Decision: choice}
		d.must(d.fast.emit(&loomv1.Event{Node: id, Fact: &loomv1.Event_ApprovalDecided{ApprovalDecided: decided}}))
		d.must(d.run().Decide(a, &loomv1.DecideApproval{Approval: a.Id, Decision: choice}))
		d.slow.decide(id, choice)
		return fmt.Sprintf("%s to %s", choice, id)
	}
	return "nothing"
}

func (d *duel) compare(after string) {
	x, s := d.fast.x, d.slow
	for _, id := range s.order {
		st, n := x.Nodes[id], s.nodes[id]
		if st == nil {
			st = &loomv1.NodeState{Visit: 1}
		}
		got := fmt.Sprint(d.fast.status(id), " ", st.Visit, st.Attempts, st.ExtraAttempts, len(st.History), st.Reworks, st.Replans, st.Attempt != nil, st.Approval != "")
		want := fmt.Sprint(n.status, " ", n.visit, n.attempts, n.extra, n.ended, n.reworks, n.replan, n.open == "attempt", n.open != "" && n.open != "attempt")
		if got != want {
			d.t.Errorf("after %s node %s is %s, want %s", after, id, got, want)
		}
	}
	for _, e := range s.def.Edges {
		got, settled := x.Edges[e.Id]
		want, is := s.edges[e.Id]
		if got != want || settled != is {
			d.t.Errorf("after %s edge %s: taken %t, settled %t; want %t, %t", after, e.Id, got, settled, want, is)
		}
	}
	end := strings.TrimPrefix(strings.ToLower(strings.TrimPrefix(x.Status.String(), "EXECUTION_STATUS_")), "running")
	if end != s.end || x.HaltedBy != s.haltedBy() || len(x.Gaps) != len(s.gaps) || int(x.Dispatches) != s.dispatches {
		d.t.Errorf("after %s it is %q, halted by %q, with %d gaps and %d dispatches; want %q, %q, %d, %d",
			after, end, x.HaltedBy, len(x.Gaps), x.Dispatches, s.end, s.haltedBy(), len(s.gaps), s.dispatches)
	}
	d.saw["gap"] += len(s.gaps)
	d.saw[s.end]++
	if s.haltedBy() != "" {
		d.saw["halt"]++
	}
}

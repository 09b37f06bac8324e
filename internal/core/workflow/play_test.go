package workflow_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// play does up to so many random things.
func (m *sim) play(steps int) {
	for range steps {
		if m.t.Failed() || m.x.EndedAt != nil {
			return
		}
		m.now = m.now.Add(time.Duration(m.rng.IntN(2000)) * time.Millisecond)
		if m.seed%3 > 1 && m.rng.IntN(6) == 0 {
			m.steer()
			continue
		}
		switch m.rng.IntN(10) {
		case 0, 1, 2, 3:
			m.answerSome(false)
		case 4:
			m.claimSome()
		case 5:
			m.wait()
		case 6, 7:
			m.decideSome(m.anyOption)
		case 8:
			m.restart()
		case 9:
			m.answerAgain()
		}
	}
}

// finish plays without faults until the execution ends: agents succeed, the
// CEO approves, and rejects what it is asked about for the fifth time.
func (m *sim) finish() {
	m.free()
	for step := 0; m.x.EndedAt == nil && !m.t.Failed(); step++ {
		if step > 500 {
			m.broken("it does not end")
			return
		}
		m.answerSome(true)
		m.decideSome(func(a *loomv1.Approval) loomv1.ApprovalDecision {
			if step > 40 {
				return reject
			}
			return approve
		})
		m.unparkAll()
		if len(m.outstanding()) == 0 || m.rng.IntN(8) == 0 {
			m.wait()
		}
	}
	if m.t.Failed() {
		return
	}
	for _, g := range m.given {
		_ = m.tried(func() error { return m.give(g) })
	}
	if err := m.tried(func() error { return m.run().Move("start", "") }); fault.Code(err) != "override/ended" {
		m.broken("a move after the end: %v", err)
	}
	_ = m.tried(m.run().Tick)
	_ = m.tried(m.run().Begin)
}

// replay folds all events from nothing.
func (m *sim) replay() {
	x := &loomv1.Execution{}
	for _, e := range m.events {
		m.must(fold(x, e))
	}
	if !proto.Equal(x, m.x) {
		m.broken("the replay differs")
	}
}

// restart loses all but the log or, half of the time, all but a snapshot.
func (m *sim) restart() {
	m.saw["restart"]++
	if m.rng.IntN(2) == 0 {
		m.x = snapshot(m.t, m.x)
		return
	}
	x := &loomv1.Execution{}
	for _, e := range m.events {
		m.must(fold(x, e))
	}
	m.x = x
}

// outstanding lists the open attempts in the order of the definition.
func (m *sim) outstanding() (open []*loomv1.Attempt) {
	for _, n := range m.def.Definition().Nodes {
		if a := m.attempt(n.Id); a != nil {
			open = append(open, a)
		}
	}
	return open
}

func (m *sim) answerSome(well bool) {
	open := m.outstanding()
	if len(open) == 0 {
		return
	}
	a := open[m.rng.IntN(len(open))]
	who := a.Claimant
	if who == nil {
		who = &loomv1.Claimant{Agent: fmt.Sprintf("%s/%d", a.Role, 1+m.rng.IntN(2)), Host: "h", Epoch: 1}
	}
	g := given{a.Id, who, m.outcome(a, well || m.rng.IntN(3) > 0)}
	if workflow.OfProcess(a) {
		m.must(m.run().ChildStarted(a.Id, "p-2", "p-2-"+a.Id))
		g.who = nil
	}
	err := m.tried(func() error { return m.give(g) })
	switch fault.Code(err) {
	case "":
		m.given = append(m.given, g)
	case "attempt/own-work":
		m.saw["own work"]++
	case "attempt/stale", "outcome/invalid":
	default:
		m.broken("Answer(%s): %v", a.Id, err)
	}
}

// give gives an answer, as an agent or as a child execution.
func (m *sim) give(g given) error {
	if g.who == nil {
		return m.run().ChildEnded(g.attempt, g.out)
	}
	return m.run().Answer(g.attempt, g.who, g.out)
}

// outcome is what an agent says: with all that is needed when it goes well.
func (m *sim) outcome(a *loomv1.Attempt, well bool) *loomv1.Outcome {
	n := m.def.Node(a.Node)
	patch := fmt.Sprintf("p%d", m.rng.IntN(3))
	if !well {
		out := bad(nil)
		if m.rng.IntN(3) == 0 && !workflow.OfProcess(a) {
			out = more()
		}
		if n.Kind == loomv1.NodeKind_NODE_KIND_COMMIT && m.rng.IntN(2) == 0 {
			out.Change = changed(patch).Change
		}
		return out
	}
	out := ok(m.rng.IntN(3) > 0)
	switch n.Kind {
	case loomv1.NodeKind_NODE_KIND_COMMIT:
		if approved := m.x.Change.GetPatchDigest(); m.rng.IntN(4) > 0 && approved != "" {
			patch = approved
		}
		out.Candidate = committed("c-"+a.Id, patch).Candidate
	case loomv1.NodeKind_NODE_KIND_VERIFY:
		out.Checks = verified(m.x.Candidate.GetCommit(), "make").Checks
		out.Checks[0].Passed = m.rng.IntN(5) > 0
	case loomv1.NodeKind_NODE_KIND_LAND:
		out.Landing = landed(m.x.Candidate.GetCommit()).Landing
	default:
		if m.rng.IntN(2) == 0 {
			out.Change = changed(patch).Change
		}
	}
	return out
}

// answerAgain gives an accepted answer once more, or another to what has ended.
func (m *sim) answerAgain() {
	if len(m.given) == 0 {
		return
	}
	g := m.given[m.rng.IntN(len(m.given))]
	n := len(m.events)
	err := m.tried(func() error { return m.give(g) })
	if err != nil || len(m.events) != n {
		m.broken("the same answer to %s again: %v and %d events", g.attempt, err, len(m.events)-n)
	}
	m.saw["answered twice"]++
	other := proto.CloneOf(g.out)
	other.Summary = "something else"
	if g.who != nil && other.Status == success { // of what is taken over the change counts, not the words
		other.Change = changed("another").Change
	}
	g.out = other
	if err := m.tried(func() error { return m.give(g) }); fault.Code(err) != "attempt/stale" {
		m.broken("another answer to %s: %v", g.attempt, err)
	}
	m.saw["stale answer"]++
}

func (m *sim) claimSome() {
	open := m.outstanding()
	if len(open) == 0 {
		return
	}
	a := open[m.rng.IntN(len(open))]
	who := &loomv1.Claimant{Agent: fmt.Sprintf("%s/%d", a.Role, 1+m.rng.IntN(2)), Host: "h", Epoch: 1}
	if a.Claimant != nil {
		who = a.Claimant
	}
	if err := m.tried(func() error { return m.run().Claim(a.Id, a.Generation, who) }); fault.Code(err) == "attempt/paused" {
		m.saw["attempt refused while held"]++
	} else if err == nil && m.isHeld() {
		m.broken("%s was claimed while the execution is held", a.Id)
	}
	switch m.rng.IntN(8) {
	case 7:
		block := &loomv1.ModelBlock{Model: "m", Code: "model/key-refused"}
		if m.tried(func() error { return m.run().ParkForOperator(a.Id, who, block) }) == nil {
			m.saw["parked for the operator"]++
		}
	case 5:
		m.crash(a, func() (bool, error) { return m.run().Crash(a.Id, who, "it broke down") })
	case 6:
		m.crash(a, func() (bool, error) { return m.run().HostLost(a.Id, "host h is gone") })
	case 0:
		_ = m.tried(func() error { return m.run().Release(a.Id, who, "drain") })
	case 4:
		until := m.now.Add(time.Duration(m.rng.IntN(900)) * time.Second)
		if m.tried(func() error { return m.run().ParkUntil(a.Id, who, until) }) == nil {
			m.saw["parked for a rate limit"]++
		}
	case 1:
		_ = m.tried(func() error { return m.run().Park(a.Id, who, "lock") })
	case 2:
		_ = m.tried(func() error { return m.run().Unpark(a.Id) })
	}
}

// mostCrashes is how often agents may crash at an attempt of this run.
func (m *sim) mostCrashes() uint32 { return 1 + uint32(m.seed%3) }

// crash has an attempt's agent or host fail, and wants exactly the one too many to
// end the attempt.
func (m *sim) crash(a *loomv1.Attempt, fail func() (bool, error)) {
	held, before := a.Claimant != nil, a.Crashes+a.HostsLost
	ended := false
	if m.tried(func() (err error) { ended, err = fail(); return err }) != nil || !held {
		return
	}
	counted := a.Crashes+a.HostsLost == before+1
	if ended != (a.EndedAt != nil) || ended == counted || a.Crashes >= m.mostCrashes() || !ended && a.Claimant != nil {
		m.broken("after %d crashes and lost hosts, and one more, an attempt is %v, ended: %t", before, a, ended)
	}
	if ended {
		if a.Outcome.GetCode() != workflow.Crashed || a.Claimant == nil {
			m.broken("after crashes an attempt ended as %v", a)
		}
		m.saw["crashed"]++
	}
}

func (m *sim) unparkAll() {
	for _, a := range m.outstanding() {
		_ = m.tried(func() error { return m.run().Unpark(a.Id) })
	}
}

// wait lets time pass until something is due, or not quite.
func (m *sim) wait() {
	if at, ok := workflow.Next(m.x, m.absent, grace); ok && at.After(m.now) && m.rng.IntN(3) > 0 {
		m.now = at
	}
	m.must(m.tried(m.run().Tick))
	if at, ok := workflow.Next(m.x, m.absent, grace); ok && !m.held && !at.After(m.now) {
		m.broken("a timer of %s is due after the tick at %s", at, m.now)
	}
}

func (m *sim) anyOption(a *loomv1.Approval) loomv1.ApprovalDecision {
	if m.rng.IntN(2) == 0 {
		return approve
	}
	d := a.Options[m.rng.IntN(len(a.Options))]
	if d == reject && m.rng.IntN(4) > 0 {
		return approve
	}
	return d
}

func (m *sim) decideSome(choose func(*loomv1.Approval) loomv1.ApprovalDecision) {
	if a := m.approvals[m.x.LimitApproval]; a != nil {
		m.decideLimit(a, choose(a))
		return
	}
	for _, n := range m.def.Definition().Nodes {
		a := m.approval(n.Id)
		if a == nil {
			continue
		}
		d := choose(a)
		escalated := a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION
		if escalated || d == approve {
			m.more[fmt.Sprintf("%s/%d", n.Id, a.Visit)]++
		}
		from := len(m.events)
		m.must(m.decideAs(a, d))
		m.still()
		m.checkAnswered(a, d, m.events[from:])
		return
	}
}

func (m *sim) decideAs(a *loomv1.Approval, d loomv1.ApprovalDecision) error {
	decided := &loomv1.ApprovalDecided{Approval: a.Id, Decision: d, Digest: a.Digest, DecisionNode: "d1"}
	if err := m.emit(&loomv1.Event{Node: a.Node, Fact: &loomv1.Event_ApprovalDecided{ApprovalDecided: decided}}); err != nil {
		return err
	}
	return m.run().Decide(a, &loomv1.DecideApproval{Approval: a.Id, Digest: a.Digest, Decision: d, Comment: "the CEO says so"})
}

// checkAnswered wants an answer to have moved the node, and an escalation to
// have led to none of itself, but that a condition may fail again on retry.
func (m *sim) checkAnswered(a *loomv1.Approval, d loomv1.ApprovalDecision, events []*loomv1.Event) {
	if a.Id == m.x.Nodes[a.Node].GetApproval() {
		m.broken("approval %s is open after %s", a.Id, d)
	}
	if a.Kind != loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION || a.Gate || d == retry && !strings.HasPrefix(a.Reason, "attempt/") {
		return
	}
	if slices.ContainsFunc(events, func(e *loomv1.Event) bool {
		again := e.GetApprovalRequested().GetApproval()
		return e.Node == a.Node && again.GetReason() != "" && again.Visit == a.Visit
	}) {
		m.broken("the answer %s to escalation %s escalated it again", d, a.Id)
	}
}

// drawn is a definition for a person who looks into a failed seed.
func drawn(d *loomv1.Definition) string {
	var b strings.Builder
	for _, n := range d.Nodes {
		fmt.Fprintf(&b, "%v\n", n)
	}
	for _, e := range d.Edges {
		fmt.Fprintf(&b, "%v\n", e)
	}
	return b.String()
}

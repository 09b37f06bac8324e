// Package provenance tells of what was delivered who made it, from which sources, who
// judged it and what that cost, from the events of the work.
//
// It promises that no word of a model decides what it says: who made a file follows from
// which phase promises it and which attempt ended that phase well, and what was read from
// what tools have recorded. What was read outside of the workspace is untrusted, always.
package provenance

import (
	"slices"
	"time"

	"github.com/loomrun/loom/internal/core/sourcelist"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Attempt is one try at a node, as its events tell it.
type Attempt struct {
	ID        string    `json:"attempt"`
	Execution string    `json:"execution"`
	Node      string    `json:"node"`
	Role      string    `json:"role"`
	Agent     string    `json:"agent,omitempty"`
	Host      string    `json:"host,omitempty"`
	Models    []string  `json:"models,omitempty"`
	Calls     int       `json:"model_calls"`
	Tokens    uint64    `json:"tokens"`
	MicroUSD  uint64    `json:"cost_micro_usd"`
	Ended     time.Time `json:"ended,omitzero"`
	Succeeded bool      `json:"succeeded"`
	// Sources are the numbers of what its tools have read outside of the workspace.
	Sources []int `json:"sources,omitempty"`
}

// Record is what events tell of a bead and of the work that was filed for it.
type Record struct {
	tree     *sourcelist.Tree
	attempts map[string]*Attempt
	order    []*Attempt
	children map[string]string // executions that work for an attempt, by attempt
	after    []string
}

// Afterwards are the beads of what was done after the bead's end, and after that of work
// for it.
func (r *Record) Afterwards() []string { return slices.Clone(r.after) }

// Of returns the record of a bead. It takes the events of the project from the first.
func Of(bead string) *Record {
	return &Record{tree: sourcelist.Of(bead), attempts: map[string]*Attempt{}, children: map[string]string{}}
}

// Kinds are the kinds of events that a record is made of; it needs no others.
func Kinds() []string {
	return []string{"bead-filed", "attempt-dispatched", "attempt-claimed", "attempt-ended", "model-answered", "turn-compacted", "call-settled", "tool-finished"}
}

// Add takes an event, and says whether it is about the bead or about work for it.
func (r *Record) Add(e *loomv1.Event) bool {
	if !r.tree.Add(e) {
		return false
	}
	switch f := e.Fact.(type) {
	case *loomv1.Event_BeadFiled:
		if b := f.BeadFiled.GetBead(); b.GetAfter() != "" {
			r.after = append(r.after, b.Id)
		}
	case *loomv1.Event_AttemptDispatched:
		a := &Attempt{ID: e.Attempt, Execution: e.Execution, Node: e.Node, Role: f.AttemptDispatched.Role}
		r.attempts[e.Attempt], r.order = a, append(r.order, a)
	case *loomv1.Event_AttemptClaimed:
		if a := r.attempts[e.Attempt]; a != nil {
			a.Agent, a.Host = f.AttemptClaimed.GetClaimant().GetAgent(), f.AttemptClaimed.GetClaimant().GetHost()
		}
	case *loomv1.Event_ModelAnswered:
		r.answered(e.Attempt, f.ModelAnswered.GetAnswer())
	case *loomv1.Event_TurnCompacted:
		r.answered(e.Attempt, f.TurnCompacted.GetCompaction().GetAnswer())
	case *loomv1.Event_CallSettled:
		if a := r.attempts[e.Attempt]; a != nil {
			a.pays(f.CallSettled.GetUsage())
		}
	case *loomv1.Event_ToolFinished:
		r.readBy(e.Attempt, f.ToolFinished.GetResult().GetRead())
	case *loomv1.Event_AttemptEnded:
		if a := r.attempts[e.Attempt]; a != nil {
			a.Ended, a.Succeeded = e.Time.AsTime().UTC(), f.AttemptEnded.GetOutcome().GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS
		}
	}
	return true
}

func (r *Record) answered(attempt string, m *loomv1.ModelAnswer) {
	a := r.attempts[attempt]
	if a == nil || m == nil {
		return
	}
	if a.Calls++; m.Model != "" && !slices.Contains(a.Models, m.Model) {
		a.Models = append(a.Models, m.Model)
	}
	a.pays(m.Usage)
}

// pays adds what a call has used, also one that nobody has heard of since, of which all
// that was reserved for it is assumed.
func (a *Attempt) pays(u *loomv1.Usage) {
	a.Tokens += u.GetInputTokens() + u.GetOutputTokens()
	a.MicroUSD += u.GetCostMicroUsd()
}

func (r *Record) readBy(attempt string, read []*loomv1.SourceRead) {
	a := r.attempts[attempt]
	for _, s := range read {
		if n := r.tree.Number(s); a != nil && n > 0 && !slices.Contains(a.Sources, n) {
			a.Sources = append(a.Sources, n)
		}
	}
}

// Whole says whether the events began before the bead: else something may be missing.
func (r *Record) Whole() bool { return r.tree.Whole() }

// Sources are what was read outside of the workspace, by number from 1.
func (r *Record) Sources() []sourcelist.Entry { return r.tree.Entries() }

// Maker is the attempt whose work a node of an execution stands by: the last that ended
// well. It is nil where there is none.
func (r *Record) Maker(execution, node string) *Attempt {
	for _, a := range slices.Backward(r.order) {
		if a.Execution == execution && a.Node == node && a.Succeeded {
			return a
		}
	}
	return nil
}

// Before returns the numbers of what was read when an attempt ended by what its work can
// rest on: by itself and others at its node, at nodes before it, and in executions that did
// the work of phases.
func (r *Record) Before(a *Attempt, def *loomv1.Definition) (numbers []int) {
	before := upstream(def, a.Node)
	for _, o := range r.order {
		if o.Execution == a.Execution && !before[o.Node] {
			continue
		}
		for _, n := range o.Sources {
			if read := r.Sources()[n-1]; !slices.Contains(numbers, n) && (a.Ended.IsZero() || !read.At.After(a.Ended)) {
				numbers = append(numbers, n)
			}
		}
	}
	slices.Sort(numbers)
	return numbers
}

// upstream are a node and all from which work comes to it.
func upstream(def *loomv1.Definition, node string) map[string]bool {
	reached := map[string]bool{node: true}
	for changed := true; changed; {
		changed = false
		for _, e := range def.GetEdges() {
			if reached[e.To] && !reached[e.From] {
				reached[e.From], changed = true, true
			}
		}
	}
	return reached
}

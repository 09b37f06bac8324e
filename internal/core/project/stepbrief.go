package project

import (
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// stepBrief is what an agent is told of the session whose step it works on.
func (s *State) stepBrief(x *loomv1.Execution, a *loomv1.Attempt) *loomv1.StepBrief {
	on := s.sessionOf(x)
	if on == nil {
		return nil
	}
	envelope, _, sealed := on.Sealed()
	if !sealed {
		return nil
	}
	b := &loomv1.StepBrief{Session: on.ID(), Request: on.Request(), Envelope: envelope, Inputs: s.p.Sessions[on.ID()].Inputs}
	if run := on.Running(); run != nil && on.Pattern().Steps[run.Step-1].Name == a.Node {
		step := on.Pattern().Steps[run.Step-1]
		b.Run, b.Steering, b.Writes, b.Again, b.Within = run, on.Steered(run.Run), step.Writes, on.Again(), step.Within
		b.Inputs = slices.DeleteFunc(slices.Clone(b.Inputs), func(in *loomv1.PreparedInput) bool { return slices.Contains(step.Withholds, in.Name) })
		for _, name := range step.Deliverables {
			b.Deliverables = append(b.Deliverables, path.Join(intent.Folder(on.ID()), name))
		}
	}
	if b.Run == nil { // whoever judges is told what everybody agreed to
		b.Steering, b.Constraints = on.Said(), demands(on.Pattern())
		for _, gap := range on.Gaps() {
			b.Gaps = append(b.Gaps, gap+": "+on.OpenEnd(gap))
		}
	}
	for _, r := range on.Pattern().Rubric {
		b.Rubric = append(b.Rubric, r.Question)
	}
	for _, name := range leavings(on.Pattern()) {
		if made, ok := on.Output(name); ok {
			b.Earlier = append(b.Earlier, &loomv1.StepOutput{Name: path.Join(intent.Folder(on.ID()), name), Content: made.Content, Step: made.Step})
		}
	}
	for i, step := range on.Pattern().Steps {
		order := uint32(i + 1) //nolint:gosec // there are 16 at most
		here := x.Nodes[step.Name].GetStatus() == loomv1.NodeStatus_NODE_STATUS_SUCCEEDED
		done, ok := on.Done(order)
		stale := b.Run == nil && strings.Contains(done.GetNotes(), asBefore) // whoever judges has to know
		if ok && (!here || stale) && (b.Run == nil || order < b.Run.Step) {
			b.Done = append(b.Done, done)
		}
	}
	return b
}

// demands are the constraints of a pattern, and those of the patterns that it uses as steps,
// with where they hold.
func demands(p *loomv1.Pattern) []string {
	list := slices.Clone(p.GetConstraints())
	for _, step := range p.GetSteps() {
		place := ""
		for _, use := range step.Within {
			place = path.Join(place, use.Step)
			for _, c := range use.Constraints {
				if said := "Of what lies in " + place + "/: " + c; !slices.Contains(list, said) {
					list = append(list, said)
				}
			}
		}
	}
	return list
}

// leavings are the files that steps of a pattern leave, its outputs first.
func leavings(p *loomv1.Pattern) (names []string) {
	for _, o := range p.GetOutputs() {
		names = append(names, o.Name)
	}
	for _, step := range p.GetSteps() {
		for _, name := range step.Deliverables {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

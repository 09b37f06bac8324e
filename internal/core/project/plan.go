package project

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/plan"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// planned returns what makes of an outcome the definition that its plan asks for.
// Whoever made the plan, it is held against the process here again.
func (d *decision) planned(x *loomv1.Execution) func(*loomv1.Outcome) (*workflow.Compiled, *loomv1.Plan, error) {
	return func(out *loomv1.Outcome) (*workflow.Compiled, *loomv1.Plan, error) {
		o := plan.Options(d.s.bead(x.Bead), x, d.s.allowed(x).GetTokens())
		o.Roles = d.s.cfg.Roles
		text := plan.Text(out)
		if text == "" && !o.Approve {
			return nil, nil, nil
		}
		def, p, err := processes.Replan(d.s.p.Definitions[x.DefinitionHash], text, o)
		if err != nil {
			return nil, nil, err
		}
		c, err := d.s.cfg.Compile(def)
		return c, p, err
	}
}

// applyPlan keeps the definition of a plan, which is nobody's newest, and has
// the execution go on by it.
func (s *State) applyPlan(e *loomv1.Event, f *loomv1.PlanAdopted) error {
	if s.defs[f.Hash] == nil {
		c, err := s.cfg.Compile(f.Definition)
		if err != nil {
			return fmt.Errorf("plan of execution %q: %w", e.Execution, err)
		}
		s.p.Definitions[f.Hash], s.p.StoredAt[f.Hash], s.defs[f.Hash] = proto.CloneOf(f.Definition), e.Time, c
	}
	return nil
}

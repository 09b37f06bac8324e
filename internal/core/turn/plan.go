package turn

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// PlanName is the tool by which an architect hands its plan to an editor. Only
// a turn that has an architect knows it, and only until there is a plan.
const PlanName = "plan"

// The parts that two models can share a turn in, as answers record them.
const (
	Architect = "architect"
	Editor    = "editor"
)

// Bounds of a plan.
const (
	maxChanges  = 50
	maxPlanText = 4 << 10 // bytes of one text
)

// Plan is what an architect wants done, as data.
type Plan struct {
	Summary string   `json:"summary"`
	Changes []Change `json:"changes"`
	Checks  []string `json:"checks,omitempty"`
}

// Change is what is to be done to one file.
type Change struct {
	Path   string `json:"path"`
	Action string `json:"action"` // create, edit or delete
	What   string `json:"what"`
}

var actions = []string{"create", "edit", "delete"}

// PlanTool offers [PlanName] to a model.
func PlanTool() Tool {
	change := object(map[string]any{
		"path":   text("The file, relative to the workspace."),
		"action": map[string]any{"type": "string", "enum": actions},
		"what":   text("What is different afterwards, so exactly that somebody who has not read the code can do it."),
	}, "path", "action", "what")
	schema, err := json.Marshal(object(map[string]any{
		"summary": text("One line: what the changes bring about."),
		"changes": map[string]any{"type": "array", "minItems": 1, "maxItems": maxChanges, "items": change},
		"checks":  map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": "Commands that must pass afterwards."},
	}, "summary", "changes"))
	if err != nil {
		panic(err) // strings alone
	}
	about := "Hand your plan to the editor, who carries it out with tools and sees nothing but the assignment and the plan. Call it once, alone, when you have read enough. If the task cannot be done, call " + FinishName + " with status failure instead."
	return Tool{Name: PlanName, Description: about, Schema: schema}
}

// Planning reports whether the next answer is the architect's.
func Planning(t *loomv1.Turn) bool { return t.GetArchitect() != "" && !hasPlan(t.GetSteps()) }

// Part returns whose the next answer is where two models share a turn, or "".
func Part(t *loomv1.Turn) string {
	switch {
	case t.GetArchitect() == "":
		return ""
	case Planning(t):
		return Architect
	}
	return Editor
}

// hasPlan reports whether the architect's plan is among the steps.
func hasPlan(steps []*loomv1.TurnStep) bool {
	var r *round
	for _, s := range steps {
		if a := s.GetAnswer(); a == nil && r != nil {
			r.take(s)
		} else if a != nil {
			if r.planned() {
				return true
			}
			r = newRound(a, true, false)
		}
	}
	return r.planned()
}

// planCall returns the call that hands over a plan, or nil.
func (r *round) planCall() *loomv1.ToolCall {
	for _, c := range r.answer.GetCalls() {
		if r.planning && c.GetTool() == PlanName {
			return c
		}
	}
	return nil
}

// planned reports whether the round ended with a plan that was taken.
func (r *round) planned() bool {
	if r == nil || r.unusable != "" || len(r.pending()) > 0 || !r.sound() {
		return false
	}
	c := r.planCall()
	if c == nil {
		return false
	}
	_, err := ParsePlan(c.GetArguments())
	return err == nil
}

// ParsePlan reads the arguments of a call of plan. It returns outcome/invalid
// with everything that is wrong at once.
func ParsePlan(args string) (*Plan, error) {
	d := json.NewDecoder(strings.NewReader(args))
	d.DisallowUnknownFields()
	var p Plan
	if err := d.Decode(&p); err != nil {
		return nil, wrong("", "the arguments are no plan: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if d.More() {
		return nil, wrong("", "something follows the object")
	}
	p.Summary = strings.Join(strings.Fields(clean(p.Summary)), " ")
	var errs []*fault.Error
	errs = append(errs, needed("summary", p.Summary)...)
	if n := len(p.Changes); n == 0 || n > maxChanges {
		errs = append(errs, wrong("changes", "there are %d", n).Want("1 to %d", maxChanges))
	}
	for i := range p.Changes[:min(len(p.Changes), maxChanges)] {
		errs = append(errs, p.Changes[i].check(fmt.Sprintf("changes[%d]", i))...)
	}
	for i, c := range p.Checks {
		errs = append(errs, needed(fmt.Sprintf("checks[%d]", i), c)...)
	}
	if err := fault.Join(errs); err != nil {
		return nil, err
	}
	return &p, nil
}

func (c *Change) check(at string) []*fault.Error {
	errs := append(needed(at+".path", c.Path), needed(at+".what", c.What)...)
	c.Path, c.What = clean(c.Path), clean(c.What)
	if p := path.Clean(c.Path); path.IsAbs(c.Path) || p == ".." || strings.HasPrefix(p, "../") {
		errs = append(errs, wrong(at+".path", "it leads out of the workspace").Got(c.Path))
	}
	if !slices.Contains(actions, c.Action) {
		errs = append(errs, wrong(at+".action", "there is no such action").Got(c.Action).Want("%s", suggest.Among(c.Action, actions)))
	}
	return errs
}

func needed(at, s string) []*fault.Error {
	switch {
	case strings.TrimSpace(s) == "":
		return []*fault.Error{wrong(at, "it is missing or empty")}
	case len(s) > maxPlanText:
		return []*fault.Error{wrong(at, "it has %d bytes; at most %d are taken", len(s), maxPlanText)}
	}
	return nil
}

// explainPlan lists what is wrong with a plan, for the model.
func explainPlan(err error) string {
	if err == nil {
		return ""
	}
	e, _ := errors.AsType[*fault.Error](err)
	return listed("your call of "+PlanName+" was not taken; mend this and call it again:", e)
}

// text is the plan as the editor reads it.
func (p *Plan) text() string {
	var b strings.Builder
	b.WriteString("## Plan\nThe architect has read the code and wants this done. Carry it out as it stands; where it cannot be, say so in your outcome.\n")
	var in strings.Builder
	fmt.Fprintf(&in, "%s\n", p.Summary)
	for i, c := range p.Changes {
		fmt.Fprintf(&in, "%d. %s %s: %s\n", i+1, c.Action, c.Path, c.What)
	}
	for _, c := range p.Checks {
		fmt.Fprintf(&in, "check: %s\n", c)
	}
	b.WriteString(AsData(in.String()))
	return b.String()
}

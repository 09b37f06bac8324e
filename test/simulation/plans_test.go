package simulation

import (
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"gopkg.in/yaml.v3"

	"github.com/loomrun/loom/internal/core/plan"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// tender is a process whose phases an agent plans; a gate has it planned anew.
const tender = `name: tender
version: "1.0"
phase_mode: MODE
phases:
  - {id: facts, description: Gather facts., role: backend-engineer, is_critical_path: true, deliverables: [facts.md]}
  - {id: survey, description: Ask customers., role: researcher, depends_on: [facts]}
  - {id: price, description: Find a price., role: web-designer, depends_on: [survey]}
  - {id: bid, description: Write the bid., role: backend-engineer, depends_on: [price, facts], deliverables: [bid.md],
     gate: {condition: GATE, on_failure: replan, max: 2}}
`

// tenders are drawn from, each compiled once.
var tenders = sync.OnceValue(func() (list []*loomv1.Definition) {
	for _, mode := range []string{processes.Guided, processes.Suggestive} {
		for _, gate := range []string{"execution.dispatches % 2 == 0", "execution.dispatches > 3", `"false"`, `"true"`} {
			text := strings.NewReplacer("MODE", mode, "GATE", gate).Replace(tender)
			d, err := processes.Parse("tender.yaml", []byte(text), roles.Builtin())
			if err != nil {
				panic(err)
			}
			list = append(list, known(d))
		}
	}
	return list
})

const (
	bothEnds = "{id: facts}, {id: bid}"
	allFour  = "{id: facts}, {id: survey}, {id: price}, {id: bid}"
)

// plans are what planners say of it: all that can be carried out at first, some
// of which cannot once more has begun.
var plans = []string{
	"",
	"{phases: [" + allFour + "]}",
	"{why: nobody to ask, phases: [{id: facts}, {id: price}, {id: bid}], left_out: [{phase: survey, reason: nobody to ask}]}",
	"{phases: [" + bothEnds + "], left_out: [{phase: survey, reason: r}, {phase: price, reason: r}]}",
	"{phases: [" + allFour + ", {id: legal, role: researcher, description: Ask a lawyer., depends_on: [facts]}]}",
	"{phases: [" + allFour + ", {id: letter, role: researcher, description: Write a letter., depends_on: [bid]}]}",
	"{phases: [{id: facts}, {id: survey}, {id: legal, role: web-designer, description: Ask a lawyer.}, {id: price}, {id: bid, depends_on: [legal, price]}]}",
	"{phases: [{id: facts}, {id: eu, of: survey, description: Ask EU.}, {id: us, of: survey, description: Ask US.}, {id: price}, {id: bid}]}",
	"{phases: [{id: facts, description: Gather more facts.}, {id: survey, description: Ask more.}, {id: price}, {id: bid}]}",
	"{phases: [{id: facts}, {id: price}, {id: bid}]}", // which a guided process wants explained
}

// unsound are plans that can be carried out at no time.
var unsound = []string{
	"well, first we",
	"{phases: [" + allFour + ", {id: more}]}",
	"{phases: [" + allFour + ", {id: more, description: D., gate: x}]}",
	"{phases: [" + allFour + ", {id: more, description: D., role: wizard}]}",
	"{phases: [" + allFour + ", {id: more, description: D., depends_on: [gone]}]}",
	"{phases: [" + allFour + ", {id: x, description: D., depends_on: [y]}, {id: y, description: D., depends_on: [x]}]}",
}

// plan draws what a planner says.
func (a *agent) plan() map[string]any {
	switch {
	case a.w.calm:
		return planValue("")
	case a.w.chance(agentPlansBadly):
		return planValue(unsound[a.w.rng.IntN(len(unsound))])
	}
	return planValue(plans[a.w.rng.IntN(len(plans))])
}

// planValue is a plan that is written in YAML as an outcome has it; words alone are
// none.
func planValue(text string) map[string]any {
	value := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		value["words"] = text
	}
	return value
}

// saysPlan reports whether an outcome has the plan that is written so.
func saysPlan(out *loomv1.Outcome, text string) bool {
	want, err := structpb.NewStruct(planValue(text))
	return err == nil && proto.Equal(want, out.Fields.GetFields()["plan"].GetStructValue())
}

// plansWork says whether a node makes the plan of others.
func plansWork(n *loomv1.NodeDefinition) bool {
	return n.GetPhase().GetPart() == loomv1.PhasePart_PHASE_PART_PLAN
}

// planner returns the node that plans an execution, or nil.
func (x *execution) planner() *nodeOracle {
	if x.def.GetBlueprint() == nil {
		return nil
	}
	return x.nodes[processes.Planner]
}

// planned checks a plan that is adopted: what has begun is in it as it was, what
// is settled stays so, and the very next thing is that the planner is done.
func (o *oracle) planned(x *execution, e *loomv1.Event, f *loomv1.PlanAdopted) {
	n := x.nodes[e.Node]
	switch {
	case n == nil || !plansWork(n.def) || n.attempt != e.Attempt:
		o.broken(33, "%s, and no planner is at work", tellEvent(e))
		return
	case x.adopted[e.Attempt]:
		o.broken(33, "a second plan of %s is adopted", e.Attempt)
	case f.Plan.GetNumber() != x.plans+1:
		o.broken(33, "plan %d of %s is adopted after plan %d", f.Plan.GetNumber(), x.id, x.plans)
	}
	o.fromClaimant(e)
	if x.plans++; x.plans > 1 {
		o.w.see("planned anew")
	}
	o.w.see("plan adopted")
	x.adopted[e.Attempt], o.adopting = true, e
	o.keptBegun(x, f)
	o.keptEdges(x, f)
	o.defs[f.Hash] = f.Definition
	x.replan(f)
}

// keptBegun wants what has begun in the new definition, word for word, but for
// the planner itself.
func (o *oracle) keptBegun(x *execution, f *loomv1.PlanAdopted) {
	is := map[string]*loomv1.NodeDefinition{}
	for _, n := range f.Definition.Nodes {
		is[n.Id] = n
	}
	kept := 0
	for _, n := range x.def.Nodes {
		if was := x.nodes[n.Id]; was.reached && !plansWork(n) && n.Type != loomv1.NodeType_NODE_TYPE_START {
			if !proto.Equal(n, is[n.Id]) {
				o.broken(33, "%s has begun in %s, and a plan changes it", n.Id, x.id)
			}
			kept++
		}
	}
	if kept > 0 {
		o.w.see("plan keeps what has begun")
	}
}

// keptEdges wants every edge that was settled as it was; a new one is settled if
// its source is done, and as that ended.
func (o *oracle) keptEdges(x *execution, f *loomv1.PlanAdopted) {
	for _, e := range f.Definition.Edges {
		taken, settled := f.Edges[e.Id]
		was, wasSettled, known := x.edge(e)
		from := x.nodes[e.From]
		switch {
		case known && (taken != was || settled != wasSettled):
			o.broken(33, "edge %s to %s of %s was settled: %t, taken: %t; by the new plan %t, %t", e.From, e.To, x.id, wasSettled, was, settled, taken)
		case known:
		case settled != (from != nil && from.over):
			o.broken(33, "new edge %s to %s of %s is settled: %t", e.From, e.To, x.id, settled)
		case settled && from.completed && !taken:
			o.broken(33, "%s of %s succeeded, and what a plan has follow it does not", e.From, x.id)
		}
	}
}

// edge finds how an edge of another definition stands that this one has too.
func (x *execution) edge(e *loomv1.EdgeDefinition) (taken, settled, known bool) {
	for _, o := range x.def.Edges {
		if o.From == e.From && o.To == e.To && o.Outcome == e.Outcome && o.Condition == e.Condition {
			taken, settled = x.edges[o.Id]
			return taken, settled, true
		}
	}
	return false, false, false
}

// replan has an execution go by another definition.
func (x *execution) replan(f *loomv1.PlanAdopted) {
	nodes := map[string]*nodeOracle{}
	for _, d := range f.Definition.Nodes {
		n := x.nodes[d.Id]
		if n == nil {
			n = newNodeOracle(d)
		}
		n.def, nodes[d.Id] = d, n
	}
	x.def, x.hash, x.nodes, x.edges = f.Definition, f.Hash, nodes, map[string]bool{}
	for id, taken := range f.Edges {
		x.edges[id] = taken
	}
}

// planEnded wants a planner's success to have a sound plan that was adopted.
func (o *oracle) planEnded(x *execution, n *nodeOracle, e *loomv1.Event, out *loomv1.Outcome) {
	if !plansWork(n.def) || x.def.GetBlueprint().GetSource() == "" {
		return
	}
	text := plan.Text(out)
	good := out.Status == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS
	switch {
	case good && slices.ContainsFunc(unsound, func(bad string) bool { return saysPlan(out, bad) }):
		o.broken(33, "%s succeeds with an unsound plan: %s", e.Attempt, text)
	case good && text != "" && !x.adopted[e.Attempt]:
		o.broken(33, "%s succeeds with a plan that was not adopted: %s", e.Attempt, text)
	case !good && x.adopted[e.Attempt]:
		o.broken(33, "%s fails, and its plan is adopted", e.Attempt)
	case !good && out.Refusal != "":
		o.w.see("unsound plan refused")
	}
}

// mayBegin wants nothing to begin while it is planned anew, and nothing to be
// done again that is done.
func (o *oracle) mayBegin(x *execution, n *nodeOracle, e *loomv1.Event, d *loomv1.AttemptDispatched) {
	if n.over {
		o.broken(33, "%s is dispatched though %s is done in visit %d", e.Attempt, e.Node, n.visit)
	}
	p := x.planner()
	if p == nil || p == n || p.over || d.Number > 1 || d.Cause != "" || slices.Contains(x.def.Blueprint.After, e.Node) {
		return
	}
	o.broken(33, "%s begins while its execution is planned anew", e.Attempt)
}

// resetByPlan wants nothing but the planner, what looks at plans and what was not
// done to begin anew when work goes back to the planner.
func (o *oracle) resetByPlan(x *execution, e *loomv1.Event, f *loomv1.ReworkStarted) {
	if to := x.nodes[f.To]; to == nil || !plansWork(to.def) {
		return
	}
	for _, id := range f.ResetNodes {
		if x.nodes[id].over && id == e.Node {
			o.broken(33, "%s is done, and begins anew because it is planned anew", id)
		}
		if id != f.To && id != e.Node && !slices.Contains(x.def.GetBlueprint().GetAfter(), id) {
			o.broken(33, "%s begins anew because it is planned anew", id)
		}
	}
}

// stillPlanned wants every execution to go by the plan that was adopted last.
func (o *oracle) stillPlanned(s *loomv1.ProjectState) {
	for id, x := range s.Executions {
		if was := o.executions[id]; was != nil && (x.DefinitionHash != was.hash || x.Plan.GetNumber() != was.plans) {
			o.broken(33, "%s goes by plan %d, and %d were adopted", id, x.Plan.GetNumber(), was.plans)
		}
	}
}

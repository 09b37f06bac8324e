package processes

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/memory"
	"github.com/loomrun/loom/internal/lang/condition"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	block  = loomv1.GateAction_GATE_ACTION_BLOCK
	skip   = loomv1.GateAction_GATE_ACTION_SKIP
	replan = loomv1.GateAction_GATE_ACTION_REPLAN

	optional = loomv1.Criticality_CRITICALITY_OPTIONAL
)

// whoWorks checks who does a task's work: agents of a role, or a process.
func (v *validator) whoWorks(i int, n *loomv1.NodeDefinition) {
	if n.Process == "" {
		v.taskRole(i, n)
		if len(n.Persona) > maxPersona {
			v.refuse("workflow/invalid", at("nodes", i, "persona"), "persona has %d bytes, more than %d", len(n.Persona), maxPersona)
		}
		return
	}
	if !namePattern.MatchString(n.Process) {
		v.refuse("workflow/process", at("nodes", i, "process"), "process %s", nameForm).Got(n.Process)
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"role", n.Role != ""},
		{"roles_any", len(n.RolesAny) > 0},
		{"role_from", n.RoleFrom != ""},
		{"persona", n.Persona != ""},
		{"memory", n.Memory != nil},
		{"kind", n.Kind != 0},
		{"multi_dispatch", n.MultiDispatch},
		{"outcome", len(n.Outcome) > 0},
	} {
		if f.set {
			v.refuse("workflow/process", at("nodes", i, f.name), "the work of node %q is done by a process, so it has no %s", n.Id, f.name)
		}
	}
}

func (v *validator) backoff(i int, n *loomv1.NodeDefinition) {
	if n.Backoff == nil {
		return
	}
	sound := true
	for _, part := range []struct {
		name string
		time *durationpb.Duration
	}{{"initial", n.Backoff.Initial}, {"limit", n.Backoff.Limit}} {
		if t := part.time; t != nil && (t.CheckValid() != nil || t.AsDuration() < shortestBackoff || t.AsDuration() > longestBackoff) {
			v.refuse("workflow/invalid", at("nodes", i, "backoff", part.name), "backoff.%s is not within 10ms and 24h", part.name).Got(t.AsDuration().String())
			sound = false
		}
	}
	if !sound {
		return
	}
	if initial, limit := waits(n.Backoff); initial > limit {
		v.refuse("workflow/invalid", at("nodes", i, "backoff"), "backoff.limit, %s, is shorter than backoff.initial, %s", limit, initial).
			Want("without a word initial is 1s and limit 1m")
	}
}

// memory refuses parts of the memory that there are not.
func (v *validator) memory(i int, n *loomv1.NodeDefinition) {
	for _, list := range []struct {
		name   string
		places []string
	}{{"read", n.Memory.GetRead()}, {"write", n.Memory.GetWrite()}} {
		for j, place := range list.places {
			switch {
			case !memory.IsPlace(place):
				v.refuse("workflow/invalid", at("nodes", i, "memory", list.name, j), "no such part of the memory").Got(place).Want("session, project or shared/NAME")
			case slices.Contains(list.places[:j], place):
				v.refuse("workflow/invalid", at("nodes", i, "memory", list.name, j), "it is named already").Got(place)
			}
		}
	}
}

const (
	shortestBackoff = 10 * time.Millisecond
	longestBackoff  = 24 * time.Hour
)

func (v *validator) criticality(i int, n *loomv1.NodeDefinition) {
	switch {
	case n.Criticality < 0 || n.Criticality > optional:
		v.refuse("workflow/invalid", at("nodes", i, "criticality"), "unknown criticality").Got(n.Criticality.String())
	case n.Criticality == optional && n.Kind != 0:
		v.refuse("workflow/invalid", at("nodes", i, "criticality"), "node %q has kind %s, which is never passed over", n.Id, nodeKinds.word(n.Kind)).
			Want("leave critical out, or make it true")
	}
}

// keys checks how many keys have to sign an approval.
func (v *validator) keys(i int, n *loomv1.NodeDefinition) {
	switch {
	case n.Keys == 0:
	case n.Type != approval:
		v.refuse("workflow/invalid", at("nodes", i, "keys"), "node %q is no approval, so it has no keys", n.Id)
	case n.Keys > keyring.MostAsked:
		v.refuse("workflow/invalid", at("nodes", i, "keys"), "node %q takes the signatures of %d keys, more than %d", n.Id, n.Keys, keyring.MostAsked)
	}
}

// gate checks what must hold before a node starts.
func (v *validator) gate(i int, n *loomv1.NodeDefinition) {
	g := n.Gate
	if g == nil {
		return
	}
	if n.Type == start || n.Type == end {
		v.refuse("workflow/gate", at("nodes", i, "gate"), "node %q is its workflow's %s, which has no gate", n.Id, nodeTypes.word(n.Type))
		return
	}
	if g.Condition == "" {
		v.refuse("workflow/gate", at("nodes", i, "gate", "condition"), "the gate of node %q has no condition", n.Id)
	} else if scope, known := v.earlier(i); known {
		v.compiles(g.Condition, scope, condition.Bool, at("nodes", i, "gate", "condition"))
	}
	if g.OnFailure < 0 || g.OnFailure > loomv1.GateAction_GATE_ACTION_FAIL {
		v.refuse("workflow/gate", at("nodes", i, "gate", "on_failure"), "unknown action").Got(g.OnFailure.String())
		return
	}
	if g.OnFailure == skip && n.Kind != 0 {
		v.refuse("workflow/gate", at("nodes", i, "gate", "on_failure"), "node %q has kind %s, which is never skipped", n.Id, nodeKinds.word(n.Kind))
	}
	v.gateTarget(i, n, g)
}

// gateTarget checks where a gate sends work back to, which only one that
// replans does.
func (v *validator) gateTarget(i int, n *loomv1.NodeDefinition, g *loomv1.Gate) {
	if g.OnFailure != replan {
		if g.To != "" {
			v.refuse("workflow/gate", at("nodes", i, "gate", "to"), "the gate of node %q does not replan, so it has no to", n.Id)
		}
		if g.Max != 0 {
			v.refuse("workflow/gate", at("nodes", i, "gate", "max"), "the gate of node %q does not replan, so it has no max", n.Id)
		}
		if g.Passes {
			v.refuse("workflow/gate", at("nodes", i, "gate", "passes"), "the gate of node %q does not replan, so it is never passed after that", n.Id)
		}
		return
	}
	if g.To == "" {
		v.refuse("workflow/gate", at("nodes", i, "gate"), "the gate of node %q replans, but has no to", n.Id).Want("name the node that work goes back to")
	} else {
		v.sentBackTo(i, g.To, "workflow/gate", at("nodes", i, "gate", "to"))
	}
	switch {
	case v.broken("nodes", i, "gate", "max"):
	case g.Max == 0:
		v.refuse("workflow/gate", at("nodes", i, "gate"), "the gate of node %q replans, but has no max", n.Id).Want("say how often, within 1 and %d", maxReworks)
	case g.Max > maxReworks:
		v.refuse("workflow/gate", at("nodes", i, "gate", "max"), "gate.max is %d, not within 1 and %d", g.Max, maxReworks)
	}
}

// sentBackTo checks a node that work is to go back to.
func (v *validator) sentBackTo(i int, to, code string, path []any) {
	target, ok := v.graph.index[to]
	switch {
	case !v.ids:
	case !ok:
		v.refuse(code, path, "there is no node %q", to).Want("%s", suggest.Among(to, v.nodeIDs()))
	case v.links && (!v.graph.ancestors(i)[target] || target == i):
		v.refuse(code, path, "node %q does not come before node %q", to, v.def.Nodes[i].Id)
	case v.def.Nodes[target].Type == start:
		v.refuse(code, path, "work cannot be sent back to the start node")
	}
}

package processes_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// drawDefinition draws a definition that is sound more often than not by
// chance: a graph from start to end, and then up to two damages to it.
func drawDefinition(t *rapid.T) *loomv1.Definition {
	var middle []*loomv1.NodeDefinition
	for i := range rapid.IntRange(0, 5).Draw(t, "nodes") {
		middle = append(middle, drawNode(t, fmt.Sprintf("n%d", i)))
	}
	def := line(middle...)
	for range rapid.IntRange(0, 4).Draw(t, "more edges") {
		from := rapid.IntRange(0, len(def.Nodes)-2).Draw(t, "from")
		to := rapid.IntRange(max(1, from+1), len(def.Nodes)-1).Draw(t, "to")
		e := &loomv1.EdgeDefinition{Id: fmt.Sprintf("m%d", len(def.Edges)), From: def.Nodes[from].Id, To: def.Nodes[to].Id}
		if def.Nodes[from].Type == task && rapid.Bool().Draw(t, "on failure") {
			e.Outcome = failure
		}
		def.Edges = append(def.Edges, e)
	}
	for range rapid.IntRange(0, 2).Draw(t, "damages") {
		rapid.SampledFrom(damages).Draw(t, "damage")(t, def)
	}
	return def
}

func drawNode(t *rapid.T, id string) *loomv1.NodeDefinition {
	n := &loomv1.NodeDefinition{Id: id, Type: task}
	if rapid.IntRange(0, 3).Draw(t, "gated") == 0 {
		n.Gate = drawGate(t)
	}
	switch rapid.IntRange(0, 9).Draw(t, "sort") {
	case 0:
		n.Type, n.Role = approval, "ceo"
	case 1:
		n.Type = loomv1.NodeType_NODE_TYPE_DECISION
	case 2:
		n.Type = loomv1.NodeType_NODE_TYPE_MERGE
	case 3:
		n.Role, n.Kind = "engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT
	case 4:
		n.Role, n.Kind = "tester", loomv1.NodeKind_NODE_KIND_VERIFY
	case 5:
		n.RolesAny, n.RoleFrom, n.MultiDispatch = []string{"qa", "lead"}, `bead.type == "bug" ? "lead" : "qa-engineer"`, true
		n.Timeout = durationpb.New(90 * time.Second)
	case 6:
		n.Process, n.Criticality = "other", loomv1.Criticality_CRITICALITY_OPTIONAL
	case 7:
		n.Role, n.Persona, n.Criticality = "lead", "be brief", loomv1.Criticality_CRITICALITY_CRITICAL
		n.Backoff = &loomv1.Backoff{Initial: drawSpan(t), Limit: drawSpan(t)}
	default:
		n.Role, n.MaxAttempts = "lead", 7
		n.Outcome = map[string]string{"x": "string"}
	}
	return n
}

// drawGate draws a gate that is sound unless it replans.
func drawGate(t *rapid.T) *loomv1.Gate {
	g := &loomv1.Gate{
		Condition: rapid.SampledFrom([]string{"true", `bead.type == "bug"`, "context.ready"}).Draw(t, "gate"),
		OnFailure: loomv1.GateAction(rapid.IntRange(0, 4).Draw(t, "action")),
	}
	if g.OnFailure == loomv1.GateAction_GATE_ACTION_REPLAN {
		g.To, g.Max = rapid.SampledFrom([]string{"n0", "n1", "n2", "start"}).Draw(t, "back to"), 2
	}
	return g
}

func drawSpan(t *rapid.T) *durationpb.Duration {
	return rapid.SampledFrom([]*durationpb.Duration{
		nil, durationpb.New(time.Second), durationpb.New(20 * time.Millisecond), durationpb.New(24 * time.Hour), durationpb.New(time.Millisecond),
	}).Draw(t, "span")
}

// damages are ways in which a definition goes wrong; some may be harmless.
var damages = []func(*rapid.T, *loomv1.Definition){
	func(t *rapid.T, d *loomv1.Definition) { // an edge anywhere
		d.Edges = append(d.Edges, &loomv1.EdgeDefinition{Id: fmt.Sprintf("d%d", len(d.Edges)), From: drawID(t, d), To: drawID(t, d)})
	},
	func(t *rapid.T, d *loomv1.Definition) {
		if i := drawEdge(t, d); len(d.Edges) > 1 {
			d.Edges = slices.Delete(d.Edges, i, i+1)
		}
	},
	func(t *rapid.T, d *loomv1.Definition) { d.Edges[drawEdge(t, d)].To = "nowhere" },
	func(t *rapid.T, d *loomv1.Definition) { d.Edges[drawEdge(t, d)].Id = "e1" },
	func(t *rapid.T, d *loomv1.Definition) { d.Edges[drawEdge(t, d)].Outcome = failure },
	func(t *rapid.T, d *loomv1.Definition) {
		d.Edges[drawEdge(t, d)].Condition = rapid.SampledFrom([]string{"true", `outcome.x == "a"`, "oops", `"text"`}).Draw(t, "condition")
	},
	func(t *rapid.T, d *loomv1.Definition) { pick(t, d).Id = drawID(t, d) },
	func(t *rapid.T, d *loomv1.Definition) { pick(t, d).Id = "Bad" },
	func(t *rapid.T, d *loomv1.Definition) {
		pick(t, d).Role = rapid.SampledFrom([]string{"", "ceo", "lead", "nobody"}).Draw(t, "role")
	},
	func(t *rapid.T, d *loomv1.Definition) {
		pick(t, d).Type = loomv1.NodeType(rapid.IntRange(0, 7).Draw(t, "type"))
	},
	func(t *rapid.T, d *loomv1.Definition) {
		pick(t, d).Kind = loomv1.NodeKind(rapid.IntRange(0, 3).Draw(t, "kind"))
	},
	func(t *rapid.T, d *loomv1.Definition) {
		pick(t, d).OnFailure = &loomv1.FailurePolicy{Max: uint32(rapid.IntRange(0, 2).Draw(t, "max")), Rework: []*loomv1.ReworkRule{{To: drawID(t, d)}}}
	},
	func(t *rapid.T, d *loomv1.Definition) {
		pick(t, d).Gate = &loomv1.Gate{
			Condition: rapid.SampledFrom([]string{"", "true", "outcome.n0.x == 1", "gaet"}).Draw(t, "condition"),
			OnFailure: loomv1.GateAction(rapid.IntRange(0, 5).Draw(t, "action")),
			To:        rapid.SampledFrom([]string{"", "nowhere", drawID(t, d)}).Draw(t, "to"),
			Max:       rapid.SampledFrom([]uint32{0, 1, 100, 101}).Draw(t, "max"),
		}
	},
	func(t *rapid.T, d *loomv1.Definition) {
		pick(t, d).Criticality = loomv1.Criticality(rapid.IntRange(0, 3).Draw(t, "criticality"))
	},
	func(t *rapid.T, d *loomv1.Definition) {
		pick(t, d).Process = rapid.SampledFrom([]string{"other", "Bad"}).Draw(t, "process")
	},
	func(t *rapid.T, d *loomv1.Definition) { pick(t, d).Keys = uint32(rapid.IntRange(1, 6).Draw(t, "keys")) },
	func(t *rapid.T, d *loomv1.Definition) { pick(t, d).Persona = "be brief" },
	func(t *rapid.T, d *loomv1.Definition) {
		pick(t, d).Backoff = &loomv1.Backoff{Initial: drawSpan(t), Limit: drawSpan(t)}
	},
	func(_ *rapid.T, d *loomv1.Definition) { d.Version = "2.0" },
}

func drawEdge(t *rapid.T, d *loomv1.Definition) int {
	return rapid.IntRange(0, len(d.Edges)-1).Draw(t, "edge")
}

func pick(t *rapid.T, d *loomv1.Definition) *loomv1.NodeDefinition {
	return rapid.SampledFrom(d.Nodes).Draw(t, "node")
}

func drawID(t *rapid.T, d *loomv1.Definition) string { return pick(t, d).Id }

// sound is the same judgement by other means: it says only yes or no, from a
// table of which node leads to which.
func sound(d *loomv1.Definition) bool {
	ok := d.Version == "1.0"
	ids := map[string]*loomv1.NodeDefinition{}
	for _, n := range d.Nodes {
		ok = ok && ids[n.Id] == nil && n.Id != "Bad"
		ids[n.Id] = n
	}
	leads := map[[2]string]bool{}
	edgeIDs, onward := map[string]bool{}, map[string]bool{}
	for _, e := range d.Edges {
		from, to := ids[e.From], ids[e.To]
		ok = ok && from != nil && to != nil && !edgeIDs[e.Id]
		edgeIDs[e.Id], leads[[2]string{e.From, e.To}] = true, true
		if !ok {
			return false
		}
		ok = from.Type != end && to.Type != start && (e.Outcome != failure || from.Type == task)
		ok = ok && (e.Condition == "" || e.Condition == "true" || e.Condition == `outcome.x == "a"` && from.Type == task && from.Outcome["x"] == "string")
		onward[e.From] = onward[e.From] || e.Outcome != failure
	}
	for k := range ids { // every path through k, by Warshall
		for i := range ids {
			for j := range ids {
				if leads[[2]string{i, k}] && leads[[2]string{k, j}] {
					leads[[2]string{i, j}] = true
				}
			}
		}
	}
	count := map[loomv1.NodeType]int{}
	for _, n := range d.Nodes {
		count[n.Type]++
	}
	ok = ok && count[start] == 1 && count[end] > 0
	for _, n := range d.Nodes {
		ok = ok && !leads[[2]string{n.Id, n.Id}] && soundNode(d, n, leads) && (n.Type == end || onward[n.Id])
	}
	return ok
}

func soundNode(d *loomv1.Definition, n *loomv1.NodeDefinition, leads map[[2]string]bool) bool {
	reached, ends := n.Type == start, n.Type == end
	before := map[loomv1.NodeKind]bool{}
	rework := n.OnFailure == nil
	for _, o := range d.Nodes {
		there, back := leads[[2]string{o.Id, n.Id}], leads[[2]string{n.Id, o.Id}]
		reached = reached || there && o.Type == start
		ends = ends || back && o.Type == end
		if there {
			before[o.Kind] = true
			rework = rework || n.OnFailure.Rework[0].To == o.Id && o.Type != start && n.OnFailure.Max > 0
		}
	}
	if !reached || !ends {
		return false
	}
	if n.Keys > 5 || n.Keys > 0 && n.Type != loomv1.NodeType_NODE_TYPE_APPROVAL {
		return false
	}
	if !soundGate(d, n, leads) || n.Criticality > 2 || n.Kind != 0 && n.Criticality == loomv1.Criticality_CRITICALITY_OPTIONAL || !soundBackoff(n.Backoff) {
		return false
	}
	plain := n.Process == "" && n.Persona == "" && n.Criticality == 0 && n.Backoff == nil && n.Kind == 0 && n.MaxAttempts == 0 && n.Timeout == nil && n.Outcome == nil && n.OnFailure == nil && n.RolesAny == nil && !n.MultiDispatch
	switch n.Type {
	case task:
		return rework && soundTask(n, before)
	case approval:
		return plain && n.Role == "ceo"
	case start, end, loomv1.NodeType_NODE_TYPE_DECISION, loomv1.NodeType_NODE_TYPE_MERGE:
		return plain && n.Role == ""
	}
	return false
}

func soundGate(d *loomv1.Definition, n *loomv1.NodeDefinition, leads map[[2]string]bool) bool {
	g := n.Gate
	if g == nil {
		return true
	}
	if n.Type == start || n.Type == end || n.Kind != 0 && g.OnFailure == loomv1.GateAction_GATE_ACTION_SKIP || g.OnFailure > 4 {
		return false
	}
	if g.OnFailure != loomv1.GateAction_GATE_ACTION_REPLAN && (g.To != "" || g.Max != 0) {
		return false
	}
	back := g.OnFailure != loomv1.GateAction_GATE_ACTION_REPLAN
	for _, o := range d.Nodes {
		back = back || o.Id == g.To && o.Type != start && leads[[2]string{o.Id, n.Id}] && g.Max > 0 && g.Max <= 100
	}
	return back && slices.Contains([]string{"true", `bead.type == "bug"`, "context.ready"}, g.Condition)
}

func soundBackoff(b *loomv1.Backoff) bool {
	if b == nil {
		return true
	}
	for _, d := range []*durationpb.Duration{b.Initial, b.Limit} {
		if d != nil && d.AsDuration() < 10*time.Millisecond {
			return false
		}
	}
	switch {
	case b.Initial == nil:
		return b.Limit == nil || b.Limit.AsDuration() >= time.Second
	case b.Limit == nil:
		return b.Initial.AsDuration() <= time.Minute
	}
	return b.Initial.AsDuration() <= b.Limit.AsDuration()
}

func soundTask(n *loomv1.NodeDefinition, before map[loomv1.NodeKind]bool) bool {
	if n.Process != "" {
		return n.Process == "other" && n.Role == "" && n.RolesAny == nil && n.RoleFrom == "" && n.Kind == 0 && !n.MultiDispatch && n.Outcome == nil && n.Persona == ""
	}
	if n.RolesAny != nil {
		return n.Role == "" && n.Kind == 0
	}
	switch n.Kind {
	case loomv1.NodeKind_NODE_KIND_COMMIT:
		return n.Role == "engineering-manager"
	case loomv1.NodeKind_NODE_KIND_VERIFY:
		return n.Role == "tester" && before[loomv1.NodeKind_NODE_KIND_COMMIT]
	case loomv1.NodeKind_NODE_KIND_LAND:
		return n.Role == "engineering-manager" && before[loomv1.NodeKind_NODE_KIND_VERIFY]
	}
	return slices.Contains([]string{"lead", "engineering-manager", "tester"}, n.Role)
}

// The validator accepts what the independent checker accepts, and nothing
// else; what it accepts in a message it accepts as a file, as the same.
func TestWF02_ValidatorAgreesWithChecker(t *testing.T) {
	rs := roles.Builtin()
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		def := drawDefinition(t)
		errs := processes.Validate(def, rs)
		want := sound(def)
		if (len(errs) == 0) != want {
			t.Fatalf("checker says sound: %t; validator says %v\n%s", want, errs, source(def))
		}
		parsed, err := processes.Parse("p.yaml", []byte(source(def)), rs)
		if (err == nil) != want {
			t.Fatalf("Parse says %v, want sound: %t\n%s", err, want, source(def))
		}
		if !want {
			refused++
			return
		}
		accepted++
		complete := processes.Complete(def, rs)
		if !proto.Equal(complete, parsed) {
			t.Fatalf("the file gave\n%v\nthe message\n%v", parsed, complete)
		}
		if !proto.Equal(complete, processes.Complete(complete, rs)) || len(processes.Validate(complete, rs)) > 0 {
			t.Fatalf("completing twice differs, or is refused: %v", complete)
		}
	})
	t.Logf("%d accepted, %d refused", accepted, refused)
	if accepted == 0 || refused == 0 {
		t.Errorf("%d accepted and %d refused; want some of both", accepted, refused)
	}
}

// source writes a definition as a file.
func source(d *loomv1.Definition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %q\nversion: %q\ndescription: %s\nnodes:\n", d.Name, d.Version, strconv.QuoteToASCII(d.Description))
	for _, n := range d.Nodes {
		b.WriteString("  - {" + nodeSource(n) + "}\n")
	}
	b.WriteString("edges:\n")
	if len(d.Edges) == 0 {
		b.WriteString("  []\n")
	}
	for _, e := range d.Edges {
		fmt.Fprintf(&b, "  - {id: %q, from: %q, to: %q, outcome: %s, condition: %s}\n", e.Id, e.From, e.To,
			map[bool]string{true: "failure", false: "success"}[e.Outcome == failure], strconv.QuoteToASCII(e.Condition))
	}
	return b.String()
}

func nodeSource(n *loomv1.NodeDefinition) string {
	s := fmt.Sprintf("id: %q, type: %q, description: %s", n.Id, enumWord(n.Type, "NODE_TYPE_"), strconv.QuoteToASCII(n.Description))
	add := func(given bool, format string, args ...any) {
		if given {
			s += ", " + fmt.Sprintf(format, args...)
		}
	}
	add(n.Role != "", "role: %q", n.Role)
	add(len(n.RolesAny) > 0, "roles_any: [%s]", strings.Join(n.RolesAny, ", "))
	add(n.RoleFrom != "", "role_from: %s", strconv.QuoteToASCII(n.RoleFrom))
	add(n.Process != "", "process: %q", n.Process)
	add(n.Persona != "", "persona: %q", n.Persona)
	add(n.Gate != nil, "gate: %s", gateSource(n.Gate))
	add(n.Criticality != 0, "critical: %s", map[loomv1.Criticality]string{1: "true", 2: "false"}[n.Criticality])
	add(n.Keys > 0, "keys: %d", n.Keys)
	if b := n.Backoff; b != nil {
		add(true, "backoff: {%s%s}", spanSource("initial", b.Initial), spanSource("limit", b.Limit))
	}
	add(n.MaxAttempts > 0, "max_attempts: %d", n.MaxAttempts)
	add(n.Timeout != nil, "timeout: %s", n.Timeout.AsDuration())
	add(n.FailureEdgeAfterAttempts, "failure_edge: after_attempts")
	add(n.MultiDispatch && n.Kind == 0, "config: {multi_dispatch: true}")
	add(n.Kind != 0, "config: {kind: %s, multi_dispatch: %t}", enumWord(n.Kind, "NODE_KIND_"), n.MultiDispatch)
	var fields []string
	for name, kind := range n.Outcome {
		fields = append(fields, fmt.Sprintf("%q: %s", name, kind))
	}
	add(len(fields) > 0, "outcome: {%s}", strings.Join(fields, ", "))
	if p := n.OnFailure; p != nil {
		var rules []string
		for _, r := range p.Rework {
			rules = append(rules, fmt.Sprintf("{to: %q, when: %s}", r.To, strconv.QuoteToASCII(r.When)))
		}
		add(true, "on_failure: {max: %d, rework: [%s]}", p.Max, strings.Join(rules, ", "))
	}
	return s
}

func gateSource(g *loomv1.Gate) string {
	s := fmt.Sprintf("{condition: %s", strconv.QuoteToASCII(g.GetCondition()))
	if g.GetOnFailure() != 0 {
		s += ", on_failure: " + enumWord(g.OnFailure, "GATE_ACTION_")
	}
	if g.GetTo() != "" {
		s += fmt.Sprintf(", to: %q", g.To)
	}
	if g.GetMax() != 0 {
		s += fmt.Sprintf(", max: %d", g.Max)
	}
	return s + "}"
}

func spanSource(key string, d *durationpb.Duration) string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf("%s: %s, ", key, d.AsDuration())
}

func enumWord(e fmt.Stringer, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(e.String(), prefix))
}

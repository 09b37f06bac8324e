package processes

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The roles that a process's nodes have where its author names none.
const (
	Analyst  = "analyst"
	verifier = "qa-engineer"
	gatherer = "engineering-manager"
	counter  = "lead"
	// secondJudge is another role than the verifier's, so that it can have another model.
	secondJudge = "researcher"
)

// reviewers are who votes on a phase of verification tier 3: each looks with
// other eyes.
var reviewers = []struct{ role, persona string }{
	{"researcher", "You are a sceptic. Look for claims without a source, numbers that do not follow from each other, and conclusions that the evidence does not carry. Say it is sound only if you tried to break it and could not."},
	{"architect", "You judge the structure. Look for what is missing, what contradicts itself, and which assumption the whole would fall with. Say it is sound only if it would stand when that assumption is questioned."},
	{"lead", "You are the person who has to act on this. Look for what is vague, impracticable, or not what was asked for. Say it is sound only if you would stake your own decision on it."},
}

// How often verification sends a phase back, how often whoever judges is asked, and
// how often a duty may send work back.
const (
	checkReworks  = 2
	judgeAttempts = 3
	maxDuties     = 3
)

// weaver is a draft being made into a definition: what it is made of, and where
// each part of it comes from.
type weaver struct {
	*draft
	def   *loomv1.Definition
	from  [][]any // of the draft, by node
	via   [][]any // of the draft, by edge
	heads map[string]string
	tails map[string][]string // nodes that those after a phase wait for
	asks  bool                // whether the CEO is asked on the way
	// question is what the CEO is asked about the result, if a hook says it.
	question string
}

// weave compiles a draft: phases with their verification, hooks, and the way to
// the target. What cannot be followed, because it is reported already, is left
// out.
func (d *draft) weave() *weaver {
	w := &weaver{draft: d, heads: map[string]string{}, tails: map[string][]string{}}
	w.def = &loomv1.Definition{
		Name: d.Name, Version: d.Version, Description: strings.TrimSpace(d.Description), Metadata: d.metadata(), Guide: d.guide(), Toolkit: d.toolkit, Checkout: d.Checkout.message(),
		Parameters: parameters(d.Parameters),
	}
	entry := []string{w.node(nil, &loomv1.NodeDefinition{Id: "start", Type: start, Description: "A goal was given."})}
	entry = w.hooks("before_plan", "before-plan", entry)
	entry = w.planNodes(entry)
	for i := range d.Phases {
		if d.first(d.Phases[i].ID) == i {
			w.phaseNodes(i)
		}
	}
	w.link(entry)
	w.lastWord()
	w.finish(w.hooks("after_complete", "after-complete", w.last(entry)))
	return w
}

// lastWord takes a question that would be the last thing before the result is
// gathered for the question about the result itself.
func (w *weaver) lastWord() {
	n := len(w.Hooks.AfterComplete) - 1
	if n < 0 || w.Hooks.AfterComplete[n].Approve == "" {
		return
	}
	w.asks, w.question = true, strings.TrimSpace(w.Hooks.AfterComplete[n].Approve)
}

// guide is what the process tells everybody.
func (d *draft) guide() *loomv1.Guide {
	g := &loomv1.Guide{
		Persona: strings.TrimSpace(d.Persona), MemoryGuidance: strings.TrimSpace(d.Memory.ExtractionGuidance),
		ToolGuidance:  strings.TrimSpace(strings.TrimSpace(d.ToolGuidance) + "\n\n" + strings.TrimSpace(d.Tools.Guidance)),
		RequiredTools: d.Tools.Required, ExcludedTools: d.Tools.Excluded, AskTools: d.Tools.Ask,
		ScanFor: d.WorkspaceAnalysis.ScanFor, WorkspaceGuidance: strings.TrimSpace(d.WorkspaceAnalysis.Guidance),
	}
	for i := range d.Verification.Rules {
		g.Rules = append(g.Rules, rule(&d.Verification.Rules[i]))
	}
	for _, t := range d.Memory.ExtractTypes {
		g.MemoryTypes = append(g.MemoryTypes, &loomv1.MemoryType{Type: t.Type, Description: strings.TrimSpace(t.Description)})
	}
	if proto.Size(g) == 0 {
		return nil
	}
	return g
}

func rule(r *ruleFile) *loomv1.Rule {
	return &loomv1.Rule{
		Name: r.Name, Description: strings.TrimSpace(r.Description), Type: ruleTypes.value(r.Type), Check: r.Check, Target: r.Target,
		Severity: severities.value(r.Severity), Wanted: r.Expect == "present", Phases: r.Phases, With: told(r.With), Replans: r.Replan,
	}
}

// told is what a rule is told beside its check; nil for nothing.
func told(with map[string]any) *structpb.Struct {
	if len(with) == 0 {
		return nil
	}
	s, err := structpb.NewStruct(with)
	if err != nil {
		panic("processes: a YAML value that no Struct holds: " + err.Error())
	}
	return s
}

func (w *weaver) node(from []any, n *loomv1.NodeDefinition) string {
	w.def.Nodes = append(w.def.Nodes, n)
	w.from = append(w.from, from)
	return n.Id
}

func (w *weaver) edge(from, to, condition string, via ...any) {
	w.def.Edges = append(w.def.Edges, &loomv1.EdgeDefinition{
		Id: fmt.Sprintf("e%d", len(w.def.Edges)+1), From: from, To: to, Condition: condition, Outcome: loomv1.EdgeOutcome_EDGE_OUTCOME_SUCCESS,
	})
	w.via = append(w.via, via)
}

func (w *weaver) join(from []string, to string, via ...any) {
	for _, f := range from {
		w.edge(f, to, "", via...)
	}
}

// phaseNodes makes the nodes of a phase: the work, and what verifies it.
func (w *weaver) phaseNodes(i int) {
	p, at := &w.Phases[i], []any{"phases", i}
	n := &loomv1.NodeDefinition{
		Id: p.ID, Type: task, Description: strings.TrimSpace(p.Description), Criticality: w.weight(i),
		Process: p.Process, Gate: w.gate(p.Gate), Timeout: duration(p.Timeout), Phase: phasePart(p),
	}
	if p.MaxAttempts != nil {
		n.MaxAttempts = *p.MaxAttempts
	}
	if p.Process == "" {
		n.Role, n.Persona, n.Outcome = orElse(p.Role, Analyst), strings.TrimSpace(p.Persona), p.Outcome
	}
	w.replanField(p, n)
	if p.Detached {
		detach(n, p)
		w.heads[p.ID] = w.node(at, n)
		return
	}
	w.heads[p.ID] = w.node(at, n)
	tail := p.ID
	if p.Process == "" {
		tail = w.verification(i, at, tail)
	}
	w.extraction(p, at, tail)
	w.tails[p.ID] = []string{w.replanNode(p, at, tail)}
	for k := range w.Hooks.BetweenPhases {
		h := placedHook{&w.Hooks.BetweenPhases[k], "between_phases", k}
		if slices.Contains(h.After, p.ID) || len(h.After) == 0 && w.hasAfter(p.ID) {
			w.tails[p.ID] = w.hookNode(h, fmt.Sprintf("%s-h%d", p.ID, k+1), w.tails[p.ID])
		}
	}
}

// gate makes the gate of a phase; one that replans without saying where to asks
// the planner.
func (w *weaver) gate(g *gateFile) *loomv1.Gate {
	if g == nil {
		return nil
	}
	gate := &loomv1.Gate{Condition: g.Condition, To: g.To, OnFailure: gateActions.value(g.OnFailure), Passes: g.Passes}
	if g.Max != nil {
		gate.Max = *g.Max
	}
	if gate.OnFailure == replan && gate.To == "" && w.plans() {
		gate.To = Planner
	}
	return gate
}

// weight is how much the nodes of a phase matter.
func (d *draft) weight(i int) loomv1.Criticality {
	if is, _ := d.critical(i); is {
		return loomv1.Criticality_CRITICALITY_CRITICAL
	}
	return optional
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// hasAfter says whether any phase that the end waits for depends on one.
func (d *draft) hasAfter(id string) bool {
	return slices.ContainsFunc(d.Phases, func(p phaseFile) bool { return slices.Contains(p.DependsOn, id) && p.ID != id && !p.Detached })
}

func phasePart(p *phaseFile) *loomv1.Phase {
	part := &loomv1.Phase{
		Part: loomv1.PhasePart_PHASE_PART_WORK, Deliverables: p.Deliverables, AcceptanceCriteria: strings.TrimSpace(p.AcceptanceCriteria),
		Synthesis: p.IsSynthesis, Document: documentStages.value(p.Document),
	}
	if p.Process != "" {
		return part
	}
	part.ModelTier, part.VerificationTier = tierOf(p.ModelTier, 2), tierOf(p.VerificationTier, 1)
	return part
}

func tierOf(t *uint32, otherwise uint32) uint32 {
	if t == nil {
		return otherwise
	}
	return min(*t, 3) // a larger one was refused
}

// verification makes the nodes that verify a phase, and returns the last: from
// tier 2 on, and where a rule of severity error needs judgment, the verifier, who sends
// the work back; with tier 3 a second judge of its evidence, and reviewers, whose votes
// are counted.
func (w *weaver) verification(i int, at []any, tail string) string {
	p := &w.Phases[i]
	tier := tierOf(p.VerificationTier, 1)
	about := &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_CHECK, Of: p.ID, AcceptanceCriteria: strings.TrimSpace(p.AcceptanceCriteria)}
	rules := w.def.Guide.GetRules()
	if questions := verify.Questions(about, rules); len(questions) > 0 && (tier >= 2 || verify.NeedsJudge(p.ID, phasePart(p), rules)) {
		id := w.node(at, &loomv1.NodeDefinition{
			Id: p.ID + "-check", Type: task, Role: verifier, Criticality: w.weight(i), Phase: about,
			Description: fmt.Sprintf("Judge what phase %s delivered, question by question, with evidence from the files.", p.ID),
			Outcome:     verify.Fields(questions), MaxAttempts: judgeAttempts, OnFailure: backTo(checkReworks, p.ID),
		})
		w.edge(tail, id, "", at...)
		tail = id
	}
	if tier < 3 {
		return tail
	}
	if tail != p.ID {
		second := w.node(at, &loomv1.NodeDefinition{
			Id: p.ID + "-second", Type: task, Role: secondJudge, Criticality: w.weight(i), MaxAttempts: judgeAttempts,
			Description: "Say of each quotation, read where it stands, whether it shows what it is said to show.",
			Phase:       &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_SECOND, Of: p.ID, AcceptanceCriteria: about.AcceptanceCriteria},
			Outcome:     verify.SecondFields(verify.Questions(about, rules)),
		})
		w.edge(tail, second, "", at...)
		tail = second
	}
	vote := p.ID + "-vote"
	var votes []string
	for k, r := range reviewers {
		id := w.node(at, &loomv1.NodeDefinition{
			Id: fmt.Sprintf("%s-rev-%d", p.ID, k+1), Type: task, Role: r.role, Persona: r.persona, Criticality: optional, MaxAttempts: judgeAttempts,
			Description: fmt.Sprintf("Try to find what is wrong with what phase %s delivered. Vote: is it sound? If not, say what must change.", p.ID),
			Phase:       &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_REVIEW, Of: p.ID, AcceptanceCriteria: about.AcceptanceCriteria},
			Outcome:     map[string]string{"sound": "bool", "objection": "string"},
		})
		w.edge(tail, id, "", at...)
		votes = append(votes, id)
	}
	w.node(at, &loomv1.NodeDefinition{
		Id: vote, Type: task, Role: counter, Criticality: w.weight(i), MaxAttempts: judgeAttempts, OnFailure: backTo(checkReworks, p.ID),
		Description: fmt.Sprintf("The reviewers' votes on phase %s are counted.", p.ID),
		Phase:       &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_VOTE, Of: p.ID},
	})
	w.join(votes, vote, at...)
	return vote
}

func backTo(most uint32, rules ...string) *loomv1.FailurePolicy {
	p := &loomv1.FailurePolicy{Max: most}
	for _, to := range rules {
		p.Rework = append(p.Rework, &loomv1.ReworkRule{To: to})
	}
	return p
}

// link joins phases to those that they depend on, and the first to the entry.
func (w *weaver) link(entry []string) {
	broken := map[[2]int]bool{}
	for _, c := range circles(len(w.Phases), w.before) {
		broken[[2]int{c[len(c)-1], c[0]}] = true
	}
	for i, p := range w.Phases {
		if w.first(p.ID) != i {
			continue
		}
		linked := false
		for _, j := range w.before(i) {
			if !broken[[2]int{i, j}] && !w.Phases[j].Detached {
				w.join(w.tails[w.Phases[j].ID], w.heads[p.ID], "phases", i, "depends_on")
				linked = true
			}
		}
		if !linked {
			w.join(entry, w.heads[p.ID], "phases", i)
		}
	}
}

// finish makes the way from what was delivered to the target branch.
func (w *weaver) finish(tails []string) {
	w.node(nil, &loomv1.NodeDefinition{
		Id: "gather", Type: task, Role: gatherer, Outcome: map[string]string{"files": "int"},
		Description: "What the phases have delivered is put together; what did not pass is left out.",
		Phase:       &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_GATHER},
	})
	w.join(tails, "gather")
	next := "commit"
	if w.asks {
		next = w.node(nil, &loomv1.NodeDefinition{Id: "deliver", Type: approval, Role: "ceo", Description: orElse(w.question, "Shall this be delivered? It is shown with everything that it changes.")})
		w.edge("deliver", "commit", "")
	}
	w.edge("gather", next, "outcome.files > 0")
	w.edge("gather", "end", "outcome.files == 0") // all is there already: where nothing is, it has failed
	w.duty("commit", gatherer, loomv1.NodeKind_NODE_KIND_COMMIT, "The result is made a commit, under the commit lock.", "gather")
	w.duty("verify", verifier, loomv1.NodeKind_NODE_KIND_VERIFY, "Verify the result on a clean checkout: every required check, and whether it is what the goal asked for. On failure set the outcome field fault to change if the work itself is wrong.", "commit")
	w.duty("land", gatherer, loomv1.NodeKind_NODE_KIND_LAND, "The target branch is moved to the verified commit.", "commit")
	w.node(nil, &loomv1.NodeDefinition{Id: "end", Type: end, Description: "The result is delivered, or the target has all of it already."})
	w.edge("commit", "verify", "")
	w.edge("verify", "land", "")
	w.edge("land", "end", "")
}

// duty makes a node of one of the runtime's own duties. What only other work
// can mend goes back to the last phase that writes files.
func (w *weaver) duty(id, role string, kind loomv1.NodeKind, text, back string) {
	p := &loomv1.FailurePolicy{Max: maxDuties}
	if phase := w.lastWriter(); phase != "" && id != "land" {
		p.Rework = append(p.Rework, &loomv1.ReworkRule{To: phase, When: `outcome.fault == "change"`})
	}
	p.Rework = append(p.Rework, &loomv1.ReworkRule{To: back})
	w.node(nil, &loomv1.NodeDefinition{
		Id: id, Type: task, Role: role, Kind: kind, Description: text, Outcome: map[string]string{"fault": "string"}, OnFailure: p,
	})
}

// lastWriter returns the last phase that delivers files or changes code.
func (d *draft) lastWriter() string {
	last := ""
	for _, p := range d.Phases {
		writes := len(p.Deliverables) > 0 || slices.Contains([]string{"", Analyst, "implementer", "backend-engineer", "web-designer"}, p.Role)
		if p.Process == "" && writes && !p.Detached && !ofRuntime(p.Document) && phasePattern.MatchString(p.ID) {
			last = p.ID
		}
	}
	return last
}

// ofRuntime says whether a stage of a document is none that a writer could mend.
func ofRuntime(stage string) bool {
	return slices.Contains([]string{"review", "materialize", "postlog"}, stage)
}

// hooks makes the nodes of a list of hooks, one after the other.
func (w *weaver) hooks(when, id string, entry []string) []string {
	for _, h := range w.allHooks() {
		last := when == "after_complete" && w.question != "" && h.n == len(w.Hooks.AfterComplete)-1
		if h.when == when && !last {
			entry = w.hookNode(h, fmt.Sprintf("%s-%d", id, h.n+1), entry)
		}
	}
	return entry
}

// hookNode makes the nodes of a hook after others, and returns those that what
// follows waits for.
func (w *weaver) hookNode(h placedHook, id string, after []string) []string {
	n := &loomv1.NodeDefinition{Id: id, Type: task}
	switch {
	case h.Approve != "":
		w.asks = true
		n.Type, n.Role, n.Description = approval, "ceo", strings.TrimSpace(h.Approve)
	case h.Check != "":
		return w.checkNodes(h, id, after)
	default:
		n.Role, n.Description, n.Criticality = orElse(h.Role, Analyst), strings.TrimSpace(h.Action), optional
		n.Phase = &loomv1.Phase{
			Part: loomv1.PhasePart_PHASE_PART_WORK, Synthesis: true, Deliverables: h.Deliverables,
			ModelTier: tierOf(h.ModelTier, 2), VerificationTier: 1,
		}
	}
	w.join(after, w.node(h.at(), n), h.at()...)
	return []string{id}
}

// checkNodes makes a check of a hook: it finds out, and a gate behind it does
// what the hook says if it is not so.
func (w *weaver) checkNodes(h placedHook, id string, after []string) []string {
	check := w.node(h.at(), &loomv1.NodeDefinition{
		Id: id, Type: task, Role: verifier, Criticality: optional, MaxAttempts: 2,
		Description: "Find out whether this is so: " + strings.TrimSpace(h.Check),
		Phase:       &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_HOOK, Check: strings.TrimSpace(h.Check), ModelTier: tierOf(h.ModelTier, 0)},
		Outcome:     map[string]string{"ok": "bool", "evidence": "string"},
	})
	w.join(after, check, h.at()...)
	action := map[string]loomv1.GateAction{"block": loomv1.GateAction_GATE_ACTION_BLOCK, "fail": loomv1.GateAction_GATE_ACTION_FAIL}[h.Action]
	if action == 0 {
		return []string{check}
	}
	gate := w.node(h.at(), &loomv1.NodeDefinition{
		Id: id + "-ok", Type: loomv1.NodeType_NODE_TYPE_MERGE,
		Gate: &loomv1.Gate{Condition: fmt.Sprintf("outcome.`%s`.ok", id), OnFailure: action},
	})
	w.edge(check, gate, "", h.at()...)
	return []string{gate}
}

// origin returns where in the draft what stands at a path of the definition
// comes from.
func (w *weaver) origin(at []any) []any {
	if len(at) == 0 {
		return nil
	}
	switch key, _ := at[0].(string); key {
	case "guide":
		return guideOrigin(at[1:])
	case "nodes":
		if i, ok := index(at); ok && i < len(w.from) && w.from[i] != nil {
			return join(w.from[i], nodeOrigin(at[2:])...)
		}
		return []any{"phases"}
	case "edges":
		if i, ok := index(at); ok && i < len(w.via) && w.via[i] != nil {
			return w.via[i]
		}
		return []any{"phases"}
	}
	return at
}

func index(at []any) (int, bool) {
	if len(at) < 2 {
		return 0, false
	}
	i, ok := at[1].(int)
	return i, ok
}

// nodeOrigin translates a path below a node to one below a phase.
func nodeOrigin(at []any) []any {
	if len(at) > 1 && at[0] == "phase" {
		at = at[1:]
	}
	if len(at) > 0 && at[0] == "criticality" {
		return []any{"is_critical_path"}
	}
	return at
}

var guideKeys = map[string][]any{
	"persona": {"persona"}, "tool_guidance": {"tool_guidance"}, "required_tools": {"tools", "required"}, "excluded_tools": {"tools", "excluded"},
	"rules": {"verification", "rules"}, "memory_types": {"memory", "extract_types"}, "memory_guidance": {"memory", "extraction_guidance"},
	"scan_for": {"workspace_analysis", "scan_for"}, "workspace_guidance": {"workspace_analysis", "guidance"},
}

func guideOrigin(at []any) []any {
	if len(at) == 0 {
		return nil
	}
	key, _ := at[0].(string)
	return join(guideKeys[key], at[1:]...)
}

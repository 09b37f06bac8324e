package project

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/memory"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Limits of the memory in a project.
const (
	maxNamespaces = 16
	mostBroken    = 8   // broken rules of one attempt that are remembered
	mostSummary   = 300 // bytes of a message that is remembered
)

// MemoryTokens bounds the text of what a person finds, where nothing else is asked for.
const MemoryTokens = 4096

// OfOffers is the filter of the view memory for what attempts were offered.
const OfOffers = "offered"

// memory has the memory decide a command of its own. Agents speak for the attempt
// that they hold; people for themselves.
func (d *decision) memory(cmd *loomv1.Command) (*loomv1.Answer, error) {
	turn, err := d.memoryTurn(cmd)
	if err != nil {
		return nil, err
	}
	if keep := cmd.GetKeepMemory(); keep != nil {
		switch {
		case len(keep.Request) > MaxKey:
			return nil, fault.New("memory/invalid", "a request id has at most %d bytes", MaxKey).At("/request")
		case keep.Request != "":
			turn.Request = hexHash("memory", keep.Request)
		}
		if r, ok := d.s.p.Requests[turn.Request]; ok && turn.Request != "" {
			e, _ := d.s.mem.Entry(r.Id)
			return &loomv1.Answer{Body: &loomv1.Answer_Memory{Memory: e}}, nil
		}
		if err := d.knowsMemoryWork(keep.Entry); err != nil {
			return nil, err
		}
	}
	return d.s.mem.Decide(turn, cmd)
}

// memoryTurn says on whose behalf a command of the memory is, and what it may do.
func (d *decision) memoryTurn(cmd *loomv1.Command) (*memory.Turn, error) {
	t := d.ownTurn()
	switch d.actor.GetKind() {
	case loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, loomv1.IdentityKind_IDENTITY_KIND_CEO:
		if cmd.GetOfferMemory() != nil {
			return nil, fault.New("request/denied", "what is remembered is offered to attempts alone")
		}
		t.Trust = loomv1.MemoryTrust_MEMORY_TRUST_PERSON
		for _, hash := range d.s.p.Latest {
			t.Types = append(t.Types, memory.TypesOf(d.s.p.Definitions[hash])...)
		}
		slices.Sort(t.Types)
		t.Types = slices.Compact(t.Types)
		return t, nil
	case loomv1.IdentityKind_IDENTITY_KIND_AGENT:
		t.Trust = loomv1.MemoryTrust_MEMORY_TRUST_AGENT
	default:
		return nil, fault.New("request/denied", "%s %q neither keeps nor changes what is remembered", Word(d.actor.GetKind()), d.actor.GetName())
	}
	attempt, claimant := cmd.GetKeepMemory().GetAttempt(), cmd.GetKeepMemory().GetClaimant()
	if offer := cmd.GetOfferMemory(); offer != nil {
		attempt, claimant = offer.Attempt, offer.Claimant
	}
	if attempt == "" { // a change or an end, which the memory refuses
		return t, nil
	}
	x, err := d.holding(attempt, claimant)
	if err != nil {
		return nil, err
	}
	_, a := d.s.attempt(attempt)
	def := d.s.p.Definitions[x.DefinitionHash]
	t.Bead, t.Execution, t.Node, t.Attempt, t.Process = x.Bead, x.Id, a.Node, a.Id, x.Definition
	t.Types, t.Outside = memory.TypesOf(def), d.s.readOutside(a.Id)
	for _, n := range def.GetNodes() {
		if n.Id == a.Node {
			t.Access = n.Memory
		}
	}
	t.Access = d.s.stepAccess(x, a.Node, t.Access)
	return t, nil
}

// ownTurn is that of the runtime itself.
func (d *decision) ownTurn() *memory.Turn {
	return &memory.Turn{Now: d.now, Trust: loomv1.MemoryTrust_MEMORY_TRUST_RUNTIME, Shared: d.s.p.Config.GetMemory(), Emit: d.emit}
}

// readOutside says whether an attempt has used a tool that brings text of others in.
func (s *State) readOutside(attempt string) bool {
	return slices.ContainsFunc(s.p.Turns[attempt].GetSteps(), func(step *loomv1.TurnStep) bool {
		return ofOutside(step.GetTool().GetCall().GetTool())
	})
}

func ofOutside(tool string) bool {
	switch tool {
	case "web_fetch", "web_search", "sec_edgar", "alpha_vantage", "reference_data":
		return true
	}
	return strings.HasPrefix(tool, "mcp_")
}

// knowsMemoryWork refuses an entry about a bead or an execution that is not there.
func (d *decision) knowsMemoryWork(e *loomv1.MemoryEntry) error {
	return d.s.knowsWork(&loomv1.DecisionNode{Bead: e.GetBead(), Execution: e.GetExecution()})
}

// What facts teach is remembered without a model, by the rows of the table.

func (d *decision) rememberGap(e *loomv1.Event) error {
	x := d.s.execution(e.Execution)
	return d.rememberOwn(e, &loomv1.MemoryEntry{
		Type: "risk", Text: fmt.Sprintf("In process %s, %s was left out: %s", x.GetDefinition(), e.Node, cut(oneLine(e.GetGapNoted().GetReason()), mostSummary)),
		Tags: tagged(x.GetDefinition(), e.Node),
	})
}

// endSession ends the session of an execution that has ended.
func (d *decision) endSession(e *loomv1.Event) error {
	t := d.ownTurn()
	completed := workflow.Delivered(e.GetExecutionEnded().Status)
	return d.s.mem.EndSession(t, e.Execution, completed, d.mayOutlast)
}

// mayOutlast says whether the node that kept an entry for its session may write where
// the entry would go.
func (d *decision) mayOutlast(e *loomv1.MemoryEntry) bool {
	x := d.s.execution(e.Execution)
	if d.s.stepOf(x, e.Node) != nil {
		return slices.Contains(d.s.stepAccess(x, e.Node, nil).Write, cmp.Or(e.Namespace, memory.Project))
	}
	for _, n := range d.s.p.Definitions[x.GetDefinitionHash()].GetNodes() {
		if n.Id == e.Node && n.Memory != nil {
			return slices.Contains(n.Memory.Write, cmp.Or(e.Namespace, memory.Project))
		}
	}
	return e.Namespace == "" || slices.Contains(d.s.p.Config.GetMemory(), e.Namespace)
}

// rememberOutcome remembers which rules an attempt's work has broken, and what it
// failed with.
func (d *decision) rememberOutcome(e *loomv1.Event) error {
	x, o := d.s.execution(e.Execution), e.GetAttemptEnded().GetOutcome()
	for _, broken := range o.GetBroken()[:min(len(o.GetBroken()), mostBroken)] {
		if err := d.rememberOwn(e, &loomv1.MemoryEntry{
			Type: "error", Text: fmt.Sprintf("In process %s, what %s delivers broke the rule %s", x.GetDefinition(), cut(oneLine(broken.Phase), mostSummary), cut(oneLine(broken.Rule), mostSummary)),
			Tags: tagged(x.GetDefinition(), broken.Phase, broken.Rule), Confidence: 90,
		}); err != nil {
			return err
		}
	}
	if o.GetStatus() != loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE || o.Code == "" || o.Code == workflow.Withdrawn || len(o.Broken) > 0 {
		return nil
	}
	return d.rememberOwn(e, &loomv1.MemoryEntry{
		Type: "error", Text: fmt.Sprintf("In process %s, %s failed with %s", x.GetDefinition(), e.Node, o.Code),
		Tags: tagged(x.GetDefinition(), e.Node, strings.ReplaceAll(o.Code, "/", "-")),
	})
}

// rememberComment remembers what a person has said with an answer.
func (d *decision) rememberComment(e *loomv1.Event) error {
	f := e.GetApprovalDecided()
	a, comment := d.s.approval(f.Approval), strings.TrimSpace(f.Comment)
	if a == nil || comment == "" {
		return nil
	}
	x := d.s.execution(a.Execution)
	t := d.ownTurn()
	t.Trust = loomv1.MemoryTrust_MEMORY_TRUST_PERSON
	return d.rememberAs(t, e, &loomv1.MemoryEntry{
		Type: "feedback", Text: fmt.Sprintf("The CEO answered %s to %q: %s", strings.ReplaceAll(Word(f.Decision), "_", " "), cut(oneLine(a.Question), mostSummary), cut(comment, memory.MaxText/2)),
		Tags: tagged(x.GetDefinition(), a.Node), Confidence: 100, Sources: []*loomv1.MemorySource{{Approval: a.Id}},
	})
}

// malformedCall is what the summary begins with of a call whose arguments were not what
// the tool takes: that says nothing of the work.
const malformedCall = "tool/arguments: "

// sentBack says whether a call came to nothing because of what the model wrote, and was
// told so: an artifact that is not sound, or an outcome that the runtime did not take.
func sentBack(tool, said string) bool {
	return strings.HasPrefix(said, malformedCall) || strings.HasPrefix(said, "document/invalid: ") || strings.HasPrefix(tool, "examine_")
}

// rememberToolError remembers for the session what a tool of Loom's own could not do.
func (d *decision) rememberToolError(e *loomv1.Event) error {
	f := e.GetToolFinished()
	said := oneLine(f.GetResult().GetSummary())
	if f.GetResult().GetStatus() != loomv1.ToolStatus_TOOL_STATUS_ERROR || f.Tool == "" || ofOutside(f.Tool) || said == "" || sentBack(f.Tool, said) {
		return nil
	}
	return d.rememberOwn(e, &loomv1.MemoryEntry{
		Type: "error", Layer: loomv1.MemoryLayer_MEMORY_LAYER_SESSION, Confidence: 50,
		Text: fmt.Sprintf("The tool %s could not do what was asked: %s", f.Tool, cut(said, mostSummary)), Tags: tagged(f.Tool),
	})
}

func (d *decision) rememberOwn(e *loomv1.Event, entry *loomv1.MemoryEntry) error {
	return d.rememberAs(d.ownTurn(), e, entry)
}

// rememberAs keeps an entry about the work of a fact. Where the memory refuses it, at
// its limits or for what a text holds, nothing is kept: that is no reason to refuse
// what has happened.
func (d *decision) rememberAs(t *memory.Turn, e *loomv1.Event, entry *loomv1.MemoryEntry) error {
	t.Bead, t.Execution, t.Node, t.Attempt = e.Bead, e.Execution, e.Node, e.Attempt
	t.Process = d.s.execution(e.Execution).GetDefinition()
	return d.keepFor(t, entry)
}

// keepFor keeps an entry on somebody's behalf, if the memory takes it.
func (d *decision) keepFor(t *memory.Turn, entry *loomv1.MemoryEntry) error {
	readable := d.s.cfg.Format.Check(&loomv1.Event{Fact: &loomv1.Event_MemoryKept{}}, d.s.agreed) == nil
	if readable { // by hosts of earlier releases too
		_, _ = d.s.mem.Decide(t, &loomv1.Command{Body: &loomv1.Command_KeepMemory{KeepMemory: &loomv1.KeepMemory{Entry: entry}}})
	}
	return d.broken
}

// tagged makes tags of names, without those that cannot be one.
func tagged(names ...string) (tags []string) {
	for _, n := range names {
		n = strings.ToLower(n)
		plain := func(r rune) bool {
			return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
		}
		if n != "" && len(n) <= 64 && !strings.ContainsRune("._-", rune(n[0])) && strings.TrimFunc(n, plain) == "" {
			tags = append(tags, n)
		}
	}
	return tags
}

// tickMemory ends what has expired.
func (d *decision) tickMemory() error { return d.s.mem.Tick(d.ownTurn()) }

// lookMemory lists what is remembered, finds it by words, or shows one entry.
func (s *State) lookMemory(out *loomv1.View, q *loomv1.Query, limit int) error {
	if e, ok := s.mem.Entry(q.Id); ok {
		out.Memories = []*loomv1.MemoryEntry{e}
		return nil
	}
	if q.Id != "" && Of(q.Id) == "" {
		return fault.New("memory/unknown", "project %q remembers no such entry", s.cfg.ID).At("id").Got(q.Id)
	}
	if x, _ := s.attempt(q.Id); x == nil {
		if err := s.Knows(q.Id); err != nil {
			return err
		}
	}
	if q.Filter == OfOffers {
		return s.lookOffers(out, q, limit)
	}
	if q.Text != "" {
		places := []string(nil)
		if q.Namespace != "" {
			places = []string{q.Namespace}
		}
		var types []string
		if q.Type != "" {
			types = []string{q.Type}
		}
		out.Found = s.mem.Retrieve(memory.Question{
			Text: q.Text, Types: types, Tags: q.Labels, Execution: q.Id, Places: places, Now: s.Time(),
			Tokens: int(cmp.Or(q.Tokens, MemoryTokens)), Limit: limit,
		})
		for _, item := range out.Found.Items {
			out.Memories = append(out.Memories, item.Entry)
		}
		return nil
	}
	f := memory.Filter{
		Any: q.Filter == "all", Type: q.Type, Tags: q.Labels, Namespace: q.Namespace, Work: q.Id, Process: q.Process,
		Before: q.After, Limit: limit + 1,
	}
	if q.Filter != "" && !f.Any {
		status, ok := loomv1.MemoryStatus_value["MEMORY_STATUS_"+strings.ToUpper(q.Filter)]
		if !ok || status == 0 {
			return fault.New("usage/argument", "no status of what is remembered").At("filter").Got(q.Filter).Want("active, expired, dropped, forgotten, all or offered")
		}
		f.Status = loomv1.MemoryStatus(status)
	}
	out.Memories = s.mem.List(f)
	if len(out.Memories) > limit {
		out.Memories = out.Memories[:limit]
		out.Next = out.Memories[limit-1].Id
	}
	return nil
}

// lookOffers lists what attempts were offered, or those of one attempt or execution.
func (s *State) lookOffers(out *loomv1.View, q *loomv1.Query, limit int) error {
	list := s.mem.Offers("", 0)
	if q.After != "" {
		i := slices.IndexFunc(list, func(o *loomv1.MemoryOffer) bool { return o.Attempt == q.After })
		if i < 0 {
			return fault.New("memory/unknown", "project %q remembers no offer to such an attempt", s.cfg.ID).At("after").Got(q.After)
		}
		list = list[i+1:]
	}
	if q.Id != "" {
		list = slices.DeleteFunc(list, func(o *loomv1.MemoryOffer) bool { return q.Id != o.Execution && q.Id != o.Attempt })
	}
	if out.Offers = list[:min(len(list), limit)]; len(list) > limit {
		out.Next = list[limit-1].Attempt
	}
	return nil
}

// checkNamespaces says all that is wrong with the namespaces that a project shares.
func checkNamespaces(list []string) (problems []*fault.Error) {
	if len(list) > maxNamespaces {
		problems = append(problems, fault.New("project/invalid", "%d namespaces where %d are the most", len(list), maxNamespaces).At("memory"))
	}
	for i, ns := range list {
		if err := memory.CheckNamespace(ns); err != nil {
			problems = append(problems, err.At(fmt.Sprintf("memory/%d", i)))
		}
	}
	return problems
}

package projection_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// books count by reading the events one by one, with nothing of the tables
// or of the workflow core.
type books struct {
	beads      map[string]*loomv1.Bead
	filed      map[string]time.Time
	used       map[string]bool // beads that had an execution before
	defs       map[string]*loomv1.Definition
	executions map[string]*run
	asked      map[string]*question
	grants     []*lockGrant // of the commit lock, in the order in which they were given
}

type run struct {
	id                  string
	process, bead, hash string
	from, start, end    time.Time
	status              loomv1.ExecutionStatus
	in, out, cost       uint64
	files               int // of the change that stands; -1 without one
	visits              []*stay
	open                map[string]*stay // by node, also ended ones that were not reset
	questions           []*question
	nodes               map[string]*figures
	broken              map[string]*loomv1.RuleMetrics // by phase, rule, tier and severity
	recorded, together  int                            // commits and landings; those made by two at once
	commits             []*loomv1.Candidate
}

// figures are how the attempts of a node fared.
type figures struct{ ended, failed, retries, calls, in, out, cost uint64 }

// of returns the figures of a node.
func (r *run) of(node string) *figures {
	if r.nodes[node] == nil {
		r.nodes[node] = &figures{}
	}
	return r.nodes[node]
}

// attemptEnded counts an attempt, and what was found in it.
func (r *run) attemptEnded(node string, f *loomv1.AttemptEnded) {
	if f.GetOutcome().GetCode() == "attempt/withdrawn" {
		return
	}
	r.of(node).ended++
	if f.GetTimedOut() || f.GetOutcome().GetStatus() == failure {
		r.of(node).failed++
	}
	for _, b := range f.GetOutcome().GetBroken() {
		key := fmt.Sprintf("%s %d %s %d", b.GetPhase(), b.GetTier(), b.GetRule(), b.GetSeverity())
		if r.broken[key] == nil {
			r.broken[key] = &loomv1.RuleMetrics{Phase: b.GetPhase(), Rule: b.GetRule(), Tier: b.GetTier(), Severity: b.GetSeverity(), Executions: 1}
		}
		r.broken[key].Attempts++
		r.broken[key].Findings += uint64(b.GetCount())
	}
}

type stay struct {
	node               string
	begun, ended       time.Time
	outcome            string
	attempts, timeouts int
	escalated          bool
}

type question struct {
	node       string
	escalation bool
	from, to   time.Time
}

func newBooks(events []*loomv1.Event) *books {
	b := &books{
		beads: map[string]*loomv1.Bead{}, filed: map[string]time.Time{}, used: map[string]bool{},
		defs: map[string]*loomv1.Definition{}, executions: map[string]*run{}, asked: map[string]*question{},
	}
	for _, e := range events {
		b.read(e, e.GetTime().AsTime())
	}
	return b
}

func (b *books) read(e *loomv1.Event, at time.Time) {
	x := b.executions[e.GetExecution()]
	switch f := e.GetFact().(type) {
	case *loomv1.Event_DefinitionStored:
		b.defs[f.DefinitionStored.GetHash()] = f.DefinitionStored.GetDefinition()
	case *loomv1.Event_BeadFiled:
		b.beads[e.GetBead()], b.filed[e.GetBead()] = f.BeadFiled.GetBead(), at
	case *loomv1.Event_ExecutionStarted:
		b.begin(e, at, f.ExecutionStarted.GetDefinition(), f.ExecutionStarted.GetDefinitionHash())
	case *loomv1.Event_ExecutionForked:
		s := f.ExecutionForked.GetState()
		r := b.begin(e, at, s.GetDefinition(), s.GetDefinitionHash())
		r.in, r.out, r.cost = s.GetUsage().GetInputTokens(), s.GetUsage().GetOutputTokens(), s.GetUsage().GetCostMicroUsd()
		if c := s.GetChange(); c != nil {
			r.files = max(len(c.GetFiles()), int(c.GetFilesTotal()))
		}
	case *loomv1.Event_PlanAdopted:
		x.hash, b.defs[f.PlanAdopted.GetHash()] = f.PlanAdopted.GetHash(), f.PlanAdopted.GetDefinition()
	case *loomv1.Event_ExecutionEnded:
		x.status, x.end = f.ExecutionEnded.GetStatus(), at
		for _, s := range x.open {
			s.close(at, "dropped")
		}
	case *loomv1.Event_AttemptDispatched:
		x.at(e.GetNode(), at).attempts++
		if f.AttemptDispatched.GetCause() == "retry" {
			x.of(e.GetNode()).retries++
		}
	case *loomv1.Event_AttemptEnded:
		x.attemptEnded(e.GetNode(), f.AttemptEnded)
		if f.AttemptEnded.GetTimedOut() {
			x.at(e.GetNode(), at).timeouts++
		}
	case *loomv1.Event_NodeCompleted:
		if s := x.open[e.GetNode()]; s != nil {
			s.close(at, map[bool]string{true: "succeeded", false: "failed"}[f.NodeCompleted.GetSucceeded()])
		}
	case *loomv1.Event_NodeSkipped:
		if s := x.open[e.GetNode()]; s != nil {
			s.close(at, "skipped")
		}
	case *loomv1.Event_ReworkStarted:
		// A gate that sends work back does not end the visit it stands before.
		if s := x.open[e.GetNode()]; s != nil && slices.Contains(f.ReworkStarted.GetResetNodes(), e.GetNode()) {
			s.close(at, "sent-back")
		}
		x.reset(f.ReworkStarted.GetResetNodes(), at)
	case *loomv1.Event_ExecutionMoved:
		x.reset(f.ExecutionMoved.GetResetNodes(), at)
	case *loomv1.Event_ApprovalRequested:
		b.ask(x, e, f.ApprovalRequested.GetApproval(), at)
	case *loomv1.Event_ApprovalDecided:
		b.answer(f.ApprovalDecided.GetApproval(), at)
	case *loomv1.Event_ApprovalLapsed:
		b.answer(f.ApprovalLapsed.GetApproval(), at)
	case *loomv1.Event_ChangeProposed:
		x.files = max(len(f.ChangeProposed.GetChange().GetFiles()), int(f.ChangeProposed.GetChange().GetFilesTotal()))
	case *loomv1.Event_LockGranted:
		b.granted(e, f.LockGranted.GetToken(), false)
	case *loomv1.Event_LockCoupled:
		b.granted(e, f.LockCoupled.GetToken(), true)
	case *loomv1.Event_LockExpired:
		b.took(f.LockExpired.GetToken())
	case *loomv1.Event_LockReleased:
		if e.GetActor().GetKind() == loomv1.IdentityKind_IDENTITY_KIND_CEO {
			b.took(f.LockReleased.GetToken())
		}
	case *loomv1.Event_CandidateMade:
		if c := f.CandidateMade.GetCandidate(); !c.GetPresent() {
			b.committed(x, e, c.GetToken(), c, false)
		}
	case *loomv1.Event_TrainTested:
		if c := f.TrainTested.GetCar().GetCandidate(); c != nil && c.GetCommit() != f.TrainTested.GetCar().GetVerified() {
			b.committed(x, e, c.GetToken(), c, false)
		}
	case *loomv1.Event_Landed:
		b.committed(x, e, f.Landed.GetLanding().GetToken(), nil, false)
	case *loomv1.Event_LandingSettled:
		if l := f.LandingSettled.GetLanding(); l != nil {
			b.committed(x, e, l.GetToken(), nil, true)
		}
	case *loomv1.Event_TurnCompacted:
		if a := f.TurnCompacted.GetCompaction().GetAnswer(); a != nil {
			b.read(&loomv1.Event{Execution: e.Execution, Node: e.Node, Fact: &loomv1.Event_ModelAnswered{ModelAnswered: &loomv1.ModelAnswered{Answer: a}}}, at)
		}
	case *loomv1.Event_ModelAnswered:
		u := f.ModelAnswered.GetAnswer().GetUsage()
		x.in, x.out, x.cost = x.in+u.GetInputTokens(), x.out+u.GetOutputTokens(), x.cost+u.GetCostMicroUsd()
		n := x.of(e.GetNode())
		n.calls, n.in, n.out, n.cost = n.calls+1, n.in+u.GetInputTokens(), n.out+u.GetOutputTokens(), n.cost+u.GetCostMicroUsd()
	}
}

func (b *books) begin(e *loomv1.Event, at time.Time, process, hash string) *run {
	r := &run{id: e.GetExecution(), process: process, bead: e.GetBead(), hash: hash, from: at, start: at, files: -1, open: map[string]*stay{}, nodes: map[string]*figures{}, broken: map[string]*loomv1.RuleMetrics{}}
	if !b.used[e.GetBead()] {
		r.from = b.filed[e.GetBead()]
	}
	b.used[e.GetBead()], b.executions[e.GetExecution()] = true, r
	return r
}

func (b *books) ask(x *run, e *loomv1.Event, a *loomv1.Approval, at time.Time) {
	q := &question{node: a.GetNode(), escalation: a.GetKind() == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION, from: at}
	b.asked[a.GetId()] = q
	if x == nil {
		return
	}
	x.questions = append(x.questions, q)
	if a.GetNode() != "" {
		s := x.at(e.GetNode(), at)
		s.escalated = s.escalated || q.escalation
	}
}

func (b *books) answer(id string, at time.Time) {
	if q := b.asked[id]; q != nil && q.to.IsZero() {
		q.to = at
	}
}

// at returns the present stay at a node, begun now if there is none.
func (r *run) at(node string, at time.Time) *stay {
	s := r.open[node]
	if s == nil {
		s = &stay{node: node, begun: at}
		r.open[node] = s
		r.visits = append(r.visits, s)
	}
	return s
}

func (s *stay) close(at time.Time, outcome string) {
	if s.ended.IsZero() {
		s.ended, s.outcome = at, outcome
	}
}

func (r *run) reset(nodes []string, at time.Time) {
	for _, id := range nodes {
		if s := r.open[id]; s != nil {
			s.close(at, "reset")
			delete(r.open, id)
		}
	}
}

// waited is how long some question was open, instant by instant.
func (r *run) waited() (sum time.Duration) {
	var edges []time.Time
	for _, q := range r.questions {
		edges = append(edges, q.from, q.until(r))
	}
	slices.SortFunc(edges, time.Time.Compare)
	for i := 1; i < len(edges); i++ {
		for _, q := range r.questions {
			if !q.from.After(edges[i-1]) && !q.until(r).Before(edges[i]) {
				sum += edges[i].Sub(edges[i-1])
				break
			}
		}
	}
	return sum
}

func (q *question) until(r *run) time.Time {
	if q.to.IsZero() {
		return r.end
	}
	return q.to
}

// measure says what the metrics must be.
func (b *books) measure(q *loomv1.MetricsRequest) []*loomv1.WorkflowMetrics {
	by := map[string][]*run{}
	for _, r := range b.executions {
		in := (q.GetProcess() == "" || r.process == q.GetProcess()) &&
			(q.GetFrom() == nil || !r.start.Before(q.GetFrom().AsTime())) && (q.GetTo() == nil || r.start.Before(q.GetTo().AsTime()))
		if in {
			by[r.process] = append(by[r.process], r)
		}
	}
	var all []*loomv1.WorkflowMetrics
	for _, process := range slices.Sorted(maps.Keys(by)) {
		all = append(all, b.measureProcess(process, by[process]))
	}
	return all
}

func (b *books) measureProcess(process string, runs []*run) *loomv1.WorkflowMetrics {
	w := &loomv1.WorkflowMetrics{Process: process}
	var whole, working, simple, simpleWorking []time.Duration
	escalated := 0
	for _, r := range runs {
		w.Started++
		w.InputTokens, w.OutputTokens, w.CostMicroUsd = w.InputTokens+r.in, w.OutputTokens+r.out, w.CostMicroUsd+r.cost
		n := 0
		for _, q := range r.questions {
			if q.escalation {
				n++
			}
		}
		w.Escalations += uint64(n)
		escalated += min(n, 1)
		switch r.status {
		case loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED, loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED_WITH_GAPS:
			w.Completed++
			took, wait := r.end.Sub(r.from), r.waited()
			whole, working = append(whole, took), append(working, took-wait)
			if b.beads[r.bead].GetType() == loomv1.BeadType_BEAD_TYPE_BUG && r.files >= 0 && r.files <= 2 {
				simple, simpleWorking = append(simple, took), append(simpleWorking, took-wait)
			}
		case loomv1.ExecutionStatus_EXECUTION_STATUS_REJECTED:
			w.Rejected++
		case loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED:
			w.Aborted++
		case loomv1.ExecutionStatus_EXECUTION_STATUS_FAILED:
			w.Failed++
		default:
			w.Running++
		}
	}
	w.Resolution, w.Working = describe(whole), describe(working)
	if ended := w.Started - w.Running; ended > 0 {
		w.SuccessRate = part(int(w.Completed), int(ended))
	}
	w.EscalationRate = part(escalated, len(runs))
	b.measureRuns(w, runs)
	b.measureNodes(w, runs)
	w.Targets = append([]*loomv1.Target{
		want("resolution of simple bugs", "<", 300, "seconds", p90(simple)),
		want("resolution of simple bugs without the CEO's time", "<", 300, "seconds", p90(simpleWorking)),
	}, b.goals(w, runs)...)
	return w
}

func (b *books) node(r *run, id string) *loomv1.NodeDefinition {
	for _, n := range b.defs[r.hash].GetNodes() {
		if n.GetId() == id {
			return n
		}
	}
	return nil
}

func (b *books) measureNodes(w *loomv1.WorkflowMetrics, runs []*run) {
	nodes := map[string]*loomv1.NodeMetrics{}
	took := map[string][]time.Duration{}
	tries := map[string][]int{}
	for _, r := range runs {
		for _, s := range r.visits {
			n := nodes[s.node]
			if n == nil {
				n = &loomv1.NodeMetrics{Node: s.node, Attempts: make([]uint64, 10)}
				nodes[s.node] = n
			}
			n.MultiDispatch = n.MultiDispatch || b.node(r, s.node).GetMultiDispatch()
			n.Timeouts += uint64(s.timeouts)
			if s.ended.IsZero() {
				continue
			}
			n.Visits++
			took[s.node] = append(took[s.node], s.ended.Sub(s.begun))
			if s.attempts > 0 {
				n.Attempts[min(s.attempts, 10)-1]++
				tries[s.node] = append(tries[s.node], s.attempts)
			}
			switch s.outcome {
			case "succeeded":
				n.Succeeded++
			case "sent-back":
				n.Reworks++
			}
		}
		for _, q := range r.questions {
			if q.escalation && q.node != "" {
				nodes[q.node].Escalations++
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[id]
		n.Duration = describe(took[id])
		if len(tries[id]) > 0 {
			sum := 0
			for _, t := range tries[id] {
				sum += t
			}
			n.MeanAttempts = part(sum, len(tries[id]))
		}
		b.measureFigures(n, runs)
		w.Nodes = append(w.Nodes, n)
	}
	b.measureRules(w, runs)
}

func (b *books) measureFigures(n *loomv1.NodeMetrics, runs []*run) {
	for _, r := range runs {
		f := r.of(n.GetNode())
		n.Ended, n.Failed, n.Retries, n.ModelCalls = n.Ended+f.ended, n.Failed+f.failed, n.Retries+f.retries, n.ModelCalls+f.calls
		n.InputTokens, n.OutputTokens, n.CostMicroUsd = n.InputTokens+f.in, n.OutputTokens+f.out, n.CostMicroUsd+f.cost
	}
	n.FailureRate = part(int(n.Failed), int(n.Ended))
}

func (b *books) measureRules(w *loomv1.WorkflowMetrics, runs []*run) {
	all := map[string]*loomv1.RuleMetrics{}
	for _, r := range runs {
		for key, found := range r.broken {
			if all[key] == nil {
				all[key] = proto.CloneOf(found)
				continue
			}
			all[key].Attempts, all[key].Findings, all[key].Executions = all[key].Attempts+found.Attempts, all[key].Findings+found.Findings, all[key].Executions+1
		}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		w.Rules = append(w.Rules, all[key])
	}
}

func (b *books) goals(w *loomv1.WorkflowMetrics, runs []*run) []*loomv1.Target {
	var found, sought, passed, tried, cycles, investigated int
	for _, r := range runs {
		attempts := 0
		for _, s := range r.visits {
			n := b.node(r, s.node)
			counts := s.escalated || s.outcome == "succeeded" || s.outcome == "failed" || s.outcome == "sent-back"
			good := s.outcome == "succeeded" && !s.escalated
			if n.GetMultiDispatch() {
				attempts += s.attempts
			}
			switch {
			case n.GetMultiDispatch() && counts:
				sought++
				found += map[bool]int{true: 1}[good]
			case n.GetKind() == loomv1.NodeKind_NODE_KIND_VERIFY && counts:
				tried++
				passed += map[bool]int{true: 1}[good]
			}
		}
		if workflow.Delivered(r.status) && attempts > 0 {
			investigated++
			cycles += attempts
		}
	}
	return append([]*loomv1.Target{
		want("investigations that succeed", ">", 0.8, "ratio", part(found, sought)),
		want("fixes that pass verification", ">", 0.9, "ratio", part(passed, tried)),
		want("executions that escalate", "<", 0.1, "ratio", w.EscalationRate),
		want("investigation cycles per completed execution", "<", 1.5, "cycles", part(cycles, investigated)),
	}, safetyOf(runs)...)
}

func want(name, relation string, goal float64, unit string, measured *float64) *loomv1.Target {
	t := &loomv1.Target{Name: name, Relation: relation, Goal: goal, Unit: unit, Measured: measured}
	if measured != nil {
		met := map[string]bool{"<": *measured < goal, ">": *measured > goal, "=": *measured == goal}[relation]
		t.Met = &met
	}
	return t
}

func part(n, of int) *float64 {
	if of == 0 {
		return nil
	}
	v := float64(n) / float64(of)
	return &v
}

func p90(all []time.Duration) *float64 {
	if len(all) == 0 {
		return nil
	}
	v := describe(all).P90Ms / 1e3
	return &v
}

// describe gives nearest-rank quantiles.
func describe(all []time.Duration) *loomv1.Quantiles {
	q := &loomv1.Quantiles{Count: uint64(len(all))}
	if len(all) == 0 {
		return q
	}
	all = slices.Sorted(slices.Values(all))
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	at := func(share float64) float64 { return ms(all[int(math.Ceil(share*float64(len(all))-1e-9))-1]) }
	sum := 0.0
	for _, d := range all {
		sum += ms(d)
	}
	q.MeanMs, q.P50Ms, q.P90Ms, q.P99Ms, q.MaxMs = sum/float64(len(all)), at(0.5), at(0.9), at(0.99), ms(all[len(all)-1])
	return q
}

func stamp(t time.Time) *timestamppb.Timestamp { return timestamppb.New(t) }

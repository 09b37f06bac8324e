package workflow_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/core/workflow/workflowtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var (
	seeds = flag.Int("seeds", defaultSeeds, "how many random executions to simulate")
	seed  = flag.Uint64("seed", 0, "the first seed")
)

// sim plays one random execution: agents that answer well, badly, twice, late
// or not at all, children likewise, roles that nobody works in, a CEO of any
// opinion who also moves, pauses and closes, limits that are reached, time that
// passes, and a host that dies at any moment and folds its log again. After
// every event it checks what must hold in all of them.
type sim struct {
	*world
	t     testing.TB
	rng   *rand.Rand
	seed  uint64
	twin  *loomv1.Execution    // a fold of the same events on another host
	saw   map[string]int       // how often something was seen
	asks  map[string]int       // escalations by node and visit
	more  map[string]int       // what the CEO granted, by node and visit
	given []given              // answers that were accepted
	moves uint32               // transitions so far
	held  bool                 // from outside
	gone  map[string]time.Time // roles without a live agent, since when
	over  bool                 // the CEO moves now
	gap   string               // node of the last gap
}

type given struct {
	attempt string
	who     *loomv1.Claimant
	out     *loomv1.Outcome
}

// TestWF10_Simulation is the replay and invariant test of RELIABILITY 3.1 for
// this core: many seeds, each a definition and a run of it.
func TestWF10_Simulation(t *testing.T) {
	longtest.Skip(t)
	saw := map[string]int{}
	events := 0
	began := time.Now()
	for s := *seed; s < *seed+uint64(*seeds); s++ {
		m := newSim(t, s, saw)
		m.play(60)
		m.finish()
		m.replay()
		events += len(m.events)
		if t.Failed() {
			t.Fatalf("seed %d: run with -seed %d -seeds 1\n%s\n%s", s, s, drawn(m.def.Definition()), m.story())
		}
	}
	t.Logf("%d executions, %d events in %s", *seeds, events, time.Since(began))
	sometimes(t, saw)
}

// sometimes fails when the simulation has never been where it should have
// been: a test that never gets there proves nothing.
func sometimes(t *testing.T, saw map[string]int) {
	for _, what := range []string{
		"completed", "rejected", "aborted", "failed by a gate", "gate blocks", "gate skips", "replan", "gate waived", "gap", "halt",
		"move", "move back", "moved over", "limit", "limit lifted", "paused", "resumed", "attempt refused while held", "answered while held",
		"none live", "child", "child failed", "child delivered", "nested", "child withdrawn", "skipped", "backoff", "continue", "timeout", "rework", "rework by the CEO", "reapproval",
		"escalation", "dead end", "no value", "override", "granted", "failure edge", "withdrawn attempt", "withdrawn approval",
		"lapsed", "asked again", "no evidence", "patch changed", "landed", "parked", "released", "restart", "answered twice", "stale answer",
		"own work", "crash", "detached", "host lost", "crashed", "parked for the operator",
	} {
		if saw[what] == 0 && *seeds >= 2000 {
			t.Errorf("in %d runs there was never: %s", *seeds, what)
		}
	}
	var counts []string
	for _, what := range slices.Sorted(maps.Keys(saw)) {
		counts = append(counts, fmt.Sprintf("%s %d", what, saw[what]))
	}
	t.Log(strings.Join(counts, ", "))
}

func newSim(t testing.TB, seed uint64, saw map[string]int) *sim {
	rng := rand.New(rand.NewPCG(seed, 7))
	m := &sim{t: t, rng: rng, seed: seed, saw: saw, asks: map[string]int{}, more: map[string]int{}, gone: map[string]time.Time{}}
	draw := workflowtest.Random
	if seed%3 > 0 {
		draw = func(rng *rand.Rand) *loomv1.Definition { return workflowtest.Rich(rng, "other") }
	}
	def, err := workflow.Compile(draw(rng))
	if err != nil {
		t.Fatalf("seed %d: Compile: %v", seed, err)
	}
	m.world = &world{
		def: def, now: noon, approvals: map[string]*loomv1.Approval{}, beads: 1,
		bead: &loomv1.Bead{Id: "p-1", Goal: "g"}, x: &loomv1.Execution{},
	}
	m.twin = &loomv1.Execution{}
	start := &loomv1.ExecutionStarted{Definition: "random", Checks: []string{"make"}}
	if seed%4 == 3 {
		start.Parent, start.ParentAttempt, start.Depth = "p-0-x1", "p-0-x1-a1", 1
	}
	m.must(m.emit(&loomv1.Event{Fact: &loomv1.Event_ExecutionStarted{ExecutionStarted: start}}))
	m.must(m.run().Begin())
	m.still()
	return m
}

func (m *sim) run() workflow.Run {
	r := m.world.run()
	r.Emit = m.emit
	r.Held, r.Absent, r.Grace = m.held, m.absent, grace
	r.Crashes = m.mostCrashes()
	return r
}

// grace is how long an attempt may wait for a role that nobody works in.
const grace = time.Minute

func (m *sim) absent(role string) (time.Time, bool) {
	since, is := m.gone[role]
	return since, is
}

// isHeld says whether nothing of the execution may start or be claimed.
func (m *sim) isHeld() bool { return m.held || m.x.Paused != nil || m.x.LimitApproval != "" }

// emit is the world's, and checks each event before and after.
func (m *sim) emit(e *loomv1.Event) error {
	m.before(e)
	from := len(m.events)
	if err := m.world.emit(e); err != nil {
		return err
	}
	if err := fold(m.twin, proto.CloneOf(m.events[from])); err != nil {
		return fmt.Errorf("twin: %w", err)
	}
	m.after(e)
	return nil
}

func (m *sim) broken(format string, args ...any) {
	m.t.Errorf("seed %d, event %d: %s", m.seed, len(m.events)+1, fmt.Sprintf(format, args...))
}

func (m *sim) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Errorf("seed %d: %v", m.seed, err)
	}
}

// before checks an event against the state that it meets.
func (m *sim) before(e *loomv1.Event) {
	if m.x.EndedAt != nil {
		m.broken("%T after the end", e.Fact)
	}
	st := m.x.Nodes[e.Node]
	switch f := e.Fact.(type) {
	case *loomv1.Event_AttemptDispatched:
		m.checkDispatch(e.Node, st, f.AttemptDispatched)
	case *loomv1.Event_ApprovalRequested:
		if e.Node != "" {
			m.checkReady(e.Node)
		}
		if a := f.ApprovalRequested.Approval; a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
			key := fmt.Sprintf("%s/%d", e.Node, a.Visit)
			if m.asks[key]++; m.asks[key] > 1+m.more[key] {
				m.broken("%s is escalated again though the CEO granted nothing", key)
			}
		}
	case *loomv1.Event_NodeSkipped:
		if f.NodeSkipped.Detached {
			m.checkReady(e.Node)
			if !m.def.Node(e.Node).Detached {
				m.broken("%s is set aside, and the end waits for it", e.Node)
			}
			break
		}
		if f.NodeSkipped.Reason != "" {
			left := workflow.Nested(m.x) && m.def.Node(e.Node).Kind == loomv1.NodeKind_NODE_KIND_LAND
			if !left && (m.x.Change != nil || m.x.Approved != nil) {
				m.broken("%s is skipped for want of a change, and one stands", e.Node)
			}
			break
		}
		for _, in := range m.into(e.Node) {
			if taken, settled := m.x.Edges[in.Id]; !m.over && m.gap != e.Node && (!settled || taken) {
				m.broken("%s is skipped though edge %s is not dead", e.Node, in.Id)
			}
		}
	case *loomv1.Event_CandidateMade:
		if a := m.x.Approved; a != nil && a.PatchDigest != f.CandidateMade.Candidate.PatchDigest {
			m.broken("candidate of patch %s though %s was approved", f.CandidateMade.Candidate.PatchDigest, a.PatchDigest)
		}
	case *loomv1.Event_Landed:
		if workflow.Nested(m.x) {
			m.broken("it works for %s, and lands", m.x.Parent)
		}
		m.checkLanding(f.Landed.Landing)
	case *loomv1.Event_NodeCompleted:
		if t := m.def.Node(e.Node).Type; (t == loomv1.NodeType_NODE_TYPE_MERGE || t == loomv1.NodeType_NODE_TYPE_END) && st.GetStatus() == 0 {
			m.checkFree(e.Node)
		}
	case *loomv1.Event_ExecutionEnded:
		if f.ExecutionEnded.Status == completed && !m.reachedAnEnd() {
			m.broken("it completes without an end")
		}
	}
}

func (m *sim) reachedAnEnd() bool {
	return slices.ContainsFunc(m.def.Definition().Nodes, func(n *loomv1.NodeDefinition) bool {
		return n.Type == loomv1.NodeType_NODE_TYPE_END && m.x.Nodes[n.Id].GetStatus() == loomv1.NodeStatus_NODE_STATUS_SUCCEEDED
	})
}

func (m *sim) checkDispatch(node string, st *loomv1.NodeState, d *loomv1.AttemptDispatched) {
	n := m.def.Node(node)
	m.checkReady(node)
	m.checkFree(node)
	if d.Process != n.Process || n.Process != "" && d.Role != "" {
		m.broken("%s is dispatched to process %q and role %q", node, d.Process, d.Role)
	}
	if st.GetAttempt() != nil {
		m.broken("%s has two attempts at once", node)
	}
	key := fmt.Sprintf("%s/%d", node, d.Visit)
	if most := n.MaxAttempts * uint32(1+m.more[key]); d.Number > most {
		m.broken("attempt %d of %s, which has %d", d.Number, key, most)
	}
	if n.Kind != 0 && d.Role != n.Role {
		m.broken("%s is dispatched to %s", node, d.Role)
	}
}

// checkFree wants nothing to keep a node from starting.
func (m *sim) checkFree(node string) {
	if m.isHeld() || m.x.HaltedBy != "" {
		m.broken("%s starts though the execution is held or halted by %q", node, m.x.HaltedBy)
	}
}

// checkReady wants every edge into a node settled, and one of them taken.
func (m *sim) checkReady(node string) {
	taken := m.def.Node(node).Type == loomv1.NodeType_NODE_TYPE_START
	for _, e := range m.into(node) {
		t, settled := m.x.Edges[e.Id]
		if !settled {
			m.broken("%s runs before edge %s is settled", node, e.Id)
		}
		taken = taken || t
	}
	if !taken {
		m.broken("%s runs though no edge into it was taken", node)
	}
}

func (m *sim) into(node string) (in []*loomv1.EdgeDefinition) {
	for _, e := range m.def.Definition().Edges {
		if e.To == node {
			in = append(in, e)
		}
	}
	return in
}

// checkLanding wants what lands to be the candidate, every check passed on it.
func (m *sim) checkLanding(l *loomv1.Landing) {
	c := m.x.Candidate
	if l.Commit != c.GetCommit() || c.GetPatchDigest() != m.x.Change.GetPatchDigest() {
		m.broken("landed %s of patch %s, the candidate is %s", l.Commit, m.x.Change.GetPatchDigest(), c)
	}
	runs := m.x.Nodes["verify"].GetOutcome().GetChecks()
	if !slices.ContainsFunc(runs, func(r *loomv1.CheckRun) bool { return r.Commit == l.Commit && r.Passed && r.Command == "make" }) {
		m.broken("landed %s unverified", l.Commit)
	}
}

// after checks the state that an event has made, and counts what was seen.
func (m *sim) after(e *loomv1.Event) {
	if len(m.events)%16 == 0 && !proto.Equal(m.x, m.twin) {
		m.broken("two folds differ after %T", e.Fact)
	}
	if _, _, _, is := workflow.Transition(e); is {
		m.moves++
	}
	if m.x.Transitions != m.moves {
		m.broken("%d transitions are counted, there were %d", m.x.Transitions, m.moves)
	}
	for _, what := range append(kinds(e), m.steered(e)...) {
		m.saw[what]++
	}
	first := ""
	for id, st := range m.x.Nodes {
		if a := m.approvals[st.Approval]; a.GetHalts() && (first == "" || id < first) {
			first = id
		}
	}
	if m.x.HaltedBy != first {
		m.broken("it is halted by %q, want %q", m.x.HaltedBy, first)
	}
}

// kinds says what an event shows, for the list of what must be seen.
func kinds(e *loomv1.Event) (kinds []string) {
	see := func(what string, is bool) {
		if is {
			kinds = append(kinds, what)
		}
	}
	switch f := e.Fact.(type) {
	case *loomv1.Event_NodeSkipped:
		see("skipped", !f.NodeSkipped.Detached)
		see("detached", f.NodeSkipped.Detached)
	case *loomv1.Event_RetryScheduled:
		see("backoff", true)
	case *loomv1.Event_AttemptDispatched:
		see("continue", f.AttemptDispatched.Cause == "continue")
		see("granted", f.AttemptDispatched.ExtraAttempts > 0)
	case *loomv1.Event_AttemptEnded:
		see("timeout", f.AttemptEnded.TimedOut)
		see("withdrawn attempt", f.AttemptEnded.Outcome.Code == "attempt/withdrawn")
		see("no evidence", f.AttemptEnded.Outcome.Code == "outcome/no-evidence")
		see("patch changed", f.AttemptEnded.Outcome.Code == "git/patch-changed")
	case *loomv1.Event_EdgeSettled:
		see("override", f.EdgeSettled.Outcome == "override")
		see("failure edge", f.EdgeSettled.Outcome == "failure")
	case *loomv1.Event_ReworkStarted:
		reason := f.ReworkStarted.Reason
		see("rework by the CEO", reason == "the CEO says so")
		see("reapproval", reason == "the approval of the change has lapsed")
		see("rework", reason == "it broke")
	case *loomv1.Event_ApprovalRequested:
		reason := f.ApprovalRequested.Approval.Reason
		see("escalation", reason != "")
		see("dead end", strings.HasPrefix(reason, "workflow/dead-end"))
		see("no value", strings.HasPrefix(reason, "condition/evaluation"))
	case *loomv1.Event_ApprovalLapsed:
		reason := f.ApprovalLapsed.Reason
		see("lapsed", true)
		see("asked again", reason == "another patch was proposed")
		see("withdrawn approval", strings.HasPrefix(reason, "the execution ended") || strings.HasPrefix(reason, "the work goes back"))
	case *loomv1.Event_Landed:
		see("landed", true)
	case *loomv1.Event_AttemptParked:
		see("parked", true)
	case *loomv1.Event_ClaimReleased:
		see("released", f.ClaimReleased.Reason == "drain")
		see("crash", f.ClaimReleased.Crash != "")
		see("host lost", f.ClaimReleased.HostLost)
	case *loomv1.Event_ExecutionEnded:
		see("completed", f.ExecutionEnded.Status == completed)
		see("rejected", f.ExecutionEnded.Status == rejected)
	}
	return kinds
}

// still checks what must hold between two commands: a running execution waits
// for an agent, a timer or the CEO.
func (m *sim) still() {
	if m.x.EndedAt != nil {
		if _, due := workflow.Next(m.x, m.absent, grace); due || len(workflow.Queued(m.x)) > 0 {
			m.broken("the ended execution wants something")
		}
		return
	}
	if m.isHeld() {
		if len(workflow.Queued(m.x)) > 0 && !m.held {
			m.broken("it is held and offers work")
		}
		return
	}
	for _, st := range m.x.Nodes {
		if st.Attempt != nil || st.Approval != "" || st.RetryAt != nil && st.Status == loomv1.NodeStatus_NODE_STATUS_BACKOFF {
			return
		}
	}
	m.broken("nothing is outstanding, and it has not ended")
}

// tried runs a command that may be refused: then nothing has changed.
func (m *sim) tried(command func() error) error {
	n := len(m.events)
	err := command()
	if err != nil && (len(m.events) != n || !proto.Equal(m.x, m.twin)) {
		m.broken("a refusal (%v) changed something", err)
	}
	if code := fault.Code(err); err != nil && (code == "" || code == "workflow/inconsistent") {
		m.broken("refused with %v", err)
	}
	m.still()
	return err
}

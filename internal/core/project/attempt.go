package project

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// attempt returns the outstanding attempt with this id and its execution, or
// nil for an id that is not outstanding.
func (s *State) attempt(id string) (*loomv1.Execution, *loomv1.Attempt) {
	i := strings.LastIndex(id, "-a")
	if i < 0 {
		return nil, nil
	}
	x := s.execution(id[:i])
	for _, n := range x.GetNodes() {
		if n.Attempt.GetId() == id {
			return x, n.Attempt
		}
	}
	return x, nil
}

// execution returns the execution that an attempt id belongs to.
func (d *decision) executionOf(attempt string) (*loomv1.Execution, error) {
	x, _ := d.s.attempt(attempt)
	if x == nil {
		return nil, fault.New("attempt/unknown", "attempt %q is of no execution of project %q", attempt, d.s.cfg.ID).At("attempt")
	}
	return x, nil
}

// holding refuses unless the attempt is outstanding and c has it.
func (d *decision) holding(id string, c *loomv1.Claimant) (*loomv1.Execution, error) {
	x, a := d.s.attempt(id)
	if a == nil {
		return nil, fault.New("attempt/stale", "attempt %q is not outstanding", id).At("attempt")
	}
	if c == nil || !proto.Equal(a.Claimant, c) { // nobody holds what is queued
		return nil, fault.New("attempt/claimed", "attempt %q is held by %s, not by %s", id, name(a.Claimant), name(c)).At("claimant")
	}
	return x, nil
}

func name(c *loomv1.Claimant) string {
	if c == nil {
		return "nobody"
	}
	return c.Agent + "@" + c.Host
}

func (d *decision) recordTurn(c *loomv1.RecordTurn) (*loomv1.Answer, error) {
	x, err := d.holding(c.Attempt, c.Claimant)
	if err != nil {
		return nil, err
	}
	if err := d.s.wereSaid(x, c.Attempt, c.Facts); err != nil {
		return nil, err
	}
	t := d.s.p.Turns[c.Attempt]
	if t == nil {
		t = &loomv1.Turn{Attempt: c.Attempt}
	}
	events, err := turn.Decide(t, c.Facts)
	if err != nil {
		return nil, err
	}
	if d.s.held(x) && slices.ContainsFunc(events, begins) {
		return nil, paused(c.Attempt, x)
	}
	_, a := d.s.attempt(c.Attempt)
	if err := d.s.permitted(x, a, events); err != nil {
		return nil, err
	}
	if err := d.s.modeAllows(x, events); err != nil {
		return nil, err
	}
	defer d.about(x)()
	d.node, d.attempt = a.Node, a.Id
	block := a.Block
	if err := d.all(events, nil); err != nil {
		return nil, err
	}
	if block != nil && slices.ContainsFunc(events, answers) {
		if err := d.unblocked(block); err != nil {
			return nil, err
		}
	}
	return &loomv1.Answer{Body: &loomv1.Answer_Done{Done: &loomv1.Done{Said: d.s.unheard(x, a)}}}, nil
}

// answers says whether an event is an answer of a model, or has one.
func answers(e *loomv1.Event) bool {
	return e.GetModelAnswered() != nil || workflow.AnswerOf(e) != nil
}

// begins says whether a step of a turn leads to more work, and is not what work
// has led to.
func begins(e *loomv1.Event) bool { return e.GetTurnStarted() != nil || e.GetToolIntended() != nil }

func (d *decision) park(c *loomv1.ParkAttempt) error {
	x, err := d.holding(c.Attempt, c.Claimant)
	if err != nil {
		return err
	}
	defer d.about(x)()
	if c.WaitsFor == workflow.WaitsForRate {
		return d.run(x).ParkUntil(c.Attempt, c.Claimant, asTime(c.Until))
	}
	if c.WaitsFor == workflow.WaitsForOperator {
		return d.parkForOperator(x, c)
	}
	if c.WaitsFor == workflow.WaitsForBudget {
		return fault.New("command/malformed", "an attempt is parked for a budget when it reserves").At("waits_for")
	}
	if c.WaitsFor == workflow.WaitsForPermission {
		return fault.New("command/malformed", "an attempt is parked for a permission when it asks for one").At("waits_for")
	}
	if c.WaitsFor == workflow.WaitsForPeople {
		return d.restInConversation(x, c)
	}
	if c.WaitsFor == workflow.WaitsForAnswer {
		return fault.New("command/malformed", "an attempt is parked for an answer when its session asks").At("waits_for")
	}
	if err := d.run(x).Park(c.Attempt, c.Claimant, c.WaitsFor); err != nil {
		return err
	}
	// What it waits for may have come while it made up its mind.
	if claim, ok := d.s.locks.Claim(d.repository(), c.Attempt); !ok || claim.Token != 0 {
		return d.run(x).Unpark(c.Attempt)
	}
	return nil
}

// maxOutcome bounds an outcome, so that all it leads to fits into one batch.
const maxOutcome = 160 << 10

// answer takes an outcome; the claimant may claim its next attempt with it. That
// there is none for it is no refusal.
func (d *decision) answer(c *loomv1.AnswerAttempt) (*loomv1.Answer, error) {
	if err := d.outcome(c); err != nil || c.Next == nil {
		return nil, err
	}
	if err := d.catchUp(); err != nil { // what the outcome leads to: a session may stop here
		return nil, err
	}
	next, err := d.claim(&loomv1.ClaimAttempt{Attempt: c.Next.Attempt, Generation: c.Next.Generation, Claimant: c.Claimant, Any: true})
	if err != nil {
		return nil, nil //nolint:nilerr // the outcome is taken all the same
	}
	return next, nil
}

func (d *decision) outcome(c *loomv1.AnswerAttempt) error {
	if n := proto.Size(c.Outcome); n > maxOutcome {
		return fault.New("outcome/invalid", "the outcome has %d bytes, the most is %d", n, maxOutcome).At("outcome")
	}
	x, err := d.executionOf(c.Attempt)
	if err != nil {
		return err
	}
	undo := d.about(x)
	err = d.run(x).Answer(c.Attempt, c.Claimant, c.Outcome)
	undo()
	if err != nil {
		return err
	}
	return d.arrivals(x)
}

func (d *decision) release(c *loomv1.ReleaseAttempt) error {
	x, err := d.holding(c.Attempt, c.Claimant)
	if err != nil {
		return err
	}
	defer d.about(x)()
	if c.Crash == nil {
		return d.run(x).Release(c.Attempt, c.Claimant, c.Reason)
	}
	_, a := d.s.attempt(c.Attempt)
	role := a.Role
	ended, err := d.run(x).Crash(c.Attempt, c.Claimant, c.Crash.Message)
	if ended && err == nil {
		d.reportCrash(c.Crash, role)
	}
	return err
}

// releaseHost frees what earlier starts of a host held, in a fixed order: of
// one that is gone, all starts are.
func (d *decision) releaseHost(c *loomv1.ReleaseHost) error {
	reason := "host " + c.Host + " started again"
	if c.Epoch == math.MaxUint64 {
		reason = "host " + c.Host + " is gone"
	}
	for _, id := range d.s.queue.leftBy(c.Host, c.Epoch) {
		x, a := d.s.attempt(id)
		if a == nil { // it ended with another that did
			continue
		}
		role, node := a.Role, a.Node
		undo := d.about(x)
		ended, err := d.run(x).HostLost(a.Id, reason)
		undo()
		if err != nil {
			return err
		}
		if ended {
			d.reportCrash(&loomv1.AgentCrash{Message: fmt.Sprintf("its host is lost whenever node %s of %s is worked on", node, x.Definition)}, role)
		}
	}
	return d.startedAgain(c.Epoch)
}

// running returns the running executions by id.
func (s *State) running() []*loomv1.Execution {
	list := make([]*loomv1.Execution, 0, len(s.open))
	for id := range s.open {
		list = append(list, s.execution(id))
	}
	slices.SortFunc(list, func(a, b *loomv1.Execution) int { return strings.Compare(a.Id, b.Id) })
	return list
}

func outstanding(x *loomv1.Execution) []*loomv1.Attempt {
	var list []*loomv1.Attempt
	for _, n := range x.Nodes {
		if n.Attempt != nil {
			list = append(list, n.Attempt)
		}
	}
	slices.SortFunc(list, func(a, b *loomv1.Attempt) int { return strings.Compare(a.Id, b.Id) })
	return list
}

func (d *decision) acquire(c *loomv1.AcquireLock) (*loomv1.Answer, error) {
	x, err := d.holding(c.Request, c.Holder)
	if err != nil {
		return nil, err
	}
	claim, asked := d.s.locks.Claim(d.repository(), c.Request)
	if !asked && d.s.held(x) {
		return nil, paused(c.Request, x)
	}
	if err := d.s.contradiction(x); err != nil && claim.GetToken() == 0 {
		return nil, err
	}
	d.regrants = claim.GetToken() != 0
	defer d.about(x)()
	if err := d.lock(d.s.locks.Acquire(d.now, d.repository(), c)); err != nil {
		return nil, err
	}
	claim, ok := d.s.locks.Claim(d.repository(), c.Request)
	if !ok {
		return nil, fault.New("lock/unknown", "request %q is not in the queue", c.Request)
	}
	return &loomv1.Answer{Body: &loomv1.Answer_Lock{Lock: d.told(claim)}}, nil
}

// told returns a claim as its holder is told of it: with what it must know of time,
// whatever its own clock says, and of what has landed perhaps. One that is not
// granted stays as it is.
func (d *decision) told(claim *loomv1.LockClaim) *loomv1.LockClaim {
	if claim.Token == 0 {
		return claim
	}
	told := proto.CloneOf(claim)
	told.Lease, told.Left = durationpb.New(d.s.cfg.LockLease), durationpb.New(claim.Until.AsTime().Sub(d.now))
	told.OpenTrains, told.OpenLandings = d.openTrains(claim), d.openLandings()
	return told
}

// grantOf refuses a token whose grant is somebody else's than who's; nil is
// anybody.
func (d *decision) grantOf(token uint64, who *loomv1.Claimant) error {
	if holder := d.s.locks.Status(d.repository()).GetHolder(); who != nil && (holder.GetToken() != token || !proto.Equal(holder.GetHolder(), who)) {
		return fault.New("lock/stale", "token %d is not that of a grant of agent %s", token, who.Agent)
	}
	return nil
}

// lock emits the facts of the commit lock, each about the execution whose
// claim it is.
func (d *decision) lock(events []*loomv1.Event, err error) error {
	if err != nil {
		return err
	}
	for _, e := range events {
		if request := lockRequest(d.s, e); request != "" {
			if x, _ := d.s.attempt(request); x != nil {
				e.Bead, e.Execution, e.Attempt = x.Bead, x.Id, request
			}
		}
		if err := d.emit(e); err != nil {
			return err
		}
	}
	return nil
}

// lockRequest returns the request, an attempt id, that a lock's fact is about.
func lockRequest(s *State, e *loomv1.Event) string {
	switch f := e.Fact.(type) {
	case *loomv1.Event_LockRequested:
		return f.LockRequested.Claim.GetRequest()
	case *loomv1.Event_LockGranted:
		return f.LockGranted.Request
	case *loomv1.Event_LockWithdrawn:
		return f.LockWithdrawn.Request
	case *loomv1.Event_LockCoupled:
		return f.LockCoupled.Request
	}
	return s.locks.Status(s.p.GetConfig().GetRepository()).GetHolder().GetRequest()
}

func (d *decision) addDecision(c *loomv1.AddDecision) (*loomv1.Answer, error) {
	key := ""
	if c.Request != "" { // the attempt and the call: another agent that goes on with it repeats it
		key = hexHash("decision", c.Request)
	}
	if r, ok := d.s.p.Requests[key]; ok && key != "" {
		n, _ := d.s.graph.Node(r.Id)
		return decided(n), nil
	}
	if err := cmp.Or(d.s.knowsWork(c.GetNode()), d.ownAll(c.Abandons), d.mayDecide(c.GetNode().GetExecution())); err != nil {
		return nil, err
	}
	events, err := d.s.graph.Add(c)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		switch f := e.Fact.(type) {
		case *loomv1.Event_BallotClosed, *loomv1.Event_DecisionAbandoned:
			continue // about what that one was about
		case *loomv1.Event_DecisionAdded:
			f.DecisionAdded.Request = key
		}
		e.Bead, e.Execution = c.GetNode().GetBead(), c.GetNode().GetExecution()
	}
	if err := d.endings(events, nil); err != nil {
		return nil, err
	}
	n, _ := d.s.graph.Node(events[0].GetDecisionAdded().GetNode().GetId())
	return decided(n), nil
}

// knowsWork refuses a decision about a bead or an execution that is not there.
func (s *State) knowsWork(n *loomv1.DecisionNode) error {
	if id := n.GetBead(); id != "" && s.bead(id) == nil {
		return unknownBead(s.cfg.ID, id)
	}
	if id := n.GetExecution(); id != "" && s.execution(id) == nil {
		return fault.New("execution/unknown", "execution %q is not known in project %q", id, s.cfg.ID).At("execution")
	}
	return nil
}

func decided(n *loomv1.DecisionNode) *loomv1.Answer {
	return &loomv1.Answer{Body: &loomv1.Answer_Decision{Decision: n}}
}

// comment returns what the CEO last told whoever goes on: with changes that
// were asked for, or with a move.
func (s *State) comment(x *loomv1.Execution) string {
	var last *loomv1.Approval
	for _, id := range s.asked[x.Id] {
		if a := s.approval(id); a.DecidedAt != nil && a.Permission == nil && (last == nil || !a.DecidedAt.AsTime().Before(last.DecidedAt.AsTime())) {
			last = a
		}
	}
	switch {
	case s.movedBySession(x):
	case x.Moved != nil && !x.Moved.Time.AsTime().Before(asTime(last.GetDecidedAt())):
		return x.Moved.Text
	case last.GetDecision() == loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES:
		return last.Comment
	case last == nil && x.Moved == nil:
		return s.bead(x.Bead).GetReopened().GetText()
	}
	return ""
}

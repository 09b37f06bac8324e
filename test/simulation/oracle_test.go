package simulation

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// oracle sees every event of the journal, in order, and knows from events alone
// what may come. It also keeps a fold of them, as another host would.
type oracle struct {
	w    *world
	twin *project.State
	keys keys

	memories map[string]bool   // entries, and whether they count
	said     map[string]uint32 // how often each was said

	beads      map[string]*loomv1.Bead // as filed
	prints     map[string]string       // open bead of a fingerprint
	ended      map[string]bool         // beads
	executions map[string]*execution
	worked     map[string]*execution // by bead
	now        time.Time             // of the event
	begun      []*execution          // in order
	running    int
	works      []string // beads that are worked on, in order
	openBeads  int      // of those
	statuses   map[string]loomv1.BeadStatus
	done       map[string]bool // beads that are closed
	blockers   map[string][]string
	linksThere bool                              // whether any bead waits, or did
	tokens     map[string]int64                  // budget of a bead
	deadlines  map[string]*timestamppb.Timestamp // of a bead
	defs       map[string]*loomv1.Definition
	wide       []pause               // of more than one execution
	order      *loomv1.OverrideGiven // that is being carried out
	atOnce     *loomv1.Event         // a claim that must be answered by the next event
	hosts      map[string]*loomv1.HostRoles
	governed   map[string]int // beads filed in this window
	window     time.Time      // beginning of it
	governor   *loomv1.Governor
	attempts   map[string]*attempt
	newest     []*attempt // all, in order
	open       []*attempt
	approvals  map[string]*asked
	inbox      []*asked // that are open, in order
	nonces     map[string]bool
	answers    map[string]bool // model answers, by attempt and request
	links      map[string][]string
	decisions  map[string]bool
	requests   map[string]time.Time // that added decisions
	gone       map[string]bool      // commits that were said not to have landed
	lock       lockOracle
	tasks      map[string]*given // by bead
	letters    []*letter         // in order
	polls      map[string]*poll  // by decision
	polled     []string          // decisions whose votes have not ended
	sessions   map[string]*session
	talked     []*session            // in order
	touched    []*session            // by what was appended
	words      map[string]bool       // requests under which something was said in sessions
	money      *loomv1.ProjectConfig // what the project and its beads may spend
	spentMoney int64                 // micro-dollars
	expected   []arrival             // that must come with the command that is followed
	owing      []*execution          // that ended with it, and left something for afterwards
	adopting   *loomv1.Event         // a plan, which the end of its attempt must follow
}

type execution struct {
	id, bead   string
	def        *loomv1.Definition
	ended      bool
	dispatches uint64
	parent     *execution
	worksFor   string // attempt of the parent
	nested     bool   // another lands what it makes
	children   []*execution
	depth      uint32
	paused     bool
	closing    bool
	why        string // it closes
	torn       string // attempt that was taken from whoever held it, by the command of that moment
	tornAt     time.Time
	limit      string // open approval about it
	limitAt    time.Time
	isHeld     bool
	heldAt     time.Time
	heldFor    time.Duration
	over       bool  // its budget is spent, and nobody was asked yet
	spent      int64 // tokens
	granted    int64
	lifted     *timestamppb.Timestamp // the deadline that the CEO has lifted
	hurried    bool                   // it was given another one since
	unanswered bool                   // a question about a limit has lapsed
	shown      *loomv1.Budget         // what the last of them grants
	nodes      map[string]*nodeOracle
	edges      map[string]bool
	hash       string                 // of the definition
	status     loomv1.ExecutionStatus // when it has ended
	tasks      int                    // that its attempts gave
	overAt     time.Time              // when it was found to be over its budget
	plans      uint32                 // that were adopted
	adopted    map[string]bool        // attempts whose plans were
	replans    string                 // node whose gate, or the CEO at it, is about to send work back
	patch      string                 // of the change that stands
	files      []*loomv1.ChangedFile  // of that
	approved   string                 // approval of that
	candidates map[string]string
	landed     map[string]bool
	newest     *loomv1.Candidate
	car        *loomv1.Car     // what a train has shown of a candidate
	verified   map[string]bool // commits
	owed       []string        // detached nodes that are to be done after its end
	session    *session        // of a pattern, that it works for
	money      int64           // micro-dollars that it has cost
	sent       time.Time       // when its session had it go on at a step
	stranded   time.Time       // when somebody was asked about a node that cannot go on
}

type nodeOracle struct {
	def         *loomv1.NodeDefinition
	attempt     string // outstanding
	last        *attempt
	visit       uint32
	number      uint32
	granted     map[uint32]uint32 // rounds of attempts from the CEO, by visit
	escalations map[uint32]uint32
	restarts    int // of the keeper when an attempt last ended
	gap, waived bool
	over        bool // it was completed or skipped in this visit
	completed   bool // with success
	reached     bool // it was tried, asked about or done in this visit
	succeeded   bool // its last attempt in this visit
	good        bool // what that said in its field "ok"
	replans     uint32
	reworks     uint32 // by its rules
	movedFrom   string // where the last candidate sat that came too late
	extra       uint32 // attempts that the CEO granted in this visit
	aside       bool   // it is left for after the end
}

type attempt struct {
	id, node, role string
	process, child string        // who does it, if no agent
	given          bool          // what that delivered is an agent's to take over
	summary        string        // of its outcome
	most           time.Duration // that it may take; 0 for no limit
	took           time.Duration // of that, until its time last stood still
	runs           bool          // its time does
	since          time.Time     // by the clock of its execution: it runs, or stands still
	takeWithin     time.Duration // how long it may be queued; 0 for no limit
	x              *execution
	generation     uint32
	claimant       *loomv1.Claimant
	claimed        uint64 // the event that gave it to them
	done, parked   bool
	tasks          []*given
	awaits         []string // tasks, while it is parked for them
	waitsMail      bool     // it is parked for answers
	endedBy        string   // whose command it was
}

type asked struct {
	*loomv1.Approval
	closed bool
}

func newOracle(w *world) *oracle {
	o := &oracle{
		w: w, statuses: map[string]loomv1.BeadStatus{}, done: map[string]bool{}, blockers: map[string][]string{},
		tokens: map[string]int64{}, deadlines: map[string]*timestamppb.Timestamp{}, defs: map[string]*loomv1.Definition{}, hosts: map[string]*loomv1.HostRoles{}, governed: map[string]int{},
		prints: map[string]string{}, worked: map[string]*execution{},
		beads: map[string]*loomv1.Bead{}, ended: map[string]bool{}, executions: map[string]*execution{},
		attempts: map[string]*attempt{}, approvals: map[string]*asked{}, nonces: map[string]bool{}, answers: map[string]bool{},
		tasks: map[string]*given{}, polls: map[string]*poll{}, requests: map[string]time.Time{}, gone: map[string]bool{}, links: map[string][]string{}, decisions: map[string]bool{},
		memories: map[string]bool{}, said: map[string]uint32{}, keys: newKeys(), sessions: map[string]*session{}, words: map[string]bool{},
	}
	if w.careful {
		o.twin = project.New(w.config(0))
	}
	return o
}

func (o *oracle) broken(invariant int, format string, args ...any) {
	o.w.broken(invariant, format, args...)
}

// saw checks the next event of the journal against all before it.
func (o *oracle) saw(in entry) {
	e := in.read()
	if bytes.Contains(in.data, []byte(unspoken)) {
		o.broken(50, "%s has what a model said and nobody may read", tellEvent(e))
	}
	if o.w.tell != nil {
		o.w.note("    %d %s", e.Number, tellEvent(e))
	}
	if o.twin != nil {
		if err := o.twin.Apply(in.read()); err != nil {
			o.broken(3, "another host: %v", err)
		}
	}
	o.now = e.Time.AsTime()
	if c := o.atOnce; c != nil && (e.GetAttemptEnded() == nil && e.GetPlanAdopted() == nil || e.Attempt != c.Attempt) {
		o.broken(24, "%s while its execution is held", tellEvent(c))
	}
	o.atOnce = nil
	if p := o.adopting; p != nil && (e.GetAttemptEnded() == nil || e.Attempt != p.Attempt) {
		o.broken(33, "%s follows a plan that was adopted", tellEvent(e))
	}
	o.adopting = nil
	if e.Actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_CEO {
		o.order = nil
	}
	o.sawFact(o.executions[e.Execution], e)
}

func (o *oracle) sawFact(x *execution, e *loomv1.Event) {
	switch f := e.Fact.(type) {
	case *loomv1.Event_BeadFiled, *loomv1.Event_BeadStatusChanged, *loomv1.Event_BeadUpdated, *loomv1.Event_BeadOccurred,
		*loomv1.Event_GovernorTripped, *loomv1.Event_GovernorRenewed:
		o.sawBead(e)
	case *loomv1.Event_ExecutionStarted:
		o.started(e, f.ExecutionStarted)
	case *loomv1.Event_ExecutionForked:
		o.forked(e, f.ExecutionForked)
	case *loomv1.Event_DecisionAdded:
		o.added(f.DecisionAdded)
	case *loomv1.Event_DecisionLinked:
		o.linked(f.DecisionLinked.Edge)
	case *loomv1.Event_DecisionSuperseded:
		o.linked(f.DecisionSuperseded.Edge)
	case *loomv1.Event_DecisionAbandoned:
		if !o.decisions[f.DecisionAbandoned.Id] {
			o.broken(25, "decision %q is given up, which is not there", f.DecisionAbandoned.Id)
		}
	case *loomv1.Event_MemoryKept, *loomv1.Event_MemoryMerged, *loomv1.Event_MemoryChanged, *loomv1.Event_MemoryPromoted,
		*loomv1.Event_MemoryForgotten, *loomv1.Event_MemoryExpired, *loomv1.Event_MemoryDropped, *loomv1.Event_MemoryOffered:
		o.sawMemory(e)
	case *loomv1.Event_LockRequested, *loomv1.Event_LockGranted, *loomv1.Event_LockRenewed, *loomv1.Event_LockReleased,
		*loomv1.Event_LockExpired, *loomv1.Event_LockWithdrawn, *loomv1.Event_LockCoupled:
		o.lock.saw(o, e)
	case *loomv1.Event_BallotOpened, *loomv1.Event_VoteCast, *loomv1.Event_BallotReferred, *loomv1.Event_BallotClosed:
		o.sawVote(e)
	case *loomv1.Event_ApprovalRequested:
		o.asked(x, f.ApprovalRequested.Approval)
	case *loomv1.Event_ApprovalDecided:
		o.decided(e, f.ApprovalDecided)
	case *loomv1.Event_KeyEnrolled, *loomv1.Event_KeyRevoked, *loomv1.Event_KeyAwaited, *loomv1.Event_ApprovalSigned:
		o.sawKeys(e)
	case *loomv1.Event_DefinitionStored:
		o.stored(e, f.DefinitionStored)
	case *loomv1.Event_RolesReported:
		o.rolesReported(f.RolesReported)
	case *loomv1.Event_ProjectRegistered:
		o.governor, o.money = f.ProjectRegistered.Config.Governor, f.ProjectRegistered.Config
	case *loomv1.Event_SessionAdvanced:
		o.sawSession(e)
	case *loomv1.Event_SubmissionRejected:
		o.w.see("way around primacy recorded: " + f.SubmissionRejected.Subject)
	case *loomv1.Event_CallSettled:
		o.paid(x, f.CallSettled.Usage)
	case *loomv1.Event_OverrideGiven, *loomv1.Event_ExecutionClosing, *loomv1.Event_WorkPaused, *loomv1.Event_WorkResumed, *loomv1.Event_ExecutionMoved,
		*loomv1.Event_LimitLifted:
		o.sawSteering(x, e)
	case *loomv1.Event_ApprovalLapsed:
		o.lapsed(x, f.ApprovalLapsed)
	case *loomv1.Event_ApprovalRefused:
		o.usedUp(f.ApprovalRefused.Spent)
	case *loomv1.Event_CommandRefused:
		o.usedUp(f.CommandRefused.Spent)
	case *loomv1.Event_ModelAnswered:
		o.answered(e, f.ModelAnswered.Answer)
		o.paid(x, f.ModelAnswered.Answer.Usage)
	case *loomv1.Event_TurnCompacted:
		if a := f.TurnCompacted.Compaction.Answer; a != nil {
			o.answered(e, a)
			o.paid(x, a.Usage)
		}
	default:
		o.sawWork(x, e)
	}
}

// acknowledged checks what a publisher was told.
func (o *oracle) acknowledged(r *loomv1.SubmitReply) {
	if x := o.executions[r.Execution]; r.Execution != "" && (x == nil || x.bead != r.Bead) || o.beads[r.Bead] == nil {
		o.broken(1, "bead %s was acknowledged with execution %s, which the journal does not have", r.Bead, r.Execution)
	}
}

// answerTaken wants an attempt whose answer was taken to have been ended by who
// gave it.
func (o *oracle) answerTaken(attempt, who string) {
	if a := o.attempts[attempt]; !a.done || a.endedBy != who {
		o.broken(7, "%s is told that its answer to %s counts, which was ended by %q", who, attempt, a.endedBy)
	}
}

// derivable checks that an assignment is of the journal.
func (o *oracle) derivable(as *loomv1.Assignment) {
	a := o.attempts[as.Attempt]
	if a == nil || a.role != as.Role || as.Generation > a.generation {
		o.broken(30, "the work queue is given %s generation %d for %s, which the journal does not have", as.Attempt, as.Generation, as.Role)
	}
}

// closed takes an approval out of the inbox.
func (o *oracle) closed(a *asked) {
	if a == nil || a.closed {
		return
	}
	a.closed = true
	if x := o.executions[a.Execution]; x != nil && x.limit == a.Id {
		x.limit = ""
		o.rehold()
	}
	o.inbox = slices.DeleteFunc(o.inbox, func(b *asked) bool { return a == b })
}

func (o *oracle) answered(e *loomv1.Event, m *loomv1.ModelAnswer) {
	key := e.Attempt + "/" + m.Request
	if o.answers[key] {
		o.broken(16, "the model was asked %s again though it had answered", key)
	}
	o.answers[key] = true
	o.fromClaimant(e)
}

// added wants a request to have added one decision.
func (o *oracle) added(f *loomv1.DecisionAdded) {
	if f.Request != "" {
		if at, known := o.requests[f.Request]; known && o.now.Sub(at) < remembered {
			o.broken(16, "decision %s was added before by the same request", f.Node.Id)
		}
		o.requests[f.Request] = o.now
	}
	o.decisions[f.Node.Id] = true
}

func (o *oracle) linked(l *loomv1.DecisionEdge) {
	if !o.decisions[l.From] || !o.decisions[l.To] || l.From == l.To {
		o.broken(25, "decision edge from %q to %q", l.From, l.To)
	}
	o.links[l.From] = append(o.links[l.From], l.To)
}

// freed wants nothing left in the hands of earlier starts of a host that they
// had when it said so, at event number at. What a process that did not die with
// its start claims later is its own until the host says so again.
func (o *oracle) freed(host string, epoch, at uint64) {
	for _, a := range o.open {
		if c := a.claimant; c.GetHost() == host && c.GetEpoch() < epoch && a.claimed <= at {
			o.broken(7, "%s is still held by %s after host %s has started with epoch %d", a.id, sign(c), host, epoch)
		}
	}
}

func (o *oracle) openWork() string {
	var waits []string
	for _, id := range slices.Sorted(maps.Keys(o.attempts)) {
		if a := o.attempts[id]; !a.done {
			waits = append(waits, fmt.Sprintf("%s (%s, claimed by %v)", id, a.role, a.claimant))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(o.approvals)) {
		if a := o.approvals[id]; !a.closed && !o.ended[id] {
			waits = append(waits, "approval "+id)
		}
	}
	return strings.Join(waits, ", ")
}

// anyAttempt returns any attempt, who holds it, and its role.
func (o *oracle) anyAttempt(rng *rand.Rand) (id, owner, role string) {
	if len(o.newest) == 0 {
		return "", "", ""
	}
	a := o.newest[len(o.newest)-1-rng.IntN(min(len(o.newest), 4))]
	if a.claimant != nil {
		owner = sign(a.claimant)
	}
	return a.id, owner, a.role
}

func tellEvent(e *loomv1.Event) string {
	s := strings.TrimPrefix(fmt.Sprintf("%T", e.Fact), "*loomv1.Event_")
	for _, part := range []string{e.Bead, e.Node, e.Attempt} {
		if part != "" {
			s += " " + part
		}
	}
	switch f := e.Fact.(type) {
	case *loomv1.Event_LockGranted:
		s += fmt.Sprintf(" to %s token %d", f.LockGranted.Request, f.LockGranted.Token)
	case *loomv1.Event_AttemptEnded:
		s += fmt.Sprintf(" %s %s", f.AttemptEnded.Outcome.Status, f.AttemptEnded.Outcome.Code)
	case *loomv1.Event_ApprovalRequested:
		s += " " + f.ApprovalRequested.Approval.Reason
	case *loomv1.Event_ApprovalDecided:
		s += " " + f.ApprovalDecided.Decision.String()
	case *loomv1.Event_EdgeSettled:
		s += fmt.Sprintf(" %s %t", f.EdgeSettled.Edge, f.EdgeSettled.Taken)
	}
	return s
}

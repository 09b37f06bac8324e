package actors

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/format"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// domain is one life of a project's consistency domain: the state of its cores, and
// the turn in which the cells decide one command at a time. Commands are proposed to
// the keeper within the turn, so the order of turns is the order of proposals and of
// the journal. The state is ahead of the journal by the proposals that are not
// acknowledged; cells answer nobody before their own is.
//
// A life ends when its state cannot be trusted any more: a core panicked, an event
// could not be applied, or a turn does not end. Nothing of an ended life is proposed.
// The project's next life is folded from the journal.
type domain struct {
	domainConfig
	life uint64

	turn    chan struct{} // holds a token while a cell has the turn
	over    chan struct{} // closed when the life has ended
	ended   sync.Once
	working atomic.Pointer[turn] // the present turn

	// Used in a turn alone.
	state   *project.State
	tickets project.Tickets
	due     time.Time // of the timer

	timer atomic.Pointer[time.Timer]

	granted struct {
		sync.Mutex
		by map[uint64][]grant // by ticket
	}

	saved struct {
		sync.Mutex
		size  int // of the last snapshot that is kept, in bytes; 0 while there is none
		since int // acknowledged events since the last snapshot was asked for
		bytes int // of these
	}
}

// domainConfig is the same for all lives of a project.
type domainConfig struct {
	id     string
	host   string // this one
	clock  Clock
	wall   func() time.Time // nil is the clock
	root   *actor.RootContext
	keeper *actor.PID
	snaps  *snapshotter
	every  int                  // see Partition.SnapshotEvery
	agreed func() format.Agreed // nil limits nothing
	holds  func() bool          // whether this host may serve the partition
	poison *poison              // commands that are set aside
	serial *atomic.Uint64       // of proposals
	failed func(*lifeFailed)    // is told once of a life that cannot go on
	agents *Handover            // of this host, that may be given work in the turn; nil where there are none
	work   func() *actor.PID    // the work cell
}

// turn is what a cell decides.
type turn struct {
	cell  loomv1.Core
	cmd   *loomv1.Command // nil for a read
	began time.Time
}

// lifeFailed says that a life of a project cannot go on.
type lifeFailed struct {
	life  uint64
	cmd   *loomv1.Command // that it failed at; nil for a read
	err   error
	stuck bool        // the turn has not ended, and its cell is lost
	cell  loomv1.Core // that had the turn
}

func newDomain(c domainConfig, life uint64, s *project.State, unsaved int) *domain {
	d := &domain{domainConfig: c, life: life, state: s, turn: make(chan struct{}, 1), over: make(chan struct{})}
	d.saved.since = unsaved
	return d
}

// end ends the life: whoever waits for the turn is refused. It may be called from
// anywhere, and more than once.
func (d *domain) end() {
	d.ended.Do(func() {
		close(d.over)
		for ticket := range d.allGrants() {
			d.settleGrants(ticket, false)
		}
	})
	if t := d.timer.Load(); t != nil {
		t.Stop()
	}
}

func (d *domain) isOver() bool {
	select {
	case <-d.over:
		return true
	default:
		return false
	}
}

// begin takes the turn, and reports whether it could be had: not of a life that has
// ended. Whoever has it gives it back with finish.
func (d *domain) begin(t turn) bool {
	select {
	case d.turn <- struct{}{}:
	case <-d.over:
		return false
	}
	if d.isOver() {
		<-d.turn
		return false
	}
	t.began = time.Now()
	d.working.Store(&t)
	return true
}

func (d *domain) finish() {
	d.working.Store(nil)
	<-d.turn
}

// stuck returns the turn that has lasted longer than most, or nil.
func (d *domain) stuck(most time.Duration) *turn {
	if t := d.working.Load(); t != nil && time.Since(t.began) > most && !d.isOver() {
		return t
	}
	return nil
}

// away is the refusal while a project has no life.
func away(id string) *fault.Error {
	return fault.New("host/unavailable", "project %q recovers from its journal", id).Want("try again in a moment")
}

// decide has a cell decide a command in the project's turn and propose the facts to
// the keeper, which acknowledges to the cell with the ticket. The answer holds from
// then on. A refusal was not decided, or could not be: then the life has ended.
func (d *domain) decide(cell *actor.PID, name loomv1.Core, cmd *loomv1.Command) (ticket uint64, answer *loomv1.Answer, refusal *fault.Error) {
	if !d.holds() {
		return 0, nil, away(d.id)
	}
	if err := d.poison.refuse(cmd); err != nil {
		return 0, nil, fault.From(err)
	}
	if !d.begin(turn{cell: name, cmd: cmd}) {
		return 0, nil, away(d.id)
	}
	defer d.finish()
	defer d.failing(name, cmd, &refusal)
	if d.agreed != nil {
		d.state.Agree(d.agreed())
	}
	if cmd.GetTick() != nil {
		d.due = time.Time{} // the timer has fired
	}
	events, answer, err := d.state.Do(d.now(), cmd)
	if err != nil {
		panic(err)
	}
	size := sizeOf(events)
	if size > batchMost {
		panic(fmt.Sprintf("events of %d bytes do not fit into a batch", size))
	}
	switch c := cmd.Body.(type) {
	case *loomv1.Command_ClaimAttempt:
		if answer.GetError().GetCode() != notForMe {
			d.tickets.Spent(c.ClaimAttempt)
		}
	case *loomv1.Command_AnswerAttempt:
		if next := c.AnswerAttempt.Next; next != nil && answer.Error == nil {
			d.tickets.Spent(&loomv1.ClaimAttempt{Attempt: next.Attempt, Generation: next.Generation})
		}
	}
	if answer.Error == nil {
		answer.Number = d.state.Number()
	}
	return d.propose(cell, events, size), answer, nil
}

// read has f read the working state in a turn. What it found may be told once the
// keeper has acknowledged the ticket: then everything that f saw is durable.
func (d *domain) read(cell *actor.PID, name loomv1.Core, f func(*project.State)) (ticket uint64, refusal *fault.Error) {
	if !d.holds() || !d.begin(turn{cell: name}) {
		return 0, away(d.id)
	}
	defer d.finish()
	defer d.failing(name, nil, &refusal)
	f(d.state)
	return d.propose(cell, nil, 0), nil
}

// offerAgain has all assignments that should be in the work queue put there once the
// keeper has acknowledged the ticket.
func (d *domain) offerAgain(cell *actor.PID, name loomv1.Core) (ticket uint64, refusal *fault.Error) {
	if !d.begin(turn{cell: name}) {
		return 0, away(d.id)
	}
	defer d.finish()
	defer d.failing(name, nil, &refusal)
	d.now() // the wall clock, which deadlines are of, may have been set
	return d.propose(cell, nil, 0, d.tickets.Again()...), nil
}

// written notes that a snapshot of so many bytes is kept, and gives back the memory of
// the ended work that it has put into segments.
func (d *domain) written(size int, ended []project.Segment) {
	d.saved.Lock()
	d.saved.size = size
	d.saved.Unlock()
	if len(ended) == 0 || !d.begin(turn{cell: loomv1.Core_CORE_PROJECT}) {
		return
	}
	defer d.finish()
	for _, s := range ended {
		d.state.Keep(s)
	}
}

// now returns the journal time, and tells the cores how far it is ahead of the wall
// clock. It is called in a turn.
func (d *domain) now() time.Time {
	now := d.clock.Now()
	if d.wall != nil {
		d.state.Ahead(now.Sub(d.wall()))
	}
	return now
}

// propose sends the facts of this turn and the assignments that follow to the keeper,
// unless the turn took so long that its life was ended meanwhile.
func (d *domain) propose(cell *actor.PID, events []*loomv1.Event, size int, work ...*loomv1.Assignment) uint64 {
	work = append(work, d.tickets.Offer(d.state)...)
	var given []grant
	if d.agents != nil && len(work) > 0 {
		work, given, events, size = d.grant(work, events, size)
	}
	d.state.Rest()
	d.arm()
	ticket := d.serial.Add(1)
	d.keepGrants(ticket, given)
	if d.isOver() {
		d.settleGrants(ticket, false)
	} else { // if it ends now, the keeper drops the proposal
		d.root.Send(d.keeper, &propose{from: cell, project: d.id, life: d.life, ticket: ticket, events: events, work: work, size: size})
	}
	return ticket
}

// failing ends the life when a turn panics: its state may be half changed.
func (d *domain) failing(name loomv1.Core, cmd *loomv1.Command, refusal **fault.Error) {
	r := recover()
	if r == nil {
		return
	}
	d.end()
	what := "a read"
	if cmd != nil {
		what = fmt.Sprintf("%T", cmd.Body)
	}
	*refusal = fault.New("internal/error", "project %q could not decide %s", d.id, what)
	d.failed(&lifeFailed{life: d.life, cmd: cmd, err: fmt.Errorf("project %q on %s: %v", d.id, what, r), cell: name})
}

// acknowledged notes that the journal has so many more events of the project, of so many
// bytes, and asks for a snapshot now and then.
func (d *domain) acknowledged(events, bytes int) {
	d.saved.Lock()
	d.saved.since += events
	d.saved.bytes += bytes
	due := d.saved.since >= d.every && d.saved.bytes >= snapshotShare*d.saved.size
	if due {
		d.saved.since, d.saved.bytes = 0, 0
	}
	d.saved.Unlock()
	if due {
		d.root.Send(d.work(), &capture{d.life})
	}
}

// snapshotShare is how many bytes of events there are for each that snapshots write: so
// these cost a small part of what the journal does. What a recovery reads beside the
// snapshot grows with what goes on, and not with what has ended.
const snapshotShare = 4

// arm sets the timer for the cores' next deadline. It is called in a turn.
func (d *domain) arm() {
	at, ok := d.state.Next()
	if !ok || (!d.due.IsZero() && !at.Before(d.due)) {
		return
	}
	d.due = at
	next := time.AfterFunc(max(at.Sub(d.clock.Now()), 0), func() {
		if !d.isOver() {
			d.root.Send(d.work(), &tick{d.life})
		}
	})
	if last := d.timer.Swap(next); last != nil {
		last.Stop()
	}
	if d.isOver() {
		next.Stop()
	}
}

package actors

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ErrParked is what a Worker returns when the attempt waits: its agent takes
// other work, and the attempt is queued again when what it waits for is there.
var ErrParked = errors.New("attempt is parked")

// agentActor pulls assignments of its role and carries them out in a goroutine
// of its own. A panic in the work gives the attempt back, which its project counts,
// and fails the actor, so that supervision sees it.
type agentActor struct {
	pool   *Pool
	name   string
	cancel context.CancelFunc
	idle   context.CancelFunc // ends that it takes new work

	retired *atomic.Bool  // also over restarts
	starts  *atomic.Int32 // likewise
}

type (
	agentFailed  struct{ reason any }
	agentRetired struct{}
)

func (a *agentActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		if a.starts.Add(1) == 1 {
			a.pool.Lived(loomv1.LifeKind_LIFE_KIND_STARTED, a.name, "")
		} else {
			a.pool.Lived(loomv1.LifeKind_LIFE_KIND_RESTARTED, a.name, "")
		}
		ctx, cancel := context.WithCancel(a.pool.stopped)
		taking, idle := context.WithCancel(ctx)
		a.cancel, a.idle = cancel, idle
		if a.retired.Load() {
			idle()
		}
		a.pool.working.Add(1)
		go a.loop(ctx, taking, c.ActorSystem().Root, c.Self())
	case *retire:
		a.retired.Store(true)
		a.idle()
		a.pool.Lived(loomv1.LifeKind_LIFE_KIND_DRAINED, a.name, "its role has too many agents here, or its host is drained")
	case *agentRetired:
		c.Stop(c.Self())
	case *agentFailed:
		a.pool.Lived(loomv1.LifeKind_LIFE_KIND_CRASHED, a.name, sound(fmt.Sprint(m.reason), crashMessage))
		panic(m.reason)
	case *actor.Stopping, *actor.Restarting:
		a.cancel()
	}
}

// loop works until ctx ends, or until taking does and the work at hand is done.
func (a *agentActor) loop(ctx, taking context.Context, root *actor.RootContext, self *actor.PID) {
	defer a.pool.working.Done()
	a.pool.busy.add(1, 0)
	defer a.pool.busy.add(-1, 0)
	defer func() {
		if r := recover(); r != nil {
			root.Send(self, &agentFailed{r})
		}
	}()
	for taking.Err() == nil {
		d, err := a.pull(taking)
		if err != nil {
			a.pause(taking, err)
			continue
		}
		a.handle(ctx, d)
	}
	if ctx.Err() == nil {
		root.Send(self, &agentRetired{})
	}
}

func (a *agentActor) pull(ctx context.Context) (Delivery, error) {
	if q, ok := a.pool.Queue.(grants); ok {
		return q.pullAs(ctx, a.pool.Role, a.claimant())
	}
	return a.pool.Queue.Pull(ctx, a.pool.Role)
}

func (a *agentActor) claimant() *loomv1.Claimant {
	return &loomv1.Claimant{Agent: a.name, Host: a.pool.Host, Epoch: a.pool.Start}
}

// pause waits a moment after a failed pull.
func (a *agentActor) pause(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	a.pool.Logger.Warn("no assignment could be pulled", "agent", a.name, "error", err)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
}

// notForMe is the code of a claim that another agent of the role can have.
const notForMe = "attempt/own-work"

// toOthers is how long a ticket is kept from an agent that must not have the
// work.
const toOthers = time.Second

// handle claims what is most urgent, unless the delivery is claimed already, has it
// worked on, and answers until it is heard; and so on with what it claims with its
// answer. The delivery is a ticket, which is used up when the claim is durable.
func (a *agentActor) handle(ctx context.Context, d Delivery) {
	a.pool.busy.add(0, 1)
	defer a.pool.busy.add(0, -1)
	w := d.Assignment()
	who := a.claimant()
	seat := &seat{projects: a.pool.sit(w.Project, who), project: w.Project, who: who}
	brief := briefOf(d)
	if brief == nil {
		if brief = a.claim(ctx, seat, d); brief == nil {
			return
		}
	}
	for brief != nil {
		seat.attempt, seat.telling = brief.GetAttempt().GetId(), &telling{told: a.pool.Told, brief: brief}
		seat.telling.claimed()
		brief = a.work(ctx, seat, brief)
	}
}

// claim claims with a ticket; nil where that comes to nothing.
func (a *agentActor) claim(ctx context.Context, seat *seat, d Delivery) *loomv1.Brief {
	w := d.Assignment()
	if a.pool.Serves != nil && !a.pool.Serves(w.Project) {
		_ = d.Nak(toOthers)
		return nil
	}
	if h, ok := a.pool.Queue.(*Handover); ok {
		h.serves(w.Project)
	}
	stop := keepAlive(d)
	brief, err := seat.claim(ctx, w)
	stop()
	switch {
	case err == nil:
		_ = d.Ack(context.WithoutCancel(ctx))
		return brief
	case fault.Status(err) == fault.Unavailable:
		_ = d.Nak(0)
	case fault.Code(err) == notForMe:
		_ = d.Nak(toOthers)
	default: // nothing waits for this role any more
		a.pool.Logger.Debug("nothing to claim", "agent", a.name, "ticket", w.Attempt, "error", err)
		_ = d.Ack(context.WithoutCancel(ctx))
	}
	return nil
}

// work has an attempt worked on and answers. It returns the brief of the attempt that
// was claimed with the answer, if one was.
func (a *agentActor) work(ctx context.Context, s *seat, b *loomv1.Brief) (next *loomv1.Brief) {
	defer func() {
		if r := recover(); r != nil {
			s.crashed(ctx, fmt.Sprint(r), where(debug.Stack()))
			s.telling.released("its agent failed")
			panic(r)
		}
	}()
	out, err := a.carryOut(ctx, s, b)
	switch {
	case errors.Is(err, ErrParked):
		s.telling.parked()
	case ctx.Err() != nil: // the host is stopping: somebody goes on later
		s.giveBack(ctx, workflow.HostStops)
	case fault.Code(err) == "attempt/paused": // somebody goes on when it is resumed
		s.giveBack(ctx, "work is held")
	case fault.Code(err) == "git/taken": // another host's files; the journal says who goes on
		s.giveBack(ctx, "another host has the files")
	case gone(err):
		s.telling.released(noLonger)
		a.pool.Logger.Info("attempt is no longer ours", "agent", a.name, "attempt", b.Attempt.Id, "error", err)
	default:
		if err != nil {
			out = failure(err)
		}
		return a.answer(ctx, s, b, out)
	}
	return nil
}

// carryOut has an attempt worked on until it is its agent's no more.
func (a *agentActor) carryOut(ctx context.Context, s *seat, b *loomv1.Brief) (*loomv1.Outcome, error) {
	held, taken := context.WithCancelCause(ctx)
	defer taken(nil)
	held, done := a.pool.AtWork.begin(held, b.GetAttempt())
	defer done()
	if every := a.pool.LookAgain; every > 0 {
		go s.lookAgain(held, every, taken)
	}
	limited, cancel := context.WithTimeout(held, b.TimeLeft.AsDuration()+grace)
	defer cancel()
	out, err := a.pool.Worker.Work(limited, b, s)
	if err != nil && !errors.Is(err, ErrParked) && errors.Is(context.Cause(held), errTaken) {
		err = errTaken // and not what became of a step that was broken off
	}
	return out, err
}

// grace is how much longer than its attempt an agent works: by then the journal
// has ended the attempt, whose time alone counts.
const grace = 2 * time.Second

// answer repeats the outcome until the journal has it or nobody wants it. Where work of
// the project waits for the role, and nobody else comes first, the next attempt is
// claimed with it.
func (a *agentActor) answer(ctx context.Context, s *seat, b *loomv1.Brief, out *loomv1.Outcome) *loomv1.Brief {
	var ticket Delivery
	if q, ok := a.pool.Queue.(grants); ok && !a.retired.Load() && ctx.Err() == nil {
		ticket = q.next(s.project, a.pool.Role)
	}
	next, err := s.answer(ctx, out, ticket)
	switch {
	case err == nil:
		s.telling.ended(out)
		return next
	case ticket != nil:
		_ = ticket.Nak(0)
	}
	if gone(err) {
		s.telling.released(noLonger)
		a.tellLanding(ctx, s, b, out.GetLanding())
		return nil
	}
	if ctx.Err() != nil {
		s.giveBack(ctx, workflow.HostStops)
		return nil
	}
	a.pool.Logger.Warn("outcome refused", "agent", a.name, "attempt", s.attempt, "error", err)
	out = failure(err)
	if _, err := s.answer(ctx, out, nil); err != nil && !gone(err) {
		s.crashed(ctx, "outcome refused: "+err.Error(), "") // or it would be worked on, and refused, for ever
	}
	s.telling.ended(out)
	return nil
}

// where is a stack without what runs the recovery from a panic: from the place
// that panicked on.
func where(stack []byte) string {
	_, at, found := strings.Cut(string(stack), "\npanic(")
	if _, rest, ok := strings.Cut(at, "\n\t"); found && ok {
		if _, rest, ok = strings.Cut(rest, "\n"); ok {
			return rest
		}
	}
	return string(stack)
}

// tellLanding says where a change has landed whose attempt ended meanwhile. Where
// nobody hears it, whoever is granted the commit lock next finds out.
func (a *agentActor) tellLanding(ctx context.Context, s *seat, b *loomv1.Brief, l *loomv1.Landing) {
	if l == nil {
		return
	}
	err := s.SettleLanding(ctx, &loomv1.SettleLanding{Execution: b.Execution.GetId(), Commit: b.Execution.GetCandidate().GetCommit(), Landing: l})
	a.pool.Logger.Warn("a change has landed whose attempt had ended", "attempt", s.attempt, "commit", l.Commit, "ref", l.Ref, "error", err)
}

// gone reports whether an error says that the attempt is somebody else's.
func gone(err error) bool {
	switch fault.Code(err) {
	case "attempt/stale", "attempt/claimed", "attempt/unknown":
		return true
	}
	return false
}

// failure is the outcome of work that ended in an error.
func failure(err error) *loomv1.Outcome {
	f := fault.From(err)
	summary := []rune(f.Error())
	return &loomv1.Outcome{
		Status: loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE, Code: f.Code,
		Summary: string(summary[:min(len(summary), 120)]), Notes: f.Error(), Fields: &structpb.Struct{},
	}
}

// stillClaiming is how often the queue is told that a ticket is being claimed: it
// gives the ticket to another after 10 s of silence.
const stillClaiming = 3 * time.Second

// keepAlive tells the queue that a delivery is being worked on.
func keepAlive(d Delivery) (stop func()) {
	done := make(chan struct{})
	go func() {
		t := time.NewTicker(stillClaiming)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				_ = d.InProgress()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

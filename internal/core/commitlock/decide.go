package commitlock

import (
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// maxID is the most bytes of a request, execution, agent or host.
const maxID = 256

// Acquire asks for the lock of a repository. A request that waits or holds
// already, for the same claimant, changes nothing. Asked for by another
// claimant it keeps its place in the queue; if it is the holder's, the old
// claimant loses the grant and the new one gets it under a new token.
//
// It refuses with lock/invalid what lacks a repository, a request or a
// claimant. The caller has checked that the claimant has the attempt.
func (t *Table) Acquire(now time.Time, repository string, cmd *loomv1.AcquireLock) ([]*loomv1.Event, error) {
	if err := checkAcquire(repository, cmd); err != nil {
		return nil, err
	}
	p := t.plan(now, repository)
	p.lapse()
	p.request(cmd)
	return p.settle(), nil
}

// Renew makes the grant last a lease from now. It is repeatable, and never
// shortens a grant. A token that does not hold, or no longer, is lock/stale.
func (t *Table) Renew(now time.Time, repository string, token uint64) ([]*loomv1.Event, error) {
	l := t.locks[repository]
	if !holds(l, token) || lapsed(l, now) {
		return nil, stale(repository, l, token, now)
	}
	until := now.Add(t.lease)
	if !until.After(l.Holder.Until.AsTime()) {
		return nil, nil
	}
	return []*loomv1.Event{{Fact: &loomv1.Event_LockRenewed{LockRenewed: &loomv1.LockRenewed{
		Repository: repository, Token: token, Until: timestamppb.New(until),
	}}}}, nil
}

// Release gives a grant back, and grants the next. A grant that has just
// lapsed is recorded as lapsed, not as released. A token that is not the
// holder's is lock/stale.
func (t *Table) Release(now time.Time, repository string, token uint64) ([]*loomv1.Event, error) {
	if l := t.locks[repository]; !holds(l, token) {
		return nil, stale(repository, l, token, now)
	}
	p := t.plan(now, repository)
	if !p.lapse() {
		p.release()
	}
	return p.settle(), nil
}

// Couple gives requests that wait, in this order, places in the train that the
// holder of token drives. One that is in the train already gets a new place,
// with a new token. A token that does not hold is lock/stale, a request that does
// not wait lock/unknown; then nobody gets a place.
func (t *Table) Couple(now time.Time, repository string, token uint64, requests []string) ([]*loomv1.Event, error) {
	l := t.locks[repository]
	if !holds(l, token) || lapsed(l, now) {
		return nil, stale(repository, l, token, now)
	}
	var events []*loomv1.Event
	for _, request := range requests {
		if place(l, request) < 0 || l.Holder.Request == request {
			return nil, fault.New("lock/unknown", "commit lock on %q: request %q does not wait", repository, request).At("request")
		}
		events = append(events, &loomv1.Event{Fact: &loomv1.Event_LockCoupled{LockCoupled: &loomv1.LockCoupled{
			Repository: repository, Request: request,
		}}})
	}
	return events, nil
}

// Withdraw ends a request whose work has ended: it leaves the queue, or gives
// back the grant. Of a request that is neither it does nothing; so it may be
// repeated.
func (t *Table) Withdraw(now time.Time, repository, request string) ([]*loomv1.Event, error) {
	p := t.plan(now, repository)
	if i := place(p.lock, request); i >= 0 {
		p.withdraw(i)
	}
	if h := p.lock.Holder; h != nil && h.Request == request && !p.lapse() {
		p.release()
	}
	return p.settle(), nil
}

// Tick ends every grant that has lapsed and grants the next of each queue.
func (t *Table) Tick(now time.Time) ([]*loomv1.Event, error) {
	var events []*loomv1.Event
	for _, repository := range t.Repositories() {
		p := t.plan(now, repository)
		p.lapse()
		events = append(events, p.settle()...)
	}
	return events, nil
}

// plan is a lock as it is about to be, and the facts that make it so.
type plan struct {
	lock   *loomv1.CommitLock
	now    time.Time
	until  time.Time
	events []*loomv1.Event
}

func (t *Table) plan(now time.Time, repository string) *plan {
	return &plan{lock: t.Status(repository), now: now, until: now.Add(t.lease)}
}

func (p *plan) emit(e *loomv1.Event) { p.events = append(p.events, e) }

// lapse ends the holder's grant if its time is over, and reports whether.
func (p *plan) lapse() bool {
	if !lapsed(p.lock, p.now) {
		return false
	}
	p.emit(&loomv1.Event{Fact: &loomv1.Event_LockExpired{LockExpired: &loomv1.LockExpired{
		Repository: p.lock.Repository, Token: p.lock.Holder.Token,
	}}})
	vacate(p.lock)
	return true
}

func (p *plan) release() {
	p.emit(&loomv1.Event{Fact: &loomv1.Event_LockReleased{LockReleased: &loomv1.LockReleased{
		Repository: p.lock.Repository, Token: p.lock.Holder.Token,
	}}})
	vacate(p.lock)
}

func (p *plan) withdraw(at int) {
	p.emit(&loomv1.Event{Fact: &loomv1.Event_LockWithdrawn{LockWithdrawn: &loomv1.LockWithdrawn{
		Repository: p.lock.Repository, Request: p.lock.Queue[at].Request,
	}}})
	leave(p.lock, at)
}

// request lets a claim wait, unless its claimant does already or holds.
func (p *plan) request(cmd *loomv1.AcquireLock) {
	if known := newest(p.lock, cmd.Request); known != nil && proto.Equal(known.Holder, cmd.Holder) {
		return
	}
	c := &loomv1.LockClaim{
		Request: cmd.Request, Execution: cmd.Execution, Holder: proto.CloneOf(cmd.Holder), AskedAt: timestamppb.New(p.now),
	}
	p.emit(&loomv1.Event{Fact: &loomv1.Event_LockRequested{LockRequested: &loomv1.LockRequested{
		Repository: p.lock.Repository, Claim: c,
	}}})
	enqueue(p.lock, proto.CloneOf(c))
}

// settle ends a grant whose own request waits again, for another claimant, and
// grants a free lock to the first of its queue. That is the last thing to
// happen, since the grant has no token before [Stamp]. It returns all facts.
func (p *plan) settle() []*loomv1.Event {
	if len(p.lock.Queue) == 0 {
		return p.events
	}
	first := p.lock.Queue[0].Request
	if h := p.lock.Holder; h != nil && h.Request == first {
		p.release()
	}
	if p.lock.Holder == nil {
		p.emit(&loomv1.Event{Fact: &loomv1.Event_LockGranted{LockGranted: &loomv1.LockGranted{
			Repository: p.lock.Repository, Request: first, Until: timestamppb.New(p.until),
		}}})
	}
	return p.events
}

func checkAcquire(repository string, cmd *loomv1.AcquireLock) error {
	for _, field := range []struct {
		where, value string
		most         int
		required     bool
	}{
		{"repository", repository, 4096, true},
		{"request", cmd.GetRequest(), maxID, true},
		{"execution", cmd.GetExecution(), maxID, false},
		{"holder.agent", cmd.GetHolder().GetAgent(), maxID, true},
		{"holder.host", cmd.GetHolder().GetHost(), maxID, true},
	} {
		switch {
		case field.value == "" && field.required:
			return fault.New("lock/invalid", "commit lock asked for without a %s", field.where).At(field.where)
		case len(field.value) > field.most || !utf8.ValidString(field.value):
			return fault.New("lock/invalid", "%s is not valid text of at most %d bytes", field.where, field.most).
				At(field.where).Got(field.value)
		}
	}
	return nil
}

// stale says why a token does not hold, and who does.
func stale(repository string, l *loomv1.CommitLock, token uint64, now time.Time) error {
	h := l.GetHolder()
	switch {
	case h == nil:
		return fault.New("lock/stale", "commit lock on %q: free, token %d holds no longer", repository, token)
	case h.Token == token && lapsed(l, now):
		return fault.New("lock/stale", "commit lock on %q: lapsed at %s (token %d)", repository, moment(h), token)
	}
	return fault.New("lock/stale", "commit lock on %q: held by %s@%s until %s (token %d)",
		repository, h.Holder.GetAgent(), h.Holder.GetHost(), moment(h), h.Token)
}

func moment(c *loomv1.LockClaim) string { return c.Until.AsTime().UTC().Format(time.RFC3339) }

package commitlock

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Apply folds one committed event into the table; events of other cores change
// nothing. An event that cannot follow from the state is lock/inconsistent and
// changes nothing. Apply keeps no reference to e.
func (t *Table) Apply(e *loomv1.Event) error {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_LockRequested:
		return t.requested(e, f.LockRequested)
	case *loomv1.Event_LockGranted:
		return t.granted(e, f.LockGranted)
	case *loomv1.Event_LockRenewed:
		return t.renewed(e, f.LockRenewed)
	case *loomv1.Event_LockReleased:
		return t.ended(e, f.LockReleased)
	case *loomv1.Event_LockExpired:
		return t.ended(e, f.LockExpired)
	case *loomv1.Event_LockWithdrawn:
		return t.withdrawn(e, f.LockWithdrawn)
	case *loomv1.Event_LockCoupled:
		return t.coupled(e, f.LockCoupled)
	}
	return nil
}

func (t *Table) requested(e *loomv1.Event, f *loomv1.LockRequested) error {
	repository, c := f.GetRepository(), f.GetClaim()
	if repository == "" || c.GetRequest() == "" {
		return wrong(e, repository, "request %q is not one", c.GetRequest())
	}
	l := t.locks[repository]
	if l == nil {
		l = &loomv1.CommitLock{Repository: repository}
		t.locks[repository] = l
	}
	c = proto.CloneOf(c)
	c.Token, c.GrantedAt, c.Until, c.Car = 0, nil, nil, 0
	if c.AskedAt == nil {
		c.AskedAt = proto.CloneOf(e.Time)
	}
	enqueue(l, c)
	return nil
}

func (t *Table) granted(e *loomv1.Event, f *loomv1.LockGranted) error {
	l := t.locks[f.GetRepository()]
	switch {
	case l.GetHolder() != nil:
		return wrong(e, l.Repository, "granted to %q while %q holds it", f.Request, l.Holder.Request)
	case len(l.GetQueue()) == 0 || l.Queue[0].Request != f.Request:
		return wrong(e, f.GetRepository(), "granted to %q, who is not the first in its queue", f.GetRequest())
	case f.Token <= newestToken(l):
		return wrong(e, l.Repository, "token %d is not above %d", f.Token, newestToken(l))
	case !f.Until.IsValid():
		return wrong(e, l.Repository, "grant %d has no end", f.Token)
	}
	grant(l, f.Token, proto.CloneOf(e.Time), proto.CloneOf(f.Until))
	return nil
}

func (t *Table) renewed(e *loomv1.Event, f *loomv1.LockRenewed) error {
	l := t.locks[f.GetRepository()]
	switch {
	case !holds(l, f.GetToken()):
		return wrong(e, f.GetRepository(), "token %d renewed, and it does not hold", f.GetToken())
	case !f.Until.IsValid() || earlier(f.Until, l.Holder.Until):
		return wrong(e, l.Repository, "renewal of token %d to before its end", f.Token)
	}
	renew(l, proto.CloneOf(f.Until))
	return nil
}

// end is a fact that ends a grant.
type end interface {
	GetRepository() string
	GetToken() uint64
}

func (t *Table) ended(e *loomv1.Event, f end) error {
	l := t.locks[f.GetRepository()]
	if !holds(l, f.GetToken()) {
		return wrong(e, f.GetRepository(), "token %d ended, and it does not hold", f.GetToken())
	}
	vacate(l)
	return nil
}

func (t *Table) withdrawn(e *loomv1.Event, f *loomv1.LockWithdrawn) error {
	l := t.locks[f.GetRepository()]
	i := place(l, f.GetRequest())
	if i < 0 {
		return wrong(e, f.GetRepository(), "request %q withdrawn, and it does not wait", f.GetRequest())
	}
	leave(l, i)
	return nil
}

func (t *Table) coupled(e *loomv1.Event, f *loomv1.LockCoupled) error {
	l := t.locks[f.GetRepository()]
	i := place(l, f.GetRequest())
	switch {
	case l.GetHolder() == nil || i < 0 || l.Holder.Request == f.Request:
		return wrong(e, f.GetRepository(), "%q is coupled, and it does not wait for a holder", f.GetRequest())
	case f.Token <= newestToken(l):
		return wrong(e, l.Repository, "token %d is not above %d", f.Token, newestToken(l))
	}
	couple(l, i, f.Token)
	return nil
}

func earlier(a, b *timestamppb.Timestamp) bool { return a.AsTime().Before(b.AsTime()) }

func wrong(e *loomv1.Event, repository, format string, args ...any) error {
	return fault.New("lock/inconsistent", "event %d: commit lock on %q: %s", e.GetNumber(), repository, fmt.Sprintf(format, args...))
}

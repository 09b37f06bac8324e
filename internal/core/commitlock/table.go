// Package commitlock decides who may commit to a repository, and who is next.
//
// A [Table] is a fold over the lock facts of a journal. Its deciders (Acquire,
// Renew, Release, Withdraw, Tick) return the facts that a command leads to, or
// a refusal, and change nothing; [Table.Apply] is the only thing that changes
// a table, and decides nothing.
//
// # The rules
//
// Requests wait in one queue for each repository, first come first served. A
// request is known by its id: asking again keeps its place. Whoever is granted
// the lock holds it until it is given back, or until the lease has passed
// without a renewal: it lapses at that very instant. Then the next is granted.
//
// A request whose attempt went over to another claimant keeps its turn, but
// never its token: the holder's own request, asked by somebody else, is taken
// from the old claimant and granted to the new one under a new token, so that
// the old process is fenced.
//
// Whoever holds the lock may drive a merge train: requests that wait get places in
// it, each with a token of its own above the holder's, and stay in the queue. The
// places end with the grant.
//
// # What it promises
//
// After every fact of a log at most one request holds a repository. Tokens of
// grants rise strictly, across epochs too: a token is the grant's own place in
// the journal. Waiters are granted in order, so none starves as long as
// somebody calls Tick when [Table.Next] says.
//
// # What it never does
//
// It knows no clock, log, goroutine or lock: now comes in with each command. It
// does not keep a late holder from writing; the resource does, by the token.
package commitlock

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// DefaultLease is how long a grant lasts without renewal, unless it is
// configured otherwise.
const DefaultLease = 5 * time.Minute

// Table is the commit locks of a project, one for each repository. Claims in
// it are replaced and never changed, so what reads return may be kept and
// shared, but not written to. A Table is not safe for concurrent use.
type Table struct {
	lease time.Duration
	locks map[string]*loomv1.CommitLock
}

// New returns a table without locks. A lease that is not positive means
// [DefaultLease].
func New(lease time.Duration) *Table {
	if lease <= 0 {
		lease = DefaultLease
	}
	return &Table{lease: lease, locks: map[string]*loomv1.CommitLock{}}
}

// Restore returns the table that a snapshot describes and keeps its claims. A
// snapshot that no log leads to is lock/inconsistent. Nil is an empty table.
func Restore(lease time.Duration, from *loomv1.CommitLocks) (*Table, error) {
	t := New(lease)
	for _, l := range from.GetLocks() {
		if err := sound(l); err != nil {
			return nil, err
		}
		if t.locks[l.Repository] != nil {
			return nil, fault.New("lock/inconsistent", "commit lock on %q is there twice", l.Repository)
		}
		t.locks[l.Repository] = copyOf(l)
	}
	return t, nil
}

// Snapshot returns the state of all locks, by repository.
func (t *Table) Snapshot() *loomv1.CommitLocks {
	s := &loomv1.CommitLocks{}
	for _, repository := range t.Repositories() {
		s.Locks = append(s.Locks, copyOf(t.locks[repository]))
	}
	return s
}

// Repositories returns, sorted, each repository whose lock was ever asked for.
func (t *Table) Repositories() []string {
	return slices.Sorted(maps.Keys(t.locks))
}

// Status returns the state of a repository's lock, never nil: one that was
// never asked for is free.
func (t *Table) Status(repository string) *loomv1.CommitLock {
	if l := t.locks[repository]; l != nil {
		return copyOf(l)
	}
	return &loomv1.CommitLock{Repository: repository}
}

// Claim returns what became of a request: it holds the lock when its token is
// not 0, and waits otherwise. It is false for a request that is neither.
func (t *Table) Claim(repository, request string) (*loomv1.LockClaim, bool) {
	l := t.locks[repository]
	if l.GetHolder() != nil && l.Holder.Request == request {
		return l.Holder, true
	}
	if i := place(l, request); i >= 0 {
		return l.Queue[i], true
	}
	return nil, false
}

// Next returns when [Table.Tick] next has something to do: the earliest end of
// a grant. It is false when nothing can lapse.
func (t *Table) Next() (time.Time, bool) {
	var next time.Time
	found := false
	for _, l := range t.locks {
		at, ok := due(l)
		if ok && (!found || at.Before(next)) {
			next, found = at, true
		}
	}
	return next, found
}

// due is when a lock changes hands by itself. A free lock with a queue, which
// only part of a decision leaves behind, is due since its first was asking.
func due(l *loomv1.CommitLock) (time.Time, bool) {
	switch {
	case l.Holder != nil:
		return l.Holder.Until.AsTime(), true
	case len(l.Queue) > 0:
		return l.Queue[0].AskedAt.AsTime(), true
	}
	return time.Time{}, false
}

// sound says what of a lock in a snapshot no log leads to.
func sound(l *loomv1.CommitLock) error {
	wrong := func(format string, args ...any) error {
		return fault.New("lock/inconsistent", "commit lock on %q: %s", l.GetRepository(), fmt.Sprintf(format, args...))
	}
	if l.GetRepository() == "" {
		return wrong("it is about no repository")
	}
	if h := l.Holder; h != nil && (h.Request == "" || !h.Until.IsValid() || h.Token == 0 || h.Token != l.LastToken || h.Car != 0) {
		return wrong("holder %q has token %d and the newest is %d", h.Request, h.Token, l.LastToken)
	}
	for i, c := range l.Queue {
		if c.GetRequest() == "" || c.Token != 0 || place(l, c.Request) != i {
			return wrong("number %d of its queue cannot wait: %q", i+1, c.GetRequest())
		}
		if c.Car != 0 && (l.Holder == nil || c.Car <= l.LastToken || c.Car > l.LastCar) {
			return wrong("request %q has place %d in a train that nobody drives", c.Request, c.Car)
		}
		if l.Holder.GetRequest() == c.Request && i > 0 {
			return wrong("request %q holds it and waits", c.Request)
		}
	}
	return nil
}

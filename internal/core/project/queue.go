package project

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// queue says, without a search, which attempts of a role may run now and in
// what order, and who holds which. It is derived from the executions and holds
// no facts: set brings it up to date with one of them, whatever has changed.
type queue struct {
	lines  map[string]*lines   // of each role
	places map[string][]*place // of each execution with outstanding attempts
	held   map[holder][]string // attempts, by who holds them
	busy   map[beadRole]int    // how many attempts agents of a role hold of a bead
}

// place is an outstanding attempt that waits for an agent, or that one holds.
type place struct {
	attempt, execution string
	beadRole
	urgency int   // index into lines
	since   int64 // when it was queued, in nanoseconds
	by      holder
}

// beadRole is a bead as agents of one role see it.
type beadRole struct{ bead, role string }

// holder is a claimant as a key; the zero holder is nobody.
type holder struct {
	agent, host string
	epoch       uint64
}

func holderOf(c *loomv1.Claimant) holder { return holder{c.GetAgent(), c.GetHost(), c.GetEpoch()} }

func newQueue() *queue {
	return &queue{lines: map[string]*lines{}, places: map[string][]*place{}, held: map[holder][]string{}, busy: map[beadRole]int{}}
}

// requeue brings the queue up to date with an execution: one of its attempts
// has changed, or its priority, or whether it is held.
func (s *State) requeue(x *loomv1.Execution) { s.queue.set(x.Id, s.places(x)) }

// places returns what of an execution belongs into the queue, by attempt.
func (s *State) places(x *loomv1.Execution) []*place {
	if x.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING {
		return nil
	}
	var now []*place
	add := func(a *loomv1.Attempt) {
		now = append(now, &place{
			attempt: a.Id, execution: x.Id, beadRole: beadRole{x.Bead, a.Role}, urgency: urgency(x.Priority),
			since: queuedAt(a).UnixNano(), by: holderOf(a.Claimant),
		})
	}
	for _, n := range x.Nodes {
		if n.Attempt.GetClaimant() != nil {
			add(n.Attempt)
		}
	}
	if !s.held(x) {
		for _, a := range workflow.Queued(x) {
			add(a)
		}
	}
	slices.SortFunc(now, (*place).compare)
	return now
}

// urgency is 0 for the most urgent.
func urgency(p loomv1.Priority) int {
	return min(int(priority(p)-loomv1.Priority_PRIORITY_URGENT), len(lines{})-1)
}

// queuedAt is when an attempt was last queued.
func queuedAt(a *loomv1.Attempt) time.Time {
	if a.QueuedAt == nil { // dispatched by an earlier release
		return a.DispatchedAt.AsTime()
	}
	return a.QueuedAt.AsTime()
}

// set puts the places of an execution in the place of those that it had.
func (q *queue) set(execution string, now []*place) {
	was := q.places[execution]
	same := func(list []*place, p *place) bool {
		return slices.ContainsFunc(list, func(o *place) bool { return *o == *p })
	}
	for _, p := range was {
		if !same(now, p) {
			q.remove(p)
		}
	}
	for _, p := range now {
		if !same(was, p) {
			q.add(p)
		}
	}
	if q.places[execution] = now; len(now) == 0 {
		delete(q.places, execution)
	}
}

func (q *queue) add(p *place) {
	if p.by == (holder{}) {
		if q.lines[p.role] == nil {
			q.lines[p.role] = &lines{}
		}
		q.lines[p.role][p.urgency].add(p)
		return
	}
	q.busy[p.beadRole]++
	q.held[p.by] = append(q.held[p.by], p.attempt)
	slices.Sort(q.held[p.by])
}

func (q *queue) remove(p *place) {
	if p.by == (holder{}) {
		q.lines[p.role][p.urgency].remove(p)
		if q.lines[p.role].len() == 0 {
			delete(q.lines, p.role)
		}
		return
	}
	if q.busy[p.beadRole]--; q.busy[p.beadRole] == 0 {
		delete(q.busy, p.beadRole)
	}
	q.held[p.by] = slices.DeleteFunc(q.held[p.by], func(id string) bool { return id == p.attempt })
	if len(q.held[p.by]) == 0 {
		delete(q.held, p.by)
	}
}

// lines are the attempts that wait for a role, the most urgent line first.
type lines [3]line

func (l *lines) len() int {
	if l == nil {
		return 0
	}
	return len(l[0]) + len(l[1]) + len(l[2])
}

// line is attempts of one priority, the longest waiting first. What is added
// stands at the end nearly always, and what leaves it at the beginning.
type line []*place

func (l *line) add(p *place) {
	i, _ := slices.BinarySearchFunc(*l, p, (*place).compare)
	*l = slices.Insert(*l, i, p)
}

// remove moves the shorter side of the line.
func (l *line) remove(p *place) {
	i, found := slices.BinarySearchFunc(*l, p, (*place).compare)
	switch list := *l; {
	case !found:
	case i < len(list)/2:
		copy(list[1:i+1], list[:i])
		list[0] = nil
		*l = list[1:]
	default:
		*l = slices.Delete(list, i, i+1)
	}
}

// compare orders what waits: by since when, and what was queued at one moment
// by its id. Numbers in ids grow, and a longer id has the larger number.
func (p *place) compare(o *place) int {
	return cmp.Or(cmp.Compare(p.since, o.since), cmp.Compare(len(p.attempt), len(o.attempt)), strings.Compare(p.attempt, o.attempt))
}

// Queued returns the assignments that agents may claim now: attempts that are
// dispatched, unclaimed, not parked and not held. They come by role, and within
// a role the most urgent first, then the longest waiting.
func (s *State) Queued() []*loomv1.Assignment {
	var out []*loomv1.Assignment
	for _, role := range s.rolesQueued() {
		out = append(out, s.firstQueued(role, s.queue.lines[role].len(), nil)...)
	}
	return out
}

// queued returns the assignment of an attempt that agents may claim now, or nil.
func (s *State) queued(attempt string) *loomv1.Assignment {
	x, a := s.attempt(attempt)
	if a == nil || !slices.ContainsFunc(s.queue.places[x.Id], func(p *place) bool { return p.attempt == attempt && p.by == (holder{}) }) {
		return nil
	}
	return s.assignment(x, a)
}

// rolesQueued returns the roles that something waits for, sorted.
func (s *State) rolesQueued() []string {
	roles := make([]string, 0, len(s.queue.lines))
	for role := range s.queue.lines {
		roles = append(roles, role)
	}
	slices.Sort(roles)
	return roles
}

// firstQueued returns the first n assignments of a role that are not passed
// over.
func (s *State) firstQueued(role string, n int, passOver func(*loomv1.Assignment) bool) []*loomv1.Assignment {
	var out []*loomv1.Assignment
	lines := s.queue.lines[role]
	if lines == nil || n <= 0 {
		return nil
	}
	for _, l := range lines {
		for _, p := range l {
			if len(out) == n {
				return out
			}
			if a := s.assignment(s.attempt(p.attempt)); passOver == nil || !passOver(a) {
				out = append(out, a)
			}
		}
	}
	return out
}

func (s *State) assignment(x *loomv1.Execution, a *loomv1.Attempt) *loomv1.Assignment {
	return &loomv1.Assignment{
		Project: s.cfg.ID, Attempt: a.Id, Generation: a.Generation, Role: a.Role, Bead: x.Bead,
		Priority: x.Priority, DispatchedAt: a.DispatchedAt,
	}
}

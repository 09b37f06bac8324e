package project

import (
	"cmp"
	"maps"
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// windowLeast is how many tickets of a role a project has in the work queue at
// least, while as many attempts wait.
const windowLeast = 16

// Tickets is what a project has in the work queue, as far as it knows. A ticket
// stands for any work of its role: it bears the name of an attempt, so that
// putting it there again changes nothing, but whoever pulls it is given what is
// the most urgent then. Of each role there are a few at a time, so that
// projects take turns however much waits in one of them.
//
// It is no part of the state: what it knows may be lost, and tickets may be
// lost or doubled. Too many cost a claim that is refused each; those that are
// missing come back with Again. The zero value knows of no tickets.
type Tickets struct {
	out   map[ticketName]*loomv1.Assignment
	count map[string]int // of each role
	spent []ticketName   // the last ones, oldest first: they may not be gone from the queue yet
}

// mostSpent is how many tickets are remembered as spent.
const mostSpent = 64

// ticketName is what there is at most one ticket of.
type ticketName struct {
	attempt    string
	generation uint32
}

func nameOf(a *loomv1.Assignment) ticketName { return ticketName{a.Attempt, a.Generation} }

// Spent notes that an agent has come with a ticket, which it takes off the
// queue unless it gives it back.
func (t *Tickets) Spent(c *loomv1.ClaimAttempt) {
	name := ticketName{c.GetAttempt(), c.GetGeneration()}
	a := t.out[name]
	if a == nil {
		return
	}
	delete(t.out, name)
	t.count[a.Role]--
	if t.spent = append(t.spent, name); len(t.spent) > mostSpent {
		t.spent = slices.Delete(t.spent, 0, 1)
	}
}

// Offer returns the tickets to put into the queue, so that each role has as
// many as attempts wait for it, up to its window.
func (t *Tickets) Offer(s *State) []*loomv1.Assignment {
	var more []*loomv1.Assignment
	for _, role := range s.rolesQueued() {
		missing := min(s.queue.lines[role].len(), s.window(role)) - t.count[role]
		if missing <= 0 {
			continue
		}
		fresh := t.put(s.firstQueued(role, missing, func(a *loomv1.Assignment) bool { return t.isOut(a) || slices.Contains(t.spent, nameOf(a)) }))
		more = append(append(more, fresh...), t.put(t.used(s, role, missing-len(fresh)))...)
	}
	return more
}

// used returns tickets that were out once, those that were longest ago first.
func (t *Tickets) used(s *State, role string, n int) (list []*loomv1.Assignment) {
	for i := 0; i < len(t.spent) && len(list) < n; i++ {
		a := s.queued(t.spent[i].attempt)
		if a != nil && a.Role == role && nameOf(a) == t.spent[i] {
			list = append(list, a)
			t.spent = slices.Delete(t.spent, i, i+1)
			i--
		}
	}
	return list
}

func (t *Tickets) isOut(a *loomv1.Assignment) bool { return t.out[nameOf(a)] != nil }

func (t *Tickets) put(list []*loomv1.Assignment) []*loomv1.Assignment {
	if t.out == nil {
		t.out, t.count = map[ticketName]*loomv1.Assignment{}, map[string]int{}
	}
	for _, a := range list {
		t.out[nameOf(a)] = a
		t.count[a.Role]++
	}
	return list
}

// Again returns every ticket that should be in the queue, in a fixed order, to
// put there what was lost. It is to be called now and then, and when the queue
// is a new one.
func (t *Tickets) Again() []*loomv1.Assignment {
	return slices.SortedFunc(maps.Values(t.out), func(a, b *loomv1.Assignment) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(len(a.Attempt), len(b.Attempt)),
			cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Generation, b.Generation))
	})
}

// window is how many tickets of a role may be in the queue: enough for all of
// its agents to find one at any moment.
func (s *State) window(role string) int {
	agents := 0
	for _, h := range s.p.Hosts {
		agents += int(h.Agents[role])
	}
	return max(windowLeast, 2*agents)
}

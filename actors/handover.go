package actors

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Handover gives the assignments of this host's partitions to its agents in
// memory while nobody else could have them: as long as no other host takes part in
// the deployment. All others go into the work queue, from which it pulls for the
// agents that wait: one request for each role at a time, however many agents there
// are. It is both the [Work] of partitions and the [Queue] of pools.
//
// What it holds is in no queue: when the host dies it is derived from the journal
// again, as the queue itself is. Agents get the assignments of a role in the order
// in which they came.
//
// While no other host takes part, an agent that waits can also be given its work in
// the very turn in which it is dispatched, with the claim ([Handover.idle]), and one
// that answers can claim its next with the answer.
type Handover struct {
	queue  Queue
	work   Work
	alone  func() bool
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	roles   map[string]*waiting
	served  map[string]bool // projects that agents of this host have worked on
	running sync.WaitGroup  // pulls
}

// waiting are the agents of a role that wait for work, or the work of a role that
// waits for agents.
type waiting struct {
	agents  []*waiter // the longest first
	pulling bool      // for one of them
	work    []*loomv1.Assignment
	known   map[string]bool // what is in work, by attempt and generation
}

// waiter is an agent that waits.
type waiter struct {
	by  *loomv1.Claimant // nil where it claims for itself
	got chan handed      // has room for one, and gets one
}

// handed is what ends the waiting of an agent.
type handed struct {
	delivery Delivery
	err      error
}

// NewHandover returns a handover over a queue, until Stop. It asks alone whether
// no other host takes part in the deployment.
func NewHandover(q Queue, w Work, alone func() bool) *Handover {
	ctx, cancel := context.WithCancel(context.Background())
	return &Handover{queue: q, work: w, alone: alone, ctx: ctx, cancel: cancel, roles: map[string]*waiting{}, served: map[string]bool{}}
}

// Stop ends all that wait, and returns when no pull is under way any more.
func (h *Handover) Stop() {
	h.mu.Lock()
	h.cancel() // under the lock, so that no pull begins afterwards
	h.mu.Unlock()
	h.running.Wait()
}

func (h *Handover) role(name string) *waiting {
	w := h.roles[name]
	if w == nil {
		w = &waiting{known: map[string]bool{}}
		h.roles[name] = w
	}
	return w
}

// PublishWork implements [Work].
func (h *Handover) PublishWork(ctx context.Context, a *loomv1.Assignment) error {
	if h.alone() {
		if h.keep(a) {
			return nil
		}
	} else if err := h.Share(ctx); err != nil {
		return err
	}
	return h.work.PublishWork(ctx, a)
}

// Share puts what waits for agents into the work queue, so that other hosts can
// have it.
func (h *Handover) Share(ctx context.Context) error {
	h.mu.Lock()
	var all []*loomv1.Assignment
	for _, w := range h.roles {
		all = append(all, w.work...)
		w.work = nil
		clear(w.known)
	}
	h.mu.Unlock()
	for _, a := range all {
		if err := h.work.PublishWork(ctx, a); err != nil {
			return err // the sweep offers the rest again
		}
	}
	return nil
}

// keep gives an assignment to an agent that waits, or keeps it for one; false
// where there is no room.
func (h *Handover) keep(a *loomv1.Assignment) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.role(a.Role)
	switch key := keyOf(a); {
	case w.hand(handed{delivery: &local{assignment: a, from: h}}) || w.known[key]:
	case len(w.work) == mostQueued:
		return false
	default:
		w.work, w.known[key] = append(w.work, a), true
	}
	return true
}

func keyOf(a *loomv1.Assignment) string { return fmt.Sprintf("%s-g%d", a.Attempt, a.Generation) }

// take returns the assignment that has waited longest, or nil.
func (w *waiting) take() *loomv1.Assignment {
	if len(w.work) == 0 {
		return nil
	}
	a := w.work[0]
	w.work[0] = nil
	w.work = w.work[1:]
	delete(w.known, keyOf(a))
	return a
}

// hand gives something to the agent that has waited longest, if there is one.
func (w *waiting) hand(what handed) bool {
	if len(w.agents) == 0 {
		return false
	}
	w.agents[0].got <- what
	w.agents = w.agents[1:]
	return true
}

// hand gives something to an agent of a role, if one waits.
func (h *Handover) hand(role string, what handed) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.role(role).hand(what)
}

// Pull implements [Queue].
func (h *Handover) Pull(ctx context.Context, role string) (Delivery, error) {
	return h.pullAs(ctx, role, nil)
}

// pullAs is Pull for an agent that may be given its assignment claimed. Where it is,
// the delivery is to be worked on or given back although ctx has ended.
func (h *Handover) pullAs(ctx context.Context, role string, by *loomv1.Claimant) (Delivery, error) {
	mine := &waiter{by: by, got: make(chan handed, 1)}
	h.mu.Lock()
	w := h.role(role)
	if a := w.take(); a != nil {
		h.mu.Unlock()
		return &local{assignment: a, from: h}, nil
	}
	w.agents = append(w.agents, mine)
	if !w.pulling && h.ctx.Err() == nil {
		w.pulling = true
		h.running.Go(func() { h.pull(role) })
	}
	h.mu.Unlock()
	select {
	case got := <-mine.got:
		return got.delivery, got.err
	case <-ctx.Done():
	case <-h.ctx.Done():
	}
	if !h.leave(role, mine) { // it crossed with the end
		got := <-mine.got
		if got.delivery != nil && briefOf(got.delivery) != nil {
			return got.delivery, nil
		}
		if got.delivery != nil {
			_ = got.delivery.Nak(0)
		}
	}
	if ctx.Err() == nil {
		return nil, h.ctx.Err()
	}
	return nil, ctx.Err()
}

// leave has an agent wait no longer; false when it was handed something, or will be.
func (h *Handover) leave(role string, mine *waiter) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.role(role)
	i := slices.Index(w.agents, mine)
	if i < 0 {
		return false
	}
	w.agents = slices.Delete(w.agents, i, i+1)
	return true
}

// serves notes that agents of this host can work on a project.
func (h *Handover) serves(project string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.served[project] = true
}

// idle takes the agent of a role that has waited longest from those that wait, so
// that work of a project is claimed for it; nil where there is none, or where another
// host could have it. Whoever takes it hands it something, once. It never blocks.
func (h *Handover) idle(project, role string) *waiter {
	if h == nil || !h.alone() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.role(role)
	if len(w.agents) == 0 || w.agents[0].by == nil || !h.served[project] {
		return nil
	}
	first := w.agents[0]
	w.agents = w.agents[1:]
	return first
}

// putBack has an agent wait again that was taken in vain, before the others.
func (h *Handover) putBack(role string, agent *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.role(role)
	if a := w.take(); a != nil {
		agent.got <- handed{delivery: &local{assignment: a, from: h}}
		return
	}
	w.agents = slices.Insert(w.agents, 0, agent)
}

// next takes the assignment of a role that has waited longest, if it is of a project,
// and no other host could have it.
func (h *Handover) next(project, role string) Delivery {
	if !h.alone() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.role(role)
	if len(w.work) == 0 || w.work[0].Project != project {
		return nil
	}
	return &local{assignment: w.take(), from: h}
}

// pull pulls for the agents of a role until none of them waits. What comes when
// none does any more goes to others.
func (h *Handover) pull(role string) {
	for {
		d, err := h.queue.Pull(h.ctx, role)
		switch {
		case err == nil && !h.hand(role, handed{delivery: d}):
			_ = d.Nak(0)
		case err != nil:
			for h.hand(role, handed{err: err}) { // each pauses, and comes again
			}
		}
		if h.enough(role) {
			return
		}
	}
}

// enough says that no agent of a role waits, and that its pull ends.
func (h *Handover) enough(role string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.role(role)
	w.pulling = len(w.agents) > 0 && h.ctx.Err() == nil
	return !w.pulling
}

// local is an assignment that was handed over in memory.
type local struct {
	assignment *loomv1.Assignment
	brief      *loomv1.Brief // where it is claimed
	from       *Handover
}

// briefOf returns what a delivery was claimed with, or nil where it is to be claimed.
func briefOf(d Delivery) *loomv1.Brief {
	if l, ok := d.(*local); ok {
		return l.brief
	}
	return nil
}

// Assignment implements [Delivery].
func (l *local) Assignment() *loomv1.Assignment { return l.assignment }

// InProgress implements [Delivery].
func (l *local) InProgress() error { return nil }

// Ack implements [Delivery].
func (l *local) Ack(context.Context) error { return nil }

// Nak implements [Delivery]: the assignment is offered again. Where that fails
// the sweep does so.
func (l *local) Nak(delay time.Duration) error {
	time.AfterFunc(delay, func() {
		ctx, cancel := context.WithTimeout(l.from.ctx, 5*time.Second)
		defer cancel()
		_ = l.from.PublishWork(ctx, l.assignment)
	})
	return nil
}

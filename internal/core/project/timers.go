package project

import (
	"container/heap"
	"time"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// timers are the moments at which executions want a tick, and those whose time
// has come. An entry is never removed when an execution's timer moves: it counts
// only while it is what the execution itself says.
type timers struct {
	heap   timerHeap
	pushed map[string]time.Time // newest entry of each execution
	ready  readyHeap            // executions whose time has come
	is     map[string]bool      // those in ready
}

type timer struct {
	at        time.Time
	execution string
}

// set notes the next timer of an execution, if it has one.
func (t *timers) set(execution string, at time.Time, ok bool) {
	if !ok {
		delete(t.pushed, execution)
		return
	}
	if t.pushed[execution].Equal(at) {
		return
	}
	if t.pushed == nil {
		t.pushed = map[string]time.Time{}
	}
	t.pushed[execution] = at
	heap.Push(&t.heap, timer{at, execution})
}

// kick has an execution ticked at once, whatever its timers say.
func (t *timers) kick(execution string) {
	if t.is[execution] {
		return
	}
	if t.is == nil {
		t.is = map[string]bool{}
	}
	t.is[execution] = true
	heap.Push(&t.ready, execution)
}

// next drops entries that no longer hold and returns the earliest moment; wake
// says when an execution wants a tick.
func (t *timers) next(wake func(execution string) (time.Time, bool)) (time.Time, bool) {
	for len(t.heap) > 0 {
		first := t.heap[0]
		if at, ok := wake(first.execution); ok && at.Equal(first.at) {
			return first.at, true
		}
		heap.Pop(&t.heap)
	}
	return time.Time{}, false
}

// gather kicks the executions whose time has come.
func (t *timers) gather(now time.Time, wake func(execution string) (time.Time, bool), kick func(execution string)) {
	for {
		at, ok := t.next(wake)
		if !ok || at.After(now) {
			return
		}
		first := heap.Pop(&t.heap).(timer)
		delete(t.pushed, first.execution)
		kick(first.execution)
	}
}

// take removes and returns an execution whose time has come, the first by its
// id: so it does not matter why or since when it is ready, and a restart, after
// which all are, changes nothing.
func (t *timers) take() (string, bool) {
	if len(t.ready) == 0 {
		return "", false
	}
	id := heap.Pop(&t.ready).(string)
	delete(t.is, id)
	return id, true
}

// wake returns at which journal time an execution wants a tick: at the end of a
// backoff, at an attempt's deadline, when a role has had no live agent for too
// long, when a question to its team runs out of time, or at a limit of how long it
// works. One that is held wants none.
func (s *State) wake(execution string) (time.Time, bool) {
	x := s.execution(execution)
	switch {
	case s.orphaned(x):
		return s.Time(), true
	case !running(x) || s.held(x):
		return time.Time{}, false
	}
	at, ok := workflow.Next(x, s.absent, s.grace())
	if due, any := s.answersDue(x); any && (!ok || due.Before(at)) {
		at, ok = due, true
	}
	if limit, any := s.limitAt(x); any && (!ok || limit.Before(at)) {
		return limit, true
	}
	return at, ok
}

// rearm brings the timer of an execution and its place in the queue up to date.
func (s *State) rearm(x *loomv1.Execution) {
	at, ok := s.wake(x.Id)
	s.timers.set(x.Id, at, ok)
	end, ok := s.due(x.Id)
	s.deadlines.set(x.Id, end, ok)
	s.requeue(x)
}

// How much one tick does: so many executions, of which so many may have had
// something to do, and so many bytes of facts.
const (
	tickVisits = 4096
	tickBusy   = 128
	tickBytes  = 256 << 10
)

// tick fires what is due, a bounded part of it: what is left stays due, so that
// the next tick comes at once.
func (d *decision) tick() error {
	if err := d.lock(d.s.locks.Tick(d.now)); err != nil {
		return err
	}
	if err := d.tickBallots(); err != nil {
		return err
	}
	if err := d.tickMemory(); err != nil {
		return err
	}
	d.s.timers.gather(d.now, d.s.wake, d.s.timers.kick)
	d.s.deadlines.gather(d.wall, d.s.due, d.s.timers.kick)
	busy := 0
	for range tickVisits {
		if busy >= tickBusy || d.size() >= tickBytes {
			return nil
		}
		id, ok := d.s.timers.take()
		if !ok {
			return nil
		}
		before := len(d.events)
		if err := d.wakeUp(d.s.execution(id)); err != nil {
			return err
		}
		if len(d.events) > before {
			busy++
		}
	}
	return nil
}

// wakeUp does what an execution's time has come for.
func (d *decision) wakeUp(x *loomv1.Execution) error {
	if d.s.orphaned(x) {
		defer d.s.rearm(x)
		return d.abandon(x.Id)
	}
	if err := d.lapseDay(x); err != nil {
		return err
	}
	if !running(x) || d.s.held(x) {
		return nil
	}
	defer d.s.rearm(x)
	defer d.about(x)()
	if err := d.askLimit(x); err != nil || d.s.held(x) {
		return err
	}
	if err := d.lapseQuestions(x); err != nil {
		return err
	}
	if err := d.run(x).Tick(); err != nil {
		return err
	}
	return d.startChildren(x)
}

type timerHeap []timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].execution < h[j].execution
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any     { return popLast((*[]timer)(h)) }

type readyHeap []string

func (h readyHeap) Len() int           { return len(h) }
func (h readyHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h readyHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *readyHeap) Push(x any)        { *h = append(*h, x.(string)) }
func (h *readyHeap) Pop() any          { return popLast((*[]string)(h)) }

func popLast[T any](list *[]T) T {
	old := *list
	last := old[len(old)-1]
	*list = old[:len(old)-1]
	return last
}

package project

import (
	"container/heap"
	"slices"
	"time"

	"github.com/loomrun/loom/internal/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// timers is a heap of the moments at which executions want a tick. Entries are
// never removed when an execution's timer moves: an entry counts only while it
// is what the execution itself says.
type timers struct {
	heap   timerHeap
	pushed map[string]time.Time // newest entry of each execution
}

type timer struct {
	at        time.Time
	execution string
}

// set notes the next timer of x, if it has one.
func (t *timers) set(x *loomv1.Execution) {
	at, ok := workflow.Next(x)
	if !ok {
		delete(t.pushed, x.Id)
		return
	}
	if t.pushed[x.Id].Equal(at) {
		return
	}
	if t.pushed == nil {
		t.pushed = map[string]time.Time{}
	}
	t.pushed[x.Id] = at
	heap.Push(&t.heap, timer{at, x.Id})
}

// next drops entries that no longer hold and returns the earliest.
func (t *timers) next(executions map[string]*loomv1.Execution) (time.Time, bool) {
	for len(t.heap) > 0 {
		first := t.heap[0]
		if holds(first, executions) {
			return first.at, true
		}
		heap.Pop(&t.heap)
	}
	return time.Time{}, false
}

// due removes and returns the executions whose timer is at or before now.
func (t *timers) due(now time.Time, executions map[string]*loomv1.Execution) []string {
	var ids []string
	for {
		at, ok := t.next(executions)
		if !ok || at.After(now) {
			break
		}
		first := heap.Pop(&t.heap).(timer)
		delete(t.pushed, first.execution)
		ids = append(ids, first.execution)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func holds(e timer, executions map[string]*loomv1.Execution) bool {
	x, ok := executions[e.execution]
	if !ok {
		return false
	}
	at, ok := workflow.Next(x)
	return ok && at.Equal(e.at)
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
func (h *timerHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

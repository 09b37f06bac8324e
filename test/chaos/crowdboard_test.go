package chaos

import (
	"strings"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// board is what people know of the work, from notices alone.
type board struct {
	mu       sync.Mutex
	record   *record
	read     int
	orders   map[string]string // goal, by bead
	running  map[string]string // bead of an order, by execution
	open     []*loomv1.Approval
	answered int
	asked    int
	ended    int // executions of orders
}

func newBoard(r *record) *board {
	return &board{record: r, orders: map[string]string{}, running: map[string]string{}}
}

// look brings the board up to date and calls fn on it. It returns how many
// notices there are, and a channel that is closed when there are more.
func (b *board) look(fn func(*board)) (all int, more <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list, all, more := b.record.from(b.read, crowd)
	b.read = all
	for _, n := range list {
		b.note(n.Event)
	}
	fn(b)
	return all, more
}

func (b *board) note(e *loomv1.Event) {
	switch f := e.Fact.(type) {
	case *loomv1.Event_BeadFiled:
		if goal := f.BeadFiled.Bead.Goal; strings.HasPrefix(goal, "order ") {
			b.orders[e.Bead] = goal
		}
	case *loomv1.Event_ExecutionStarted:
		if b.orders[e.Bead] != "" {
			b.running[e.Execution] = e.Bead
		}
	case *loomv1.Event_ExecutionEnded:
		if b.running[e.Execution] != "" {
			delete(b.running, e.Execution)
			b.ended++
		}
	case *loomv1.Event_ApprovalRequested:
		b.asked++
		b.open = append(b.open, f.ApprovalRequested.Approval)
	case *loomv1.Event_ApprovalDecided:
		b.answered++
		b.close(f.ApprovalDecided.Approval)
	case *loomv1.Event_ApprovalLapsed:
		b.close(f.ApprovalLapsed.Approval)
	}
}

func (b *board) close(approval string) {
	for i, a := range b.open {
		if a.Id == approval {
			b.open = append(b.open[:i:i], b.open[i+1:]...)
			return
		}
	}
}

// inFlight is the most executions that were under way at one moment.
func inFlight(events []*loomv1.Event) (most int) {
	now := 0
	for _, e := range events {
		switch e.Fact.(type) {
		case *loomv1.Event_ExecutionStarted:
			now++
		case *loomv1.Event_ExecutionEnded:
			now--
		}
		most = max(most, now)
	}
	return most
}

// firstClaims returns how long after its process began each life of the host
// had an agent claim something, for those that came so far.
func firstClaims(events []*loomv1.Event, lives []life) (list []time.Duration) {
	i := 0
	for _, l := range lives {
		for i < len(events) && (events[i].GetAttemptClaimed() == nil || events[i].Time.AsTime().Before(l.begun)) {
			i++
		}
		if i < len(events) && events[i].Time.AsTime().Before(l.ended) {
			list = append(list, events[i].Time.AsTime().Sub(l.begun))
		}
	}
	return list
}

// life is when a process of the host began and ended.
type life struct{ begun, ended time.Time }

// words shows how many there are of each status.
func words(events []*loomv1.Event) map[string]int {
	count := map[string]int{}
	for _, e := range events {
		if f := e.GetExecutionEnded(); f != nil {
			count[project.Word(f.Status)]++
		}
	}
	return count
}

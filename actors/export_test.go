package actors

import (
	"context"
	"runtime"
	"strings"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// FailCell has the shell of a cell panic when the keeper has acknowledged something.
func (p *Projects) FailCell(id string, name loomv1.Core) {
	at := p.addresses[p.of(id)].find(id)
	p.sys.sys.Root.Send(at.of(name).Load(), &request{cmd: &loomv1.Command{}, reply: func(*loomv1.Answer) { panic("planted") }})
}

// WatchUnbegun watches the turns of a project whose actor has not begun, and hears of
// a snapshot of it, until ctx ends.
func WatchUnbegun(ctx context.Context) {
	p := &partition{Partition: Partition{TurnMost: 10 * time.Millisecond, addresses: &addresses{}}}
	p.addresses.byID.Store("shop", &address{})
	p.written("shop", 1, nil)
	p.watchTurns(ctx)
}

// Life returns which life a project has.
func (p *Projects) Life(id string) uint64 {
	return p.addresses[p.of(id)].find(id).domain.Load().life
}

// AwaitIdle waits until an agent of a role waits for work.
func AwaitIdle(h *Handover, role string) {
	for {
		h.mu.Lock()
		n := len(h.role(role).agents)
		h.mu.Unlock()
		if n > 0 {
			return
		}
		runtime.Gosched()
	}
}

// AwaitKept waits until an assignment of a bead waits in memory.
func AwaitKept(h *Handover, bead string) {
	for !h.kept(bead) {
		runtime.Gosched()
	}
}

func (h *Handover) kept(bead string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.roles {
		for _, a := range w.work {
			if strings.HasPrefix(a.Attempt, bead+"-") {
				return true
			}
		}
	}
	return false
}

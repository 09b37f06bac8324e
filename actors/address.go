package actors

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/internal/base/fact"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// addresses are those of projects, by id. Anybody may look one up.
type addresses struct{ byID sync.Map }

// find returns the address of a project, or nil.
func (a *addresses) find(id string) *address {
	found, _ := a.byID.Load(id)
	at, _ := found.(*address)
	return at
}

// address is where the cells of a project are reached, without a hop through their
// parents.
type address struct {
	work, graph, lock, memory atomic.Pointer[actor.PID]
	domain                    atomic.Pointer[domain]
}

// of returns where the cell of a core is.
func (a *address) of(name loomv1.Core) *atomic.Pointer[actor.PID] {
	switch name {
	case loomv1.Core_CORE_GRAPH:
		return &a.graph
	case loomv1.Core_CORE_LOCK:
		return &a.lock
	case loomv1.Core_CORE_MEMORY:
		return &a.memory
	}
	return &a.work
}

// cellNames are the cells of a project.
var cellNames = []loomv1.Core{loomv1.Core_CORE_PROJECT, loomv1.Core_CORE_GRAPH, loomv1.Core_CORE_LOCK, loomv1.Core_CORE_MEMORY}

// cellOf returns the core whose cell a message is for.
func cellOf(message any) loomv1.Core {
	switch m := message.(type) {
	case *request:
		return fact.DecidedBy(m.cmd)
	case *consult:
		return loomv1.Core_CORE_GRAPH
	case *look:
		switch m.view {
		case project.Graph:
			return loomv1.Core_CORE_GRAPH
		case project.Lock:
			return loomv1.Core_CORE_LOCK
		case project.Memories:
			return loomv1.Core_CORE_MEMORY
		}
	}
	return loomv1.Core_CORE_PROJECT
}

// ofSystem says whether a command can be the first that belongs to no project:
// a refusal, what is wanted of the deployment, what a host does less safely, or
// which hosts there are.
func ofSystem(cmd *loomv1.Command) bool {
	switch cmd.Body.(type) {
	case *loomv1.Command_RecordRejection, *loomv1.Command_Signed, *loomv1.Command_ScaleRole, *loomv1.Command_DrainHost, *loomv1.Command_NoteSecurity,
		*loomv1.Command_RecordMembers, *loomv1.Command_RecordLives:
		return true
	}
	return false
}

// watchTurns gives up the state of projects whose turn does not end, until ctx ends.
func (p *partition) watchTurns(ctx context.Context) {
	look := time.NewTicker(p.TurnMost / 5)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		p.addresses.byID.Range(func(_, at any) bool {
			d := at.(*address).domain.Load()
			if d == nil {
				return true // its actor has not begun
			}
			if t := d.stuck(p.TurnMost); t != nil {
				d.end()
				d.failed(&lifeFailed{
					life: d.life, cmd: t.cmd, cell: t.cell, stuck: true,
					err: fmt.Errorf("the turn of %T lasts longer than %v", t.cmd.GetBody(), p.TurnMost),
				})
			}
			return true
		})
	}
}

package fleet

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Reports tell every project which roles this host has live agents of, so
// that work for a role that nobody works in is brought before the CEO instead
// of waiting for ever. They tell whenever that changes and when a project is
// registered, and at a clean stop that there are none any more.
type Reports struct {
	wake   chan struct{}
	forget atomic.Bool // what was told counts no longer
	done   sync.WaitGroup
	stop   context.CancelFunc
	told   map[string]map[string]uint32 // by project; of run alone while it runs

	config *Config
	leaves *leaves
}

// How long the word at a stop may take, and how long until a project that
// could not be told is told again.
const (
	leaveWithin = 2 * time.Second
	tellAgain   = time.Second
)

func newReports(c *Config, l *leaves) *Reports {
	return &Reports{config: c, leaves: l, wake: make(chan struct{}, 1), told: map[string]map[string]uint32{}}
}

// Changed has the projects told what is not as they were told. It never blocks.
func (r *Reports) Changed() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// again has all projects told, whatever they were told before. It never blocks.
func (r *Reports) again() {
	r.forget.Store(true)
	r.Changed()
}

// Start begins to tell.
func (r *Reports) Start() {
	ctx, cancel := context.WithCancel(r.config.Running)
	r.stop = cancel
	r.Changed()
	r.done.Go(func() { r.run(ctx) })
}

// run tells what changes until ctx ends.
func (r *Reports) run(ctx context.Context) {
	for {
		var again <-chan time.Time
		if r.forget.Swap(false) {
			clear(r.told)
		}
		if !r.tellAll(ctx, r.config.Agents()) {
			again = time.After(tellAgain)
		}
		select {
		case <-r.wake:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// tellAll tells each project that was told something else before, and reports
// whether all know now.
func (r *Reports) tellAll(ctx context.Context, agents map[string]uint32) bool {
	all := r.tellOfLeaves(ctx)
	for _, id := range r.config.Registered() {
		if told, ok := r.told[id]; ok && maps.Equal(told, agents) {
			continue
		}
		if err := r.tell(ctx, id, agents); err != nil {
			if all = false; ctx.Err() == nil {
				r.config.Log.Warn("project is not told which roles are here", "project", id, "error", err)
			}
			continue
		}
		r.told[id] = agents
	}
	return all
}

// tell is report within a time that leaves some for the other projects.
func (r *Reports) tell(ctx context.Context, id string, agents map[string]uint32) error {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	return r.report(ctx, id, agents)
}

func (r *Reports) report(ctx context.Context, id string, agents map[string]uint32) error {
	err := r.config.Do(ctx, id, &loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{
		Host: r.config.Host, Roles: &loomv1.HostRoles{Epoch: r.config.Epoch, Agents: agents},
	}}})
	if fault.Code(err) == "project/quarantined" {
		return nil // it hears of nothing, until somebody mends it
	}
	return err
}

// Leave tells all projects that no agent is here any more; one that cannot be
// told hears what is at the next start.
func (r *Reports) Leave(ctx context.Context) {
	if r.stop == nil {
		return
	}
	r.stop()
	r.done.Wait()
	ctx, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	r.tellAll(ctx, nil)
}

// tellOfLeaves tells the projects which roles leaf hosts have agents of, and
// reports whether all know now.
func (r *Reports) tellOfLeaves(ctx context.Context) bool {
	all := true
	for _, p := range r.leaves.list() {
		if !p.Alive {
			continue
		}
		for role := range agentsIn(p) {
			all = r.config.Broker.PrepareWork(ctx, role) == nil && all
		}
		for _, id := range r.config.Registered() {
			all = r.tellOfLeaf(ctx, id, p) && all
		}
	}
	return all
}

func (r *Reports) tellOfLeaf(ctx context.Context, id string, p *loomv1.HostPresence) bool {
	agents := agentsIn(p)
	if len(p.Projects) > 0 && !slices.Contains(p.Projects, id) { // it takes no work of this one
		return true
	}
	if r.leaves.knows(p.Host, id, agents) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	err := r.config.Do(ctx, id, &loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{
		Host: p.Host, Roles: &loomv1.HostRoles{Epoch: p.Epoch, Agents: agents},
	}}})
	if err != nil && fault.Code(err) != "project/quarantined" {
		return false
	}
	r.leaves.tell(p, id, agents)
	return true
}

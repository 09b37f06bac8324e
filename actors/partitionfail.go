package actors

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// fail drops all working state of the partition and begins again from the
// journal, after a pause. Failures of an earlier incarnation are old news.
func (p *partition) fail(c actor.Context, who *actor.PID, err error) {
	if p.drop(c, who, err) {
		p.retry(c)
	}
}

// damaged says that what the journal is stored in is damaged.
type damaged struct{ err error }

// refuse ends that the partition is served, until the host starts anew: what is
// asked of it is answered with the damage, and nothing is written.
func (p *partition) refuse(c actor.Context, err error) {
	p.damaged = err
	p.drop(c, p.keeper, err)
	p.why = err
	p.tellReady(err)
}

// condemn sets aside a command that made its project fail, and reports whether it can
// come again all the same. It may be called from anywhere.
func (p *partition) condemn(cmd *loomv1.Command, err error) (again bool) {
	p.tell(Trouble{Project: cmd.GetProject(), Kind: "poison", Message: fmt.Sprintf("a command made its project fail: %s", err)}, cmd)
	return cmd == nil || !p.poison.add(cmd, err)
}

// projectLost sets a project aside that cannot be folded from its journal; the others
// of the partition go on.
func (p *partition) projectLost(c actor.Context, m *projectLost) {
	if !m.from.Equal(p.projects[m.id]) {
		return
	}
	p.Logger.Error("project quarantined", "project", m.id, "error", m.err)
	p.tell(Trouble{Kind: "quarantined", Message: fmt.Sprintf("project %q cannot be replayed and is set aside: %s", m.id, m.err)}, nil)
	p.addresses.byID.Delete(m.id)
	delete(p.projects, m.id)
	p.quarantined[m.id] = m.err
	c.Unwatch(m.from)
	c.Stop(m.from)
}

// drop stops all that works on this recovery's state, if who is part of it.
func (p *partition) drop(c actor.Context, who *actor.PID, err error) bool {
	if !p.serving || !p.owns(who) {
		return false
	}
	p.Logger.Error("partition recovers", "partition", p.Log.Partition(), "because", err)
	p.unserve()
	p.why = err
	for _, pid := range c.Children() {
		c.Unwatch(pid)
		c.Stop(pid)
	}
	p.keeper, p.projects = nil, nil
	return true
}

func (p *partition) owns(who *actor.PID) bool {
	if p.keeper != nil && p.keeper.Equal(who) {
		return true
	}
	for _, pid := range p.projects {
		if pid.Equal(who) {
			return true
		}
	}
	return false
}

// retry recovers after a delay that grows while recovery does not help.
func (p *partition) retry(c actor.Context) {
	p.failures++
	inc, root, self := p.incarnation, c.ActorSystem().Root, c.Self()
	d := restarts{backoff: 20 * time.Millisecond, most: 10 * time.Second}.delay(min(p.failures, 12))
	time.AfterFunc(d, func() { root.Send(self, &again{inc}) })
}

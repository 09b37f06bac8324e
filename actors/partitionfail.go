package actors

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// fail drops all working state of the partition and begins again from the
// journal, after a pause. Failures of an earlier incarnation are old news.
func (p *partition) fail(c actor.Context, who *actor.PID, err error) {
	if p.drop(c, who, err) {
		p.retry(c)
	}
}

// poisoned sets a command aside and begins again at once: since the command
// will not come a second time, nobody else need wait for its sake. What comes
// again by itself is recovered from with a pause.
func (p *partition) poisoned(c actor.Context, m *projectFailed) {
	if !p.drop(c, m.from, m.err) {
		return
	}
	p.tell(Trouble{Project: m.cmd.GetProject(), Kind: "poison", Message: fmt.Sprintf("a command made its project fail: %s", m.err)}, m.cmd)
	if p.poison.add(m.cmd, m.err) {
		p.recover(c)
		return
	}
	p.retry(c)
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

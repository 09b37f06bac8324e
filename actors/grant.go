package actors

import (
	"maps"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// grant is an attempt that was claimed for an idle agent of this host in the turn in
// which it was dispatched: one proposal, and no way through a queue. The agent hears
// of it once the claim is durable.
type grant struct {
	agent  *waiter
	ticket *loomv1.Assignment
	brief  *loomv1.Brief
}

// grant claims for idle agents what they can be given of the work to hand out, as long
// as the proposal stays within a batch. It returns the rest of the work, the grants,
// and the facts and their size with those of the claims.
func (d *domain) grant(work []*loomv1.Assignment, events []*loomv1.Event, size int) ([]*loomv1.Assignment, []grant, []*loomv1.Event, int) {
	var rest []*loomv1.Assignment
	var given []grant
	var taken *waiter // the agent at hand
	var role string
	defer func() { // where a core fails, nobody is lost
		if taken != nil {
			d.agents.putBack(role, taken)
			for _, g := range given {
				g.settle(d.agents, false)
			}
		}
	}()
	for _, a := range work {
		if size > batchAim {
			rest = append(rest, a)
			continue
		}
		role = a.Role
		if taken = d.agents.idle(a.Project, role); taken == nil {
			rest = append(rest, a)
			continue
		}
		claim := &loomv1.ClaimAttempt{Attempt: a.Attempt, Generation: a.Generation, Claimant: taken.by, Any: true}
		facts, answer, err := d.state.Do(d.now(), agentsCommand(d.id, taken.by, &loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: claim}}))
		if err != nil {
			panic(err)
		}
		if answer.GetError().GetCode() != notForMe {
			d.tickets.Spent(claim)
		}
		if answer.Error != nil {
			d.agents.putBack(role, taken)
			rest = append(rest, a)
		} else {
			given = append(given, grant{taken, a, answer.GetBrief()})
		}
		taken = nil
		events, size = append(events, facts...), size+sizeOf(facts)
	}
	return rest, given, events, size
}

// agentsCommand is a command by an agent.
func agentsCommand(project string, who *loomv1.Claimant, cmd *loomv1.Command) *loomv1.Command {
	cmd.Project = project
	cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: who.Agent + "@" + who.Host}
	return cmd
}

// settle tells the agent of its grant, or where that is not known to be durable, of
// the ticket: then it asks for itself.
func (g grant) settle(h *Handover, durable bool) {
	l := &local{assignment: g.ticket, from: h}
	if durable {
		l.brief = g.brief
	}
	g.agent.got <- handed{delivery: l}
}

func (d *domain) keepGrants(ticket uint64, given []grant) {
	if len(given) == 0 {
		return
	}
	d.granted.Lock()
	defer d.granted.Unlock()
	if d.granted.by == nil {
		d.granted.by = map[uint64][]grant{}
	}
	d.granted.by[ticket] = given
}

// settleGrants tells the agents of what was granted with a proposal. It may be called
// from anywhere, and more than once.
func (d *domain) settleGrants(ticket uint64, durable bool) {
	d.granted.Lock()
	given := d.granted.by[ticket]
	delete(d.granted.by, ticket)
	d.granted.Unlock()
	for _, g := range given {
		g.settle(d.agents, durable)
	}
}

func (d *domain) allGrants() map[uint64][]grant {
	d.granted.Lock()
	defer d.granted.Unlock()
	return maps.Clone(d.granted.by)
}

// Package notice turns a committed event into what observers receive: its
// kind, one line for people, and the headers it travels with. Every kind of
// fact has its own sentence, made of the event alone, so the same event gives
// the same notice on every host and at every replay. It publishes nothing.
package notice

import (
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fact"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// unknown is the kind of an event whose fact this build does not know.
const unknown = "unknown"

// Of returns the notice of the event at pos. It keeps e and pos, and changes
// neither.
func Of(e *loomv1.Event, pos *loomv1.Position) *loomv1.Notice {
	return &loomv1.Notice{Position: pos, Kind: Kind(e), Summary: Summary(e), Event: e}
}

// Kind returns the name of the event's fact in kebab case, for example
// "edge-settled"; "unknown" when this build does not know the fact.
func Kind(e *loomv1.Event) string {
	if k := fact.Of(e); k != nil {
		return k.Name
	}
	return unknown
}

// Kinds lists every kind there is, in the order of the contract.
func Kinds() []string {
	var names []string
	for _, k := range fact.All() {
		names = append(names, k.Name)
	}
	return names
}

// noticeType is the message type of a notice's body.
var noticeType = string((*loomv1.Notice)(nil).ProtoReflect().Descriptor().FullName())

// Headers returns what a notice carries outside its body: the message type of
// the body, the ids as far as they apply, the position and the summary, each
// with one value. A header without a value is left out. The caller may add
// others.
func Headers(n *loomv1.Notice) map[string][]string {
	e := n.GetEvent()
	role, agent := worker(e)
	all := [...]struct{ name, value string }{
		{"Loom-Type", noticeType},
		{"Loom-Project", e.GetProject()},
		{"Loom-Number", strconv.FormatUint(e.GetNumber(), 10)},
		{"Loom-Team", Team(e)},
		{"Loom-Bead", e.GetBead()},
		{"Loom-Execution", e.GetExecution()},
		{"Loom-Node", e.GetNode()},
		{"Loom-Role", role},
		{"Loom-Agent", agent},
		{"Loom-Position", FormatPosition(n.GetPosition())},
		{"Loom-Summary", n.GetSummary()},
	}
	h, values := make(map[string][]string, len(all)+1), make([]string, 0, len(all))
	for _, x := range all {
		if x.value != "" {
			values = append(values, x.value)
			h[x.name] = values[len(values)-1 : len(values) : len(values)]
		}
	}
	return h
}

// About returns what the notice of e is about. A project, bead or team that is
// no token is an error with the code id/malformed.
func About(e *loomv1.Event) (subject.About, error) {
	a := subject.About{Kind: subject.Must(Kind(e))}
	var err error
	if a.Project, err = subject.Parse("project", e.GetProject()); err != nil {
		return a, err
	}
	for _, part := range []struct {
		what, id string
		to       *subject.Token
	}{{"bead", e.GetBead(), &a.Bead}, {"team", Team(e), &a.Team}} {
		if part.id == "" {
			continue
		}
		if *part.to, err = subject.Parse(part.what, part.id); err != nil {
			return a, err
		}
	}
	role, agent := worker(e)
	name, host, _ := strings.Cut(agent, "@")
	if name != "" {
		a.Role, a.Agent, _ = subject.Agent(name) // what a caller chose for its name is not always one
	} else if role != "" {
		a.Role, _ = subject.Parse("role", role)
	}
	if who := e.GetActor(); host == "" && who.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_HOST {
		host = who.Name
	}
	if host != "" {
		a.Host, _ = subject.Parse("host", host)
	}
	return a, nil
}

// Team returns the outermost bead that the event's bead is a part of, itself
// where it is none; "" for an event about no bead.
func Team(e *loomv1.Event) string {
	if e.GetTeam() != "" {
		return e.GetTeam()
	}
	return e.GetBead()
}

// worker returns the role an event is about and the agent, "ROLE/N@HOST", as
// far as the event tells.
func worker(e *loomv1.Event) (role, agent string) {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_AttemptDispatched:
		return f.AttemptDispatched.GetRole(), ""
	case *loomv1.Event_AttemptClaimed:
		agent = claimant(f.AttemptClaimed.GetClaimant())
	case *loomv1.Event_AgentStarted:
		return liver(f.AgentStarted)
	case *loomv1.Event_AgentRestarted:
		return liver(f.AgentRestarted)
	case *loomv1.Event_AgentCrashed:
		return liver(f.AgentCrashed)
	case *loomv1.Event_AgentGivenUp:
		return liver(f.AgentGivenUp)
	case *loomv1.Event_AgentDrained:
		return liver(f.AgentDrained)
	case *loomv1.Event_LockRequested:
		agent = claimant(f.LockRequested.GetClaim().GetHolder())
	default:
		if e.GetActor().GetKind() == loomv1.IdentityKind_IDENTITY_KIND_AGENT {
			agent = e.GetActor().GetName()
		}
	}
	role, _, _ = strings.Cut(agent, "/")
	return clean(role), clean(agent)
}

// liver returns whose life a fact is about: an agent's, or several of one role.
func liver(l *loomv1.AgentLife) (role, agent string) {
	agent = l.GetAgent()
	if agent != "" && l.GetHost() != "" {
		agent += "@" + l.Host
	}
	return clean(l.GetRole()), clean(agent)
}

func claimant(c *loomv1.Claimant) string {
	if c.GetHost() == "" {
		return c.GetAgent()
	}
	return c.GetAgent() + "@" + c.GetHost()
}

package project

import (
	"cmp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// View names what a query can ask for.
type View string

// The views of a project.
const (
	Beads      View = "bead"
	Executions View = "execution"
	Inbox      View = "inbox"
	Graph      View = "graph"
	Lock       View = "lock"
	Projects   View = "project"
	Staffing   View = "staffing" // of the project "system"
	Permitted  View = "permission"
	Memories   View = "memory"
	Keys       View = "key"
	Sessions   View = "session"
	Talks      View = "conversation"
)

// KeyOrders is the filter of the view of keys that shows what made them so too.
const KeyOrders = "orders"

// Views lists all views.
var Views = []View{Beads, Executions, Inbox, Graph, Lock, Projects, Definitions, Pauses, Permitted, Memories, Keys, Sessions, Talks}

// MaxListed is the most that a list has.
const MaxListed = 1000

// Look answers a query from the present state. The answer is a copy, but for the
// parts of a decision graph, which are not to be changed.
func (s *State) Look(v View, q *loomv1.Query) (*loomv1.View, error) {
	limit := int(min(cmp.Or(q.Limit, 100), MaxListed))
	out := &loomv1.View{}
	switch v {
	case Projects:
		if s.p.Config != nil {
			out.Projects = append(out.Projects, proto.CloneOf(s.p.Config))
		}
		return out, nil
	case Beads:
		return out, s.lookBeads(out, q, limit)
	case Executions:
		return out, s.lookExecutions(out, q, limit)
	case Inbox:
		return out, s.lookInbox(out, q, limit)
	case Graph:
		if err := s.Knows(q.Id); err != nil {
			return nil, err
		}
		return ViewGraph(s.graph, s.Number(), q), nil
	case Staffing:
		out.Staffing = proto.CloneOf(s.p.Staffing)
		return out, nil
	case Permitted:
		for _, p := range s.p.Permissions {
			p = proto.CloneOf(p)
			p.Project = s.cfg.ID
			out.Permissions = append(out.Permissions, p)
		}
		for _, t := range s.p.Toolkits {
			out.Toolkits = append(out.Toolkits, proto.CloneOf(t))
		}
		return out, nil
	case Keys:
		for _, k := range s.ring.Keys() {
			k = proto.CloneOf(k)
			k.Project = s.cfg.ID
			out.Keys = append(out.Keys, k)
		}
		for _, c := range s.ring.Pending() {
			c = proto.CloneOf(c)
			c.Project = s.cfg.ID
			out.KeyChanges = append(out.KeyChanges, c)
		}
		if q.Filter == KeyOrders {
			for _, c := range s.ring.Orders() {
				out.KeyOrders = append(out.KeyOrders, proto.CloneOf(c))
			}
		}
		return out, nil
	case Memories:
		return out, s.lookMemory(out, q, limit)
	case Sessions:
		return out, s.lookSessions(out, q, limit)
	case Talks:
		return out, s.lookConversations(out, q, limit)
	case Pauses:
		s.lookPauses(out)
		return out, nil
	case Definitions:
		return out, s.lookDefinitions(out, q, limit)
	case Lock:
		for _, l := range s.locks.Snapshot().Locks {
			l = proto.CloneOf(l)
			l.Project = s.cfg.ID
			out.Locks = append(out.Locks, l)
		}
		if q.Filter == OfFiles {
			out.Locks, out.Claims = nil, s.claims()
		}
		return out, nil
	}
	return nil, fault.New("usage/argument", "no view %q", v)
}

// Ask answers a question to the decision graph as it is now. The messages in the
// answer are the graph's own and are not to be changed.
func (s *State) Ask(q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	for _, id := range []string{q.GetBead(), q.GetExecution()} {
		if err := s.Knows(id); err != nil {
			return nil, err
		}
	}
	return AskAt(s.graph, s.Number(), s.Time(), q)
}

// Knows refuses an id that is neither a bead's nor an execution's; an empty
// one asks for everything.
func (s *State) Knows(id string) error {
	if id == "" || s.bead(id) != nil || s.execution(id) != nil {
		return nil
	}
	return unknownBead(s.cfg.ID, id)
}

// ViewGraph gives the part of a decision graph that a query asks for, as of the
// project's event of that number.
func ViewGraph(g *graph.Graph, number uint64, q *loomv1.Query) *loomv1.View {
	part := CutGraph(g, q)
	return &loomv1.View{Graph: part, Number: number, Stale: staleOf(g, part.Nodes)}
}

// staleOf says which of some nodes rest on what counts no more, and on what.
func staleOf(g *graph.Graph, nodes []*loomv1.DecisionNode) map[string]string {
	all := g.Stale()
	if len(all) == 0 {
		return nil
	}
	stale := map[string]string{}
	for _, n := range nodes {
		if because, ok := all[n.Id]; ok {
			stale[n.Id] = because
		}
	}
	return stale
}

// CutGraph returns the part of a decision graph that a query asks for: all of
// it, what is about one bead or execution, or the nodes of one type, with the
// links among them. Its messages are the graph's own and are not to be changed.
func CutGraph(g *graph.Graph, q *loomv1.Query) *loomv1.DecisionGraph {
	if q.Id == "" && q.Filter == "" {
		return g.Snapshot()
	}
	f := graph.Filter{Bead: q.Id}
	if len(g.List(f)) == 0 {
		f = graph.Filter{Execution: q.Id}
	}
	part, in := &loomv1.DecisionGraph{}, map[string]bool{}
	for _, n := range g.List(f) {
		if q.Filter == "" || Word(n.Type) == q.Filter {
			in[n.Id] = true
			part.Nodes = append(part.Nodes, n)
		}
	}
	for _, n := range part.Nodes {
		for _, e := range g.Edges(n.Id, "") {
			if in[e.To] {
				part.Edges = append(part.Edges, e)
			}
		}
	}
	part.Imported = g.Spans(part.Nodes)
	return part
}

// Word returns an enum's value as people write it: "in_progress" for
// BEAD_STATUS_IN_PROGRESS.
func Word(e interface{ String() string }) string {
	s := strings.ToLower(e.String())
	for _, prefix := range []string{"bead_status_", "bead_type_", "execution_status_", "node_status_", "approval_decision_", "approval_kind_", "decision_type_", "decision_status_", "outcome_status_", "priority_", "pause_scope_", "permission_verdict_", "work_state_", "conversation_state_"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			return rest
		}
	}
	return s
}

// Of returns the project that a bead's, execution's or attempt's id belongs
// to, or "" for something else.
func Of(id string) string {
	parts := strings.Split(id, "-")
	for i := len(parts) - 1; i > 0; i-- {
		if _, ok := beadNumber(parts[i]); ok {
			return strings.Join(parts[:i], "-")
		}
	}
	return ""
}

// beadNumber reads the part of an id that says which bead of its project it is of:
// 85, or 85e2 for one that was filed in epoch 2.
func beadNumber(part string) (number int, ok bool) {
	digits, epoch, restored := strings.Cut(part, "e")
	if restored {
		if _, err := strconv.ParseUint(epoch, 10, 64); err != nil {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(digits, 10, 62)
	return int(n), err == nil
}

package project

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/workflow"
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
)

// Views lists all views.
var Views = []View{Beads, Executions, Inbox, Graph, Lock, Projects}

// MaxListed is the most that a list has.
const MaxListed = 1000

// Look answers a query from the present state. The answer is a copy.
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
		out.Graph = CutGraph(s.graph, q)
		return out, nil
	case Lock:
		for _, l := range s.locks.Snapshot().Locks {
			out.Locks = append(out.Locks, proto.CloneOf(l))
		}
		return out, nil
	}
	return nil, fault.New("usage/argument", "no view %q", v)
}

func (s *State) lookBeads(out *loomv1.View, q *loomv1.Query, limit int) error {
	if q.Id != "" {
		b, ok := s.p.Beads[q.Id]
		if !ok {
			return fault.New("bead/unknown", "bead %q is not known in project %q", q.Id, s.cfg.ID).At("id")
		}
		out.Beads = append(out.Beads, proto.CloneOf(b))
		return nil
	}
	for _, b := range newest(s.p.Beads) {
		if len(out.Beads) == limit {
			break
		}
		if q.Filter == "" || Word(b.Status) == q.Filter {
			out.Beads = append(out.Beads, listedBead(b))
		}
	}
	return nil
}

func (s *State) lookExecutions(out *loomv1.View, q *loomv1.Query, limit int) error {
	if q.Id != "" {
		x, ok := s.p.Executions[first(s.p.Beads[q.Id].GetExecution(), q.Id)]
		if !ok {
			return fault.New("execution/unknown", "execution %q is not known in project %q", q.Id, s.cfg.ID).At("id")
		}
		out.Executions = append(out.Executions, proto.CloneOf(x))
		out.Definition = proto.CloneOf(s.p.Definitions[x.DefinitionHash])
		return nil
	}
	for _, x := range newest(s.p.Executions) {
		if len(out.Executions) == limit {
			break
		}
		if q.Filter == "" || Word(x.Status) == q.Filter {
			out.Executions = append(out.Executions, listedExecution(x))
		}
	}
	return nil
}

// lookInbox lists open approvals, or gives one by its id or its bead's.
func (s *State) lookInbox(out *loomv1.View, q *loomv1.Query, limit int) error {
	for _, a := range newest(s.p.Approvals) {
		open := a.Decision == loomv1.ApprovalDecision_APPROVAL_DECISION_UNSPECIFIED && !ended(s.p.Beads[a.Id].GetStatus())
		wanted := open && (q.Id == "" || q.Id == a.Bead) || a.Id == q.Id || q.Id == "" && q.Filter == "all"
		if wanted && len(out.Approvals) < limit {
			out.Approvals = append(out.Approvals, a)
		}
	}
	for i, a := range out.Approvals {
		out.Approvals[i] = proto.CloneOf(a)
		if len(out.Approvals) > 1 {
			out.Approvals[i].History, out.Approvals[i].Change = nil, listedChange(a.Change)
		}
	}
	if q.Id != "" && len(out.Approvals) == 0 {
		return fault.New("approval/unknown", "nothing to decide about %q in project %q", q.Id, s.cfg.ID).At("id")
	}
	return nil
}

// Knows refuses an id that is neither a bead's nor an execution's; an empty
// one asks for everything.
func (s *State) Knows(id string) error {
	if id == "" || s.p.Beads[id] != nil || s.p.Executions[id] != nil {
		return nil
	}
	return fault.New("bead/unknown", "bead %q is not known in project %q", id, s.cfg.ID).At("id")
}

// What is listed leaves out what has no bound worth sending a hundred times;
// asking by id gives all of it.

func listedBead(b *loomv1.Bead) *loomv1.Bead {
	return &loomv1.Bead{
		Id: b.Id, Project: b.Project, Type: b.Type, Status: b.Status, Goal: b.Goal, Priority: b.Priority, Deadline: b.Deadline,
		Labels: b.Labels, Process: b.Process, Execution: b.Execution, About: b.About, Fingerprint: b.Fingerprint,
		Occurrences: b.Occurrences, CreatedAt: b.CreatedAt, UpdatedAt: b.UpdatedAt, FiledBy: b.FiledBy, Reason: b.Reason,
	}
}

func listedExecution(x *loomv1.Execution) *loomv1.Execution {
	return &loomv1.Execution{
		Id: x.Id, Bead: x.Bead, Project: x.Project, Definition: x.Definition, Version: x.Version, DefinitionHash: x.DefinitionHash,
		Status: x.Status, StartedAt: x.StartedAt, EndedAt: x.EndedAt, Dispatches: x.Dispatches, Transitions: x.Transitions,
		Reason: x.Reason, Priority: x.Priority, Usage: proto.CloneOf(x.Usage), ModelCalls: x.ModelCalls, Scripted: x.Scripted,
	}
}

func listedChange(c *loomv1.Change) *loomv1.Change {
	if c == nil {
		return nil
	}
	return &loomv1.Change{Base: c.Base, Commit: c.Commit, PatchDigest: c.PatchDigest, FilesTotal: max(c.FilesTotal, uint32(len(c.Files)))}
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
	return part
}

// Queued returns the assignments that must be in the work queue: attempts that
// are dispatched, unclaimed and not parked.
func (s *State) Queued() []*loomv1.Assignment {
	var out []*loomv1.Assignment
	for _, x := range s.running() {
		for _, a := range workflow.Queued(x) {
			out = append(out, s.assignment(x, a))
		}
	}
	return out
}

// Assignment returns what an event puts into the work queue, or nil.
func (s *State) Assignment(e *loomv1.Event) *loomv1.Assignment {
	switch e.Fact.(type) {
	case *loomv1.Event_AttemptDispatched, *loomv1.Event_ClaimReleased:
	default:
		return nil
	}
	x, a := s.attempt(e.Attempt)
	if a == nil || a.Claimant != nil || a.Parked != "" {
		return nil
	}
	return s.assignment(x, a)
}

func (s *State) assignment(x *loomv1.Execution, a *loomv1.Attempt) *loomv1.Assignment {
	return &loomv1.Assignment{
		Project: s.cfg.ID, Attempt: a.Id, Generation: a.Generation, Role: a.Role, Bead: x.Bead,
		Priority: x.Priority, DispatchedAt: a.DispatchedAt,
	}
}

// Word returns an enum's value as people write it: "in_progress" for
// BEAD_STATUS_IN_PROGRESS.
func Word(e interface{ String() string }) string {
	s := strings.ToLower(e.String())
	for _, prefix := range []string{"bead_status_", "bead_type_", "execution_status_", "node_status_", "approval_decision_", "approval_kind_", "decision_type_", "decision_status_", "outcome_status_", "priority_"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			return rest
		}
	}
	return s
}

// newest returns the values of m, the highest numbered id first.
func newest[T interface{ GetId() string }](m map[string]T) []T {
	list := make([]T, 0, len(m))
	for _, v := range m {
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b T) int {
		return cmp.Or(cmp.Compare(ordinal(b.GetId()), ordinal(a.GetId())), strings.Compare(a.GetId(), b.GetId()))
	})
	return list
}

// ordinal returns the number in "PROJECT-N" and "PROJECT-N-x1".
func ordinal(id string) int {
	id = strings.TrimSuffix(id, "-x1")
	n, _ := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
	return n
}

// Of returns the project that a bead's, execution's or attempt's id belongs
// to, or "" for something else.
func Of(id string) string {
	parts := strings.Split(id, "-")
	for i := len(parts) - 1; i > 0; i-- {
		if p := parts[i]; p != "" && strings.Trim(p, "0123456789") == "" {
			return strings.Join(parts[:i], "-")
		}
	}
	return ""
}

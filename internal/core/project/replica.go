package project

import (
	"fmt"
	"time"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Replica is the decision graphs of a partition as a host folds them that does
// not serve it: a fold over the partition's events, and nothing else. So after
// the same event it gives the same answers as whoever serves the partition.
// Its zero value has seen nothing. It is not safe for concurrent use.
type Replica struct {
	projects map[string]*replica
}

// replica is the decision graph of one project, and which beads and executions
// there are.
type replica struct {
	graph *graph.Graph
	known map[string]bool
	last  uint64
	at    time.Time
	bad   error // what cannot be folded
}

// Restore begins with what a snapshot of a project holds. It takes state over.
// Segments are where ended work is that the snapshot names; nil where there is none.
func (r *Replica) Restore(id string, state *loomv1.ProjectState, segments Segments) error {
	g, err := KeptGraph(state, segments)
	if err != nil {
		return fmt.Errorf("project %q: %w", id, err)
	}
	p := r.project(id)
	p.graph, p.last, p.at = g, state.GetLastNumber(), asTime(state.GetLastTime())
	for bead := range state.GetBeads() {
		p.known[bead] = true
	}
	for execution := range state.GetExecutions() {
		p.known[execution] = true
	}
	for _, name := range state.GetSegments() {
		index, err := segments.Index(name)
		if err != nil {
			return fmt.Errorf("project %q: %w", id, err)
		}
		for _, e := range index.Entries {
			p.known[e.Id] = true
			for _, x := range e.Executions {
				p.known[x.Id] = true
			}
		}
	}
	return nil
}

func (r *Replica) project(id string) *replica {
	p := r.projects[id]
	if p == nil {
		p = &replica{graph: graph.New(), known: map[string]bool{}}
		if r.projects == nil {
			r.projects = map[string]*replica{}
		}
		r.projects[id] = p
	}
	return p
}

// Apply folds one event. What it has seen already changes nothing. A project
// whose event cannot be folded answers nothing from then on; the others do.
func (r *Replica) Apply(e *loomv1.Event) {
	p := r.project(e.Project)
	if p.bad != nil || e.Number <= p.last {
		return
	}
	if p.bad = p.graph.Apply(e); p.bad != nil {
		return
	}
	p.last, p.at = e.Number, asTime(e.Time)
	if b := e.GetBeadFiled().GetBead(); b != nil {
		p.known[b.Id] = true
	}
	if e.GetExecutionStarted() != nil || e.GetExecutionForked() != nil {
		p.known[e.Execution] = true
	}
}

// Number returns the number of the last event of a project that was folded; 0
// for a project that it has seen nothing of.
func (r *Replica) Number(project string) uint64 {
	if p := r.projects[project]; p != nil {
		return p.last
	}
	return 0
}

// Ask answers a question to the decision graph of its project.
func (r *Replica) Ask(q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	p, err := r.about(q.GetProject(), q.GetBead(), q.GetExecution())
	if err != nil {
		return nil, err
	}
	return AskAt(p.graph, p.last, p.at, q)
}

// Look gives the view of a decision graph, or the part of it that q asks for.
func (r *Replica) Look(q *loomv1.Query) (*loomv1.View, error) {
	p, err := r.about(q.GetProject(), q.GetId())
	if err != nil {
		return nil, err
	}
	return ViewGraph(p.graph, p.last, q), nil
}

func (r *Replica) about(project string, ids ...string) (*replica, error) {
	p := r.projects[project]
	switch {
	case p == nil:
		return nil, UnknownProject(project)
	case p.bad != nil:
		return nil, fault.New("project/quarantined", "project %q cannot be replayed and is set aside: %s", project, p.bad).At("project")
	}
	for _, id := range ids {
		if id != "" && !p.known[id] {
			return nil, unknownBead(project, id)
		}
	}
	return p, nil
}

// UnknownProject refuses a project that nothing is known of.
func UnknownProject(id string) error {
	return fault.New("project/unknown", "project %q is not registered on this deployment", id).At("project").Got(id)
}

func unknownBead(project, id string) error {
	return fault.New("bead/unknown", "bead %q is not known in project %q", id, project).At("id")
}

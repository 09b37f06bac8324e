package graph

import (
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// draft is a node that is about to be added, with its links.
type draft struct {
	g        *Graph
	id       string // of the new node
	links    []draftLink
	kinds    map[kind]*loomv1.DecisionEdge
	void     map[string]bool // decisions whose open votes it ends
	problems []*fault.Error
}

// draftLink is a link from or to the new node.
type draftLink struct {
	edge  *loomv1.DecisionEdge // as it is recorded
	other int32                // the end that is there
	from  bool                 // whether it goes from the new node
}

func (d *draft) refuse(problem *fault.Error) { d.problems = append(d.problems, problem) }

// link adds a link to the draft, or what is wrong with it. One that the draft
// has already is left out.
func (d *draft) link(where string, e *loomv1.DecisionEdge) {
	if problems := checkLink(where, e); len(problems) > 0 {
		d.problems = append(d.problems, problems...)
		return
	}
	switch from := e.GetFrom() == ""; {
	case from && e.GetTo() == "":
		d.refuse(selfLoop(where, "the new decision"))
	case from:
		d.connect(where, where+"/to", e, e.To, true)
	case e.To == "":
		d.connect(where, where+"/from", e, e.From, false)
	default:
		d.refuse(fault.New("graph/invalid", "a link from %q to %q is not one of the new decision", e.From, e.To).
			At(where).Want("leave the end empty that is the new decision"))
	}
}

func (d *draft) connect(where, end string, e *loomv1.DecisionEdge, other string, from bool) {
	i, unknown := d.g.find(end, other)
	if unknown != nil {
		d.refuse(unknown)
		return
	}
	self := int32(len(d.g.sorts))
	l := draftLink{drawn(e, other, d.id, 0), i, from}
	k := kind{ends{i, self}, e.Type}
	if from {
		l.edge.From, l.edge.To, k.ends = d.id, other, ends{self, i}
	}
	if there := d.kinds[k]; there != nil {
		if err := repeated(where, there, e); err != nil {
			d.refuse(fault.From(err))
		}
		return
	}
	if e.Type == supersedes && !d.takes(where, end, l) {
		return
	}
	if problem := d.g.voting(end, e.Type, i); problem != nil && !from {
		d.refuse(problem)
		return
	}
	d.kinds[k] = l.edge
	d.links = append(d.links, l)
}

// takes reports whether a supersedes link can be: it goes from the new node to
// one that counts.
func (d *draft) takes(where, end string, l draftLink) bool {
	if !l.from {
		d.refuse(fault.New("graph/superseded", "a new decision cannot be superseded by %s from the start", l.edge.From).At(where))
		return false
	}
	if problem := d.g.settled(end, l.other); problem != nil {
		d.refuse(problem)
		return false
	}
	return true
}

// rounds refuses the cycles that the links close together: a way from what the
// new node points at to what points at it.
func (d *draft) rounds() {
	for t := leadsTo; t <= supersedes; t++ {
		if !ordering.has(t) {
			continue
		}
		var starts, goals []int32
		for _, l := range d.links {
			switch {
			case l.edge.Type != t:
			case l.from:
				starts = append(starts, l.other)
			default:
				goals = append(goals, l.other)
			}
		}
		if way := d.g.route(of(t), starts, goals); way != nil {
			d.refuse(d.g.cycle("/links", t, d.id, way))
		}
	}
}

// abandon returns what gives up the nodes that go with the new one.
func (d *draft) abandon(list []*loomv1.AbandonDecision) []*loomv1.Event {
	if len(list) > MaxLinks {
		d.refuse(fault.New("graph/invalid", "%d abandonments where %d is the most", len(list), MaxLinks).At("/abandons"))
		return nil
	}
	taken := map[string]bool{}
	for _, l := range d.links {
		if l.edge.Type == supersedes {
			taken[l.edge.To] = true
		}
	}
	events, problems := d.g.giveUp("/abandons/%d", list, taken, d.void)
	d.problems = append(d.problems, problems...)
	return events
}

// facts numbers the links and returns what records them.
func (d *draft) facts() []*loomv1.Event {
	var events []*loomv1.Event
	for i, l := range d.links {
		l.edge.Id = uint64(len(d.g.ends) + i + 1)
		events = append(events, d.g.recorded(l.edge, d.void)...)
	}
	return events
}

package project_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// past is a project with everything that it was.
type past struct {
	state  *project.State
	now    time.Time
	events []*loomv1.Event
	kept   []*loomv1.ProjectState // after each command
}

func newPast(t *rapid.T) *past {
	p := &past{state: project.New(project.Config{ID: "shop", Deployment: "dp-1", Epoch: 1}), now: noon}
	p.do(t, &loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main"},
	}}})
	return p
}

func (p *past) do(t *rapid.T, cmd *loomv1.Command) {
	cmd.Project, cmd.Actor = "shop", &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "ann"}
	p.now = p.now.Add(time.Second)
	p.state.RestAll()
	events, _, err := p.state.Do(p.now, cmd) // refusals are part of the game
	if err != nil {
		t.Fatal(err)
	}
	p.events = append(p.events, events...)
	p.kept = append(p.kept, p.state.Snapshot())
}

// writes are what may be done to a graph, whether that makes sense or not.
func (p *past) writes() map[string]func(*rapid.T) {
	node := func(t *rapid.T) string { return fmt.Sprintf("d%d", rapid.IntRange(1, 12).Draw(t, "node")) }
	link := func(t *rapid.T) *loomv1.DecisionEdge {
		return &loomv1.DecisionEdge{To: node(t), Type: loomv1.DecisionEdgeType(rapid.IntRange(1, 6).Draw(t, "link"))}
	}
	return map[string]func(*rapid.T){
		"add": func(t *rapid.T) {
			c := &loomv1.AddDecision{Node: &loomv1.DecisionNode{Type: loomv1.DecisionType(rapid.IntRange(1, 7).Draw(t, "type")), Title: "title", Confidence: 70}}
			if rapid.Bool().Draw(t, "linked") {
				c.Links = append(c.Links, link(t))
			}
			p.do(t, &loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: c}})
		},
		"link": func(t *rapid.T) {
			e := link(t)
			e.From = node(t)
			p.do(t, &loomv1.Command{Body: &loomv1.Command_LinkDecision{LinkDecision: &loomv1.LinkDecision{Edge: e}}})
		},
		"supersede": func(t *rapid.T) {
			p.do(t, &loomv1.Command{Body: &loomv1.Command_SupersedeDecision{SupersedeDecision: &loomv1.SupersedeDecision{Old: node(t), New: node(t)}}})
		},
		"open": func(t *rapid.T) {
			p.do(t, &loomv1.Command{Body: &loomv1.Command_OpenBallot{OpenBallot: &loomv1.OpenBallot{Ballot: &loomv1.Ballot{
				Decision: node(t), Options: []string{node(t), node(t)}, Voters: []string{"lead", "architect"}, Seconds: 60,
			}}}})
		},
		"vote": func(t *rapid.T) {
			p.do(t, &loomv1.Command{Body: &loomv1.Command_CastVote{CastVote: &loomv1.CastVote{
				Decision: node(t), Vote: &loomv1.Vote{Role: draw(t, "role", "lead", "architect"), Option: node(t), Confidence: 60},
			}}})
		},
		"time": func(t *rapid.T) {
			p.now = p.now.Add(time.Minute)
			p.do(t, &loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
		},
		"file": func(t *rapid.T) {
			p.do(t, &loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{Goal: "mend it"}}}})
		},
	}
}

// replica begins with a snapshot, or with nothing, and reads what comes after,
// some of it twice.
func (p *past) replica(t *rapid.T, upTo int) *project.Replica {
	r := &project.Replica{}
	if from := rapid.IntRange(-1, len(p.kept)-1).Draw(t, "snapshot"); from >= 0 && p.kept[from].LastNumber <= p.events[upTo].Number {
		if err := r.Restore("shop", proto.CloneOf(p.kept[from]), nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, e := range p.events[:upTo+1] {
		r.Apply(proto.CloneOf(e))
		if rapid.IntRange(0, 9).Draw(t, "again") == 0 {
			r.Apply(proto.CloneOf(p.events[i/2]))
		}
	}
	return r
}

// TestGRAPH07_AnyHostHasTheSameGraph plays a project and has hosts that do not
// serve it read it from different snapshots: at the same event they all say
// the same as a state that was folded from the beginning.
func TestGRAPH07_AnyHostHasTheSameGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPast(t)
		t.Repeat(p.writes())
		at := rapid.IntRange(0, len(p.events)-1).Draw(t, "event")
		state := project.New(project.Config{ID: "shop", Deployment: "dp-1", Epoch: 1})
		for _, e := range p.events[:at+1] {
			if err := state.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		want := state.Snapshot().Graph
		for range 3 {
			r := p.replica(t, at)
			view, err := r.Look(&loomv1.Query{Project: "shop"})
			if err != nil {
				t.Fatal(err)
			}
			if view.Number != p.events[at].Number || !proto.Equal(view.Graph, want) {
				t.Fatalf("at %d a host has\n%v\nwant, at %d,\n%v", view.Number, view.Graph, p.events[at].Number, want)
			}
			if r.Number("shop") != view.Number {
				t.Fatalf("Number %d, and the view is of %d", r.Number("shop"), view.Number)
			}
		}
	})
}

func TestGRAPH02_AReplicaKnowsWhatThereIs(t *testing.T) {
	d := newDesk(t)
	option := d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "left")
	bead := d.report().Bead
	x := d.execution(bead).Id
	r := &project.Replica{}
	for _, e := range d.events {
		r.Apply(e)
	}
	beyond := r.Number("shop") + 1
	for _, tt := range []struct {
		name string
		q    *loomv1.GraphRequest
		code string
	}{
		{"all", &loomv1.GraphRequest{Project: "shop"}, ""},
		{"a bead", &loomv1.GraphRequest{Project: "shop", Bead: bead}, ""},
		{"an execution", &loomv1.GraphRequest{Project: "shop", Execution: x}, ""},
		{"a decision", &loomv1.GraphRequest{Project: "shop", Question: loomv1.GraphQuestion_GRAPH_QUESTION_ANCESTORS, Id: option}, ""},
		{"no bead", &loomv1.GraphRequest{Project: "shop", Bead: "shop-9"}, "bead/unknown"},
		{"links of no type", &loomv1.GraphRequest{Project: "shop", Id: option, Question: loomv1.GraphQuestion_GRAPH_QUESTION_ANCESTORS, EdgeTypes: []loomv1.DecisionEdgeType{33}}, "usage/argument"},
		{"no project", &loomv1.GraphRequest{Project: "desk"}, "project/unknown"},
		{"the last event", &loomv1.GraphRequest{Project: "shop", AtLeast: proto.Uint64(beyond - 1)}, ""},
		{"an event to come", &loomv1.GraphRequest{Project: "shop", AtLeast: &beyond}, "position/beyond"},
	} {
		reply, err := r.Ask(tt.q)
		if fault.Code(err) != tt.code {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.code)
		}
		if err == nil && reply.Number != beyond-1 {
			t.Errorf("%s: as of %d, want %d", tt.name, reply.Number, beyond-1)
		}
	}
}

// TestGRAPH07_OneProjectThatCannotBeFolded does not keep a host from answering
// about the others.
func TestGRAPH07_OneProjectThatCannotBeFolded(t *testing.T) {
	r := &project.Replica{}
	bad := &loomv1.Event{Project: "bad", Number: 1, Fact: &loomv1.Event_DecisionLinked{DecisionLinked: &loomv1.DecisionLinked{
		Edge: &loomv1.DecisionEdge{Id: 7, From: "d1", To: "d2", Type: leadsTo},
	}}}
	r.Apply(bad)
	r.Apply(&loomv1.Event{Project: "shop", Number: 1})
	if _, err := r.Ask(&loomv1.GraphRequest{Project: "bad"}); fault.Code(err) != "project/quarantined" {
		t.Errorf("the bad one: %v", err)
	}
	if _, err := r.Ask(&loomv1.GraphRequest{Project: "shop"}); err != nil {
		t.Errorf("the other: %v", err)
	}
}

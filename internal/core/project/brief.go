package project

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/core/permission"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How much of the decision graph a brief has, however much there is.
const (
	briefDecisions = 50
	briefTokens    = 1024
)

// brief returns everything an agent needs to work on a. It shares with the state
// only what nobody ever changes.
func (s *State) brief(x *loomv1.Execution, a *loomv1.Attempt, now time.Time) *loomv1.Brief {
	b := &loomv1.Brief{
		Attempt: proto.CloneOf(a), Bead: proto.CloneOf(s.bead(x.Bead)), Execution: workflow.Copy(x),
		Project: s.p.Config, Turn: proto.CloneOf(s.p.Turns[a.Id]), Deployment: s.cfg.Deployment,
		Comment: s.comment(x), TimeLeft: durationpb.New(a.Deadline.AsTime().Sub(now)),
		Decisions: s.newestDecisions(x), Goal: s.goalOf(x), Memories: uint64(s.mem.Len()),
	}
	b.Permissions = permission.Concerns(s.p.Permissions, a.Role)
	def := s.p.Definitions[x.DefinitionHash]
	for _, n := range def.GetNodes() {
		if n.Id == a.Node {
			b.Node = n
		}
	}
	if ofProcess(def) {
		b.Definition = def
	}
	if prompted(b.Node.GetKind()) && !turn.Started(b.Turn) {
		b.Context = s.contextOf(x)
	}
	b.Checkout = def.GetCheckout()
	b.Toolkit = s.toolkit(def.GetName(), def.GetToolkit())
	b.Overlaps = s.inTheWay(x, b.Node)
	b.Team = s.teamView(x, a)
	b.Step = s.stepBrief(x, a)
	b.Interview = s.interviewBrief(x)
	b.CameTo = s.cameTo(x, b.Node)
	s.conversationBrief(x, b)
	return b
}

// ofProcess says whether a definition is made of a process with phases, or
// guides those who work by it.
func ofProcess(def *loomv1.Definition) bool {
	return def.GetGuide() != nil || slices.ContainsFunc(def.GetNodes(), func(n *loomv1.NodeDefinition) bool { return n.Phase != nil })
}

// required returns the commands that a verification of a definition's work must
// see pass: the project's, and where phases deliver files the runtime's own.
func (s *State) required(def *loomv1.Definition) []string {
	checks := s.p.Config.Checks
	if slices.ContainsFunc(def.GetNodes(), func(n *loomv1.NodeDefinition) bool { return len(n.GetPhase().GetDeliverables()) > 0 }) || def.GetBlueprint() != nil {
		checks = append(slices.Clip(checks), verify.Command)
	}
	return checks
}

func (s *State) newestDecisions(x *loomv1.Execution) []*loomv1.DecisionNode {
	var list []*loomv1.DecisionNode
	for _, n := range s.graph.List(graph.Filter{Execution: x.Id, Limit: briefDecisions}) {
		list = append(list, &loomv1.DecisionNode{
			Id: n.Id, Type: n.Type, Title: n.Title, Status: n.Status, Confidence: n.Confidence, Bead: n.Bead, Execution: n.Execution, Time: n.Time,
		})
	}
	return list
}

// goalOf returns the goal that an execution began with, or the decision that it
// is asked to vote on, or "".
func (s *State) goalOf(x *loomv1.Execution) string {
	if on := s.bead(x.Bead).GetBallot(); on != "" {
		return on
	}
	n, _ := s.graph.First(graph.Filter{Execution: x.Id, Type: loomv1.DecisionType_DECISION_TYPE_GOAL})
	return n.GetId()
}

// prompted says whether a model is asked at a node: it is not where commits are
// made and land.
func prompted(k loomv1.NodeKind) bool {
	return k != loomv1.NodeKind_NODE_KIND_COMMIT && k != loomv1.NodeKind_NODE_KIND_LAND
}

// contextOf returns what who works on x should know of the graph. The words of
// the goal are not looked for: that would have every host keep an index of all
// words, where only the host that answers questions needs one.
func (s *State) contextOf(x *loomv1.Execution) *loomv1.DecisionContext {
	w := graph.Work{Bead: x.Bead, Execution: x.Id}
	if b, ok := s.graph.Ballot(s.bead(x.Bead).GetBallot()); ok {
		w.Nodes = append([]string{b.Decision}, b.Options...)
	}
	return s.graph.Told(w, briefTokens)
}

// Package why follows a line of code to the commit that it came with, and from there
// through the records of a deployment to what was asked for and decided.
//
// It promises that nothing is told of a commit for which the records do not vouch: a
// trailer is a claim that anybody can write. It reads the repository and asks records,
// and changes neither.
package why

import (
	"cmp"
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Records answer what a deployment knows of a project.
type Records interface {
	View(ctx context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error)
	Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error)
}

// Line tells the story of a line: q names the project, the path, the line and the
// revision. It is safe to repeat.
//
// It returns usage/argument for a line below 1, git/unknown-branch for a revision and
// git/unknown-line for a file or a line that is not there.
func Line(ctx context.Context, r *git.Repository, records Records, q *loomv1.WhyRequest) (*loomv1.WhyReply, error) {
	if q.Path == "" || q.Line == 0 {
		return nil, fault.New("usage/argument", "no line is named").At("line").Want("a path from the top of the repository, and a line from 1")
	}
	line, err := r.Blame(ctx, q.Rev, q.Path, int(q.Line))
	if err != nil {
		return nil, err
	}
	s := &story{project: q.Project, records: records, reply: &loomv1.WhyReply{
		Path: proto.String(line.Path), Line: q.Line, Text: proto.String(line.Text), Rev: proto.String(line.Rev), Loom: proto.Bool(false),
	}}
	if s.origin = line.Origin; s.origin == nil {
		return s.reply, nil
	}
	o := s.origin
	s.reply.Commit, s.reply.Subject, s.reply.Author, s.reply.Committer = o.Commit, o.Subject, o.Author, o.Committer
	s.reply.Time, s.reply.Boundary = timestamppb.New(o.Time), o.Boundary
	if o.Claim == nil {
		return s.reply, nil
	}
	s.reply.Token = o.Claim.Token
	return s.reply, s.follow(ctx)
}

// story is one on its way.
type story struct {
	project string
	records Records
	origin  *git.Origin
	reply   *loomv1.WhyReply
}

// follow asks the records what the commit's trailers name. What this deployment does
// not know is a reason for doubt, not an error.
func (s *story) follow(ctx context.Context) error {
	claim := s.origin.Claim
	v, err := s.records.View(ctx, project.Executions, &loomv1.Query{Project: s.project, Id: claim.Execution})
	switch {
	case fault.Status(err) == fault.Invalid || err == nil && (len(v.Executions) != 1 || v.Executions[0].Id != claim.Execution):
		s.reply.Doubt = fmt.Sprintf("the trailers name %s, which this deployment does not know: another one made it", short(claim.Execution))
		return nil
	case err != nil:
		return err
	}
	x := v.Executions[0]
	if s.reply.Doubt = s.questions(x); s.reply.Doubt != "" {
		return nil
	}
	s.reply.Execution, s.reply.Loom = x, proto.Bool(true)
	if v, err = s.records.View(ctx, project.Beads, &loomv1.Query{Project: s.project, Id: x.Bead}); err != nil {
		return err
	}
	s.reply.Bead = v.Beads[0]
	if id := x.Approved.GetApproval(); id != "" {
		if v, err = s.records.View(ctx, project.Inbox, &loomv1.Query{Project: s.project, Id: id}); err != nil {
			return err
		}
		s.reply.Approval = v.Approvals[0]
	}
	return s.decide(ctx)
}

// short is a claimed id as a sentence can have it.
func short(id string) string { return id[:min(len(id), 80)] }

// questions says why the execution is not where this commit came from, "" when it is.
func (s *story) questions(x *loomv1.Execution) string {
	o := s.origin
	made := cmp.Or(x.Landing.GetCommit(), x.Candidate.GetCommit())
	switch {
	case made == o.Commit:
		return ""
	case o.Boundary:
		return "the history of the repository is cut off there"
	case !o.Claim.Kept:
		return fmt.Sprintf("it was changed after Loom made it: %s made %.12s", x.Id, cmp.Or(made, "nothing"))
	case x.Candidate.GetPatchDigest() == o.Claim.Patch:
		return "" // the same patch, carried to another place
	}
	return fmt.Sprintf("the trailers name %s, which made %.12s here: another deployment made this one", x.Id, cmp.Or(made, "nothing"))
}

// decide finds the decisions that led to the one that the commit names.
func (s *story) decide(ctx context.Context) error {
	last := s.origin.Claim.Decision
	if last == "" {
		return nil
	}
	r, err := s.records.Ask(ctx, &loomv1.GraphRequest{Project: s.project, Question: loomv1.GraphQuestion_GRAPH_QUESTION_ANCESTORS, Id: last})
	if err != nil && fault.Status(err) != fault.Invalid { // one that is not known here led to nothing
		return err
	}
	for _, n := range r.GetGraph().GetNodes() {
		if n.Type != loomv1.DecisionType_DECISION_TYPE_DECISION {
			continue
		}
		near, err := s.records.Ask(ctx, &loomv1.GraphRequest{Project: s.project, Question: loomv1.GraphQuestion_GRAPH_QUESTION_NEIGHBOURHOOD, Id: n.Id})
		if err != nil {
			return err
		}
		s.reply.Decisions = append(s.reply.Decisions, optionsOf(n, near.Graph))
	}
	return nil
}

// optionsOf returns a decision with what it took and what it did not.
func optionsOf(n *loomv1.DecisionNode, near *loomv1.DecisionGraph) *loomv1.WhyDecision {
	d := &loomv1.WhyDecision{Decision: n}
	nodes := map[string]*loomv1.DecisionNode{}
	for _, o := range near.GetNodes() {
		nodes[o.Id] = o
	}
	for _, e := range near.GetEdges() {
		o := &loomv1.WhyOption{Option: nodes[e.To], Rationale: e.Rationale}
		switch {
		case e.From != n.Id || o.Option == nil:
		case e.Type == loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN:
			d.Chosen = append(d.Chosen, o)
		case e.Type == loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_REJECTED:
			d.Rejected = append(d.Rejected, o)
		}
	}
	return d
}

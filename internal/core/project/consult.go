package project

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Consult is the process by which a role is asked for its vote; voteNode is its
// task, whose outcome is the vote.
const (
	Consult  = "consult"
	voteNode = "vote"
)

// maxConsults bounds how many roles are being asked for votes at once in a
// project, so that agents cannot keep each other busy with questions. Beyond it
// voters are not asked; they may vote all the same.
const maxConsults = 64

// optionText bounds what is told of one option, in bytes.
const optionText = 1000

// asksVoters says whether the voters of a ballot are asked: an agent or a person
// opened it, and not an agent that was itself asked for a vote. What was imported
// was opened elsewhere.
func (s *State) asksVoters(b *loomv1.Ballot) bool {
	switch b.GetOpenedBy().GetKind() {
	case loomv1.IdentityKind_IDENTITY_KIND_AGENT, loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, loomv1.IdentityKind_IDENTITY_KIND_CEO:
	default:
		return false
	}
	return s.p.Config != nil && s.p.Latest[Consult] != "" && s.bead(b.Bead).GetBallot() == "" && !s.graph.Imported(b.Decision)
}

// consult asks roles for their votes: each gets a bead of its own.
func (d *decision) consult(decision string, roles []string) error {
	b, ok := d.s.graph.Ballot(decision)
	if !ok || !d.s.asksVoters(b) {
		return nil
	}
	for _, role := range roles {
		if !d.s.canAsk(role) || len(d.s.index.consults) >= maxConsults {
			continue
		}
		if err := d.fileConsult(b, role); err != nil {
			return err
		}
	}
	return nil
}

// canAsk says whether the process asks a role.
func (s *State) canAsk(role string) bool {
	for _, n := range s.p.Definitions[s.p.Latest[Consult]].GetNodes() {
		if n.Id == voteNode {
			return slices.Contains(n.RolesAny, role)
		}
	}
	return false
}

// fileConsult files the bead by which a role is asked: a part of what the
// decision is about, and as urgent.
func (d *decision) fileConsult(b *loomv1.Ballot, role string) error {
	defer d.aside()()
	up := d.s.bead(b.Bead)
	n, _ := d.s.graph.Node(b.Decision)
	bead := &loomv1.Bead{
		Type: loomv1.BeadType_BEAD_TYPE_TASK, Goal: cut("Vote on "+b.Decision+": "+n.GetTitle(), MaxGoal), Description: ballotText(d.s.graph, b),
		Priority: priority(up.GetPriority()), Process: Consult, Parent: up.GetId(), Ballot: b.Decision,
		Context: &structpb.Struct{Fields: map[string]*structpb.Value{
			"role": structpb.NewStringValue(role), "decision": structpb.NewStringValue(b.Decision),
			"options": structpb.NewStringValue(strings.Join(b.Options, " ")),
		}},
	}
	if len(d.checkParent(bead)) > 0 {
		return nil // its parent is too deep: there are questions about questions
	}
	d.node, d.attempt = "", ""
	_, err := d.file(bead, filing{})
	return err
}

// ballotText tells a voter what the vote is about.
func ballotText(g *graph.Graph, b *loomv1.Ballot) string {
	var w strings.Builder
	n, _ := g.Node(b.Decision)
	fmt.Fprintf(&w, "%s: %s\n", n.GetId(), oneLine(n.GetTitle()))
	if n.GetDescription() != "" {
		fmt.Fprintln(&w, cut(n.Description, 4*optionText))
	}
	w.WriteString("\nOptions:\n")
	for _, o := range b.Options {
		n, _ := g.Node(o)
		fmt.Fprintf(&w, "%s: %s\n", o, cut(oneLine(n.GetTitle()+". "+n.GetDescription()), optionText))
	}
	return w.String()
}

// consulted is the role that a bead asks for its vote.
func consulted(b *loomv1.Bead) string { return b.GetContext().GetFields()["role"].GetStringValue() }

// stopAsking stops what still asks for votes that count no longer: those on a
// decision, of one role if it is given.
func (d *decision) stopAsking(decision, role, why string) error {
	for _, id := range slices.Clone(d.s.index.consults) {
		b := d.s.bead(id)
		if b.Ballot != decision || role != "" && consulted(b) != role {
			continue
		}
		if err := d.stopConsult(b, why); err != nil {
			return err
		}
	}
	return nil
}

func (d *decision) stopConsult(b *loomv1.Bead, why string) error {
	x := d.s.execution(b.Execution)
	if !running(x) { // somebody blocked it before it began
		return d.beadStatus(b.Id, loomv1.BeadStatus_BEAD_STATUS_ABORTED, why)
	}
	defer d.about(x)()
	return d.run(x).CloseNow(why)
}

// followBallot asks for votes, or stops to ask for them, once the command's own
// facts are there.
func (d *decision) followBallot(e *loomv1.Event) {
	switch f := e.Fact.(type) {
	case *loomv1.Event_BallotOpened:
		d.later(func() error { return d.consult(f.BallotOpened.Ballot.Decision, f.BallotOpened.Ballot.Voters) })
	case *loomv1.Event_VoteCast:
		role := f.VoteCast.Vote.Role
		d.later(func() error { return d.stopAsking(f.VoteCast.Decision, role, role+" has voted") })
	case *loomv1.Event_BallotClosed:
		if f.BallotClosed.Option == "" {
			d.later(func() error { return d.stopAsking(f.BallotClosed.Decision, "", "the vote is void") })
			return
		}
		d.later(func() error { return d.stopAsking(f.BallotClosed.Decision, "", "the vote is decided") })
	case *loomv1.Event_BallotReferred:
		decision := f.BallotReferred.Decision
		d.later(func() error { return d.stopAsking(decision, "", "the time to vote is over: "+f.BallotReferred.Reason) })
		if f.BallotReferred.Status == loomv1.BallotStatus_BALLOT_STATUS_LEAD {
			d.later(func() error { return d.consult(decision, []string{graph.Lead}) })
		}
	}
}

// endConsult casts the vote that a role was asked for and has given. One that
// does not count fails the bead, which says why.
func (d *decision) endConsult(x *loomv1.Execution, status loomv1.BeadStatus, reason string) error {
	if status == loomv1.BeadStatus_BEAD_STATUS_CLOSED {
		if err := d.castFor(x); fault.Code(err) != "" {
			status, reason = loomv1.BeadStatus_BEAD_STATUS_FAILED, "the vote does not count: "+err.Error()
		} else if err != nil {
			return err
		}
	}
	return d.beadStatus(x.Bead, status, reason)
}

// castFor casts the vote of the role that did the asked work.
func (d *decision) castFor(x *loomv1.Execution) error {
	n := x.Nodes[voteNode]
	if len(n.GetHistory()) == 0 || n.GetOutcome().GetStatus() != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		return fault.New("graph/no-voter", "%s has not answered", consulted(d.s.bead(x.Bead)))
	}
	fields := n.Outcome.GetFields().GetFields()
	events, err := d.s.graph.Vote(d.now, &loomv1.CastVote{Decision: d.s.bead(x.Bead).Ballot, Vote: &loomv1.Vote{
		Role: n.History[len(n.History)-1].Role, Option: strings.TrimSpace(fields["option"].GetStringValue()),
		Confidence: confidence(fields["confidence"].GetNumberValue()), Rationale: cut(fields["rationale"].GetStringValue(), graph.MaxRationale),
	}})
	if err != nil {
		return err
	}
	return d.onBallot(d.s.bead(x.Bead).Ballot, events)
}

// confidence is what the graph refuses for what is not 0 to 100.
func confidence(f float64) uint32 {
	if f >= 0 && f <= 100 {
		return uint32(f)
	}
	return 101
}

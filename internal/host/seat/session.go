package seat

import (
	"context"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host/largebrief"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// session is an agent of a leaf host at its attempt.
type session struct {
	server           *Server
	who              *loomv1.Claimant
	project, attempt string
	generation       uint32
}

// command carries out a command of the few that an agent has, about its own
// attempt and as the agent that it is, whatever the command says.
func (s *session) command(ctx context.Context, cmd *loomv1.Command) (*loomv1.SeatReply, error) {
	if err := s.bind(ctx, cmd); err != nil {
		return nil, err
	}
	cmd.Project = s.project
	cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: s.who.Agent + "@" + s.who.Host}
	answer, err := s.server.config.Way.Do(ctx, cmd)
	if err != nil {
		return nil, err
	}
	reply := &loomv1.SeatReply{}
	if brief := answer.GetBrief(); brief != nil {
		s.attempt = brief.GetAttempt().GetId()
		reply.Attempt, reply.Generation = s.attempt, brief.GetAttempt().GetGeneration()
		s.server.given.give(s, refsIn(brief))
	}
	if s.over(cmd) {
		s.server.given.forget(s)
	}
	if answer, err = largebrief.Pack(ctx, answer, s.server.config.Blobs.Put); err != nil {
		return nil, err
	}
	if ref := answer.GetBriefBlob(); ref != nil {
		s.server.given.give(s, []string{ref.Sha256})
	}
	reply.Body = &loomv1.SeatReply_Answer{Answer: answer}
	return reply, nil
}

// over says whether the agent has its attempt no more after a command.
func (s *session) over(cmd *loomv1.Command) bool {
	return cmd.GetAnswerAttempt() != nil || cmd.GetReleaseAttempt() != nil || cmd.GetParkAttempt() != nil
}

// bind makes a command one of this agent about this attempt, or refuses it.
func (s *session) bind(ctx context.Context, cmd *loomv1.Command) error {
	switch c := cmd.GetBody().(type) {
	case *loomv1.Command_ClaimAttempt:
		c.ClaimAttempt.Claimant = s.who
	case *loomv1.Command_ReleaseAttempt:
		c.ReleaseAttempt.Attempt, c.ReleaseAttempt.Claimant = s.attempt, s.who
	case *loomv1.Command_ParkAttempt:
		c.ParkAttempt.Attempt, c.ParkAttempt.Claimant = s.attempt, s.who
	case *loomv1.Command_RecordTurn:
		c.RecordTurn.Attempt, c.RecordTurn.Claimant = s.attempt, s.who
	case *loomv1.Command_AnswerAttempt:
		c.AnswerAttempt.Attempt, c.AnswerAttempt.Claimant, c.AnswerAttempt.Next = s.attempt, s.who, nil
		s.bindLanding(ctx, c.AnswerAttempt.GetOutcome().GetLanding())
	case *loomv1.Command_AcquireLock:
		c.AcquireLock.Request, c.AcquireLock.Holder = s.attempt, s.who
	case *loomv1.Command_RenewLock:
		c.RenewLock.Holder = s.who
	case *loomv1.Command_ReleaseLock:
		c.ReleaseLock.Holder = s.who
	case *loomv1.Command_FormTrain, *loomv1.Command_RecordTrain, *loomv1.Command_SettleTrain, *loomv1.Command_SettleLanding:
		return s.bindTrain(ctx, cmd)
	case *loomv1.Command_ReserveCall:
		c.ReserveCall.Attempt, c.ReserveCall.Claimant = s.attempt, s.who
	case *loomv1.Command_SettleCall:
		c.SettleCall.Attempt, c.SettleCall.Claimant = s.attempt, s.who
	case *loomv1.Command_InterviewTurn:
		c.InterviewTurn.Attempt, c.InterviewTurn.Claimant = s.attempt, s.who
	case *loomv1.Command_AskPermission:
		c.AskPermission.Attempt, c.AskPermission.Claimant = s.attempt, s.who
	case *loomv1.Command_KeepMemory, *loomv1.Command_OfferMemory:
		return s.bindMemory(cmd)
	case *loomv1.Command_AskTeam:
		c.AskTeam.Attempt, c.AskTeam.Claimant = s.attempt, s.who
	case *loomv1.Command_AddDecision, *loomv1.Command_OpenBallot, *loomv1.Command_CastVote:
		return s.bindDecision(ctx, cmd)
	default:
		return fault.New("request/denied", "an agent of a leaf host cannot do %T", cmd.GetBody())
	}
	return nil
}

// bindDecision is bind for what names no claimant: the attempt must be held by
// the agent, and what it says is about its own work, in its own role.
func (s *session) bindDecision(ctx context.Context, cmd *loomv1.Command) error {
	brief, err := s.held(ctx)
	if err != nil {
		return err
	}
	switch c := cmd.GetBody().(type) {
	case *loomv1.Command_AddDecision:
		node := c.AddDecision.GetNode()
		if node == nil || !strings.HasPrefix(c.AddDecision.Request, s.attempt+"/") {
			return fault.New("request/denied", "a decision of attempt %q has the attempt in the id of its request", s.attempt)
		}
		node.Bead, node.Execution = brief.Bead.GetId(), brief.Execution.GetId()
	case *loomv1.Command_OpenBallot:
		if on := brief.Bead.GetBallot(); on != "" {
			return fault.New("graph/no-voter", "you are asked for your vote on %s and cannot open another", on)
		}
	case *loomv1.Command_CastVote:
		if c.CastVote.GetVote() == nil {
			return fault.New("command/malformed", "a vote without its content")
		}
		c.CastVote.Vote.Role = brief.Attempt.GetRole()
	}
	return nil
}

// held returns the brief of the agent's attempt, or refuses: somebody else
// holds it, or nobody does any more.
func (s *session) held(ctx context.Context) (*loomv1.Brief, error) {
	answer, err := s.server.config.Way.Do(ctx, &loomv1.Command{
		Project: s.project, Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: s.who.Agent + "@" + s.who.Host},
		Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: s.attempt, Generation: s.generation, Claimant: s.who}},
	})
	if err != nil {
		return nil, err
	}
	s.server.given.give(s, refsIn(answer.GetBrief()))
	return answer.GetBrief(), nil
}

// ask answers a question to the decision graph of the attempt's project.
func (s *session) ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.SeatReply, error) {
	if !s.server.given.has(s, "") {
		if _, err := s.held(ctx); err != nil {
			return nil, err
		}
	}
	q.Project = s.project
	answer, err := s.server.config.Way.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	return &loomv1.SeatReply{Body: &loomv1.SeatReply_Graph{Graph: answer}}, nil
}

// bindMemory makes a command about the memory one of this agent's attempt; without one
// it is refused.
func (s *session) bindMemory(cmd *loomv1.Command) error {
	if s.attempt == "" {
		return fault.New("request/denied", "an agent without an attempt neither keeps nor is offered what a project remembers")
	}
	if keep := cmd.GetKeepMemory(); keep != nil {
		keep.Attempt, keep.Claimant = s.attempt, s.who
		return nil
	}
	offer := cmd.GetOfferMemory()
	offer.Attempt, offer.Claimant = s.attempt, s.who
	return nil
}

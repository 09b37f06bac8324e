package host

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/broker"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// serveSeat answers what an agent of a leaf host asks. Nothing that the request
// says of its sender is believed: host and roles are those of the credentials.
func (h *Host) serveSeat(ctx context.Context, r broker.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, serveWithin)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	q := &loomv1.SeatRequest{}
	if err := proto.Unmarshal(r.Data, q); err != nil {
		return nil, fault.New("command/malformed", "what an agent asks cannot be read")
	}
	reply, err := h.seatReply(ctx, r, q)
	if err != nil {
		reply = &loomv1.SeatReply{Error: fault.From(err).Proto()}
	}
	return proto.Marshal(reply)
}

func (h *Host) seatReply(ctx context.Context, r broker.Request, q *loomv1.SeatRequest) (*loomv1.SeatReply, error) {
	if r.Who.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_WORKER || h.isHost(r.Who.Name) {
		return nil, fault.New("request/denied", "%q is no leaf host", r.Who.GetName())
	}
	if hello := q.GetHello(); hello != nil {
		return h.welcome(ctx, r, hello)
	}
	who := q.Claimant
	if err := h.maySit(r, who); err != nil {
		return nil, err
	}
	s := &sitting{h: h, who: who, project: q.Project, attempt: q.Attempt, generation: q.Generation}
	switch b := q.Body.(type) {
	case *loomv1.SeatRequest_Command:
		return s.command(ctx, b.Command)
	case *loomv1.SeatRequest_Graph:
		return s.ask(ctx, b.Graph)
	case *loomv1.SeatRequest_Read:
		return s.read(ctx, b.Read)
	case *loomv1.SeatRequest_Write:
		return s.write(ctx, b.Write)
	}
	return nil, fault.New("command/malformed", "an agent asks for nothing")
}

// maySit refuses an agent that is none of the leaf host whose credentials the
// request came with, or works in a role that they are not for.
func (h *Host) maySit(r broker.Request, who *loomv1.Claimant) error {
	role, number, ok := strings.Cut(who.GetAgent(), "/")
	if _, err := strconv.ParseUint(number, 10, 16); !ok || err != nil || who.GetHost() != r.Who.Name || who.GetEpoch() == 0 {
		return fault.New("request/denied", "the agent is not one of leaf host %q", r.Who.Name).Got(who.GetAgent() + "@" + who.GetHost())
	}
	if known, is := h.roles.Get(role); !is || known.Human || known.Name != role || !slices.Contains(r.Roles, role) {
		return fault.New("request/denied", "the credentials of %q are not for role %q", r.Who.Name, role)
	}
	switch epoch := h.leaves.epoch(r.Who.Name); {
	case epoch > who.Epoch:
		return superseded(r.Who.Name)
	case epoch < who.Epoch:
		return fault.New("host/unavailable", "leaf host %q has not been heard of here yet", r.Who.Name)
	}
	return nil
}

func superseded(name string) error {
	return fault.New("request/denied", "leaf host %q was started again elsewhere", name).Want("give each leaf host credentials of its own")
}

// welcome says whether a leaf host may be one, and what it has joined.
func (h *Host) welcome(ctx context.Context, r broker.Request, hello *loomv1.LeafHello) (*loomv1.SeatReply, error) {
	p := hello.GetPresence()
	if p.GetHost() != r.Who.Name || p.GetEpoch() == 0 {
		return nil, fault.New("request/denied", "the credentials are those of %q", r.Who.Name).Got(p.GetHost())
	}
	if h.leaves.epoch(r.Who.Name) > p.Epoch {
		return nil, superseded(r.Who.Name)
	}
	for _, c := range hello.Projects {
		if err := h.samePlace(ctx, c); err != nil {
			return nil, err
		}
	}
	for _, role := range r.Roles {
		if err := h.broker.PrepareWork(ctx, role); err != nil {
			return nil, err
		}
	}
	wanted, err := h.wanted(ctx)
	if err != nil {
		return nil, err
	}
	h.notes.leaf(ctx, &h.leaves, p)
	ended := map[string]string{}
	if ends, err := h.projection.Ends(ctx, hello.Worktrees[:min(len(hello.Worktrees), helloWorktrees)]); err == nil {
		for id, e := range ends {
			if !e.At.IsZero() {
				ended[id] = e.Project
			}
		}
	}
	return &loomv1.SeatReply{Body: &loomv1.SeatReply_Welcome{Welcome: &loomv1.LeafWelcome{
		Deployment: h.dir.Manifest().Deployment, Drained: wanted.GetDrained()[r.Who.Name], Roles: r.Roles, Staff: h.leafStaff(wanted, p, r.Roles), Ended: ended,
	}}}, nil
}

// samePlace refuses a project that is not registered, or with another
// repository.
func (h *Host) samePlace(ctx context.Context, c *loomv1.ProjectConfig) error {
	if !h.known.Has(c.Id) {
		return fault.New("project/unknown", "project %q is not registered", c.Id).At("project").Got(c.Id)
	}
	view, err := h.projects.Look(ctx, project.Projects, &loomv1.Query{Project: c.Id})
	if err != nil {
		return err
	}
	if len(view.Projects) != 1 || view.Projects[0].Repository != c.Repository {
		return fault.New("project/conflict", "project %q is registered with another repository than %s", c.Id, c.Repository).At("project " + c.Id).
			Want("the same repository under the same path on every host, for example on a shared file system")
	}
	return nil
}

// sitting is an agent of a leaf host at its attempt.
type sitting struct {
	h                *Host
	who              *loomv1.Claimant
	project, attempt string
	generation       uint32
}

// command carries out a command of the few that an agent has, about its own
// attempt and as the agent that it is, whatever the command says.
func (s *sitting) command(ctx context.Context, cmd *loomv1.Command) (*loomv1.SeatReply, error) {
	if err := s.bind(ctx, cmd); err != nil {
		return nil, err
	}
	cmd.Project = s.project
	cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: s.who.Agent + "@" + s.who.Host}
	answer, err := remembering{s.h.projects, s.h.memories()}.Do(ctx, cmd)
	if err != nil {
		return nil, err
	}
	reply := &loomv1.SeatReply{}
	if brief := answer.GetBrief(); brief != nil {
		s.attempt = brief.GetAttempt().GetId()
		reply.Attempt, reply.Generation = s.attempt, brief.GetAttempt().GetGeneration()
		s.h.seats.give(s, refsIn(brief))
	}
	if s.over(cmd) {
		s.h.seats.forget(s)
	}
	if answer, err = pack(ctx, answer, s.h.blobs.Put); err != nil {
		return nil, err
	}
	if ref := answer.GetBriefBlob(); ref != nil {
		s.h.seats.give(s, []string{ref.Sha256})
	}
	reply.Body = &loomv1.SeatReply_Answer{Answer: answer}
	return reply, nil
}

// over says whether the agent has its attempt no more after a command.
func (s *sitting) over(cmd *loomv1.Command) bool {
	return cmd.GetAnswerAttempt() != nil || cmd.GetReleaseAttempt() != nil || cmd.GetParkAttempt() != nil
}

// bind makes a command one of this agent about this attempt, or refuses it.
func (s *sitting) bind(ctx context.Context, cmd *loomv1.Command) error {
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
func (s *sitting) bindDecision(ctx context.Context, cmd *loomv1.Command) error {
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
func (s *sitting) held(ctx context.Context) (*loomv1.Brief, error) {
	answer, err := s.h.projects.Do(ctx, &loomv1.Command{
		Project: s.project, Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: s.who.Agent + "@" + s.who.Host},
		Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: s.attempt, Generation: s.generation, Claimant: s.who}},
	})
	if err != nil {
		return nil, err
	}
	s.h.seats.give(s, refsIn(answer.GetBrief()))
	return answer.GetBrief(), nil
}

// ask answers a question to the decision graph of the attempt's project.
func (s *sitting) ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.SeatReply, error) {
	if !s.h.seats.has(s, "") {
		if _, err := s.held(ctx); err != nil {
			return nil, err
		}
	}
	q.Project = s.project
	answer, err := s.h.projects.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	return &loomv1.SeatReply{Body: &loomv1.SeatReply_Graph{Graph: answer}}, nil
}

// bindMemory makes a command about the memory one of this agent's attempt; without one
// it is refused.
func (s *sitting) bindMemory(cmd *loomv1.Command) error {
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

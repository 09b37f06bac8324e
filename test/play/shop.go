package play

import (
	"crypto/ed25519"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Noon is when stories begin.
var Noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// ceoKey signs what the CEO says.
var ceoKey = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))

// Config is what the cores of a story's project know.
func Config(id string) project.Config {
	return project.Config{ID: id, Deployment: "dp-1", Epoch: 1, CEO: ceoKey.Public().(ed25519.PublicKey)}
}

// Shop is one project at work.
type Shop struct {
	State *project.State
	Now   time.Time
	// Pack is how many events a batch has at least, if more come. 0 means that
	// each command makes a batch.
	Pack int
	// Sink is given every batch, in order.
	Sink func(*loomv1.Batch)

	id      string
	head    journal.Head
	pending []*loomv1.Event
	nonce   int
}

// Open registers a project with the definitions that come with a host.
func Open(id string, pack int, sink func(*loomv1.Batch)) *Shop {
	s := &Shop{State: project.New(Config(id)), Now: Noon, Pack: pack, Sink: sink, id: id}
	s.Do(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: id, Repository: "/src/" + id, TargetBranch: "main", DefaultProcess: project.AutoBug},
	}}})
	auto, _ := processes.Builtin(roles.Builtin()).Get(project.AutoBug)
	s.Store(auto)
	return s
}

// Store stores a definition.
func (s *Shop) Store(def *loomv1.Definition) {
	s.Do(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: def}}})
}

// Try decides a command and returns the refusal, if it is one.
func (s *Shop) Try(cmd *loomv1.Command) (*loomv1.Answer, error) {
	cmd.Project = s.id
	if cmd.Actor == nil {
		cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "operator"}
	}
	events, answer, err := s.State.Do(s.Now, cmd)
	if err != nil {
		panic(fmt.Sprintf("play: %T: %v", cmd.Body, err))
	}
	if s.pending = append(s.pending, events...); len(s.pending) > s.Pack {
		s.Flush()
	}
	return answer, fault.FromProto(answer.GetError())
}

// Do decides a command, which must be taken.
func (s *Shop) Do(cmd *loomv1.Command) *loomv1.Answer {
	answer, err := s.Try(cmd)
	if err != nil {
		panic(fmt.Sprintf("play: %T: %v", cmd.Body, err))
	}
	return answer
}

// Flush gives the sink what waits for its batch to fill.
func (s *Shop) Flush() {
	if len(s.pending) == 0 {
		return
	}
	b := journal.Seal(s.head, 0, 1, "h1.1", fmt.Sprintf("%s-%d", s.id, s.head.Sequence+1), s.pending)
	s.head = journal.Head{Sequence: s.head.Sequence + 1, Epoch: 1, Hash: b.Hash}
	s.pending = nil
	s.Sink(b.Batch)
}

// File files a bead.
func (s *Shop) File(sub *loomv1.Submission) *loomv1.SubmitReply {
	return s.Do(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: sub}}}).GetSubmit()
}

// Pass lets time go by, and the clock strike.
func (s *Shop) Pass(d time.Duration) {
	s.Now = s.Now.Add(d)
	s.Do(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
}

// Claim has an agent take an attempt of its role.
func (s *Shop) Claim(role string) (*loomv1.Brief, *loomv1.Claimant) {
	s.Now = s.Now.Add(time.Second)
	for _, a := range s.State.Queued() {
		if a.Role != role {
			continue
		}
		who := &loomv1.Claimant{Agent: role + "/1", Host: "h1", Epoch: 1}
		return s.Do(&loomv1.Command{Actor: agent(who), Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
			Attempt: a.Attempt, Generation: a.Generation, Claimant: who,
		}}}).GetBrief(), who
	}
	panic("play: nothing waits for " + role)
}

func agent(c *loomv1.Claimant) *loomv1.Identity {
	return &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: c.Agent + "@" + c.Host}
}

// Work has an agent take an attempt, ask its model once, and answer.
func (s *Shop) Work(role string, out *loomv1.Outcome) *loomv1.Brief {
	b, who := s.Claim(role)
	s.Turn(b, who, 1000)
	s.Answer(b, who, out)
	return b
}

// Turn records that an agent asked its model, which used so many tokens.
func (s *Shop) Turn(b *loomv1.Brief, who *loomv1.Claimant, tokens uint64) {
	s.Now = s.Now.Add(2 * time.Second)
	s.Do(&loomv1.Command{Actor: agent(who), Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{
		Attempt: b.Attempt.Id, Claimant: who, Facts: []*loomv1.Event{
			turn.StartedFact(&loomv1.TurnStarted{Model: "scripted:play"}),
			turn.AnsweredFact(&loomv1.ModelAnswer{
				Request: fmt.Sprintf("%s at %s", b.Attempt.Id, s.Now.Format(time.TimeOnly)), Model: "scripted:play", Scripted: true,
				Summary: "so be it", Usage: &loomv1.Usage{InputTokens: tokens, CostMicroUsd: tokens / 10, CostKnown: true},
			}),
		},
	}}})
}

// Reserve asks for room for a model call.
func (s *Shop) Reserve(b *loomv1.Brief, who *loomv1.Claimant, request string, tokens int64) {
	s.Now = s.Now.Add(time.Second)
	s.Do(&loomv1.Command{Actor: agent(who), Body: &loomv1.Command_ReserveCall{ReserveCall: &loomv1.ReserveCall{
		Attempt: b.Attempt.Id, Claimant: who, Reservation: &loomv1.CallReservation{Request: request, Tokens: tokens},
	}}})
}

// Answer answers an attempt.
func (s *Shop) Answer(b *loomv1.Brief, who *loomv1.Claimant, out *loomv1.Outcome) {
	s.Now = s.Now.Add(time.Second)
	s.Do(&loomv1.Command{Actor: agent(who), Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{
		Attempt: b.Attempt.Id, Claimant: who, Outcome: out,
	}}})
}

// Inbox returns the open approvals, newest first.
func (s *Shop) Inbox() []*loomv1.Approval {
	v, err := s.State.Look(project.Inbox, &loomv1.Query{Newest: true})
	if err != nil {
		panic(err)
	}
	return v.Approvals
}

// Decide has the CEO answer the newest open approval.
func (s *Shop) Decide(decision loomv1.ApprovalDecision, comment string) {
	a := s.Inbox()[0]
	s.Order(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Decide{Decide: &loomv1.DecideApproval{
		Approval: a.Id, Digest: a.Digest, Decision: decision, Comment: comment,
	}}})
}

// Order has the CEO sign and give a command.
func (s *Shop) Order(cmd *loomv1.CeoCommand) {
	s.nonce++
	s.Now = s.Now.Add(time.Minute)
	cmd.Deployment, cmd.Project, cmd.Nonce = "dp-1", s.id, fmt.Sprint("n", s.nonce)
	cmd.IssuedAt, cmd.NotAfter = timestamppb.New(s.Now), timestamppb.New(s.Now.Add(time.Minute))
	payload, err := proto.MarshalOptions{Deterministic: true}.Marshal(cmd)
	if err != nil {
		panic(err)
	}
	s.Do(&loomv1.Command{
		Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO, Name: "owner"},
		Body: &loomv1.Command_Signed{Signed: &loomv1.SignedCommand{
			Payload: payload, PublicKey: "UOWNER", Signature: ed25519.Sign(ceoKey, keyring.SignedBytes(payload)),
		}},
	})
}

// Outcome is an answer of that status.
func Outcome(status loomv1.OutcomeStatus, fields map[string]any) *loomv1.Outcome {
	f, err := structpb.NewStruct(fields)
	if err != nil {
		panic(err)
	}
	return &loomv1.Outcome{Status: status, Summary: "it is done", Notes: "nothing to add", Fields: f}
}

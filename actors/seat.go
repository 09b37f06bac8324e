package actors

import (
	"context"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Seat is an agent's place at one attempt: what its work may ask of the
// project. Everything asked here is durable when it returns, and is refused
// with attempt/stale once the attempt is over.
type Seat interface {
	// Record makes steps of the turn durable; repeating them is harmless.
	Record(ctx context.Context, records ...*loomv1.TurnRecord) error
	// AcquireLock asks for the commit lock. A claim without a token waits.
	AcquireLock(ctx context.Context) (*loomv1.LockClaim, error)
	// RenewLock keeps a grant.
	RenewLock(ctx context.Context, token uint64) error
	// ReleaseLock gives a grant back.
	ReleaseLock(ctx context.Context, token uint64) error
	// Park frees the agent until the lock is granted.
	Park(ctx context.Context) error
	// AddDecision adds to the decision graph; request makes it repeatable.
	AddDecision(ctx context.Context, c *loomv1.AddDecision) (*loomv1.DecisionNode, error)
	// Graph returns the decision graph as it is now.
	Graph(ctx context.Context) (*loomv1.DecisionGraph, error)
}

type seat struct {
	projects         *Projects
	project, attempt string
	who              *loomv1.Claimant
}

// lastWord is how long a stopping agent tries to give its attempt back.
const lastWord = 2 * time.Second

func (s *seat) do(ctx context.Context, cmd *loomv1.Command) (*loomv1.Answer, error) {
	cmd.Project = s.project
	cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: s.who.Agent + "@" + s.who.Host}
	return s.projects.Do(ctx, cmd)
}

func (s *seat) claim(ctx context.Context, generation uint32) (*loomv1.Brief, error) {
	answer, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
		Attempt: s.attempt, Generation: generation, Claimant: s.who,
	}}})
	return answer.GetBrief(), err
}

func (s *seat) answer(ctx context.Context, out *loomv1.Outcome) error {
	_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{
		Attempt: s.attempt, Claimant: s.who, Outcome: out,
	}}})
	return err
}

// giveBack releases the attempt, however long its project is away. When the
// host stops, it has lastWord left; then the host's next start releases it.
func (s *seat) giveBack(ctx context.Context, reason string) {
	if err := s.release(ctx, reason); err == nil || ctx.Err() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	_ = s.release(ctx, reason)
}

func (s *seat) release(ctx context.Context, reason string) error {
	_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{
		Attempt: s.attempt, Claimant: s.who, Reason: reason,
	}}})
	return err
}

func (s *seat) Record(ctx context.Context, records ...*loomv1.TurnRecord) error {
	_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{
		Attempt: s.attempt, Claimant: s.who, Records: records,
	}}})
	return err
}

func (s *seat) AcquireLock(ctx context.Context) (*loomv1.LockClaim, error) {
	answer, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{
		Request: s.attempt, Holder: s.who,
	}}})
	return answer.GetLock(), err
}

func (s *seat) RenewLock(ctx context.Context, token uint64) error {
	_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_RenewLock{RenewLock: &loomv1.RenewLock{Token: token}}})
	return err
}

func (s *seat) ReleaseLock(ctx context.Context, token uint64) error {
	_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: token}}})
	return err
}

func (s *seat) Park(ctx context.Context) error {
	_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_ParkAttempt{ParkAttempt: &loomv1.ParkAttempt{
		Attempt: s.attempt, Claimant: s.who, WaitsFor: "lock",
	}}})
	return err
}

func (s *seat) AddDecision(ctx context.Context, c *loomv1.AddDecision) (*loomv1.DecisionNode, error) {
	answer, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: c}})
	return answer.GetDecision(), err
}

func (s *seat) Graph(ctx context.Context) (*loomv1.DecisionGraph, error) {
	view, err := s.projects.Look(ctx, "graph", &loomv1.Query{Project: s.project})
	return view.GetGraph(), err
}

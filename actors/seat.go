package actors

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Seat is an agent's place at one attempt: what its work may ask of the
// project. Everything asked here is durable when it returns, and is refused
// with attempt/stale once the attempt is over.
type Seat interface {
	// Record makes facts of the turn durable; repeating them is harmless.
	Record(ctx context.Context, facts ...*loomv1.Event) error
	// Told returns what people have said that the agent should hear, as of the
	// last Record.
	Told() []*loomv1.Said
	// AcquireLock asks for the commit lock. A claim without a token waits.
	AcquireLock(ctx context.Context) (*loomv1.LockClaim, error)
	// RenewLock keeps a grant.
	RenewLock(ctx context.Context, token uint64) error
	// ReleaseLock gives a grant back.
	ReleaseLock(ctx context.Context, token uint64) error
	// FormTrain has the grant of a token take along what else waits to land.
	FormTrain(ctx context.Context, token uint64) (*loomv1.Train, error)
	// RecordTrain makes durable what a train's tests have shown, by attempt.
	RecordTrain(ctx context.Context, token uint64, cars map[string]*loomv1.Car) error
	// SettleTrain tells of a train that has landed, which its driver has not said.
	SettleTrain(ctx context.Context, token uint64, l *loomv1.Landing) error
	// SettleLanding tells what became of a commit whose attempt to land has ended.
	SettleLanding(ctx context.Context, c *loomv1.SettleLanding) error
	// Park frees the agent until the lock is granted.
	Park(ctx context.Context) error
	// ParkUntil frees the agent until a model's rate limit ends.
	ParkUntil(ctx context.Context, until time.Time) error
	// Rest frees the agent until somebody says something in its conversation.
	Rest(ctx context.Context) error
	// ParkForOperator frees the agent until its model can be asked, perhaps.
	ParkForOperator(ctx context.Context, block *loomv1.ModelBlock) error
	// Reserve holds back what a model call can use, before it is made. With WAIT
	// the attempt is parked, with HELD the work is.
	Reserve(ctx context.Context, r *loomv1.CallReservation) (loomv1.Verdict, error)
	// Settle ends the reservation of a call that came to nothing; an answer that
	// is recorded ends its own.
	Settle(ctx context.Context, request string, used *loomv1.Usage) error
	// Permit asks whether tool calls may be made, and parks the attempt when one
	// of them waits for the CEO: then the answer has a verdict ASK.
	Permit(ctx context.Context, calls []*loomv1.PermissionRequest) ([]*loomv1.Permit, error)
	// Team carries out calls by which agents work together; there is a reply for
	// each, in order. The attempt is parked when one of them waits. The same calls
	// again give and ask nothing twice.
	Team(ctx context.Context, calls []*loomv1.TeamCall) ([]*loomv1.TeamReply, error)
	// Interview has the session that the attempt asks for hear a turn of its model, and
	// returns how it stands. The attempt is parked where it waits for an answer.
	Interview(ctx context.Context, c *loomv1.InterviewTurn) (*loomv1.InterviewBrief, error)
	// AddDecision adds to the decision graph; request makes it repeatable.
	AddDecision(ctx context.Context, c *loomv1.AddDecision) (*loomv1.DecisionNode, error)
	// Ask asks the decision graph as it is now. What the answer holds is the
	// graph's own and is not to be changed, but for its lists.
	Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error)
	// KeepMemory keeps an entry for the attempt; request makes it repeatable.
	KeepMemory(ctx context.Context, request string, e *loomv1.MemoryEntry) (*loomv1.MemoryEntry, error)
	// OfferMemory returns what is remembered for the attempt. What is offered is
	// recorded, once; what is searched for is not.
	OfferMemory(ctx context.Context, c *loomv1.OfferMemory) (*loomv1.MemoryContext, error)
	// OpenBallot opens a vote; the same again changes nothing.
	OpenBallot(ctx context.Context, c *loomv1.OpenBallot) error
	// CastVote casts the vote of the agent's role; the same again changes nothing.
	CastVote(ctx context.Context, c *loomv1.CastVote) error
}

// Way is how agents reach the project of their attempt.
type Way interface {
	// Do sends a command until it is answered, or ctx ends. A refusal is an
	// error.
	Do(ctx context.Context, cmd *loomv1.Command) (*loomv1.Answer, error)
	// Ask asks the decision graph likewise.
	Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error)
}

type seat struct {
	projects         Way
	project, attempt string
	who              *loomv1.Claimant
	told             []*loomv1.Said // by the answer to the last Record
	telling          *telling       // of what is done at the attempt
}

// lastWord is how long a stopping agent tries to give its attempt back.
const lastWord = 2 * time.Second

func (s *seat) do(ctx context.Context, cmd *loomv1.Command) (*loomv1.Answer, error) {
	return s.projects.Do(ctx, agentsCommand(s.project, s.who, cmd))
}

// claim takes the most urgent attempt of the role that a ticket is for; the
// seat is at that one from then on. It is heard out: where ctx ends, lastWord
// is left to learn what became of it.
func (s *seat) claim(ctx context.Context, ticket *loomv1.Assignment) (*loomv1.Brief, error) {
	ctx, cancel := outlast(ctx)
	defer cancel()
	answer, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
		Attempt: ticket.Attempt, Generation: ticket.Generation, Claimant: s.who, Any: true,
	}}})
	s.attempt = answer.GetBrief().GetAttempt().GetId()
	return answer.GetBrief(), err
}

// outlast returns a context that ends lastWord after ctx.
func outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		end := time.AfterFunc(lastWord, cancel)
		context.AfterFunc(longer, func() { end.Stop() })
	})
	return longer, func() { stop(); cancel() }
}

// answer tells the outcome. With a ticket it claims the next attempt of the role, and
// returns its brief if there was one. It is heard out: the host hears that the attempt
// has ended, and may stop, before the answer is here.
func (s *seat) answer(ctx context.Context, out *loomv1.Outcome, ticket Delivery) (*loomv1.Brief, error) {
	ctx, cancel := outlast(ctx)
	defer cancel()
	cmd := &loomv1.AnswerAttempt{Attempt: s.attempt, Claimant: s.who, Outcome: out}
	if ticket != nil {
		cmd.Next = &loomv1.Ticket{Attempt: ticket.Assignment().Attempt, Generation: ticket.Assignment().Generation}
	}
	answer, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: cmd}})
	return answer.GetBrief(), err
}

// giveBack releases the attempt, however long its project is away. When the
// host stops, it has lastWord left; then the host's next start releases it.
func (s *seat) giveBack(ctx context.Context, reason string) {
	if gone(s.giveUp(ctx, &loomv1.ReleaseAttempt{Reason: reason})) {
		reason = noLonger
	}
	s.telling.released(reason)
}

// noLonger is told where the journal has taken the attempt from its agent.
const noLonger = "it is no longer this agent's"

// crashed gives the attempt back likewise, because of an error of Loom's own,
// which the project counts.
func (s *seat) crashed(ctx context.Context, message, stack string) {
	_ = s.giveUp(ctx, &loomv1.ReleaseAttempt{Reason: "agent failed", Crash: &loomv1.AgentCrash{
		Message: sound(message, crashMessage), Stack: sound(stack, crashStack),
	}})
}

// What is told of a crash.
const (
	crashMessage = 4 << 10
	crashStack   = 8 << 10
)

func (s *seat) giveUp(ctx context.Context, r *loomv1.ReleaseAttempt) error {
	if err := s.release(ctx, r); err == nil || ctx.Err() == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	return s.release(ctx, r)
}

func (s *seat) release(ctx context.Context, r *loomv1.ReleaseAttempt) error {
	again := &loomv1.ReleaseAttempt{Attempt: s.attempt, Claimant: s.who, Reason: r.Reason, Crash: r.Crash} // the first may still be read
	_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: again}})
	return err
}

func (s *seat) Record(ctx context.Context, facts ...*loomv1.Event) error {
	answer, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{
		Attempt: s.attempt, Claimant: s.who, Facts: facts,
	}}})
	if err == nil {
		s.told = answer.GetDone().GetSaid()
		for _, f := range facts {
			s.telling.say(f)
		}
	}
	return err
}

func (s *seat) Told() []*loomv1.Said { return s.told }

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

func (s *seat) FormTrain(ctx context.Context, token uint64) (*loomv1.Train, error) {
	answer, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_FormTrain{FormTrain: &loomv1.FormTrain{Token: token, Holder: s.who}}})
	return answer.GetTrain(), err
}

func (s *seat) RecordTrain(ctx context.Context, token uint64, cars map[string]*loomv1.Car) error {
	_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_RecordTrain{RecordTrain: &loomv1.RecordTrain{Token: token, Holder: s.who, Cars: cars}}})
	return err
}

func (s *seat) SettleTrain(ctx context.Context, token uint64, l *loomv1.Landing) error {
	_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_SettleTrain{SettleTrain: &loomv1.SettleTrain{Token: token, Holder: s.who, Landing: l}}})
	return err
}

func (s *seat) SettleLanding(ctx context.Context, c *loomv1.SettleLanding) error {
	c.Holder = s.who
	_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_SettleLanding{SettleLanding: c}})
	return err
}

func (s *seat) Park(ctx context.Context) error {
	return s.park(ctx, &loomv1.ParkAttempt{WaitsFor: "lock"})
}

func (s *seat) Rest(ctx context.Context) error {
	return s.park(ctx, &loomv1.ParkAttempt{WaitsFor: "people"})
}

func (s *seat) ParkUntil(ctx context.Context, until time.Time) error {
	return s.park(ctx, &loomv1.ParkAttempt{WaitsFor: "rate", Until: timestamppb.New(until)})
}

func (s *seat) ParkForOperator(ctx context.Context, block *loomv1.ModelBlock) error {
	return s.park(ctx, &loomv1.ParkAttempt{WaitsFor: "operator", Block: block})
}

// park is heard out: the host hears that the claim has ended, and breaks work off that
// held it, before the answer is here.
func (s *seat) park(ctx context.Context, c *loomv1.ParkAttempt) error {
	ctx, cancel := outlast(ctx)
	defer cancel()
	s.telling.mayWait(&loomv1.AttemptParked{WaitsFor: c.WaitsFor, Until: c.Until, Block: c.Block})
	c.Attempt, c.Claimant = s.attempt, s.who
	_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_ParkAttempt{ParkAttempt: c}})
	return err
}

func (s *seat) Reserve(ctx context.Context, r *loomv1.CallReservation) (loomv1.Verdict, error) {
	s.telling.mayWait(&loomv1.AttemptParked{WaitsFor: "budget"})
	answer, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_ReserveCall{ReserveCall: &loomv1.ReserveCall{
		Attempt: s.attempt, Claimant: s.who, Reservation: r,
	}}})
	return answer.GetCall().GetVerdict(), err
}

func (s *seat) Settle(ctx context.Context, request string, used *loomv1.Usage) error {
	_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_SettleCall{SettleCall: &loomv1.SettleCall{
		Attempt: s.attempt, Claimant: s.who, Request: request, Usage: used,
	}}})
	return err
}

func (s *seat) Permit(ctx context.Context, calls []*loomv1.PermissionRequest) ([]*loomv1.Permit, error) {
	s.telling.mayWait(&loomv1.AttemptParked{WaitsFor: "permission"})
	answer, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_AskPermission{AskPermission: &loomv1.AskPermission{
		Attempt: s.attempt, Claimant: s.who, Calls: calls,
	}}})
	return answer.GetPermits().GetPermits(), err
}

func (s *seat) Team(ctx context.Context, calls []*loomv1.TeamCall) ([]*loomv1.TeamReply, error) {
	s.telling.mayWait(&loomv1.AttemptParked{WaitsFor: "team"})
	answer, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_AskTeam{AskTeam: &loomv1.AskTeam{
		Attempt: s.attempt, Claimant: s.who, Calls: calls,
	}}})
	if n := len(answer.GetTeam().GetReplies()); err == nil && n != len(calls) {
		return nil, fault.New("internal/error", "%d replies to %d calls of a team", n, len(calls))
	}
	return answer.GetTeam().GetReplies(), err
}

func (s *seat) Interview(ctx context.Context, c *loomv1.InterviewTurn) (*loomv1.InterviewBrief, error) {
	s.telling.mayWait(&loomv1.AttemptParked{WaitsFor: "answer"})
	c.Attempt, c.Claimant = s.attempt, s.who
	answer, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_InterviewTurn{InterviewTurn: c}})
	return answer.GetInterview(), err
}

func (s *seat) AddDecision(ctx context.Context, c *loomv1.AddDecision) (*loomv1.DecisionNode, error) {
	answer, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: c}})
	return answer.GetDecision(), err
}

func (s *seat) Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	q.Project = s.project
	return s.projects.Ask(ctx, q)
}

func (s *seat) KeepMemory(ctx context.Context, request string, e *loomv1.MemoryEntry) (*loomv1.MemoryEntry, error) {
	answer, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_KeepMemory{KeepMemory: &loomv1.KeepMemory{
		Request: request, Entry: e, Attempt: s.attempt, Claimant: s.who,
	}}})
	return answer.GetMemory(), err
}

func (s *seat) OfferMemory(ctx context.Context, c *loomv1.OfferMemory) (*loomv1.MemoryContext, error) {
	c.Attempt, c.Claimant = s.attempt, s.who
	answer, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_OfferMemory{OfferMemory: c}})
	return answer.GetMemories(), err
}

func (s *seat) OpenBallot(ctx context.Context, c *loomv1.OpenBallot) error {
	_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_OpenBallot{OpenBallot: c}})
	return err
}

func (s *seat) CastVote(ctx context.Context, c *loomv1.CastVote) error {
	_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_CastVote{CastVote: c}})
	return err
}

package simulation

import (
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// host runs agents; a new start has a new epoch.
type host struct {
	name  string
	epoch uint64
}

// phase is where an agent is with its assignment.
type phase int

const (
	idle phase = iota
	claiming
	turning
	leading
	locking
	parking
	raising
	forming
	recording
	arriving
	moving
	answering
	asking // for a session
)

// agent pulls work, claims it, records a turn, and answers: one thing a step.
// It repeats what it has no answer to.
type agent struct {
	w          *world
	role, name string
	host       *host
	epoch      uint64 // the host's when it was started
	zombie     bool   // its host has started again without it
	away       bool   // its host has it no more
	asleep     time.Time

	phase    phase
	me       *loomv1.Claimant
	identity *loomv1.Identity
	item     *item
	brief    *loomv1.Brief
	turn     *loomv1.Turn
	token    uint64
	fence    uint64 // that of a train, or the token
	ride     *ride
	trains   []string              // that the holder of the lock is to find out about
	riddles  []*loomv1.OpenLanding // that the holder of the lock is to find out about
	out      *loomv1.Outcome
	answered *loomv1.Command       // the last answer that was taken
	news     []*loomv1.Said        // mail that is to be heard
	sent     []*loomv1.Event       // what is to be recorded, while there is no answer to it
	said     *loomv1.InterviewTurn // what was said in an interview, while there is no answer to it
	kept     int                   // entries of memory
}

// begin is the start of an agent with its host.
func (a *agent) begin(epoch uint64) {
	a.epoch, a.answered, a.asleep = epoch, nil, a.w.now
	a.me = &loomv1.Claimant{Agent: a.name, Host: a.host.name, Epoch: epoch}
	a.identity = identity(loomv1.IdentityKind_IDENTITY_KIND_AGENT, sign(a.me))
	a.rest()
}

func (a *agent) who() *loomv1.Claimant { return a.me }

// sign is how events show on whose behalf the agent acts.
func (a *agent) sign() string { return a.identity.Name }

// sign is how events show on whose behalf they are.
func sign(c *loomv1.Claimant) string {
	return c.GetAgent() + "@" + c.GetHost() + "#" + strconv.FormatUint(c.GetEpoch(), 10)
}

// do sends a command; then hears the answer, unless it was lost.
func (a *agent) do(cmd *loomv1.Command, then func(code string, ans *loomv1.Answer)) {
	at, brief := a.phase, a.brief
	a.w.keeper.send(cmd, a.identity, func(ans *loomv1.Answer) {
		if ans == nil || a.phase != at || a.brief != brief {
			return // it repeats the command, or has gone on since
		}
		then(code(ans), ans)
	})
}

func (a *agent) step() {
	if a.w.calm {
		a.asleep = time.Time{}
	}
	if a.w.now.Before(a.asleep) {
		return
	}
	if a.phase != idle && a.upset() {
		return
	}
	switch a.phase {
	case idle:
		a.pull()
	case claiming:
		a.claim()
	case turning:
		a.record()
	case leading:
		a.lead()
	case locking:
		a.lock()
	case parking:
		a.park("lock", nil)
	case forming:
		a.form()
	case recording:
		a.recordTrain()
	case arriving:
		a.arrive()
	case raising, moving:
		a.touch()
	case answering:
		a.answer()
	case asking:
		a.ask()
	}
}

// upset is what goes wrong with an agent in the middle of its work.
func (a *agent) upset() bool {
	switch {
	case a.w.chance(agentDies):
		a.rest() // with its claim, until its host starts again or time is up
	case a.w.chance(agentSleeps), a.token != 0 && a.w.chance(agentSleeps):
		a.asleep = a.w.now.Add(time.Duration(1+a.w.rng.IntN(a.nap())) * time.Second)
	case a.phase > claiming && a.w.chance(agentGivesBack):
		a.giveBack()
	case a.token != 0 && a.w.one(8):
		a.renew()
	default:
		return false
	}
	return true
}

func (a *agent) giveBack() {
	a.w.keeper.send(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{
		Attempt: a.brief.Attempt.Id, Claimant: a.who(), Reason: "drain",
	}}}, a.identity, func(*loomv1.Answer) {})
	a.rest()
}

// nap is the most seconds that an agent is paused: now and then past the
// deadline of its attempt, often past its lease of the lock.
func (a *agent) nap() int {
	if a.w.one(6) {
		return 2400
	}
	return 90
}

func (a *agent) rest() {
	a.phase, a.item, a.brief, a.turn, a.out, a.token, a.ride, a.news, a.sent, a.said = idle, nil, nil, nil, nil, 0, nil, nil, nil, nil
}

func (a *agent) pull() {
	if a.zombie || a.away {
		return
	}
	if a.w.chance(agentLies) {
		a.lie()
		return
	}
	if a.answered != nil && a.w.chance(agentRepeats) {
		a.repeat()
		return
	}
	if a.item = a.w.pull(a.role); a.item != nil {
		a.phase = claiming
	}
}

// repeat gives the last answer once more, as one does who was not heard.
func (a *agent) repeat() {
	a.w.keeper.send(a.answered, a.identity, func(ans *loomv1.Answer) {
		if ans == nil {
			return
		}
		a.w.see("answer repeated")
		if code(ans) == "attempt/unknown" { // a plan has dropped its phase since, and the attempts with it
			a.w.see("answer repeated for a phase that was dropped")
			return
		}
		if ans.Error != nil {
			a.w.broken(7, "an answer that was taken is refused when it comes again: %s", tellAnswer(ans))
		}
		if b := ans.GetBrief(); b != nil && a.phase == idle {
			a.workOn(b)
		}
	})
}

func (a *agent) claim() {
	as := a.item.a
	a.do(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
		Attempt: as.Attempt, Generation: as.Generation, Claimant: a.who(), Any: a.w.tickets,
	}}}, func(code string, ans *loomv1.Answer) {
		a.w.ack(a.item)
		if code != "" {
			a.w.see("claim refused: " + code)
			a.rest()
			return
		}
		a.workOn(ans.GetBrief())
	})
}

// workOn works on what was claimed.
func (a *agent) workOn(b *loomv1.Brief) {
	a.brief, a.turn, a.news, a.phase = b, proto.CloneOf(b.Turn), b.GetTeam().GetMail(), turning
	if a.turn == nil {
		a.turn = &loomv1.Turn{Attempt: a.brief.Attempt.Id}
	}
	if b.Interview != nil {
		a.phase = asking
		return
	}
	a.w.oracle.briefed(b)
	if turn.Started(a.turn) {
		a.w.see("turn resumed")
	}
}

// record records the next step of a turn, or ends the turn. Until it is answered, it
// records the same again.
func (a *agent) record() {
	if a.sent != nil {
		a.send(a.sent)
		return
	}
	switch {
	case a.leads():
		a.phase = leading
		return
	case a.brief.Step.GetRun() != nil && a.w.one(3):
		a.keep()
		return
	case a.w.one(6):
		a.decide()
		return
	case a.w.chance(agentFiles) && a.w.one(4):
		a.file()
		return
	case a.w.chance(rateLimited):
		a.park("rate", timestamppb.New(a.w.now.Add(time.Duration(1+a.w.rng.IntN(120))*time.Second)))
		return
	}
	recs := a.next()
	if recs == nil {
		a.phase = answering
		if k := a.brief.Node.Kind; k == loomv1.NodeKind_NODE_KIND_COMMIT || k == loomv1.NodeKind_NODE_KIND_LAND {
			a.phase = locking
		}
		return
	}
	a.sent = recs
	a.send(recs)
}

// send sends what a turn records, and goes by the answer.
func (a *agent) send(recs []*loomv1.Event) {
	a.do(&loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{
		Attempt: a.brief.Attempt.Id, Claimant: a.who(), Facts: recs,
	}}}, func(code string, ans *loomv1.Answer) {
		a.sent = nil
		if code != "" {
			a.gone("record", code)
			return
		}
		events, err := turn.Decide(a.turn, recs)
		if err != nil {
			a.w.broken(4, "a turn was recorded that its agent finds wrong: %v", err)
		}
		for _, e := range events {
			if err := turn.Apply(a.turn, e); err != nil {
				a.w.broken(4, "a turn was recorded that its agent cannot follow: %v", err)
			}
			if said := e.GetMessageHeard().GetSaid(); said != nil {
				a.told(said)
			}
		}
		a.news = ans.GetDone().GetSaid()
	})
}

// next returns what a turn records next, often several things at once.
func (a *agent) next() []*loomv1.Event {
	recs := a.after(a.turn)
	if recs == nil || a.w.one(3) {
		return recs
	}
	ahead := proto.CloneOf(a.turn)
	for len(recs) < 4 {
		events, err := turn.Decide(ahead, recs[len(recs)-1:])
		if err != nil {
			a.w.broken(0, "an agent cannot follow its own turn: %v", err)
			break
		}
		for _, e := range events {
			if err := turn.Apply(ahead, e); err != nil {
				a.w.broken(0, "an agent cannot follow its own turn: %v", err)
			}
		}
		more := a.after(ahead)
		if more == nil {
			break
		}
		recs = append(recs, more...)
	}
	return recs
}

// after is what a turn of one or two answers records next.
func (a *agent) after(t *loomv1.Turn) []*loomv1.Event {
	if k := a.brief.Node.Kind; k == loomv1.NodeKind_NODE_KIND_COMMIT || k == loomv1.NodeKind_NODE_KIND_LAND || a.brief.Attempt.Number > 1 {
		return nil // no turn is needed
	}
	if !turn.Started(t) {
		return []*loomv1.Event{turn.StartedFact(&loomv1.TurnStarted{Model: "m", Prompt: &loomv1.BlobRef{Sha256: "p"}})}
	}
	if len(t.Steps) > 0 {
		last := t.Steps[len(t.Steps)-1]
		if c := last.GetAnswer().GetCalls(); len(c) > 0 {
			return []*loomv1.Event{turn.IntendedFact(&loomv1.ToolStep{Call: c[0], Class: loomv1.ToolClass_TOOL_CLASS_READ})}
		}
		if s := last.GetTool(); s != nil && s.Result == nil {
			return []*loomv1.Event{turn.FinishedFact(s.Call.Id, &loomv1.ToolResult{Status: loomv1.ToolStatus_TOOL_STATUS_OK})}
		}
	}
	if heard := a.hearing(t); len(heard) > 0 {
		return heard
	}
	if n := t.Iterations; n < 1+uint32(len(a.brief.Attempt.Id)%2) {
		return []*loomv1.Event{turn.AnsweredFact(&loomv1.ModelAnswer{
			Model: "m", Request: fmt.Sprintf("r%d", n), Usage: &loomv1.Usage{InputTokens: 300, OutputTokens: 50, CostMicroUsd: 70, CostKnown: true}, Calls: []*loomv1.ToolCall{{Id: fmt.Sprintf("c%d", n), Tool: "file_read", Arguments: "{}"}},
		})}
	}
	return nil
}

// gone leaves an attempt that is somebody else's by now.
func (a *agent) gone(what, code string) {
	a.w.see(what + " refused: " + code)
	switch code {
	case "attempt/stale", "attempt/claimed":
		a.rest()
	case "attempt/own-work", "attempt/paused": // a change of its own came to stand meanwhile; or it is held
		a.giveBack()
	default:
		a.w.broken(0, "%s of %s is refused with %s", what, a.brief.Attempt.Id, code)
	}
}

func (a *agent) lock() {
	a.do(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{
		Request: a.brief.Attempt.Id, Execution: a.brief.Execution.Id, Holder: a.who(),
	}}}, func(code string, ans *loomv1.Answer) {
		switch {
		case code != "":
			a.gone("lock", code)
		case ans.GetLock().Token == 0:
			a.phase = parking
		default:
			l := ans.GetLock()
			a.token, a.fence, a.ride, a.phase, a.riddles, a.trains = l.Token, l.Token, &ride{}, raising, l.OpenLandings, l.OpenTrains
		}
	})
}

// park frees the agent until the lock is granted, or a rate limit has ended.
func (a *agent) park(waitsFor string, until *timestamppb.Timestamp) {
	a.do(&loomv1.Command{Body: &loomv1.Command_ParkAttempt{ParkAttempt: &loomv1.ParkAttempt{
		Attempt: a.brief.Attempt.Id, Claimant: a.who(), WaitsFor: waitsFor, Until: until,
	}}}, func(code string, _ *loomv1.Answer) {
		if code != "" {
			a.gone("park", code)
			return
		}
		a.w.see(map[string]string{"lock": "parked", "rate": "parked for a rate limit"}[waitsFor])
		a.rest()
	})
}

// renew keeps the grant. That it is lost stops only half of the agents: the
// others find out from git.
func (a *agent) renew() {
	a.do(&loomv1.Command{Body: &loomv1.Command_RenewLock{RenewLock: &loomv1.RenewLock{Token: a.token}}}, func(code string, _ *loomv1.Answer) {
		if code == "" {
			return
		}
		a.w.see("renewal refused: " + code)
		if a.w.one(2) && a.phase != answering {
			a.out = failed(a, code)
			a.phase = answering
		}
	})
}

// touch works on the repository: first the fence, then, a step later, the ref.
func (a *agent) touch() {
	var err error
	if a.phase == raising {
		if err = a.w.git.raise(a.token); err == nil {
			if a.phase = moving; a.drivesTrains() {
				a.phase = forming
			}
			a.settle()
			a.settleTrains()
			return
		}
	} else {
		a.out, err = a.move()
	}
	if err != nil {
		a.out = failed(a, codeOf(err))
	}
	a.phase = answering
}

// settle says what has become of commits whose attempts have ended, under the fence.
func (a *agent) settle() {
	for _, o := range a.riddles {
		a.w.keeper.send(&loomv1.Command{Body: &loomv1.Command_SettleLanding{SettleLanding: &loomv1.SettleLanding{
			Execution: o.Execution, Commit: o.Commit, Token: a.token, Holder: a.who(), Landing: a.w.git.find(o, a.token),
		}}}, a.identity, func(*loomv1.Answer) {})
	}
	a.riddles = nil
}

// late says where a change has landed whose attempt has ended.
func (a *agent) late() {
	if l := a.out.GetLanding(); l != nil && a.w.git.has(l.Commit) {
		a.w.keeper.send(&loomv1.Command{Body: &loomv1.Command_SettleLanding{SettleLanding: &loomv1.SettleLanding{
			Execution: a.brief.Execution.Id, Commit: a.brief.Execution.Candidate.GetCommit(), Holder: a.who(), Landing: l,
		}}}, a.identity, func(*loomv1.Answer) {})
	}
}

func (a *agent) move() (*loomv1.Outcome, error) {
	x, id := a.brief.Execution, a.brief.Attempt.Id
	out := succeeded(a)
	if a.brief.Node.Kind == loomv1.NodeKind_NODE_KIND_COMMIT {
		if !a.asJudged() {
			a.w.see("not as it was judged")
			return failed(a, "intent/delivery"), nil
		}
		if x.Change == nil {
			out.Candidate = &loomv1.Candidate{Commit: a.w.git.head, Base: a.w.git.head, Token: a.token, Present: true}
			return out, nil
		}
		c, err := a.w.git.candidate(id, a.sign(), x.Id, x.Change.PatchDigest, a.token)
		out.Candidate = proto.CloneOf(c)
		return out, err
	}
	if x.Candidate == nil {
		return failed(a, "git/no-change"), nil
	}
	if workflow.RefusedByTrain(x) {
		return failed(a, "train/refused"), nil
	}
	if a.w.chance(agentLies) {
		out.Landing = &loomv1.Landing{Commit: "another", Ref: "refs/heads/main", Target: "main", Token: a.token}
		return out, nil
	}
	l, err := a.w.git.land(id, a.sign(), x, a.fence)
	out.Landing = l
	return out, err
}

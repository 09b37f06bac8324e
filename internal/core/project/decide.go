package project

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/commitlock"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Do decides cmd at the journal time now, which must not lie before [State.Time],
// and returns the facts to make durable and the answer to give once they are.
// The facts have been applied already.
//
// A refusal is an answer with an error. A Go error means that the state is
// inconsistent: it must be thrown away and replayed.
func (s *State) Do(now time.Time, cmd *loomv1.Command) ([]*loomv1.Event, *loomv1.Answer, error) {
	wall := now.Add(-s.ahead)
	if now.Before(s.Time()) {
		now = s.Time()
	}
	d := &decision{s: s, now: now, wall: wall, at: timestamppb.New(now), actor: cmd.Actor}
	answer, err := d.dispatch(cmd)
	err = d.aroundPrimacy(cmd, err)
	if err == nil {
		err = d.catchUp()
	}
	for _, id := range d.postponed {
		s.timers.kick(id)
	}
	if d.broken != nil {
		return nil, nil, d.broken
	}
	if err != nil {
		if len(d.events) > 0 && !d.refusalRecorded {
			return nil, nil, fmt.Errorf("project %q: %T refused after %d events: %w", s.cfg.ID, cmd.Body, len(d.events), err)
		}
		return d.events, &loomv1.Answer{Error: fault.From(err).Proto()}, nil
	}
	if answer == nil {
		answer = &loomv1.Answer{Body: &loomv1.Answer_Done{Done: &loomv1.Done{}}}
	}
	return d.events, answer, nil
}

// decision is one command being decided.
type decision struct {
	s     *State
	now   time.Time              // of the journal
	wall  time.Time              // of the wall clock
	at    *timestamppb.Timestamp // now, made once; nobody changes it
	actor *loomv1.Identity       // nor this
	// signer is the CEO's key that the command is signed with, if it is.
	signer *loomv1.SigningKey

	// What the facts being emitted are about.
	bead, execution, node, attempt string

	events          []*loomv1.Event
	broken          error          // a fact that could not be applied
	refusalRecorded bool           // the refusal is itself a fact
	preface         *loomv1.Event  // to be emitted before anything else is
	waiting         []func() error // reactions that wait until the core that decides is done
	regrants        bool           // what is asked for goes from one agent to the next of the same attempt
	children        int            // begun by this command
	postponed       []string       // executions that are to go on with the next tick, and not with this one
	waking          bool           // who waits for room in a budget is to ask again
	counted, bytes  int            // how many of the events are counted in bytes
}

func (d *decision) dispatch(cmd *loomv1.Command) (*loomv1.Answer, error) {
	if err := d.s.takes(cmd); err != nil {
		return nil, err
	}
	switch c := cmd.Body.(type) {
	case *loomv1.Command_RegisterProject:
		return nil, d.register(c.RegisterProject)
	case *loomv1.Command_RemoveProject:
		return nil, d.removeProject(c.RemoveProject)
	case *loomv1.Command_StoreDefinition:
		return nil, d.store(c.StoreDefinition.Definition, false)
	case *loomv1.Command_FileBead:
		return d.fileBead(c.FileBead.Submission)
	case *loomv1.Command_FileError:
		return d.fileError(c.FileError.Report)
	case *loomv1.Command_UpdateBead:
		return d.updateBead(c.UpdateBead)
	case *loomv1.Command_CloseBead:
		return d.closeBead(c.CloseBead)
	case *loomv1.Command_ReopenBead:
		return d.reopenBead(c.ReopenBead)
	case *loomv1.Command_RecordDraft:
		return nil, d.recordDraft(c.RecordDraft)
	case *loomv1.Command_ForkExecution:
		return d.fork(c.ForkExecution)
	case *loomv1.Command_RecordRejection:
		return nil, d.emit(&loomv1.Event{Fact: &loomv1.Event_SubmissionRejected{SubmissionRejected: &loomv1.SubmissionRejected{
			Error: c.RecordRejection.Error, Subject: c.RecordRejection.Subject,
		}}})
	case *loomv1.Command_NoteSecurity:
		return nil, d.noteSecurity(c.NoteSecurity)
	case *loomv1.Command_NoteCut:
		return nil, d.noteCut(c.NoteCut.GetCut())
	case *loomv1.Command_ClaimAttempt:
		return d.claim(c.ClaimAttempt)
	case *loomv1.Command_RecordTurn:
		return d.recordTurn(c.RecordTurn)
	case *loomv1.Command_SetContext:
		return d.setContext(c.SetContext)
	case *loomv1.Command_TellExecution:
		return d.tell(c.TellExecution)
	case *loomv1.Command_ParkAttempt:
		return nil, d.park(c.ParkAttempt)
	case *loomv1.Command_AnswerAttempt:
		return d.answer(c.AnswerAttempt)
	case *loomv1.Command_ReleaseAttempt:
		return nil, d.release(c.ReleaseAttempt)
	case *loomv1.Command_ReleaseHost:
		return nil, d.releaseHost(c.ReleaseHost)
	case *loomv1.Command_ReportRoles:
		return nil, d.reportRoles(c.ReportRoles)
	case *loomv1.Command_ScaleRole:
		return nil, d.scale(c.ScaleRole)
	case *loomv1.Command_DrainHost:
		return nil, d.drain(c.DrainHost)
	case *loomv1.Command_RecordLives:
		return nil, d.recordLives(c.RecordLives)
	case *loomv1.Command_RecordMembers:
		return nil, d.recordMembers(c.RecordMembers.GetChange())
	case *loomv1.Command_AcquireLock:
		return d.acquire(c.AcquireLock)
	case *loomv1.Command_RenewLock:
		if err := d.grantOf(c.RenewLock.Token, c.RenewLock.Holder); err != nil {
			return nil, err
		}
		return nil, d.lock(d.s.locks.Renew(d.now, d.repository(), c.RenewLock.Token))
	case *loomv1.Command_ReleaseLock:
		if err := d.grantOf(c.ReleaseLock.Token, c.ReleaseLock.Holder); err != nil {
			return nil, err
		}
		return nil, d.lock(d.s.locks.Release(d.now, d.repository(), c.ReleaseLock.Token))
	case *loomv1.Command_FormTrain:
		return d.formTrain(c.FormTrain)
	case *loomv1.Command_RecordTrain:
		return nil, d.recordTrain(c.RecordTrain)
	case *loomv1.Command_SettleTrain:
		return nil, d.settleTrain(c.SettleTrain)
	case *loomv1.Command_SettleLanding:
		return nil, d.settleLanding(c.SettleLanding)
	case *loomv1.Command_AddDecision:
		return d.addDecision(c.AddDecision)
	case *loomv1.Command_LinkDecision:
		return nil, d.endings(d.s.graph.Link(c.LinkDecision))
	case *loomv1.Command_SupersedeDecision:
		return nil, d.endings(d.s.graph.Supersede(c.SupersedeDecision))
	case *loomv1.Command_AbandonDecision:
		return nil, d.abandonDecision(c.AbandonDecision)
	case *loomv1.Command_ImportDecisions:
		return d.importDecisions(c.ImportDecisions)
	case *loomv1.Command_KeepMemory, *loomv1.Command_ChangeMemory, *loomv1.Command_ForgetMemory, *loomv1.Command_OfferMemory:
		return d.memory(cmd)
	case *loomv1.Command_OpenBallot:
		return nil, d.openBallot(c.OpenBallot)
	case *loomv1.Command_CastVote:
		return nil, d.castVote(c.CastVote)
	case *loomv1.Command_AskPermission:
		return d.askPermission(c.AskPermission)
	case *loomv1.Command_AskTeam:
		return d.askTeam(c.AskTeam)
	case *loomv1.Command_ReserveCall:
		return d.reserveCall(c.ReserveCall)
	case *loomv1.Command_SettleCall:
		return nil, d.settleCall(c.SettleCall)
	case *loomv1.Command_AnswerApproval:
		return d.respond(c.AnswerApproval)
	case *loomv1.Command_Signed:
		return nil, d.signed(c.Signed)
	case *loomv1.Command_ActInSession:
		return d.actInSession(c.ActInSession)
	case *loomv1.Command_Converse:
		return d.converse(c.Converse)
	case *loomv1.Command_InterviewTurn:
		return d.interviewTurn(c.InterviewTurn)
	case *loomv1.Command_Tick:
		if err := d.tick(); err != nil {
			return nil, err
		}
		return nil, d.settleSome()
	}
	return nil, fault.New("command/malformed", "command %T is not one that this release knows", cmd.Body)
}

// emit numbers, stamps and applies a fact, then what follows from it.
func (d *decision) emit(e *loomv1.Event) error {
	if d.broken != nil {
		return d.broken
	}
	if err := d.writable(e); err != nil {
		return err
	}
	if err := d.emitPreface(); err != nil {
		return err
	}
	d.stamp(e)
	if err := d.s.Apply(e); err != nil {
		d.broken = err
		return err
	}
	d.events = append(d.events, e)
	return d.react(e)
}

// writable returns deployment/older-host for a fact that not all hosts read. The
// command is refused; if it has brought facts already, the state is broken, and
// none of them is written.
func (d *decision) writable(e *loomv1.Event) error {
	err := d.s.cfg.Format.Check(e, d.s.agreed)
	if err != nil && len(d.events) > 0 {
		d.broken = err
	}
	return err
}

// size returns how many bytes the facts have so far.
func (d *decision) size() int {
	for ; d.counted < len(d.events); d.counted++ {
		d.bytes += proto.Size(d.events[d.counted])
	}
	return d.bytes
}

func (d *decision) stamp(e *loomv1.Event) {
	e.Number = d.s.p.LastNumber + 1
	e.Time = d.at
	d.stampWall(e)
	e.Project = d.s.cfg.ID
	e.Bead = first(e.Bead, d.bead)
	e.Team = d.s.team(e)
	e.Execution = first(e.Execution, d.execution)
	e.Node = first(e.Node, d.node)
	e.Attempt = first(e.Attempt, d.attempt)
	if e.Actor == nil {
		e.Actor = d.actor
	}
	commitlock.Stamp(e, d.s.cfg.Epoch)
}

// team returns the outermost bead that an event's bead is a part of, or whose
// answer it waits for; "" where it is part of none.
func (s *State) team(e *loomv1.Event) string {
	b := s.bead(e.Bead)
	if f := e.GetBeadFiled(); f != nil {
		b = f.Bead
	}
	team := ""
	for range MaxDepth + 1 { // a line of parents, and a question about one of them
		up := first(b.GetParent(), b.GetAbout())
		if up == "" {
			break
		}
		team, b = up, s.bead(up)
	}
	return team
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// all emits the facts of a core's decider, or passes on its refusal.
func (d *decision) all(events []*loomv1.Event, err error) error {
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := d.emit(e); err != nil {
			return err
		}
	}
	return nil
}

// about says what the facts to come are about; it returns how to undo that.
func (d *decision) about(x *loomv1.Execution) func() {
	bead, execution, node, attempt := d.bead, d.execution, d.node, d.attempt
	d.bead, d.execution, d.node, d.attempt = x.Bead, x.Id, "", ""
	return func() { d.bead, d.execution, d.node, d.attempt = bead, execution, node, attempt }
}

// run returns the workflow core on execution x.
func (d *decision) run(x *loomv1.Execution) workflow.Run {
	return workflow.Run{
		Def: d.s.defs[x.DefinitionHash], X: x, Bead: d.s.bead(x.Bead), Now: d.now,
		Planned: d.planned(x), Emit: d.emit, NextBead: d.nextBead, Held: d.s.held(x), Absent: d.s.absent, Grace: d.s.grace(),
		Crashes: d.s.p.GetConfig().GetCrashes(), Considered: func() []*loomv1.Considered { return d.s.considered(x.Id) },
	}
}

// nextBead returns the id of the next bead. After a restore it carries the epoch:
// beads that were filed since the backup had the same numbers, and commits in git
// have their names.
func (d *decision) nextBead() string {
	id := fmt.Sprintf("%s-%d", d.s.cfg.ID, d.s.p.BeadCount+1)
	if d.s.cfg.Epoch > 1 {
		id += fmt.Sprintf("e%d", d.s.cfg.Epoch)
	}
	return id
}

func (d *decision) repository() string { return d.s.p.GetConfig().GetRepository() }

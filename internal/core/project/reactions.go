package project

import (
	"reflect"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// reaction is a row of the table of who reacts to what: what a fact of one core leads
// to in another, in the same command and so in the same batch.
type reaction struct {
	part string // of the project that acts: bead, execution, approval, budget, mail, ballot, lock, graph, memory, session, conversation
	does string // in words, for documents
	// after is a reaction that waits until the core that decides is done with the
	// command, for it leads to another decision of that core.
	after bool
	do    func(*decision, *loomv1.Event) error
	facts []reflect.Type // fields of Event.fact
}

// of names a field of Event.fact.
func of[F any]() reflect.Type { return reflect.TypeFor[F]() }

func atOnce(part, does string, do func(*decision, *loomv1.Event) error, facts ...reflect.Type) reaction {
	return reaction{part, does, false, do, facts}
}

func afterwards(part, does string, do func(*decision, *loomv1.Event), facts ...reflect.Type) reaction {
	return reaction{part, does, true, func(d *decision, e *loomv1.Event) error { do(d, e); return nil }, facts}
}

// reactions is the table. Rows of one fact act in its order; docs/reactions.md is made
// from it.
func reactions() []reaction {
	return []reaction{
		afterwards("budget", "attempts that wait for room in it ask again", (*decision).followBudget,
			of[*loomv1.Event_ModelAnswered](), of[*loomv1.Event_TurnCompacted](), of[*loomv1.Event_CallSettled](),
			of[*loomv1.Event_AttemptParked](), of[*loomv1.Event_AttemptEnded](), of[*loomv1.Event_ClaimReleased](),
			of[*loomv1.Event_LimitLifted](), of[*loomv1.Event_BeadUpdated](), of[*loomv1.Event_ProjectRegistered](),
			of[*loomv1.Event_ApprovalLapsed](), of[*loomv1.Event_ExecutionEnded]()),

		atOnce("memory", "what the outcome teaches is kept", (*decision).rememberOutcome, of[*loomv1.Event_AttemptEnded]()),
		atOnce("memory", "what a model found worth remembering of a phase is kept", (*decision).rememberExtracted, of[*loomv1.Event_AttemptEnded]()),
		atOnce("memory", "the comment of the answer is kept", (*decision).rememberComment, of[*loomv1.Event_ApprovalDecided]()),
		atOnce("memory", "what was left out is kept", (*decision).rememberGap, of[*loomv1.Event_GapNoted]()),
		atOnce("memory", "the tool's error is kept for the session", (*decision).rememberToolError, of[*loomv1.Event_ToolFinished]()),
		atOnce("memory", "the abort of a session is kept", (*decision).rememberAbort, of[*loomv1.Event_SessionAdvanced]()),
		atOnce("memory", "what executions of the process have taught again and again is kept", (*decision).rememberLessons, of[*loomv1.Event_ExecutionEnded]()),
		atOnce("memory", "the session of the execution ends", (*decision).endSession, of[*loomv1.Event_ExecutionEnded]()),

		atOnce("bead", "the bead has the status of its execution", (*decision).followStatus,
			of[*loomv1.Event_ExecutionStarted](), of[*loomv1.Event_ExecutionForked]()),
		atOnce("graph", "the bead's goal is noted", (*decision).noteGoal, of[*loomv1.Event_ExecutionStarted]()),
		afterwards("execution", "the process that is to do the attempt begins", (*decision).followProcess, of[*loomv1.Event_AttemptDispatched]()),
		atOnce("execution", "the next attempt at a conversation goes on with what was said", (*decision).followTurn, of[*loomv1.Event_AttemptDispatched]()),
		atOnce("budget", "the CEO is asked where a limit is passed", (*decision).followAnswer,
			of[*loomv1.Event_ModelAnswered](), of[*loomv1.Event_TurnCompacted]()),

		atOnce("bead", "the approval is filed as a bead, and its work waits", (*decision).followAsked, of[*loomv1.Event_ApprovalRequested]()),
		afterwards("execution", "an execution that is closing ends, if no step is under way", (*decision).followClosing,
			of[*loomv1.Event_ExecutionClosing](), of[*loomv1.Event_AttemptParked](), of[*loomv1.Event_ClaimReleased](), of[*loomv1.Event_AttemptEnded]()),
		afterwards("execution", "executions that work for the attempt are stopped", (*decision).followAttempt, of[*loomv1.Event_AttemptEnded]()),
		afterwards("mail", "open questions to the attempt are answered: it has ended", (*decision).followMail, of[*loomv1.Event_AttemptEnded]()),
		afterwards("mail", "the giver of the task hears of a failure", (*decision).followTrouble,
			of[*loomv1.Event_ClaimReleased](), of[*loomv1.Event_AttemptEnded](), of[*loomv1.Event_ApprovalDecided]()),
		atOnce("approval", "open questions about calls of the attempt lapse", (*decision).followAsker, of[*loomv1.Event_AttemptEnded]()),
		atOnce("lock", "the attempt's place or grant is given back", (*decision).freeLock, of[*loomv1.Event_AttemptEnded]()),
		atOnce("bead", "the approval's bead is closed, and its work goes on", (*decision).closeApproval,
			of[*loomv1.Event_ApprovalDecided](), of[*loomv1.Event_ApprovalLapsed]()),

		afterwards("execution", "a change that has landed meanwhile is withdrawn", (*decision).followChange, of[*loomv1.Event_ChangeProposed]()),
		atOnce("graph", "the change is noted as an action", (*decision).noteChange, of[*loomv1.Event_ChangeProposed]()),
		atOnce("graph", "the commit is noted as an outcome", (*decision).noteLanding,
			of[*loomv1.Event_Landed](), of[*loomv1.Event_LandingSettled]()),
		atOnce("execution", "the same patch of other executions is withdrawn", (*decision).followLanded,
			of[*loomv1.Event_Landed](), of[*loomv1.Event_LandingSettled]()),
		atOnce("lock", "the attempt that waited goes on, or the next one is granted", (*decision).followGrant, of[*loomv1.Event_LockGranted]()),

		afterwards("ballot", "voters are asked, or no more", (*decision).followBallot,
			of[*loomv1.Event_BallotOpened](), of[*loomv1.Event_VoteCast](), of[*loomv1.Event_BallotReferred](), of[*loomv1.Event_BallotClosed]()),
		atOnce("approval", "the CEO is asked which option it is to be", (*decision).followReferred, of[*loomv1.Event_BallotReferred]()),
		atOnce("approval", "the question about a void vote lapses", (*decision).followVoid, of[*loomv1.Event_BallotClosed]()),
		afterwards("approval", "what rests on the decision is asked about again", (*decision).followShaken,
			of[*loomv1.Event_DecisionSuperseded](), of[*loomv1.Event_DecisionAbandoned]()),

		afterwards("session", "what is the runtime's is done, and the session's work follows", (*decision).followSession, of[*loomv1.Event_SessionAdvanced]()),
		afterwards("session", "the step that the node does has ended, or the criteria are judged", (*decision).followStep, of[*loomv1.Event_NodeCompleted]()),
		afterwards("session", "the session hears that its work has ended", (*decision).followSteps, of[*loomv1.Event_ExecutionEnded]()),
		afterwards("session", "a step that took too long is over, and its work is closed", (*decision).followTooLong, of[*loomv1.Event_AttemptEnded]()),
		afterwards("session", "work that cannot go on by itself is closed, and the operator chooses", (*decision).followGivenUp, of[*loomv1.Event_ApprovalRequested]()),
		afterwards("session", "the session hears what its step keeps", (*decision).followKept, of[*loomv1.Event_MemoryKept]()),
		afterwards("session", "the session hears what its step decides", (*decision).followLogged, of[*loomv1.Event_DecisionAdded]()),
		afterwards("session", "what had failed to be delivered is, for it has landed", (*decision).followLateLanding, of[*loomv1.Event_LandingSettled]()),

		afterwards("conversation", "the conversation in which the work was begun hears of its end", (*decision).followConversation, of[*loomv1.Event_ExecutionEnded]()),
		afterwards("execution", "what was set aside until the end begins, if the work is delivered", (*decision).followDetached, of[*loomv1.Event_ExecutionEnded]()),
		afterwards("execution", "the attempt that waits for the execution is answered", (*decision).followChild, of[*loomv1.Event_ExecutionEnded]()),
		atOnce("bead", "the bead ends as its execution did, and the outcome is noted; of a bead that asks for a vote, the vote is cast", (*decision).followEnd, of[*loomv1.Event_ExecutionEnded]()),
	}
}

// reactionsByFact is the table as it is looked up.
func reactionsByFact() map[reflect.Type][]reaction {
	by := map[reflect.Type][]reaction{}
	for _, r := range reactions() {
		for _, f := range r.facts {
			by[f] = append(by[f], r)
		}
	}
	return by
}

// react does what follows from a fact.
func (d *decision) react(e *loomv1.Event) error {
	for _, r := range d.s.reactions[reflect.TypeOf(e.Fact)] {
		events, waiting := len(d.events), len(d.waiting)
		if err := r.do(d, e); err != nil {
			return err
		}
		if watch != nil {
			watch(r, len(d.events)-events, len(d.waiting)-waiting)
		}
	}
	return nil
}

// watch is told of each reaction, how many facts it led to at once, and how many that
// wait. Only tests have one: they look whether each row acts, and in its time.
var watch func(r reaction, facts, waiting int)

// later has something done once the core that decides is done with the command. It
// may lead to more of it.
func (d *decision) later(do func() error) { d.waiting = append(d.waiting, do) }

// catchUp does what had to wait.
func (d *decision) catchUp() error {
	for len(d.waiting) > 0 {
		do := d.waiting[0]
		d.waiting = d.waiting[1:]
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

package chaos

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// desk is where the CEO sits: answers what is asked, and gives orders of its
// own. What is signed is presented until it is answered.
type desk struct {
	many   *many
	random *rand.Rand
	said   []*said
	paused bool // that was said
	moves  int
	closes int
}

// said is a command of the CEO other than an answer.
type said struct {
	cmd    *loomv1.CeoCommand
	verb   string
	signed *loomv1.SignedCommand
	done   bool // it was carried out
	void   bool // it came too late
}

func (d *desk) say(verb string, cmd *loomv1.CeoCommand) {
	d.said = append(d.said, &said{cmd: cmd, verb: verb})
}

func (d *desk) define(def *loomv1.Definition) {
	d.say("define", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Define{Define: &loomv1.ChangeDefinition{Definition: def, Reason: "the work to come"}}})
}

// count returns how many commands of each verb are as ok wants.
func (d *desk) count(ok func(*said) bool) map[string]int {
	count := map[string]int{}
	for _, s := range d.said {
		if ok(s) {
			count[s.verb]++
		}
	}
	return count
}

func isDone(s *said) bool { return s.done }

func isSigned(s *said) bool { return s.signed != nil }

func anySaid(*said) bool { return true }

// work is a visit of the CEO to a host.
func (d *desk) work(ctx context.Context, h *process) {
	human := h.ceo(ctx)
	if human == nil {
		return
	}
	defer human.close()
	d.whole()
	for ctx.Err() == nil {
		if !d.insist(ctx, h, human) {
			return
		}
		var ask *loomv1.Approval
		_, more := d.many.board.look(func(b *board) { ask = d.next(b) })
		if ask == nil {
			select {
			case <-more:
			case <-h.ended:
				return
			case <-ctx.Done():
			}
			continue
		}
		if !h.until(ctx, func() bool { return d.answer(ctx, human, ask) }) {
			return
		}
		d.meddle()
	}
}

// whole pauses all work in the middle of the test, and resumes it two lives
// later.
func (d *desk) whole() {
	const scope, why = loomv1.PauseScope_PAUSE_SCOPE_PROJECT, "to look at it in peace"
	switch half := *restarts/2 + 1; {
	case d.many.round >= half && !d.paused:
		d.paused = true
		d.say("pause", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Pause{Pause: &loomv1.PauseWork{Scope: scope, Reason: why}}})
	case d.many.round >= half+2 && d.count(isDone)["pause"] == 1 && d.count(anySaid)["resume"] == 0:
		d.say("resume", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Resume{Resume: &loomv1.ResumeWork{Scope: scope, Reason: why}}})
	}
}

// insist presents what was said and not answered yet. It returns false if the
// host ended first.
func (d *desk) insist(ctx context.Context, h *process, human *ceo) bool {
	for _, s := range d.said {
		if !s.done && !s.void && !h.until(ctx, func() bool { return d.present(ctx, human, s) }) {
			return false
		}
	}
	return true
}

func (d *desk) present(ctx context.Context, human *ceo, s *said) bool {
	if s.signed == nil {
		signed, err := human.key.Sign(human.deployment, crowd, s.cmd)
		if err != nil {
			d.many.t.Error(err)
			return false
		}
		s.signed = signed
	}
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := human.control.Present(short, s.verb, s.signed)
	switch {
	case err == nil:
		s.done = true
	case fault.Code(err) == "override/ended":
		s.void = true
	case fault.Status(err) == fault.Unavailable, ctx.Err() != nil:
		return false
	default:
		d.many.t.Errorf("%s: %v", s.verb, err)
		s.void = true
	}
	return true
}

// next is a question that the CEO answers now. Some are left until the last
// life, so that there is work in all.
func (d *desk) next(b *board) *loomv1.Approval {
	if len(b.open) == 0 {
		return nil
	}
	if !d.many.last() && (b.answered >= d.many.share(d.many.share(*orders)) || len(b.open) <= *orders/20) {
		return nil
	}
	return b.open[d.random.IntN(len(b.open))]
}

// answer answers a question and returns whether that is settled.
func (d *desk) answer(ctx context.Context, human *ceo, a *loomv1.Approval) bool {
	cmd, err := human.key.Decide(human.deployment, crowd, &loomv1.DecideApproval{
		Approval: a.Id, Digest: a.Digest, Decision: d.verdict(a), Comment: "as the story wants it",
	})
	if err != nil {
		d.many.t.Error(err)
		return false
	}
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	switch err := human.control.Present(short, "decide", cmd); {
	case err == nil:
	case fault.Code(err) == "approval/decided", fault.Code(err) == "approval/lapsed": // the notice of that is under way
	case fault.Status(err) == fault.Unavailable, ctx.Err() != nil:
		return false
	default:
		d.many.t.Errorf("answer to %s: %v", a.Id, err)
	}
	return d.noticed(ctx, a)
}

// noticed waits until the board no longer has a question.
func (d *desk) noticed(ctx context.Context, a *loomv1.Approval) bool {
	for {
		open := false
		_, more := d.many.board.look(func(b *board) {
			open = slices.ContainsFunc(b.open, func(o *loomv1.Approval) bool { return o.Id == a.Id })
		})
		if !open {
			return true
		}
		select {
		case <-more:
		case <-ctx.Done():
			return false
		}
	}
}

// verdict follows from the order and the question alone. A permit is never
// refused: others wait for it.
func (d *desk) verdict(a *loomv1.Approval) loomv1.ApprovalDecision {
	n := -1
	d.many.board.look(func(b *board) { n = number(b.orders[a.Bead]) })
	switch {
	case a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION && !a.Gate:
		return loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY
	case a.Gate || d.isPermit(n):
	case a.Visit == 1 && has(n, "changes", 10):
		return loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES
	case has(n, "reject", 6):
		return loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
	}
	return loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
}

func (d *desk) isPermit(n int) bool { return n%lotSize == 0 || n%lotSize == 6 }

// meddle moves or closes an execution now and then.
func (d *desk) meddle() {
	var at string
	d.many.board.look(func(b *board) {
		var list []string
		for x, bead := range b.running {
			if n := number(b.orders[bead]); !d.isPermit(n) && n%lotSize != 5 && n%lotSize != 11 {
				list = append(list, x)
			}
		}
		if slices.Sort(list); len(list) > 0 {
			at = list[d.random.IntN(len(list))]
		}
	})
	const why = "it takes too long"
	switch {
	case at == "":
	case d.moves < d.many.share(*orders/12):
		d.moves++
		to := []string{"work", "audit", "approve", "part"}[d.random.IntN(4)]
		d.say("move", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Move{Move: &loomv1.MoveExecution{Execution: at, Node: to, Reason: why}}})
	case d.closes < d.many.share(*orders/20):
		d.closes++
		d.say("close", &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Close{Close: &loomv1.CloseExecution{Execution: at, Reason: why}}})
	}
}

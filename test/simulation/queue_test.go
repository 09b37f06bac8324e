package simulation

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/plan"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// redeliverAfter is how long a delivery stays with who pulled it.
const redeliverAfter = 30 * time.Second

// item is an assignment in the work queue, which promises nothing.
type item struct {
	a    *loomv1.Assignment
	from time.Time // not delivered before
}

func (w *world) enqueue(a *loomv1.Assignment) {
	w.oracle.derivable(a)
	if w.chance(assignmentLost) {
		w.see("assignment lost")
		return
	}
	at := w.now
	if w.chance(assignmentLate) {
		at = at.Add(time.Duration(w.rng.IntN(300)) * time.Second)
	}
	if !w.queued(a) {
		w.queue = append(w.queue, &item{a, at})
	}
	if w.chance(assignmentTwice) {
		w.see("assignment twice")
		w.queue = append(w.queue, &item{a, at})
	}
}

func (w *world) queued(a *loomv1.Assignment) bool {
	for _, i := range w.queue {
		if i.a.Attempt == a.Attempt && i.a.Generation == a.Generation {
			return true
		}
	}
	return false
}

// pull delivers any assignment of a role, in no order.
func (w *world) pull(role string) *item {
	from := w.rng.IntN(len(w.queue) + 1)
	for n := range w.queue {
		i := w.queue[(from+n)%len(w.queue)]
		if i.a.Role == role && !i.from.After(w.now) {
			i.from = w.now.Add(redeliverAfter)
			return i
		}
	}
	return nil
}

func (w *world) ack(done *item) {
	for n, i := range w.queue {
		if i == done {
			w.queue = append(w.queue[:n:n], w.queue[n+1:]...)
			return
		}
	}
}

// publisher files work, and repeats itself.
type publisher struct {
	made []*submission
}

// submission is what was sent, and what was first answered.
type submission struct {
	cmd     *loomv1.Command
	answer  *loomv1.SubmitReply
	refused bool
	at      time.Time // of the answer
}

func (w *world) publish() {
	p := &w.publisher
	switch {
	case w.calm:
	case len(p.made) > 0 && w.chance(publisherRepeats):
		w.submit(p.made[w.rng.IntN(len(p.made))])
	case len(p.made) > 0 && p.made[len(p.made)-1].answer == nil && !p.made[len(p.made)-1].refused: // it repeats until it hears
		w.submit(p.made[len(p.made)-1])
	case len(p.made) < 4 && w.talks == nil, len(p.made) < 2:
		s := &submission{cmd: w.work(len(p.made))}
		p.made = append(p.made, s)
		w.submit(s)
	}
}

// work draws a submission or an error report.
func (w *world) work(n int) *loomv1.Command {
	key := fmt.Sprintf("key-%d", n)
	if w.one(2) || n == 0 {
		service := fmt.Sprintf("s%d", n)
		if w.chance(errorRepeats) {
			service = "s0"
		}
		return &loomv1.Command{Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: &loomv1.ErrorReport{
			Service: service, Status: 500, Kind: "panic", Message: fmt.Sprintf("total %d is wrong", w.rng.IntN(1000)), IdempotencyKey: key,
		}}}}
	}
	process, words := w.definition.Name, map[string]any{"who": "qa-engineer"}
	if w.tender != nil && !w.one(3) {
		process, words[plan.ApproveKey] = w.tender.Name, w.one(3)
	}
	context, err := structpb.NewStruct(words)
	if err != nil {
		panic(err)
	}
	return &loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{
		Goal: "mend it", Process: process, IdempotencyKey: key, Context: context, Budget: w.budget(),
		BlockedBy: w.someBead(), Priority: loomv1.Priority(w.rng.IntN(4)), Deadline: w.deadline(),
	}}}}
}

// someBead is what work waits for, now and then.
func (w *world) someBead() []string {
	if len(w.oracle.works) == 0 || !w.one(3) {
		return nil
	}
	return []string{w.oracle.works[w.rng.IntN(len(w.oracle.works))]}
}

func (w *world) deadline() *timestamppb.Timestamp {
	if !w.one(5) {
		return nil
	}
	return timestamppb.New(w.now.Add(time.Duration(5+w.rng.IntN(60)) * time.Minute))
}

func (w *world) submit(s *submission) {
	at := w.now
	w.keeper.send(s.cmd, identity(loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER, "p"), func(a *loomv1.Answer) {
		if a == nil {
			return
		}
		r := a.GetSubmit()
		if c := code(a); c == "storm/budget" || c == "submit/past-deadline" {
			w.see("submission refused: " + c)
			s.refused = true
			if c == "storm/budget" {
				w.oracle.stormOver(at)
			}
			return
		}
		if a.Error != nil || r.GetBead() == "" {
			w.broken(0, "a submission is answered with %s", tellAnswer(a))
			return
		}
		w.oracle.acknowledged(r)
		switch {
		case s.answer != nil && at.Sub(s.at) >= remembered:
			w.see("duplicate after the window")
			s.answer, s.at = r, at
		case s.answer == nil:
			s.answer, s.at = r, at
			if s.cmd.GetFileError() != nil && r.Duplicate {
				w.see("same error again")
			}
		case s.answer.Bead != r.Bead || !r.Duplicate:
			w.broken(1, "a submission answered with %v is answered with %v when it comes again", s.answer, r)
		default:
			w.see("duplicate submission")
		}
	})
}

package workflow

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/team"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// taskNotes bounds what a task's outcome tells who gave it, in bytes: an
// execution has many, and each brief has them all.
const taskNotes = 6 << 10

// GiveTask notes that an attempt gave work to another agent. The same call again
// does nothing; a bead that is another call's is attempt/claimed.
func (r Run) GiveTask(attempt string, t *loomv1.TeamTask) error {
	_, a, err := r.outstanding(attempt)
	if err != nil {
		return err
	}
	for _, has := range a.Tasks {
		switch {
		case has.Call == t.GetCall() && has.Bead == t.GetBead():
			return nil
		case has.Call == t.GetCall() || has.Bead == t.GetBead():
			return fault.New("attempt/claimed", "attempt %q gave %s by call %q already", a.Id, has.Bead, has.Call)
		}
	}
	return r.Emit(&loomv1.Event{Node: a.Node, Attempt: a.Id, Fact: &loomv1.Event_TaskGiven{TaskGiven: &loomv1.TaskGiven{Task: t}}})
}

// ParkForTeam frees the agent until the tasks of some beads have ended, however
// long that takes. It does nothing where all have.
func (r Run) ParkForTeam(attempt string, c *loomv1.Claimant, beads []string) error {
	_, a, err := r.outstanding(attempt)
	if err != nil {
		return err
	}
	open := team.Open(a.Tasks, beads)
	if len(open) == 0 {
		return nil
	}
	return r.park(attempt, c, &loomv1.AttemptParked{WaitsFor: WaitsForTeam, Awaits: open})
}

// EndTask tells an attempt how a task ended that it gave, and queues it again
// when it waits for no other. Of the outcome status, words, code and change
// count. Ending it again does nothing.
func (r Run) EndTask(attempt, bead string, out *loomv1.Outcome) error {
	_, a, err := r.outstanding(attempt)
	if err != nil {
		return err
	}
	t := team.Find(a.Tasks, bead)
	switch {
	case t == nil:
		return fault.New("attempt/unknown", "attempt %q gave no task %q", a.Id, bead)
	case t.Outcome != nil:
		return nil
	case out.GetStatus() != success && out.GetStatus() != failure:
		return invalid("status", "a task succeeds or fails")
	}
	out = trimmed(&loomv1.Outcome{Status: out.Status, Summary: out.Summary, Notes: cut(out.Notes, taskNotes), Code: out.Code, Change: out.Change})
	if err := r.Emit(&loomv1.Event{Node: a.Node, Attempt: a.Id, Fact: &loomv1.Event_TaskEnded{
		TaskEnded: &loomv1.TaskEnded{Bead: bead, Outcome: out},
	}}); err != nil {
		return err
	}
	if a.Parked != WaitsForTeam || len(team.Open(a.Tasks, a.Awaits)) > 0 {
		return nil
	}
	return r.Unpark(a.Id)
}

func (f folder) taskGiven(t *loomv1.TeamTask) error {
	st, err := f.attempt()
	if err != nil {
		return err
	}
	a := st.Attempt
	if t.GetBead() == "" || t.GetExecution() == "" || t.Outcome != nil || team.Find(a.Tasks, t.Bead) != nil {
		return f.wrong("attempt %q cannot give task %q", a.Id, t.GetBead())
	}
	a.Tasks = append(a.Tasks, proto.CloneOf(t))
	return nil
}

func (f folder) taskEnded(e *loomv1.TaskEnded) error {
	st, err := f.attempt()
	if err != nil {
		return err
	}
	t := team.Find(st.Attempt.Tasks, e.GetBead())
	if t == nil || t.Outcome != nil || e.Outcome == nil {
		return f.wrong("task %q of attempt %q cannot end", e.GetBead(), f.e.Attempt)
	}
	t.Outcome = e.Outcome
	return nil
}

// awaited checks what a parked attempt waits for.
func (f folder) awaited(a *loomv1.Attempt, p *loomv1.AttemptParked) error {
	if (p.WaitsFor == WaitsForTeam) != (len(p.Awaits) > 0) {
		return f.wrong("attempt %q cannot be parked for %s", a.Id, fmt.Sprint(len(p.Awaits), " tasks"))
	}
	return nil
}

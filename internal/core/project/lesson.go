package project

import (
	"github.com/loomrun/loom/internal/core/lesson"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// learn counts what an execution that ends teaches; what is done after another's end counts
// for none.
func (s *State) learn(x *loomv1.Execution) {
	if s.taught = nil; x.After != "" {
		return
	}
	var asked []*loomv1.Approval
	for _, id := range s.asked[x.Id] {
		asked = append(asked, s.approval(id))
	}
	if s.p.Lessons == nil {
		s.p.Lessons = map[string]*loomv1.ProcessLessons{}
	}
	s.taught = lesson.Note(s.p.Lessons, x, asked)
}

// rememberLessons keeps what the executions of a process have taught often enough, now
// that one more has ended: as an entry of the runtime for each lesson, which is told
// anew as it is seen again. It is about the process, and no more about the execution, which
// has ended.
func (d *decision) rememberLessons(e *loomv1.Event) error {
	process := d.s.execution(e.Execution).GetDefinition()
	defer d.about(&loomv1.Execution{})()
	for _, l := range lesson.Due(process, d.s.p.Lessons[process], d.s.taught, d.s.mem.Told) {
		entry := &loomv1.MemoryEntry{
			Type: l.Type, Text: l.Text, Lesson: l.Name, Count: l.Executions, Confidence: 90, Tags: tagged(append([]string{process}, l.Nodes...)...),
		}
		for _, a := range l.Attempts {
			entry.Sources = append(entry.Sources, &loomv1.MemorySource{Attempt: a})
		}
		t := d.ownTurn()
		t.Process = process
		if err := d.keepFor(t, entry); err != nil {
			return err
		}
	}
	return nil
}

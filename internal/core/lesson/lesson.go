// Package lesson counts what the executions of a process teach: rules that are broken
// again and again, failures and whether another attempt mends them, questions with
// which the CEO asks for changes, and plans that were delivered.
//
// [Note] folds one ended execution into the counts; [Due] says what is worth
// remembering of them. What it promises: each execution counts once for each lesson
// however often it was seen there, the counts follow from ended executions alone and
// are bounded, and the same executions in the same order give the same lessons.
//
// What it never does: it keeps no text that a model, a person or the web has written,
// but for names in definitions, codes and the ids of a plan's phases, and it decides
// nothing: what is due is kept by the memory, beside what others have said.
package lesson

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Limits of what is counted in a project; what comes when they are reached is not.
const (
	MaxProcesses = 128
	MaxLessons   = 256 // of a process
	maxAttempts  = 4   // that a lesson names
	maxAbout     = 400 // bytes of a rule, a code or a plan
)

// Least executions in which something was seen before it is worth remembering.
const (
	LeastSeen      = 3
	LeastDelivered = 2 // by a plan
	LeastSentBack  = 2
)

// Statement is a lesson in words.
type Statement struct {
	// Name is that of the lesson in its process and the process'; the entry has it.
	Name string
	// Type is one of the memory's: pattern, preference or task_template.
	Type, Text string
	// Nodes are what the lesson is about, for tags.
	Nodes []string
	// Executions is in how many it was seen.
	Executions uint32
	Attempts   []string
}

// Note counts what an execution that has ended teaches. Approvals are those that were
// asked about it. It returns the names of the lessons that it has changed, sorted, and
// nil where the execution follows no definition or the limits are reached.
func Note(all map[string]*loomv1.ProcessLessons, x *loomv1.Execution, approvals []*loomv1.Approval) []string {
	of := all[x.GetDefinition()]
	switch {
	case x.GetDefinition() == "" || of == nil && len(all) >= MaxProcesses:
		return nil
	case of == nil:
		of = &loomv1.ProcessLessons{}
		all[x.Definition] = of
	}
	if of.Lessons == nil {
		of.Lessons = map[string]*loomv1.Lesson{}
	}
	of.Executions++
	seen := sighting{of: of, names: map[string]bool{}}
	for _, id := range slices.Sorted(maps.Keys(x.Nodes)) {
		seen.attempts(x.Nodes[id].GetHistory())
	}
	for _, a := range approvals {
		if a.GetDecision() == loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES && a.GetNode() != "" {
			seen.lesson(loomv1.LessonKind_LESSON_KIND_SENT_BACK, a.Node, "", "")
		}
	}
	seen.plan(x)
	return slices.Sorted(maps.Keys(seen.names))
}

// sighting is what one execution adds to the lessons of its process.
type sighting struct {
	of    *loomv1.ProcessLessons
	names map[string]bool
}

// attempts counts what the attempts at one node, oldest first, have come to.
func (s sighting) attempts(history []*loomv1.Attempt) {
	for i, a := range history {
		o := a.GetOutcome()
		for _, broken := range o.GetBroken() {
			s.lesson(loomv1.LessonKind_LESSON_KIND_RULE, broken.Phase, broken.Rule, a.Id)
		}
		if o.GetStatus() != loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE || o.Code == "" || o.Code == workflow.Withdrawn || len(o.Broken) > 0 {
			continue
		}
		l := s.lesson(loomv1.LessonKind_LESSON_KIND_FAILURE, a.Node, o.Code, a.Id)
		next := i + 1
		if l != nil && next < len(history) && history[next].Visit == a.Visit && history[next].GetOutcome().GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
			l.Mended++
		}
	}
}

// plan counts the plan that the execution went by at its end, if it is another one than
// the process has.
func (s sighting) plan(x *loomv1.Execution) {
	var phases []string
	another := len(x.GetPlan().GetLeftOut()) > 0
	for _, p := range x.GetPlan().GetPhases() {
		phases = append(phases, p.Id)
		another = another || p.Change != "" && p.Change != "kept" && p.Change != "begun"
	}
	if !another {
		return
	}
	about := strings.Join(phases, ", ")
	if left := x.Plan.GetLeftOut(); len(left) > 0 {
		var without []string
		for _, l := range left {
			without = append(without, l.Phase)
		}
		about += " (without " + strings.Join(without, ", ") + ")"
	}
	l := s.find(loomv1.LessonKind_LESSON_KIND_PLAN, "", about)
	if l == nil {
		return
	}
	if l.Times++; workflow.Delivered(x.Status) {
		l.Executions++
	}
}

// lesson counts one sighting; nil where there is no room for another lesson.
func (s sighting) lesson(kind loomv1.LessonKind, node, about, attempt string) *loomv1.Lesson {
	name := nameOf(kind, node, about)
	first := !s.names[name]
	l := s.find(kind, node, about)
	if l == nil {
		return nil
	}
	if l.Times++; first {
		l.Executions++
	}
	if attempt != "" {
		l.Attempts = append(l.Attempts, attempt)
		l.Attempts = l.Attempts[max(0, len(l.Attempts)-maxAttempts):]
	}
	return l
}

func (s sighting) find(kind loomv1.LessonKind, node, about string) *loomv1.Lesson {
	name := nameOf(kind, node, about)
	l := s.of.Lessons[name]
	if l == nil {
		if len(s.of.Lessons) >= MaxLessons || len(node)+len(about) > maxAbout {
			return nil
		}
		l = &loomv1.Lesson{Kind: kind, Node: node, About: about}
		s.of.Lessons[name] = l
	}
	s.names[name] = true
	return l
}

var kinds = map[loomv1.LessonKind]string{
	loomv1.LessonKind_LESSON_KIND_RULE: "rule", loomv1.LessonKind_LESSON_KIND_FAILURE: "failure",
	loomv1.LessonKind_LESSON_KIND_SENT_BACK: "sent-back", loomv1.LessonKind_LESSON_KIND_PLAN: "plan",
}

func nameOf(kind loomv1.LessonKind, node, about string) string {
	return kinds[kind] + "/" + node + "/" + about
}

// Due says which of the named lessons of a process are worth remembering, or worth
// telling anew. Told is how many executions the entry of a lesson tells of, 0 where
// there is none: it is told anew when a quarter more have seen it.
func Due(process string, of *loomv1.ProcessLessons, names []string, told func(name string) uint32) (due []Statement) {
	for _, name := range names {
		l := of.GetLessons()[name]
		least := uint64(LeastSeen)
		switch l.GetKind() {
		case loomv1.LessonKind_LESSON_KIND_PLAN:
			least = LeastDelivered
		case loomv1.LessonKind_LESSON_KIND_SENT_BACK:
			least = LeastSentBack
		}
		full := process + "/" + name
		if before := uint64(told(full)); before > 0 {
			least = before + max(1, before/4)
		}
		if l.GetExecutions() >= least {
			due = append(due, statement(process, full, of.Executions, l))
		}
	}
	return due
}

// statement puts a lesson into words.
func statement(process, name string, executions uint64, l *loomv1.Lesson) Statement {
	s := Statement{Name: name, Type: "pattern", Nodes: []string{l.Node}, Executions: uint32(l.Executions), Attempts: l.Attempts}
	seen := fmt.Sprintf("in %d of %d executions", l.Executions, executions)
	switch l.Kind {
	case loomv1.LessonKind_LESSON_KIND_RULE:
		s.Text = fmt.Sprintf("In process %s, what %s delivers broke the rule %s %s.", process, l.Node, l.About, seen)
	case loomv1.LessonKind_LESSON_KIND_FAILURE:
		s.Text = fmt.Sprintf("In process %s, %s failed with %s %s; the next attempt mended it in %d of %d cases.", process, l.Node, l.About, seen, l.Mended, l.Times)
	case loomv1.LessonKind_LESSON_KIND_SENT_BACK:
		s.Type = "preference"
		s.Text = fmt.Sprintf("In process %s, the CEO asked for changes at %s %s.", process, l.Node, seen)
	case loomv1.LessonKind_LESSON_KIND_PLAN:
		s.Type, s.Nodes = "task_template", nil
		s.Text = fmt.Sprintf("In process %s, a plan of the phases %s was delivered by %d of the %d executions that followed it.", process, l.About, l.Executions, l.Times)
	}
	return s
}

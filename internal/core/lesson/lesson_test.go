package lesson_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/core/lesson"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	success = loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS
	failure = loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE
)

// ran is an execution of process "p" with one node, and the attempts at it.
func ran(id string, outcomes ...*loomv1.Outcome) *loomv1.Execution {
	st := &loomv1.NodeState{}
	for i, o := range outcomes {
		st.History = append(st.History, &loomv1.Attempt{Id: fmt.Sprintf("%s-a%d", id, i+1), Node: "write", Visit: 1, Outcome: o})
	}
	return &loomv1.Execution{Id: id, Definition: "p", Status: loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED, Nodes: map[string]*loomv1.NodeState{"write": st}}
}

func broke(rules ...string) *loomv1.Outcome {
	o := &loomv1.Outcome{Status: failure, Code: "verify/broken"}
	for _, r := range rules {
		o.Broken = append(o.Broken, &loomv1.BrokenRule{Phase: "write", Rule: r, Count: 1})
	}
	return o
}

var (
	good   = &loomv1.Outcome{Status: success}
	failed = &loomv1.Outcome{Status: failure, Code: "turn/nothing"}
)

// book is what a project has counted and told.
type book struct {
	all  map[string]*loomv1.ProcessLessons
	told map[string]uint32
}

func newBook() *book {
	return &book{all: map[string]*loomv1.ProcessLessons{}, told: map[string]uint32{}}
}

// end notes an execution, and returns what is due, which is told from then on.
func (b *book) end(x *loomv1.Execution, asked ...*loomv1.Approval) (texts []string) {
	names := lesson.Note(b.all, x, asked)
	for _, s := range lesson.Due(x.Definition, b.all[x.Definition], names, func(name string) uint32 { return b.told[name] }) {
		b.told[s.Name] = s.Executions
		texts = append(texts, s.Type+": "+s.Text)
	}
	return texts
}

func TestMEM02_ARuleThatIsBrokenAgainAndAgainIsALesson(t *testing.T) {
	b := newBook()
	var got [][]string
	for i := range 6 {
		x := ran(fmt.Sprint("x", i), broke("no-placeholders", "no-placeholders"), broke("no-placeholders"), good)
		if i == 1 {
			x = ran("x1", good)
		}
		got = append(got, b.end(x))
	}
	want := [][]string{
		nil, nil, nil,
		{"pattern: In process p, what write delivers broke the rule no-placeholders in 3 of 4 executions."},
		{"pattern: In process p, what write delivers broke the rule no-placeholders in 4 of 5 executions."},
		{"pattern: In process p, what write delivers broke the rule no-placeholders in 5 of 6 executions."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	l := b.all["p"].Lessons["rule/write/no-placeholders"]
	if l.Times != 15 || len(l.Attempts) != 4 || l.Attempts[3] != "x5-a2" {
		t.Errorf("it was seen %d times, last at %q", l.Times, l.Attempts)
	}
}

func TestMEM02_ALessonIsToldAnewWhenAQuarterMoreHasSeenIt(t *testing.T) {
	b := newBook()
	var told []uint32
	for i := range 40 {
		if len(b.end(ran(fmt.Sprint("x", i), failed, good))) > 0 {
			told = append(told, b.told["p/failure/write/turn/nothing"])
		}
	}
	if want := []uint32{3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33}; !cmp.Equal(told, want) {
		t.Errorf("told at %d executions, want %d", told, want)
	}
}

func TestMEM02_WhatAnotherAttemptMendsIsCounted(t *testing.T) {
	b := newBook()
	b.end(ran("x1", failed, good))
	b.end(ran("x2", failed, failed, good))
	got := b.end(ran("x3", failed))
	if want := []string{"pattern: In process p, write failed with turn/nothing in 3 of 3 executions; the next attempt mended it in 2 of 4 cases."}; !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestMEM02_WhatTheCEOSendsBackIsAPreference(t *testing.T) {
	b := newBook()
	back := &loomv1.Approval{Node: "approve", Decision: loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES}
	fine := &loomv1.Approval{Node: "approve", Decision: loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE}
	b.end(ran("x1", good), back, back, fine)
	if got := b.end(ran("x2", good), fine); got != nil {
		t.Errorf("after one: %q", got)
	}
	got := b.end(ran("x3", good), back, fine)
	if want := []string{"preference: In process p, the CEO asked for changes at approve in 2 of 3 executions."}; !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestMEM02_APlanThatWasDeliveredIsATemplate(t *testing.T) {
	b := newBook()
	planned := func(id string, status loomv1.ExecutionStatus) *loomv1.Execution {
		x := ran(id, good)
		x.Status = status
		x.Plan = &loomv1.Plan{Phases: []*loomv1.PlannedPhase{{Id: "read"}, {Id: "write"}}, LeftOut: []*loomv1.LeftOut{{Phase: "poll"}}}
		return x
	}
	kept := ran("x0", good)
	kept.Plan = &loomv1.Plan{Phases: []*loomv1.PlannedPhase{{Id: "write", Change: "kept"}}}
	if b.end(kept); len(b.all["p"].Lessons) != 0 {
		t.Errorf("a plan as the process has it teaches %v", b.all["p"].Lessons)
	}
	b.end(planned("x1", loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED))
	if got := b.end(planned("x2", loomv1.ExecutionStatus_EXECUTION_STATUS_FAILED)); got != nil {
		t.Errorf("after a failure: %q", got)
	}
	got := b.end(planned("x3", loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED_WITH_GAPS))
	if want := []string{"task_template: In process p, a plan of the phases read, write (without poll) was delivered by 2 of the 3 executions that followed it."}; !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

// TestMEM02_LessonsAreBounded: the same executions give the same counts, no lesson was
// seen in more executions than there were nor more often mended than seen, and there
// are never more than the limits.
func TestMEM02_LessonsAreBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := newBook(), newBook()
		outcomes := rapid.SampledFrom([]*loomv1.Outcome{good, failed, broke("r1"), broke("r1", "r2"), nil, {Status: failure}})
		for i := range rapid.IntRange(1, 30).Draw(rt, "executions") {
			x := ran(fmt.Sprint("x", i), rapid.SliceOfN(outcomes, 0, 4).Draw(rt, "outcomes")...)
			x.Definition = rapid.SampledFrom([]string{"p", "q", ""}).Draw(rt, "process")
			if diff := cmp.Diff(a.end(x), b.end(proto.CloneOf(x))); diff != "" {
				rt.Fatal(diff)
			}
		}
		for name, of := range a.all {
			if name == "" {
				rt.Fatal("lessons of no process")
			}
			for name, l := range of.Lessons {
				if l.Executions > of.Executions || l.Times < l.Executions || l.Mended > l.Times || len(l.Attempts) > 4 {
					rt.Fatalf("%s: %v of %d", name, l, of.Executions)
				}
			}
		}
	})
	b := newBook()
	for i := range lesson.MaxLessons + 10 {
		b.end(ran(fmt.Sprint("x", i), broke(fmt.Sprint("r", i))))
	}
	for i := range lesson.MaxProcesses + 10 {
		x := ran("x", good)
		x.Definition = fmt.Sprint("p", i)
		b.end(x)
	}
	if len(b.all) != lesson.MaxProcesses || len(b.all["p"].Lessons) != lesson.MaxLessons {
		t.Errorf("%d processes, %d lessons", len(b.all), len(b.all["p"].Lessons))
	}
}

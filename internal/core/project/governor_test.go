package project_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var runtime = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "h1"}

// bug is the nth of errors that differ, as letters: digits make no difference.
func bug(n int) *loomv1.ErrorReport {
	return &loomv1.ErrorReport{Service: "checkout", Status: 500, Message: "error " + strings.Repeat("x", n)}
}

func fileError(who *loomv1.Identity, r *loomv1.ErrorReport) *loomv1.Command {
	return &loomv1.Command{Actor: who, Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: r}}}
}

// govern registers bounds and returns a desk on which rules route to a process
// of one task.
func govern(t *testing.T, reported, selfFiled uint32) *desk {
	d := small(t)
	if err := d.register(func(c *loomv1.ProjectConfig) {
		c.Governor = &loomv1.Governor{Reported: reported, SelfFiled: selfFiled, Window: durationpb.New(time.Hour)}
		c.Routes = []*loomv1.Route{{Process: "small"}}
	}); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestBYD10_AThousandEqualErrorsMakeOneBead(t *testing.T) {
	d := govern(t, 3, 3)
	bytes := 0
	var bead string
	for i := range 1000 {
		r := bug(1)
		r.IdempotencyKey = fmt.Sprintf("report-%d", i)
		r.Message = fmt.Sprintf("total %d is wrong at 0x%x", i, i)
		events, answer, err := d.s.Do(d.now, fileError(publisher, r))
		if err != nil || answer.Error != nil {
			t.Fatalf("report %d: %v, %v", i, answer, err)
		}
		if i > 0 {
			for _, e := range events {
				bytes += proto.Size(e)
			}
		}
		if s := answer.GetSubmit(); i == 0 {
			bead = s.Bead
		} else if s.Bead != bead || !s.Duplicate {
			t.Fatalf("report %d: %v, want an occurrence of %s", i, s, bead)
		}
	}
	if b := d.bead(bead); b.Occurrences != 1000 {
		t.Errorf("%d occurrences, want 1000", b.Occurrences)
	}
	if bytes > 256*999 {
		t.Errorf("999 occurrences take %d bytes of the journal, want at most 256 each", bytes)
	}
	t.Logf("%d bytes an occurrence", bytes/999)
}

func TestBYD10_ACascadeIsStoppedAndTheOperatorIsToldOnce(t *testing.T) {
	for _, tt := range []struct {
		kind string
		who  *loomv1.Identity
		edit func(*loomv1.ErrorReport)
	}{
		{"reported", publisher, func(*loomv1.ErrorReport) {}},
		{"self-filed", runtime, func(*loomv1.ErrorReport) {}},
		{"self-filed", &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: "lead/1"}, func(*loomv1.ErrorReport) {}},
		{"self-filed", publisher, func(r *loomv1.ErrorReport) { r.Service = project.Self }},
	} {
		t.Run(tt.kind+" by "+tt.who.Name, func(t *testing.T) {
			d := govern(t, 3, 3)
			for i := range 3 {
				r := bug(i)
				tt.edit(r)
				d.ok(fileError(tt.who, r))
			}
			before := len(d.events)
			for i := range 5 {
				r := bug(10 + i)
				tt.edit(r)
				if _, err := d.do(fileError(tt.who, r)); fault.Code(err) != "storm/budget" {
					t.Fatalf("bead %d: %v, want storm/budget", 4+i, err)
				}
			}
			var trips int
			for _, e := range d.since(before) {
				if f := e.GetGovernorTripped(); f != nil {
					trips++
					if f.Kind != tt.kind || f.Filed != 3 || !f.Until.AsTime().Equal(noon.Add(time.Hour)) {
						t.Errorf("tripped: %v, want kind %s after 3 until an hour past noon", f, tt.kind)
					}
				}
			}
			if trips != 1 || len(d.since(before)) != 3 { // tripped, asked, and the bead of the question
				t.Errorf("5 refusals make %d events and %d trips, want 3 and 1", len(d.since(before)), trips)
			}
			a := d.inbox()
			if a.Execution != "" || a.Kind != loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION || !strings.HasPrefix(a.Reason, "storm/budget: 3 beads ") {
				t.Errorf("the question: %v", a)
			}
		})
	}
}

func TestBYD10_PeopleAndTheOtherBudgetGoOn(t *testing.T) {
	d := govern(t, 1, 1)
	d.fails(bug(0))
	if _, err := d.do(fileError(publisher, bug(1))); fault.Code(err) != "storm/budget" {
		t.Fatal(err)
	}
	d.plan()        // an operator's
	d.fails(bug(0)) // one that is known
	d.ok(fileError(runtime, bug(2)))
	if _, err := d.do(fileError(runtime, bug(3))); fault.Code(err) != "storm/budget" {
		t.Errorf("the second bead of Loom's own: %v, want storm/budget", err)
	}
	d.inbox() // one question, for both
}

func TestBYD10_TheCEOGrantsANewWindowOrDoesNot(t *testing.T) {
	for _, tt := range []struct {
		decision loomv1.ApprovalDecision
		after    time.Duration
		want     string
	}{
		{loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, 0, ""},
		{loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT, 0, "storm/budget"},
		{loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT, time.Hour - 1, "storm/budget"},
		{loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT, time.Hour, ""},
		{0, time.Hour - 1, "storm/budget"},
		{0, time.Hour, ""}, // nobody answered: the window is over all the same
	} {
		t.Run(fmt.Sprintf("%s after %v", tt.decision, tt.after), func(t *testing.T) {
			d := govern(t, 1, 1)
			d.fails(bug(0))
			if _, err := d.do(fileError(publisher, bug(1))); fault.Code(err) != "storm/budget" {
				t.Fatal(err)
			}
			asked := d.inbox()
			if tt.decision != 0 {
				if err := d.present(ceo, d.sign(asked, tt.decision, nil)); err != nil {
					t.Fatal(err)
				}
			}
			d.now = noon.Add(tt.after)
			before := len(d.events)
			_, err := d.do(fileError(publisher, bug(1)))
			if fault.Code(err) != tt.want {
				t.Errorf("the next report: %v, want %q", err, tt.want)
			}
			if tt.want != "" && len(d.since(before)) != 0 {
				t.Errorf("refused again with %d events, want none", len(d.since(before)))
			}
			if v, _ := d.s.Look(project.Inbox, &loomv1.Query{}); tt.want == "" && len(v.Approvals) != 0 {
				t.Errorf("the question is still open: %v", v.Approvals)
			}
		})
	}
}

func TestSUB05_AnErrorThatComesBackSaysWhatItFollows(t *testing.T) {
	d := govern(t, 100, 10)
	first := d.fails(bug(0)).Bead
	d.finish(first)
	second := d.fails(bug(0))
	if second.Duplicate || d.bead(second.Bead).Follows != first {
		t.Errorf("the same error after %s was closed: %v, follows %q", first, second, d.bead(second.Bead).Follows)
	}
	if got := d.codeOf(reopenBead(first, "k")); got != "bead/open" {
		t.Errorf("reopening the first while the second is open: %q, want bead/open", got)
	}
	d.finish(second.Bead)
	d.ok(reopenBead(first, "k"))
	if again := d.fails(bug(0)); again.Bead != first || !again.Duplicate {
		t.Errorf("the same error after %s was reopened: %v, want an occurrence of it", first, again)
	}
}

// What the governor lets through never exceeds its budget, whatever order
// things come in: a slow count of the facts agrees.
func TestBYD10_NoWindowHasMoreThanItsBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 3
		y := newYard(t, "qa-engineer")
		y.must(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{Config: &loomv1.ProjectConfig{
			Id: "shop", Repository: "/src/shop", TargetBranch: "main", DefaultProcess: "fan",
			Governor: &loomv1.Governor{SelfFiled: most, Window: durationpb.New(time.Hour)},
		}}}})
		var filed []time.Time // in the present window
		var begun time.Time
		for i := range rapid.IntRange(1, 30).Draw(t, "reports") {
			y.now = y.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "minutes")) * time.Minute)
			if begun.IsZero() || !y.now.Before(begun.Add(time.Hour)) {
				filed, begun = nil, y.now
			}
			_, err := y.do(&loomv1.Command{Actor: runtime, Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{Goal: fmt.Sprint("g", i)}}}})
			if want := len(filed) < most; (err == nil) != want {
				t.Fatalf("bead %d, %d in the window that began at %v: %v, want it filed: %t", i, len(filed), begun, err, want)
			}
			if err == nil {
				filed = append(filed, y.now)
			}
			if s, rerr := project.Restore(y.cfg, y.s.Snapshot()); rerr != nil || s.Hash() != y.s.Hash() {
				t.Fatalf("restored: %v", rerr)
			}
		}
	})
}

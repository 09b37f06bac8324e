package project_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (d *desk) list(q *loomv1.Query) (ids []string) {
	d.t.Helper()
	v, err := d.s.Look(project.Beads, q)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, b := range v.Beads {
		ids = append(ids, b.Id)
	}
	return ids
}

func TestSUB06_BeadsAreFoundByWhatTheySay(t *testing.T) {
	d := small(t)
	for _, sub := range []*loomv1.Submission{
		{Goal: "Mend the TOTAL of orders", Labels: []string{"web", "urgent-one"}},
		{Goal: "ÉCRAN noir", Description: "rien ne s'affiche\nà 50.00", Assignee: "web-designer"},
		{Goal: "part", Parent: "shop-1", Type: loomv1.BeadType_BEAD_TYPE_BUG},
		{Goal: "Straße sperren", BlockedBy: []string{"shop-1"}, Process: project.AutoBug},
	} {
		if sub.Process == "" {
			sub.Process = "small"
		}
		d.file(sub)
	}
	for _, tt := range []struct {
		name string
		q    *loomv1.Query
		want []string
	}{
		{"all, newest first", &loomv1.Query{}, []string{"shop-4", "shop-3", "shop-2", "shop-1"}},
		{"words in any case and order", &loomv1.Query{Text: "  orders mend\tThe "}, []string{"shop-1"}},
		{"a word that is not there", &loomv1.Query{Text: "mend nothing"}, nil},
		{"letters beyond ASCII", &loomv1.Query{Text: "écran"}, []string{"shop-2"}},
		{"a description", &loomv1.Query{Text: "50.00 NOIR"}, []string{"shop-2"}},
		{"a label", &loomv1.Query{Text: "urgent-one"}, []string{"shop-1"}},
		{"an id", &loomv1.Query{Text: "SHOP-3"}, []string{"shop-3"}},
		{"labels", &loomv1.Query{Labels: []string{"web", "urgent-one"}}, []string{"shop-1"}},
		{"labels of which one is missing", &loomv1.Query{Labels: []string{"web", "none"}}, nil},
		{"a type", &loomv1.Query{Type: "bug"}, []string{"shop-3"}},
		{"a status", &loomv1.Query{Filter: "blocked"}, []string{"shop-4"}},
		{"a status that is none", &loomv1.Query{Filter: "progress"}, nil},
		{"a process", &loomv1.Query{Process: project.AutoBug}, []string{"shop-4"}},
		{"a parent", &loomv1.Query{Parent: "shop-1"}, []string{"shop-3"}},
		{"an assignee", &loomv1.Query{Assignee: "web-designer"}, []string{"shop-2"}},
		{"after", &loomv1.Query{After: "shop-3"}, []string{"shop-2", "shop-1"}},
		{"after what is gone by", &loomv1.Query{After: "shop-99"}, []string{"shop-4", "shop-3", "shop-2", "shop-1"}},
		{"several", &loomv1.Query{Filter: "in_progress", Text: "s", Process: "small", Limit: 2}, []string{"shop-3", "shop-2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d.t = t
			if got := d.list(tt.q); !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
	if _, err := d.s.Look(project.Beads, &loomv1.Query{Type: "bugs"}); fault.Code(err) != "usage/argument" {
		t.Errorf("a type that is none: %v, want usage/argument", err)
	}
	if b := d.bead("shop-1"); !slices.Equal(b.Children, []string{"shop-3"}) || !slices.Equal(b.Blocks, []string{"shop-4"}) {
		t.Errorf("children %v, blocks %v", b.Children, b.Blocks)
	}
}

// Pages put together are the list, whatever is filed and changed meanwhile.
func TestSUB06_PagesAreStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := newYard(t, "researcher")
		file := func() string {
			y.now = y.now.Add(time.Duration(rapid.IntRange(0, 1).Draw(t, "later")) * time.Second)
			return y.must(&loomv1.Command{Actor: publisher, Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{
				Submission: &loomv1.Submission{Goal: draw(t, "goal", "this", "that"), Process: "fan"},
			}}}).GetSubmit().Bead
		}
		var all []string
		for range rapid.IntRange(0, 30).Draw(t, "beads") {
			all = append(all, file())
		}
		view := draw(t, "view", project.Beads, project.Executions)
		q := &loomv1.Query{Limit: uint32(rapid.IntRange(1, 10).Draw(t, "limit"))}
		var got []string
		for more := true; more; {
			v, err := y.s.Look(view, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range v.Beads {
				got = append(got, b.Id)
			}
			for _, x := range v.Executions {
				got = append(got, x.Bead)
			}
			if q.After, more = v.Next, v.Next != ""; more {
				file() // newer than all pages to come
			}
		}
		slices.Reverse(all)
		if !slices.Equal(got, all) {
			t.Fatalf("pages of %d give %v, want %v", q.Limit, got, all)
		}
	})
}

// A question looks at a bounded part of a large project, and says where to go
// on: so nobody waits for a search through everything.
func TestSUB06_ASearchIsBounded(t *testing.T) {
	longtest.Skip(t)
	y := newYard(t, "researcher")
	text := strings.Repeat("nothing of interest ", 3000)
	for i := range 200 {
		sub := &loomv1.Submission{Goal: fmt.Sprint("bead ", i), Description: text, Process: "fan"}
		if i == 0 {
			sub.Goal = "the needle"
		}
		y.must(&loomv1.Command{Actor: publisher, Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: sub}}})
	}
	q, pages := &loomv1.Query{Text: "needle"}, 1
	for ; ; pages++ {
		v, err := y.s.Look(project.Beads, q)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Beads) == 1 && v.Beads[0].Id == "shop-1" {
			break
		}
		if q.After = v.Next; q.After == "" {
			t.Fatal("the needle is not found")
		}
	}
	if pages < 2 {
		t.Error("12 MB of text were searched for one question")
	}
}

func TestWF08_TheInboxListsWhatIsOpenNewestFirst(t *testing.T) {
	d := newDesk(t)
	d.store(line("ask", "1.0", &loomv1.NodeDefinition{Id: "ok", Type: loomv1.NodeType_NODE_TYPE_APPROVAL, Role: "ceo"}))
	for range 5 {
		d.file(&loomv1.Submission{Process: "ask"})
	}
	page := func(q *loomv1.Query) (ids []string, next string) {
		v, err := d.s.Look(project.Inbox, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range v.Approvals {
			ids = append(ids, a.Id)
		}
		return ids, v.Next
	}
	v, _ := d.s.Look(project.Inbox, &loomv1.Query{Id: "shop-4"})
	if err := d.present(ceo, d.sign(v.Approvals[0], loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, nil)); err != nil {
		t.Fatal(err)
	}
	first, next := page(&loomv1.Query{Limit: 2, Newest: true})
	rest, end := page(&loomv1.Query{Limit: 2, Newest: true, After: next})
	if got := append(first, rest...); !slices.Equal(got, []string{"shop-10", "shop-8", "shop-6", "shop-2"}) || end != "" {
		t.Errorf("pages of the inbox: %v then %q, want the four that are open", got, end)
	}
	if all, _ := page(&loomv1.Query{Filter: "all"}); len(all) != 5 {
		t.Errorf("with what was answered: %v, want five", all)
	}
	if _, err := d.s.Look(project.Inbox, &loomv1.Query{Id: "shop-3"}); fault.Code(err) != "approval/unknown" {
		t.Errorf("about a bead that was answered: %v, want approval/unknown", err)
	}
}

// Executions are listed by when they began: that of a bead opened again stands
// before those of newer beads.
func TestSUB06_ExecutionsAreListedByTheirBeginnings(t *testing.T) {
	d := small(t)
	one := d.plan()
	d.finish(one)
	d.now = d.now.Add(time.Second)
	two := d.plan()
	d.now = d.now.Add(time.Second)
	d.ok(reopenBead(one, "k"))
	v, err := d.s.Look(project.Executions, &loomv1.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range v.Executions {
		got = append(got, x.Id)
	}
	if want := []string{one + "-x2", two + "-x1", one + "-x1"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

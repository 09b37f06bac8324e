package membership_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/core/membership"
)

// TestSEC02_AListSaysWhoChangedIt goes through the life of a deployment.
func TestSEC02_AListSaysWhoChangedIt(t *testing.T) {
	l := three(t)
	change := func(c membership.Change, hosts ...int) {
		t.Helper()
		f := running(hosts...)
		f.By = "ops"
		next, changed, err := l.Apply(c, f)
		if err != nil || !changed {
			t.Fatal(changed, err)
		}
		l = next
	}
	enlist := func(m membership.Member) {
		t.Helper()
		next, _, err := l.Enlist(m)
		if err != nil {
			t.Fatal(err)
		}
		l = next
	}
	change(membership.Change{Remove: "h-3", Authority: "second authority", Reason: "its disk is gone"}, 1, 2)
	enlist(member(4))
	change(membership.Change{Hosts: 5, Authority: "third authority"}, 1, 2, 4)
	moved := member(4)
	moved.Address = ""
	enlist(moved)
	var said []string
	for _, d := range l.Since(4) { // the first three came before
		said = append(said, d.By+": "+membership.Words(l.Event(d)))
	}
	want := `ops: host h-3 removed; newcomers invited, earlier join files count no more
h-4: host h-4 is there, at 10.0.0.4:6222
ops: 5 hosts wanted; newcomers invited, earlier join files count no more
h-4: host h-4 is there`
	if got := strings.Join(said, "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if e := l.Event(l.Since(4)[0]); e.Lineage != "lineage" || e.Generation != 5 || !e.At.AsTime().Equal(noon) || e.Reason != "its disk is gone" {
		t.Errorf("%v", e)
	}
	if again, err := membership.Decode(l.Encode()); err != nil || len(again.Since(0)) != len(l.Since(0)) || len(l.Since(l.Generation)) != 0 {
		t.Errorf("%v, %v", again, err)
	}
}

// TestSEC02_AListRemembersTheLastChanges has one host move again and again.
func TestSEC02_AListRemembersTheLastChanges(t *testing.T) {
	l := three(t)
	for i := range 40 {
		m := member(1)
		m.Address = strings.Repeat("x", i)
		before := l
		l, _, _ = l.Enlist(m)
		if n := len(before.Changes); n > 0 && before.Changes[n-1].Generation != before.Generation {
			t.Fatal("a change has touched the list before it")
		}
	}
	if last := l.Changes[len(l.Changes)-1]; len(l.Changes) != 16 || last.Generation != l.Generation || last.Address != strings.Repeat("x", 39) {
		t.Errorf("%d changes, the last is %+v", len(l.Changes), last)
	}
}

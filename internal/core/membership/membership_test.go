package membership_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/membership"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// three is a deployment of three hosts, h-1 to h-3, each with a key of its own.
func three(t *testing.T) membership.List {
	t.Helper()
	return full(t, 3)
}

func full(t *testing.T, hosts int) membership.List {
	t.Helper()
	l := membership.New("lineage", hosts, "first authority")
	for i := 1; i <= hosts; i++ {
		var err error
		if l, _, err = l.Enlist(member(i)); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func member(i int) membership.Member {
	return membership.Member{Host: fmt.Sprintf("h-%d", i), Key: fmt.Sprintf("key-%d", i), Address: fmt.Sprintf("10.0.0.%d:6222", i), Since: noon}
}

func running(hosts ...int) membership.Facts {
	f := membership.Facts{Replicas: 3, At: noon, By: "operator"}
	for _, i := range hosts {
		f.Here = append(f.Here, member(i).Host)
	}
	return f
}

func TestOPS01_WhoIsLetIn(t *testing.T) {
	full := three(t)
	replaced, _, err := full.Apply(membership.Change{Remove: "h-3", Authority: "second authority"}, running(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, host, key string
		signed          bool
		list            membership.List
		code            string
	}{
		{"a member", "h-1", "key-1", false, full, ""},
		{"a member's name with another key", "h-1", "key-9", true, full, "cluster/removed"},
		{"a stranger when all are there", "h-9", "key-9", true, full, "cluster/full"},
		{"a stranger without a signature", "h-9", "key-9", false, replaced, "cluster/removed"},
		{"a newcomer in a free place", "h-9", "key-9", true, replaced, ""},
		{"the removed one", "h-3", "key-3", true, replaced, "cluster/removed"},
		{"the removed one with another key", "h-3", "key-9", true, replaced, "cluster/removed"},
		{"the removed one's key under another name", "h-9", "key-3", true, replaced, "cluster/removed"},
		{"a member that was there before", "h-2", "key-2", false, replaced, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.list.Known(tt.host, tt.key, tt.signed); fault.Code(err) != tt.code {
				t.Errorf("Known(%s, %s, %t) = %v, want code %q", tt.host, tt.key, tt.signed, err, tt.code)
			}
		})
	}
}

func TestOPS01_ChangesOfTheList(t *testing.T) {
	five := full(t, 5)
	four, _, err := five.Apply(membership.Change{Remove: "h-5"}, running(1, 2, 3, 4))
	if err != nil {
		t.Fatal(err)
	}
	left, _, err := four.Apply(membership.Change{Remove: "h-4"}, running(1, 2, 3))
	if err != nil {
		t.Fatal(err)
	}
	ghost := running(1, 2, 3)
	ghost.Seen = []string{"h-1", "h-2", "h-3", "h-9"}
	for _, tt := range []struct {
		name    string
		list    membership.List
		change  membership.Change
		facts   membership.Facts
		code    string
		says    string
		changed bool
	}{
		{"a lost host of three", three(t), membership.Change{Remove: "h-2"}, running(1, 3), "", "", true},
		{"one that runs", three(t), membership.Change{Remove: "h-2"}, running(1, 2, 3), "cluster/running", "stop it first", false},
		{"one while another is away too", three(t), membership.Change{Remove: "h-2"}, running(1), "cluster/change", "no majority", false},
		{"two of five are away", five, membership.Change{Remove: "h-5"}, running(1, 2, 3), "", "", true},
		{"three of five are away", five, membership.Change{Remove: "h-5"}, running(1, 2), "cluster/change", "no majority", false},
		{"nobody of that name", three(t), membership.Change{Remove: "h-7"}, running(1, 2, 3), "cluster/change", "h-1, h-2, h-3", false},
		{"no name", three(t), membership.Change{Remove: "h.7"}, running(1, 2, 3), "id/malformed", "", false},
		{"one that only the streams count", three(t), membership.Change{Remove: "h-9"}, ghost, "", "", true},
		{"the same again", left, membership.Change{Remove: "h-4"}, running(1, 2, 3), "", "", false},
		{"grow", three(t), membership.Change{Hosts: 5, Authority: "a"}, running(1, 2, 3), "", "", true},
		{"to four", three(t), membership.Change{Hosts: 4}, running(1, 2, 3), "cluster/change", "3 or 5", false},
		{"shrink with five", five, membership.Change{Hosts: 3}, running(1, 2, 3, 4, 5), "cluster/change", "remove 2", false},
		{"shrink with four", four, membership.Change{Hosts: 3}, running(1, 2, 3, 4), "cluster/change", "remove 1", false},
		{"shrink", left, membership.Change{Hosts: 3}, running(1, 2, 3), "", "", true},
		{"shrink below the replicas", left, membership.Change{Hosts: 3}, membership.Facts{Replicas: 5, Here: []string{"h-1", "h-2", "h-3"}}, "cluster/change", "5 replicas", false},
		{"invite into no place", three(t), membership.Change{Authority: "a"}, running(1, 2, 3), "cluster/full", "loom cluster grow", false},
		{"invite", left, membership.Change{Authority: "a"}, running(1, 2, 3), "", "", true},
		{"a long reason", left, membership.Change{Authority: "a", Reason: strings.Repeat("x", 1025)}, running(1), "cluster/change", "1024", false},
		{"nothing", left, membership.Change{}, running(1), "", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.list.Clone()
			after, changed, err := tt.list.Apply(tt.change, tt.facts)
			if fault.Code(err) != tt.code || err != nil && !strings.Contains(err.Error(), tt.says) || changed != tt.changed {
				t.Errorf("Apply(%+v) = %t, %v; want %t, code %q and %q", tt.change, changed, err, tt.changed, tt.code, tt.says)
			}
			if diff := cmp.Diff(before, tt.list); diff != "" {
				t.Errorf("the list before was changed:\n%s", diff)
			}
			if after.Newer(tt.list) != changed {
				t.Errorf("Newer is %t after a change that is %t", after.Newer(tt.list), changed)
			}
		})
	}
}

// TestOPS01_AnyChangesKeepTheList applies random changes and holds the list to
// its promises.
func TestOPS01_AnyChangesKeepTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := membership.New("lineage", 3, "authority")
		gone := map[string]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			before := l
			if i := rapid.IntRange(1, 9).Draw(t, "host"); rapid.Bool().Draw(t, "enlist") {
				l, _, _ = l.Enlist(member(i))
			} else {
				var here []int
				for n := range 9 {
					if n+1 != i {
						here = append(here, n+1)
					}
				}
				c := membership.Change{Remove: member(i).Host, Hosts: rapid.SampledFrom([]int{0, 3, 4, 5}).Draw(t, "hosts")}
				l, _, _ = l.Apply(c, running(here...))
			}
			if l.Generation < before.Generation || len(l.Members) > l.Hosts {
				t.Fatalf("after %+v comes %+v", before, l)
			}
			for _, r := range l.Removed {
				gone[r.Host] = true
			}
			for _, m := range l.Members {
				if gone[m.Host] {
					t.Fatalf("host %s came back: %+v", m.Host, l)
				}
			}
			if again, err := membership.Decode(l.Encode()); err != nil || !cmp.Equal(again, l) {
				t.Fatalf("read back: %v\n%s", err, cmp.Diff(l, again))
			}
		}
	})
}

func TestOPS01_ListsOfOthersAreNotNewer(t *testing.T) {
	l := three(t)
	other := l.Clone()
	other.Lineage, other.Generation = "another", 99
	if other.Newer(l) || l.Newer(l) || !l.Newer(membership.List{}) {
		t.Error("Newer takes another deployment's list, or the same one")
	}
	if got := l.Addresses("h-2"); !cmp.Equal(got, []string{"10.0.0.1:6222", "10.0.0.3:6222"}) {
		t.Errorf("addresses but one's are %v", got)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"format":1,"lineage":"x","generation":1,"hosts":3,"members":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := membership.Decode(data)
		if err != nil {
			return
		}
		if _, err := membership.Decode(l.Encode()); err != nil {
			t.Errorf("what was read cannot be read again: %v", err)
		}
	})
}

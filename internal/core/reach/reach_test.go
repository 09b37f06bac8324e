package reach

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var began = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// net is hosts that say every half second whom they hear. What host i says comes
// to host j unless cut.
type net struct {
	now    time.Time
	names  []string
	tables map[string]*Table
	cut    func(from, to string) bool
	away   map[string]bool // neither say nor hear anything
}

func newNet(names ...string) *net {
	n := &net{now: began, names: names, tables: map[string]*Table{}, cut: func(string, string) bool { return false }, away: map[string]bool{}}
	for _, name := range names {
		n.tables[name] = New(name)
	}
	return n
}

// pass lets time pass, and calls look with each host's view after each step.
func (n *net) pass(d time.Duration, look func(host string, v View)) {
	for end := n.now.Add(d); n.now.Before(end); n.now = n.now.Add(Every) {
		for _, from := range n.names {
			if n.away[from] {
				continue
			}
			word := n.tables[from].Say(n.now)
			for _, to := range n.names {
				if !n.away[to] && !n.cut(from, to) {
					n.tables[to].Take(word, n.now)
				}
			}
		}
		for _, name := range n.names {
			if look != nil && !n.away[name] {
				look(name, n.tables[name].Look(n.now))
			}
		}
	}
}

// views are all hosts' views.
func (n *net) views() map[string]View {
	all := map[string]View{}
	for _, name := range n.names {
		if !n.away[name] {
			all[name] = n.tables[name].Look(n.now)
		}
	}
	return all
}

// everybody has one view.
func everybody(names []string, v View) map[string]View {
	all := map[string]View{}
	for _, name := range names {
		all[name] = v
	}
	return all
}

// between is a cut between two hosts, both ways or one.
func between(one, other string, both bool) func(string, string) bool {
	return func(from, to string) bool { return from == one && to == other || both && from == other && to == one }
}

const settle = Heard + 3*Every

func TestP5_WhoIsCutOffFromOneOfTheOthersStandsBack(t *testing.T) {
	for name, both := range map[string]bool{"both ways": true, "one way": false} {
		t.Run(name, func(t *testing.T) {
			n := newNet("a", "b", "c")
			n.pass(settle, nil)
			if diff := cmp.Diff(everybody(n.names, View{Whole: n.names}), n.views()); diff != "" {
				t.Fatalf("before (-want +got)\n%s", diff)
			}
			n.cut = between("b", "a", both)
			n.pass(settle, nil)
			want := View{Broken: []Pair{{"a", "b"}}, Whole: []string{"c"}}
			if diff := cmp.Diff(everybody(n.names, want), n.views()); diff != "" {
				t.Errorf("cut off (-want +got)\n%s", diff)
			}
			if !want.Back("a") || !want.Back("b") || want.Back("c") || want.Back("older") {
				t.Error("a and b are to stand back, and neither c nor a host that says nothing is")
			}
			n.cut = func(string, string) bool { return false }
			n.pass(settle, nil)
			if diff := cmp.Diff(everybody(n.names, View{Whole: n.names}), n.views()); diff != "" {
				t.Errorf("mended (-want +got)\n%s", diff)
			}
		})
	}
}

func TestP5_WhereNobodyHearsEverybodyNobodyStandsBack(t *testing.T) {
	n := newNet("a", "b", "c", "d")
	n.cut = func(from, to string) bool {
		return between("a", "b", true)(from, to) || between("c", "d", true)(from, to)
	}
	n.pass(settle, nil)
	for host, v := range n.views() {
		if len(v.Broken) != 2 || len(v.Whole) != 0 || v.Back(host) {
			t.Errorf("%s sees %v", host, v)
		}
	}
}

// TestP5_WhoDiesKeepsNobodyFromAnything: at no moment does a host think that it
// is cut off, neither from one that dies nor from one that is cut off from all.
func TestP5_WhoDiesKeepsNobodyFromAnything(t *testing.T) {
	for name, ends := range map[string]func(*net){
		"dies":      func(n *net) { n.away["b"] = true },
		"is alone":  func(n *net) { n.cut = func(from, to string) bool { return from == "b" || to == "b" } },
		"hears all": func(n *net) { n.cut = func(from, _ string) bool { return from == "b" } },
	} {
		t.Run(name, func(t *testing.T) {
			n := newNet("a", "b", "c")
			n.pass(settle, nil)
			ends(n)
			n.pass(3*Heard, func(host string, v View) {
				if v.Back(host) {
					t.Errorf("after %v %s stands back: %v", n.now.Sub(began), host, v)
				}
			})
			if v := n.views()["a"]; !slices.Equal(v.Whole, []string{"a", "c"}) || len(v.Broken) > 0 {
				t.Errorf("at last a sees %v", v)
			}
		})
	}
}

// TestP5_AnyCutEndsInOneView draws who is cut off from whom: once all has been
// said, hosts that can serve are seen as such by all that they hear, nobody
// stands back without one, and one that hears everybody never does.
func TestP5_AnyCutEndsInOneView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d", "e"}[:rapid.IntRange(1, 5).Draw(t, "hosts")]
		n := newNet(names...)
		cut := map[string]bool{}
		n.cut = func(from, to string) bool { return cut[from+to] }
		n.pass(settle, nil)
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			for _, from := range names {
				for _, to := range names {
					cut[from+to] = rapid.Float64Range(0, 1).Draw(t, fmt.Sprint("cut ", from, to)) < 0.2
				}
			}
			n.pass(settle, nil)
		}
		for host, v := range n.views() {
			if v.Back(host) && len(v.Whole) == 0 || slices.Contains(v.Whole, host) == v.Back(host) && len(v.Whole) > 0 {
				t.Errorf("%s sees %v", host, v)
			}
			all := !slices.ContainsFunc(names, func(other string) bool { return other != host && (cut[host+other] || cut[other+host]) })
			if all && v.Back(host) {
				t.Errorf("%s hears everybody and stands back: %v", host, v)
			}
			for _, whole := range v.Whole {
				if whole != host && (cut[whole+host] || cut[host+whole]) {
					t.Errorf("%s takes %s, which it is cut off from, for one that hears everybody", host, whole)
				}
			}
		}
	})
}

func TestP5_OldWordsChangeNothing(t *testing.T) {
	a := New("a")
	a.Take(Word{Host: "b", Hears: []string{"a", "c"}}, began)
	a.Take(Word{Host: "c", Hears: []string{"a", "b"}, Others: []Word{{Host: "b", Age: time.Second}, {Host: "a"}, {}}}, began)
	a.Take(Word{Host: "a", Hears: nil}, began) // its own, back again
	a.Take(Word{}, began)
	if v := a.Look(began); len(v.Broken) > 0 || !slices.Equal(v.Whole, []string{"a", "b", "c"}) {
		t.Errorf("%v", v)
	}
	if w := a.Say(began); !slices.Equal(w.Hears, []string{"b", "c"}) || len(w.Others) != 2 {
		t.Errorf("%v", w)
	}
	if v := a.Look(began.Add(time.Hour)); len(a.all) != 0 || !cmp.Equal(v, View{Whole: []string{"a"}}) {
		t.Errorf("after an hour: %v, %d are kept", v, len(a.all))
	}
}

package staffing

import (
	"fmt"
	"maps"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func hosts(n int) []Host {
	var list []Host
	for i := range n {
		list = append(list, Host{Name: fmt.Sprintf("h-%d", i), Own: map[string]int{"researcher": 1}, Labels: map[string]string{"zone": fmt.Sprintf("z%d", i%2)}})
	}
	return list
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

func TestROLE02_WhatIsWantedIsSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, want := rapid.IntRange(1, 12).Draw(t, "hosts"), rapid.Uint32Range(0, 200).Draw(t, "agents")
		s := &loomv1.Scale{Role: "researcher", Agents: &want}
		got := Wanted("researcher", s, hosts(n))
		if sum(got) != int(want) {
			t.Fatalf("%d agents on %d hosts; want %d: %v", sum(got), n, want, got)
		}
		for host, k := range got {
			if k < int(want)/n || k > int(want)/n+1 {
				t.Fatalf("host %s has %d of %d agents on %d hosts", host, k, want, n)
			}
		}
	})
}

// TestROLE02_AHostThatComesMovesFewAgents compares the hosts that have the
// agents that are left over.
func TestROLE02_AHostThatComesMovesFewAgents(t *testing.T) {
	one := uint32(1)
	moved := 0
	for i := range 1000 {
		role := fmt.Sprintf("role-%d", i)
		s := &loomv1.Scale{Role: role, Agents: &one}
		if !maps.Equal(Wanted(role, s, hosts(5)), Wanted(role, s, hosts(6))) {
			moved++
		}
	}
	if moved < 100 || moved > 240 { // a sixth is expected
		t.Errorf("a sixth host takes %d of 1,000 agents", moved)
	}
}

func TestROLE03_ARoleIsConfined(t *testing.T) {
	five := uint32(5)
	all := hosts(4)
	for name, c := range map[string]struct {
		scale *loomv1.Scale
		drain int
		want  map[string]int
	}{
		"nothing said":          {nil, -1, map[string]int{"h-0": 1, "h-1": 1, "h-2": 1, "h-3": 1}},
		"named hosts":           {&loomv1.Scale{Hosts: []string{"h-2"}}, -1, map[string]int{"h-2": 1}},
		"a label":               {&loomv1.Scale{Labels: map[string]string{"zone": "z1"}}, -1, map[string]int{"h-1": 1, "h-3": 1}},
		"all on one":            {&loomv1.Scale{Agents: &five, Hosts: []string{"h-2"}}, -1, map[string]int{"h-2": 5}},
		"none may":              {&loomv1.Scale{Agents: &five, Hosts: []string{"h-9"}}, -1, map[string]int{}},
		"a number of one":       {&loomv1.Scale{OnHost: map[string]uint32{"h-1": 0}}, -1, map[string]int{"h-0": 1, "h-2": 1, "h-3": 1}},
		"a drained host":        {nil, 0, map[string]int{"h-1": 1, "h-2": 1, "h-3": 1}},
		"a drained fixed host":  {&loomv1.Scale{OnHost: map[string]uint32{"h-1": 7}}, 1, map[string]int{"h-0": 1, "h-2": 1, "h-3": 1}},
		"a number and the rest": {&loomv1.Scale{Agents: &five, OnHost: map[string]uint32{"h-1": 2}, Hosts: []string{"h-0", "h-1"}}, -1, map[string]int{"h-0": 5, "h-1": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			list := append([]Host{}, all...)
			if c.drain >= 0 {
				list[c.drain].Draining = true
			}
			if got := Wanted("researcher", c.scale, list); !maps.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestROLE02_WhatCredentialsAreForIsHeeded has a host take its share of the roles
// that it can have, and none of the others, whatever is wanted.
func TestROLE02_WhatCredentialsAreForIsHeeded(t *testing.T) {
	six := uint32(6)
	list := append(hosts(2), Host{Name: "leaf", Confined: true, Roles: []string{"qa"}, Labels: map[string]string{"gpu": "yes"}, Own: map[string]int{"qa": 3, "researcher": 9}})
	for name, c := range map[string]struct {
		role  string
		scale *loomv1.Scale
		want  map[string]int
	}{
		"its own number":           {"qa", nil, map[string]int{"leaf": 3}},
		"its share":                {"qa", &loomv1.Scale{Agents: &six}, map[string]int{"h-0": 2, "h-1": 2, "leaf": 2}},
		"a number of it":           {"qa", &loomv1.Scale{OnHost: map[string]uint32{"leaf": 5}}, map[string]int{"leaf": 5}},
		"by its label":             {"qa", &loomv1.Scale{Agents: &six, Labels: map[string]string{"gpu": "yes"}}, map[string]int{"leaf": 6}},
		"another role":             {"researcher", nil, map[string]int{"h-0": 1, "h-1": 1}},
		"a share of another role":  {"researcher", &loomv1.Scale{Agents: &six}, map[string]int{"h-0": 3, "h-1": 3}},
		"a number of another role": {"researcher", &loomv1.Scale{OnHost: map[string]uint32{"leaf": 5}}, map[string]int{"h-0": 1, "h-1": 1}},
	} {
		if got := Wanted(c.role, c.scale, list); !maps.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	if got := Wanted("qa", nil, []Host{{Name: "leaf", Confined: true, Own: map[string]int{"qa": 1}}}); len(got) != 0 {
		t.Errorf("credentials for no role: %v", got)
	}
}

func TestROLE02_ChangesAreChecked(t *testing.T) {
	n, many := uint32(3), uint32(MaxAgents+1)
	for name, c := range map[string]struct {
		change *loomv1.ScaleRole
		code   string
	}{
		"a number":          {&loomv1.ScaleRole{Role: "qa", Agents: &n}, ""},
		"of a host":         {&loomv1.ScaleRole{Role: "qa", Agents: &n, Host: "h-1"}, ""},
		"too many":          {&loomv1.ScaleRole{Role: "qa", Agents: &many}, "scale/invalid"},
		"nothing":           {&loomv1.ScaleRole{Role: "qa"}, "scale/invalid"},
		"both":              {&loomv1.ScaleRole{Role: "qa", Agents: &n, Clear: true}, "scale/invalid"},
		"a role of no name": {&loomv1.ScaleRole{Role: "*", Agents: &n}, "id/malformed"},
		"a host of no name": {&loomv1.ScaleRole{Role: "qa", Agents: &n, Host: "a b"}, "id/malformed"},
		"a place of a host": {&loomv1.ScaleRole{Role: "qa", Host: "h-1", Confine: &loomv1.Confinement{}}, "scale/invalid"},
		"a bad label":       {&loomv1.ScaleRole{Role: "qa", Confine: &loomv1.Confinement{Labels: map[string]string{"a": "B"}}}, "id/malformed"},
	} {
		if got := fault.Code(Check(c.change)); got != c.code {
			t.Errorf("%s: %q, want %q", name, got, c.code)
		}
	}
}

func TestROLE02_ChangesAddUpAndAreTakenBack(t *testing.T) {
	n, k := uint32(8), uint32(2)
	s := Change(nil, &loomv1.ScaleRole{Role: "qa", Agents: &n})
	s = Change(s, &loomv1.ScaleRole{Role: "qa", Agents: &k, Host: "h-1"})
	s = Change(s, &loomv1.ScaleRole{Role: "qa", Confine: &loomv1.Confinement{Hosts: []string{"h-2", "h-1"}}})
	want := &loomv1.Scale{Role: "qa", Agents: &n, OnHost: map[string]uint32{"h-1": 2}, Hosts: []string{"h-1", "h-2"}}
	if !proto.Equal(s, want) {
		t.Errorf("got %v, want %v", s, want)
	}
	s = Change(s, &loomv1.ScaleRole{Role: "qa", Host: "h-1", Clear: true})
	if len(s.OnHost) != 0 || s.GetAgents() != 8 {
		t.Errorf("one host is taken back: %v", s)
	}
	if s = Change(s, &loomv1.ScaleRole{Role: "qa", Clear: true}); !proto.Equal(s, &loomv1.Scale{Role: "qa"}) {
		t.Errorf("all is taken back: %v", s)
	}
}

func TestOPS01_RankIsAnOrder(t *testing.T) {
	names := []string{"h-a", "h-b", "h-c", "h-d"}
	for _, what := range []string{"partition-00", "partition-01", "partition-02"} {
		seen := map[int]bool{}
		for _, host := range names {
			seen[Rank(what, host, names)] = true
		}
		if len(seen) != len(names) {
			t.Errorf("%s: ranks %v of %d hosts", what, seen, len(names))
		}
	}
}

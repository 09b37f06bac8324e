package processes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// acyclic says whether nodes can be taken away until none is left, each when no
// edge leads to it any more.
func acyclic(ids []string, edges [][2]string) bool {
	left := slices.Clone(ids)
	for {
		free := slices.IndexFunc(left, func(id string) bool {
			return !slices.ContainsFunc(edges, func(e [2]string) bool { return e[1] == id && slices.Contains(left, e[0]) })
		})
		if free < 0 {
			return len(left) == 0
		}
		left = slices.Delete(left, free, free+1)
	}
}

// Every cycle that is told is one, stands at the edge that closes it, and is
// told once; without those edges there is none.
func TestWF02_CyclesAreToldOnceEach(t *testing.T) {
	rs := roles.Builtin()
	most := 0
	rapid.Check(t, func(t *rapid.T) {
		def := line(lead("a"), lead("b"), lead("c"), lead("d"))
		var ids []string
		for _, n := range def.Nodes {
			ids = append(ids, n.Id)
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "edges") {
			def.Edges = append(def.Edges, &loomv1.EdgeDefinition{
				Id: fmt.Sprintf("x%d", i), From: rapid.SampledFrom(ids).Draw(t, "from"), To: rapid.SampledFrom(ids).Draw(t, "to"),
			})
		}
		var edges [][2]string
		for _, e := range def.Edges {
			edges = append(edges, [2]string{e.From, e.To})
		}
		closing, seen := map[[2]string]bool{}, map[string]bool{}
		for _, p := range processes.Validate(def, rs) {
			if p.Code != "workflow/cycle" {
				continue
			}
			names := strings.Split(strings.TrimPrefix(p.Message, "a cycle: "), " -> ")
			for i := 1; i < len(names); i++ {
				if !slices.Contains(edges, [2]string{names[i-1], names[i]}) {
					t.Fatalf("%s: there is no edge from %s to %s", p.Message, names[i-1], names[i])
				}
			}
			var at int
			if _, err := fmt.Sscanf(p.Where, "edges[%d].to", &at); err != nil || names[0] != names[len(names)-1] || seen[p.Message] {
				t.Fatalf("%s: no cycle, told twice, or at %s", p.Message, p.Where)
			}
			last := [2]string{names[len(names)-2], names[0]}
			if edges[at] != last {
				t.Fatalf("%s: told at %s, %v", p.Message, p.Where, edges[at])
			}
			seen[p.Message], closing[last] = true, true
		}
		most = max(most, len(seen))
		if acyclic(ids, edges) != (len(seen) == 0) {
			t.Fatalf("%d cycles told of %v", len(seen), edges)
		}
		if open := slices.DeleteFunc(slices.Clone(edges), func(e [2]string) bool { return closing[e] }); !acyclic(ids, open) {
			t.Fatalf("without %v there still is a cycle in %v", closing, edges)
		}
	})
	if most < 3 {
		t.Errorf("at most %d cycles in a graph, want several", most)
	}
}

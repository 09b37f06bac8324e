package processes_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// using writes a process file whose nodes are done by processes.
func using(name string, parts ...string) processes.Source {
	var nodes, edges strings.Builder
	before := "start"
	for i, p := range parts {
		fmt.Fprintf(&nodes, "  - {id: n%d, type: task, process: %s}\n", i, p)
		fmt.Fprintf(&edges, "  - {id: e%d, from: %s, to: n%d}\n", i, before, i)
		before = fmt.Sprintf("n%d", i)
	}
	return processes.Source{File: name + ".yaml", Data: fmt.Appendf(nil, `name: %s
version: "1.0"
nodes:
  - {id: start, type: start}
%s  - {id: end, type: end}
edges:
%s  - {id: last, from: %s, to: end}
`, name, &nodes, &edges, before)}
}

// told lists what Read says about all files.
func told(results []processes.Result) (all []string) {
	for _, r := range results {
		for _, p := range r.Problems {
			all = append(all, p.Where+" "+p.Code+" "+strings.TrimPrefix(p.Error(), p.Where+": "))
		}
		if (len(r.Problems) == 0) != (r.Definition != nil) {
			all = append(all, r.File+" has problems and a definition, or neither")
		}
	}
	return all
}

func TestPROC06_Composition(t *testing.T) {
	longtest.Skip(t)
	chain := func(n int) (files []processes.Source) {
		for i := range n {
			files = append(files, using(fmt.Sprintf("p%d", i), fmt.Sprintf("p%d", i+1)))
		}
		return append(files, using(fmt.Sprintf("p%d", n)))
	}
	for _, tt := range []struct {
		name  string
		files []processes.Source
		want  []string
	}{
		{"a built-in", []processes.Source{using("a", "auto-bug-workflow")}, nil},
		{"each other's files", []processes.Source{using("a", "b", "b"), using("b", "c"), using("c")}, nil},
		{"unknown", []processes.Source{using("a", "auto-bug-worklow", "zzz")}, []string{
			`a.yaml:5:35 workflow/process there is no process "auto-bug-worklow"; did you mean "auto-bug-workflow"?`,
			`a.yaml:6:35 workflow/process there is no process "zzz"; known are ` + strings.Join(processes.Builtin(roles.Builtin()).Names(), ", "),
		}},
		{"itself", []processes.Source{using("a", "a")}, []string{"a.yaml:5:35 workflow/process processes contain each other: a -> a"}},
		{"a loop, told where each takes part in it", []processes.Source{using("a", "x", "b"), using("b", "c"), using("c", "a"), using("x")}, []string{
			"a.yaml:6:35 workflow/process processes contain each other: a -> b -> c -> a",
			"b.yaml:5:35 workflow/process processes contain each other: b -> c -> a -> b",
			"c.yaml:5:35 workflow/process processes contain each other: c -> a -> b -> c",
		}},
		{"a loop that it only leads to", []processes.Source{using("a", "b"), using("b", "c"), using("c", "b")}, []string{
			"b.yaml:5:35 workflow/process processes contain each other: b -> c -> b",
			"c.yaml:5:35 workflow/process processes contain each other: c -> b -> c",
		}},
		{"as deep as may be", chain(processes.MaxNesting), nil},
		{"deeper", chain(processes.MaxNesting + 1), []string{
			"p0.yaml:5:35 workflow/process processes are nested more than 8 deep: p0 -> p1 -> p2 -> p3 -> p4 -> p5 -> p6 -> p7 -> p8 -> p9",
		}},
		{"beside a file without a name", []processes.Source{using("a", "b"), {File: "b.yaml", Data: []byte("name: [b]\n")}}, []string{
			"b.yaml:1:1 yaml/missing-key the document lacks the key \"version\"",
			"b.yaml:1:1 yaml/missing-key the document lacks the key \"nodes\"",
			"b.yaml:1:1 yaml/missing-key the document lacks the key \"edges\"",
			"b.yaml:1:7 yaml/type name is not a string; write one value",
		}},
		{"one name twice", []processes.Source{using("a"), {File: "again.yaml", Data: using("a").Data}}, []string{
			`again.yaml:1:7 workflow/duplicate process "a" stands at a.yaml:1:7 already`,
		}},
	} {
		t.Run("PROC06 "+tt.name, func(t *testing.T) {
			rs := roles.Builtin()
			if diff := cmp.Diff(tt.want, told(processes.Read(processes.Builtin(rs), tt.files, rs))); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// Definitions that come in messages are held to the same.
func TestPROC06_Compose(t *testing.T) {
	rs := roles.Builtin()
	l, err := processes.Load(processes.Builtin(rs), fstest.MapFS{
		"b.yaml": {Data: using("b", "c").Data}, "c.yaml": {Data: using("c").Data},
	}, ".", rs)
	if err != nil {
		t.Fatal(err)
	}
	def := line(&loomv1.NodeDefinition{Id: "x", Type: task, Process: "b"}, &loomv1.NodeDefinition{Id: "y", Type: task, Process: "d"})
	def.Name = "c"
	var got []string
	for _, e := range processes.Compose(def, l) {
		got = append(got, e.Where+" "+e.Message)
	}
	want := []string{"nodes[1].process processes contain each other: c -> b -> c", `nodes[2].process there is no process "d"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// A library whose processes contain each other is none.
func TestPROC06_Load(t *testing.T) {
	rs := roles.Builtin()
	_, err := processes.Load(&processes.Library{}, fstest.MapFS{"a.yaml": {Data: using("a", "b").Data}, "b.yaml": {Data: using("b", "a").Data}}, ".", rs)
	if fault.Code(err) != "workflow/process" {
		t.Errorf("Load: %v", err)
	}
}

// Many processes that all name all of the next ten are looked at in no time.
func TestPROC06_ManyWays(t *testing.T) {
	var files []processes.Source
	for level := range processes.MaxNesting {
		for i := range 10 {
			var parts []string
			for j := range 10 {
				if level+1 < processes.MaxNesting {
					parts = append(parts, fmt.Sprintf("p%d-%d", level+1, j))
				}
			}
			files = append(files, using(fmt.Sprintf("p%d-%d", level, i), parts...))
		}
	}
	rs := roles.Builtin()
	if got := told(processes.Read(&processes.Library{}, files, rs)); got != nil {
		t.Errorf("%v", got)
	}
}

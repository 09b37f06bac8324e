package processes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

const (
	start    = loomv1.NodeType_NODE_TYPE_START
	end      = loomv1.NodeType_NODE_TYPE_END
	task     = loomv1.NodeType_NODE_TYPE_TASK
	approval = loomv1.NodeType_NODE_TYPE_APPROVAL
	failure  = loomv1.EdgeOutcome_EDGE_OUTCOME_FAILURE
)

// The shape that the default process must have, without its words.
func TestWF13_AutoBugWorkflow(t *testing.T) {
	def, ok := processes.Builtin(roles.Builtin()).Get("auto-bug-workflow")
	if !ok {
		t.Fatal("there is no auto-bug-workflow")
	}
	for _, n := range def.Nodes {
		if n.Description == "" {
			t.Errorf("node %q has no description", n.Id)
		}
		n.Description = ""
	}
	half := durationpb.New(30 * time.Minute)
	toCommit := &loomv1.ReworkRule{To: "commit"}
	toInvestigate := &loomv1.ReworkRule{To: "investigate", When: `outcome.fault == "change"`}
	want := []*loomv1.NodeDefinition{
		{Id: "start", Type: start},
		{
			Id: "triage", Type: task, Role: "qa-engineer", MaxAttempts: 3, Timeout: durationpb.New(10 * time.Minute),
			Outcome: map[string]string{"severity": "critical | high | medium | low | none", "specialist": "string", "check": "string"},
		},
		{
			Id: "investigate", Type: task, RolesAny: []string{"backend-engineer", "web-designer", "project-manager"},
			RoleFrom: `bead.assignee in ["backend-engineer", "web-designer", "project-manager"] ? bead.assignee : outcome.triage.specialist`, MaxAttempts: 5, Timeout: half, MultiDispatch: true,
		},
		{Id: "approve", Type: approval, Role: "ceo"},
		{
			Id: "commit", Type: task, Role: "engineering-manager", Kind: loomv1.NodeKind_NODE_KIND_COMMIT, MaxAttempts: 1, Timeout: half,
			Outcome:   map[string]string{"fault": "string"},
			OnFailure: &loomv1.FailurePolicy{Max: 3, Rework: []*loomv1.ReworkRule{toInvestigate}},
		},
		{
			Id: "verify", Type: task, Role: "qa-engineer", Kind: loomv1.NodeKind_NODE_KIND_VERIFY, MaxAttempts: 1, Timeout: half,
			Outcome:   map[string]string{"fault": "string"},
			OnFailure: &loomv1.FailurePolicy{Max: 3, Rework: []*loomv1.ReworkRule{toInvestigate, toCommit}},
		},
		{
			Id: "land", Type: task, Role: "engineering-manager", Kind: loomv1.NodeKind_NODE_KIND_LAND, MaxAttempts: 1, Timeout: half,
			Outcome:   map[string]string{"fault": "string"},
			OnFailure: &loomv1.FailurePolicy{Max: 3, Rework: []*loomv1.ReworkRule{toCommit}},
		},
		{Id: "end", Type: end},
	}
	if diff := cmp.Diff(want, def.Nodes, protocmp.Transform()); diff != "" {
		t.Errorf("nodes, want -, got +:\n%s", diff)
	}
	var edges []string
	for _, e := range def.Edges {
		edges = append(edges, e.From+" "+e.To+" "+e.Condition)
	}
	wantEdges := []string{
		"start triage ", `triage investigate outcome.severity != "none"`, `triage end outcome.severity == "none"`,
		"investigate approve ", "approve commit ", "commit verify ", "verify land ", "land end ",
	}
	if diff := cmp.Diff(wantEdges, edges); diff != "" {
		t.Errorf("edges, want -, got +:\n%s", diff)
	}
	if def.Version != "1.0" || def.Name != "auto-bug-workflow" {
		t.Errorf("it is %s %s", def.Name, def.Version)
	}
}

// line builds a definition start -> nodes in turn -> end.
func line(nodes ...*loomv1.NodeDefinition) *loomv1.Definition {
	def := &loomv1.Definition{Name: "demo", Version: "1.0"}
	def.Nodes = append([]*loomv1.NodeDefinition{{Id: "start", Type: start}}, nodes...)
	def.Nodes = append(def.Nodes, &loomv1.NodeDefinition{Id: "end", Type: end})
	for i := 1; i < len(def.Nodes); i++ {
		def.Edges = append(def.Edges, &loomv1.EdgeDefinition{Id: fmt.Sprintf("e%d", i), From: def.Nodes[i-1].Id, To: def.Nodes[i].Id})
	}
	return def
}

func lead(id string) *loomv1.NodeDefinition {
	return &loomv1.NodeDefinition{Id: id, Type: task, Role: "lead"}
}

// places lists what Validate says, as CODE PLACE.
func places(def *loomv1.Definition) []string {
	var all []string
	for _, e := range processes.Validate(def, roles.Builtin()) {
		all = append(all, e.Code+" "+e.Where)
	}
	return all
}

func TestWF02_Validate(t *testing.T) {
	kind := func(id, role string, k loomv1.NodeKind) *loomv1.NodeDefinition {
		return &loomv1.NodeDefinition{Id: id, Type: task, Role: role, Kind: k}
	}
	with := func(n *loomv1.NodeDefinition, change func(n *loomv1.NodeDefinition)) *loomv1.NodeDefinition {
		change(n)
		return n
	}
	const commit, verify, land = loomv1.NodeKind_NODE_KIND_COMMIT, loomv1.NodeKind_NODE_KIND_VERIFY, loomv1.NodeKind_NODE_KIND_LAND
	for _, tt := range []struct {
		name string
		def  *loomv1.Definition
		want []string
	}{
		{"sound", line(lead("a"), kind("b", "tester", 0)), nil},
		{"no work at all", line(), nil},
		{"empty message", &loomv1.Definition{}, []string{"workflow/invalid name", "workflow/version version", "workflow/start nodes", "workflow/end nodes"}},
		{"WF08 in order", line(kind("c", "engineering-manager", commit), kind("v", "qa", verify), kind("l", "engineering-manager", land)), nil},
		{"WF08 commit by another", line(kind("c", "implementer", commit)), []string{"workflow/role nodes[1].role"}},
		{"WF08 verify by another", line(kind("c", "engineering-manager", commit), kind("v", "engineering-manager", verify)), []string{"workflow/role nodes[2].role"}},
		{"WF08 land by another", line(kind("c", "engineering-manager", commit), kind("v", "qa", verify), kind("l", "qa", land)), []string{"workflow/role nodes[3].role"}},
		{"WF08 verify before commit", line(kind("v", "qa", verify), kind("c", "engineering-manager", commit)), []string{"workflow/invalid nodes[1].kind"}},
		{"WF08 land without verify", line(kind("c", "engineering-manager", commit), kind("l", "engineering-manager", land)), []string{"workflow/invalid nodes[2].kind"}},
		{"unknown numbers", line(with(lead("a"), func(n *loomv1.NodeDefinition) { n.Type = 77 }), kind("b", "lead", 9)), []string{"workflow/type nodes[1].type", "workflow/type nodes[2].kind"}},
		{"type not set", line(with(lead("a"), func(n *loomv1.NodeDefinition) { n.Type = 0 })), []string{"workflow/type nodes[1].type"}},
		{"timeout that is no duration", line(with(lead("a"), func(n *loomv1.NodeDefinition) { n.Timeout = &durationpb.Duration{Seconds: 1, Nanos: -1} })), []string{"workflow/invalid nodes[1].timeout"}},
		{"shortest and longest timeout", line(
			with(lead("a"), func(n *loomv1.NodeDefinition) { n.Timeout = durationpb.New(time.Second) }),
			with(lead("b"), func(n *loomv1.NodeDefinition) { n.Timeout = durationpb.New(168 * time.Hour) })), nil},
		{"most attempts", line(with(lead("a"), func(n *loomv1.NodeDefinition) { n.MaxAttempts = 100 })), nil},
		{"failure edge flag without one", line(with(lead("a"), func(n *loomv1.NodeDefinition) { n.FailureEdgeAfterAttempts = true })), []string{"workflow/edge nodes[1].failure_edge_after_attempts"}},
		{"long description", line(with(lead("a"), func(n *loomv1.NodeDefinition) { n.Description = strings.Repeat("x", 16<<10+1) })), []string{"workflow/invalid nodes[1].description"}},
		{"rework", line(lead("a"), with(lead("b"), func(n *loomv1.NodeDefinition) {
			n.OnFailure = &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "a", When: "bead.goal =="}, {To: "end"}}}
		})), []string{"workflow/condition nodes[2].on_failure.rework[0].when", "workflow/rework nodes[2].on_failure.rework[1].to"}},
	} {
		t.Run("WF02 "+tt.name, func(t *testing.T) {
			before := proto.CloneOf(tt.def)
			if diff := cmp.Diff(tt.want, places(tt.def)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			if !proto.Equal(before, tt.def) {
				t.Error("Validate changed the definition")
			}
		})
	}
}

func TestWF02_Limits(t *testing.T) {
	var nodes []*loomv1.NodeDefinition
	for i := range processes.MaxNodes - 2 {
		nodes = append(nodes, lead(fmt.Sprintf("n%d", i)))
	}
	most := line(nodes...)
	if got := places(most); got != nil {
		t.Errorf("%d nodes gave %v", len(most.Nodes), got)
	}
	if got := places(line(append(nodes, lead("more"))...)); !slices.Equal(got, []string{"workflow/invalid nodes"}) {
		t.Errorf("one node more gave %v", got)
	}
	for i := len(most.Edges); i < processes.MaxEdges; i++ {
		most.Edges = append(most.Edges, &loomv1.EdgeDefinition{Id: fmt.Sprintf("f%d", i), From: "n0", To: "n1"})
	}
	if got := places(most); got != nil {
		t.Errorf("%d edges gave %v", len(most.Edges), got)
	}
	most.Edges = append(most.Edges, &loomv1.EdgeDefinition{Id: "more", From: "n0", To: "n1"})
	if got := places(most); !slices.Equal(got, []string{"workflow/invalid edges"}) {
		t.Errorf("one edge more gave %v", got)
	}
}

// The hash of a definition is written in journals, so it must never change.
func TestHash(t *testing.T) {
	def := line(&loomv1.NodeDefinition{Id: "a", Type: task, Role: "lead", Outcome: map[string]string{"x": "int", "a": "bool", "k": "string"}})
	const want = "314729a42d635a12a3fe4f174cb8e02a0ad399bb3038591eca322495fb599b46"
	for range 20 { // maps have no order, the hash has
		if got := processes.Hash(proto.CloneOf(def)); got != want {
			t.Fatalf("Hash = %s, want %s", got, want)
		}
	}
	other := proto.CloneOf(def)
	other.Nodes[1].Role = "architect"
	if processes.Hash(other) == want {
		t.Error("another role has the same hash")
	}
}

const small = `name: %s
version: "1.3"
nodes: [{id: s, type: start}, {id: e, type: end}]
edges: [{id: x, from: s, to: e}]
`

func TestPROC01_Load(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	proc := func(name string) *fstest.MapFile { return file(fmt.Sprintf(small, name)) }
	rs := roles.Builtin()
	builtins := processes.Builtin(rs).Names()
	with := func(more ...string) string {
		names := append(slices.Clone(builtins), more...)
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	for _, tt := range []struct {
		name  string
		files fstest.MapFS
		names string
		want  []string
	}{
		{"no directory", fstest.MapFS{}, strings.Join(builtins, " "), nil},
		{"files and packages", fstest.MapFS{
			"p/a.yaml": proc("a"), "p/b.yml": proc("b"), "p/c/process.yaml": proc("c"),
			"p/c/README.md": file("x"), "p/empty/notes.yaml": file("x"), "p/notes.txt": file("x"),
		}, with("a", "b", "c"), nil},
		{"nearer wins", fstest.MapFS{"p/auto-bug-workflow/process.yaml": proc("auto-bug-workflow")}, strings.Join(builtins, " "), nil},
		{"twice", fstest.MapFS{"p/a.yaml": proc("a"), "p/b/process.yaml": proc("a")}, "", []string{"p/b/process.yaml:1:7 workflow/duplicate"}},
		{"all files at once", fstest.MapFS{"p/a.yaml": file(""), "p/b.yaml": proc("B")}, "", []string{"p/a.yaml:1:1 yaml/documents", "p/b.yaml:1:7 workflow/invalid"}},
	} {
		t.Run("PROC01 "+tt.name, func(t *testing.T) {
			l, err := processes.Load(processes.Builtin(rs), tt.files, "p", rs)
			var got []string
			if err != nil {
				first := fault.From(err)
				for _, e := range append([]*fault.Error{first}, first.More...) {
					got = append(got, e.Where+" "+e.Code)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Fatalf("want -, got +:\n%s", diff)
			}
			if err == nil && strings.Join(l.Names(), " ") != tt.names {
				t.Errorf("names %v, want %s", l.Names(), tt.names)
			}
		})
	}
}

func TestPROC01_NearerWins(t *testing.T) {
	rs := roles.Builtin()
	base := processes.Builtin(rs)
	l, err := processes.Load(base, fstest.MapFS{"x.yaml": {Data: fmt.Appendf(nil, small, "auto-bug-workflow")}}, ".", rs)
	if err != nil {
		t.Fatal(err)
	}
	if def, _ := l.Get("auto-bug-workflow"); def.Version != "1.3" {
		t.Errorf("the nearer process has version %s", def.Version)
	}
	if def, _ := base.Get("auto-bug-workflow"); def.Version != "1.0" {
		t.Error("the base library changed")
	}
	if got := l.Suggest("auto-bug-worklfow"); got != "auto-bug-workflow" {
		t.Errorf("Suggest = %q", got)
	}
	if def, ok := l.Get("nothing"); ok || def != nil {
		t.Errorf("Get(nothing) = %v", def)
	}
}

// What Get returns is the caller's own.
func TestPROC01_GetCopies(t *testing.T) {
	l := processes.Builtin(roles.Builtin())
	def, _ := l.Get("auto-bug-workflow")
	def.Nodes = nil
	if again, _ := l.Get("auto-bug-workflow"); len(again.Nodes) != 8 {
		t.Errorf("the library's definition has %d nodes now", len(again.Nodes))
	}
}

func ExampleParse() {
	_, err := processes.Parse("fix.yaml", []byte(`name: fix
version: "1.0"
nodes:
  - {id: start, type: start}
  - {id: mend, type: task, role: implementor}
  - {id: end, type: end}
edges:
  - {id: e1, from: start, to: mend}
  - {id: e2, from: mend, to: end, condition: outcome.ok}
`), roles.Builtin())
	first := fault.From(err)
	for _, e := range append([]*fault.Error{first}, first.More...) {
		fmt.Println(e.Code, e)
	}
	// Output:
	// workflow/role fix.yaml:5:34: there is no role "implementor"; did you mean "implementer"?
	// workflow/condition fix.yaml:9:46: undefined field 'ok' at column 8 (got "outcome.ok"); no outcome fields are declared
}

package test

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The groups of packages that arrows of the house name.
var (
	contract = []string{"proto/...", "internal/base/..."}
	lang     = []string{"internal/lang/..."}
	craft    = []string{"internal/craft/..."}
	cores    = []string{"graph", "roles", "processes", "internal/core/..."}
	store    = []string{"internal/store/..."}
	place    = []string{"internal/place/..."}
	net      = []string{"internal/net/..."}
	agents   = []string{"internal/agents/..."}
	ops      = []string{"internal/ops/..."}
	cli      = []string{"internal/cli/..."}
)

// arrows of the house point down only: a package may import its own group and what
// the row of its group lists.
var arrows = []struct {
	from, to []string
	why      string
}{
	{contract, nil, "the contract and what is as small depend on nothing above them"},
	{lang, contract, "a language is read without knowing what it speaks of"},
	{craft, contract, "a craft computes, and knows nothing of Loom's work"},
	{cores, slices.Concat(contract, lang, []string{"internal/craft/drawing", "internal/craft/foreign", "internal/craft/manuscript"}), "a core knows cores, languages and the contract, and no effect, actor or host"},
	{store, slices.Concat(contract, cores), "what keeps facts knows what they mean, and neither the network nor agents"},
	{place, slices.Concat(contract, cores), "a place of work knows nothing of who works there"},
	{net, slices.Concat(contract, cores, store), "the network carries what cores decide and stores keep"},
	{[]string{"actors"}, slices.Concat(contract, lang, cores, []string{"internal/store/journal"}), "an actor names the methods it needs; the host plugs the effects in"},
	{agents, slices.Concat(contract, lang, craft, cores, place, []string{"actors"}), "an agent puts models, tools and a place to work in the seat that an actor gives it, and knows neither network nor store"},
	{[]string{"internal/host/..."}, slices.Concat(contract, lang, craft, cores, store, place, net, agents, []string{"actors", "internal/page"}), "the host wires everything, and no command is below it"},
	{[]string{"internal/page"}, nil, "the page is files, and asks the host as a browser does"},
	{ops, slices.Concat(contract, lang, cores, store, place, net, agents, []string{"internal/host/..."}), "a job of an operator's stands above the host, and below the command"},
	{cli, slices.Concat(contract, lang, craft, cores, store, place, net, agents, ops, []string{"actors", "internal/host/..."}), "the command line stands above the host and the jobs of operators, and only the command itself is above it"},
	{[]string{"cmd/..."}, cli, "a command hands its arguments to the command line"},
	{[]string{"tools/..."}, nil, "a tool of the workshop is a module of its own"},
}

// owners are the only packages that may import what is not ours, or a part of
// the standard library that acts on the world.
var owners = []struct {
	imports string
	only    []string
	why     string
}{
	{"github.com/asynkron/protoactor-go/...", []string{"actors", "internal/net/natswire", "internal/host"}, "only shells know actors"},
	{"github.com/nats-io/nats.go/...", []string{"internal/store/natsjournal", "internal/net/natswire", "internal/base/transient", "internal/net/lease", "internal/net/broker", "internal/store/blob", "internal/ops/vault", "internal/host", "internal/net/client", "internal/ops/demo"}, "only the wire knows NATS, and the demo that plays a service"},
	{"github.com/nats-io/nats-server/...", []string{"internal/net/broker/...", "internal/host"}, "only the broker embeds a server"},
	{"github.com/nats-io/nkeys", []string{"internal/core/project", "internal/net/ceokey", "internal/net/broker", "internal/host", "internal/net/client", "internal/net/identity"}, "keys have few hands"},
	{"os/exec", starters, "only tools start processes"},
	{"database/sql/...", []string{"internal/store/projection"}, "the tables have one author"},
	{"modernc.org/sqlite/...", []string{"internal/store/projection"}, "the tables have one author"},
	{"gopkg.in/yaml.v3", []string{"internal/lang/strictyaml"}, "YAML is read strictly, in one place"},
	{"cel.dev/cel-go/...", []string{"internal/lang/condition"}, "conditions are compiled in one place"},
	{"github.com/anthropics/anthropic-sdk-go/...", []string{"internal/agents/model/..."}, "a vendor's types stay behind the provider"},
	{"github.com/sashabaranov/go-openai/...", []string{"internal/agents/model/..."}, "a vendor's types stay behind the provider"},
	{"github.com/sourcegraph/jsonrpc2", []string{"internal/place/lsp/..."}, "the protocol of language servers is spoken in one place"},
	{"github.com/modelcontextprotocol/...", []string{"internal/agents/mcp/...", "internal/net/mcpserver"}, "the protocol has one side each"},
	{"github.com/prometheus/...", []string{"internal/net/web"}, "figures are shown in one place"},
	{"golang.org/x/time/...", []string{"internal/net/web", "internal/host/writing", "internal/agents/source/..."}, "rates are limited where requests come in, and where they go out to sources"},
	{"github.com/xuri/excelize/...", []string{"internal/craft/sheet", "internal/craft/office"}, "workbooks are read and written in two places: as tables, and as documents"},
	{"codeberg.org/go-pdf/...", []string{"internal/craft/office"}, "pages are made in one place"},
	{"gonum.org/v1/...", []string{"internal/craft/statistics"}, "figures have one maker"},
	{"github.com/yuin/goldmark/...", []string{"internal/craft/manuscript"}, "Markdown is read in one place"},
	{"github.com/JohannesKaufmann/...", []string{"internal/agents/source/..."}, "pages are turned into text where they are fetched"},
	{"github.com/spf13/cobra/...", cli, "the command line is read in one place"},
	{"github.com/pelletier/go-toml/...", []string{"internal/ops/config", "internal/core/patchscan"}, "TOML is read strictly: settings, and the rules for keys"},
}

// starters are the packages that start processes.
var starters = []string{"internal/agents/tool", "internal/place/git", "internal/place/sandbox", "internal/agents/mcp", "internal/ops/notify", "internal/ops/pager", "internal/ops/browser"}

// free may import anything.
var free = []string{"test/...", "bench/...", "tools/..."}

// impure is what a core must not import: time and chance arrive in events and
// commands, effects are what it returns.
var impure = []string{
	"os/...", "net/...", "syscall/...", "runtime/...", "plugin", "unsafe", "math/rand/...", "crypto/rand", "hash/maphash",
	"sync/...", "context", "log/...", "testing/...",
}

// clocks are the parts of package time that read a clock or the host's zone.
var clocks = []string{
	"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation",
}

// pure are the packages that know no clock, chance, I/O, goroutine or lock.
var pure = slices.Concat(cores, lang, craft, []string{
	"proto/subject", "internal/base/fault", "internal/base/format", "internal/base/suggest",
	"internal/store/journal", "internal/place/setup", "internal/place/repomap",
})

// impureByRight are parts of cores that are not pure, and why.
var impureByRight = map[string][]string{
	// Its interface blocks, and its in-memory twin lets readers wait.
	"internal/store/journal": {"context", "sync", "a channel", "a select", "a goroutine"},
	// It draws definitions for tests, from a source of chance that it is given.
	"internal/core/workflow/workflowtest": {"math/rand/v2"},
}

func TestLayers(t *testing.T) { report(t, layerProblems(load(t, ".."))) }

// Every package has a row in the map that newcomers read.
func TestLayers_AreOnTheMap(t *testing.T) {
	text, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	named := func(dir string) bool {
		for d := dir; d != "."; d = path.Dir(d) {
			if strings.Contains(page, "| `"+d+"`") || strings.Contains(page, ", `"+d+"`") || strings.Contains(page, "| `"+d+"/...`") {
				return true
			}
		}
		return false
	}
	for _, f := range load(t, "..") {
		if f.isGo() && !f.isTest() && !matchesAny(free, f.dir()) && !matches("tools/...", f.dir()) && !named(f.dir()) {
			t.Errorf("%s has no row in docs/architecture.md", f.dir())
		}
	}
}

// layerProblems lists what breaks the arrows, the owners or the purity of the
// cores. Test code is free.
func layerProblems(files []*file) (problems []string) {
	for _, f := range files {
		if !f.isGo() || f.isTest() {
			continue
		}
		problems = append(problems, brokenArrows(f)...)
		problems = append(problems, strangers(f)...)
		if matchesAny(pure, f.dir()) {
			problems = append(problems, impurities(f)...)
		}
	}
	return problems
}

func brokenArrows(f *file) (problems []string) {
	if matchesAny(free, f.dir()) {
		return nil
	}
	for _, row := range arrows {
		if !matchesAny(row.from, f.dir()) {
			continue
		}
		f.imports(func(at token.Pos, name string) {
			to, ours := strings.CutPrefix(name, module+"/")
			if ours && !matchesAny(row.from, to) && !matchesAny(row.to, to) {
				problems = append(problems, f.problem(at, "%s imports %s: %s", f.dir(), to, row.why))
			}
		})
		return problems
	}
	return []string{f.problemAt(1, "package %s has no place in the house: put it into a group of test/layers_test.go", f.dir())}
}

func strangers(f *file) (problems []string) {
	if matchesAny(free, f.dir()) {
		return nil
	}
	if !matchesAny(starters, f.dir()) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && (sel.Sel.Name == "StartProcess" || sel.Sel.Name == "ForkExec") {
				problems = append(problems, f.problem(n.Pos(), "%s starts a process: only tools do (%s)", f.dir(), strings.Join(starters, ", ")))
			}
			return true
		})
	}
	f.imports(func(at token.Pos, name string) {
		for _, o := range owners {
			if matches(o.imports, name) && !matchesAny(o.only, f.dir()) {
				problems = append(problems, f.problem(at, "%s imports %s: %s (%s)", f.dir(), name, o.why, strings.Join(o.only, ", ")))
			}
		}
	})
	return problems
}

func impurities(f *file) (problems []string) {
	found := func(at token.Pos, what string) {
		if !slices.Contains(impureByRight[f.dir()], what) {
			problems = append(problems, f.problem(at, "%s is a core and uses %s: time and chance arrive in events, effects are what it returns", f.dir(), what))
		}
	}
	clock := ""
	f.imports(func(at token.Pos, name string) {
		if matchesAny(impure, name) {
			found(at, name)
		}
		if name == "time" {
			clock = "time"
		}
	})
	for _, spec := range f.syntax.Imports {
		if spec.Path.Value == `"time"` && spec.Name != nil {
			clock = spec.Name.Name
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found(n.Pos(), "a goroutine")
		case *ast.ChanType:
			found(n.Pos(), "a channel")
		case *ast.SelectStmt:
			found(n.Pos(), "a select")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && clock != "" && x.Name == clock && slices.Contains(clocks, n.Sel.Name) {
				found(n.Pos(), "time."+n.Sel.Name)
			}
		}
		return true
	})
	return problems
}

// The rules can fail: this house breaks each of them.
func TestLayers_AreSeenWhenBroken(t *testing.T) {
	want := []string{
		"actors/actors.go:5: actors imports internal/agents/tool: an actor names the methods it needs; the host plugs the effects in",
		"cmd/loom/main.go:7: cmd/loom imports internal/host: a command hands its arguments to the command line",
		"cmd/loom/main.go:8: cmd/loom imports internal/place/git: a command hands its arguments to the command line",
		"cmd/loom/main.go:12: cmd/loom starts a process: only tools do (internal/agents/tool, internal/place/git, internal/place/sandbox, internal/agents/mcp, internal/ops/notify, internal/ops/pager, internal/ops/browser)",
		"cmd/loom/main.go:5: cmd/loom imports os/exec: only tools start processes (internal/agents/tool, internal/place/git, internal/place/sandbox, internal/agents/mcp, internal/ops/notify, internal/ops/pager, internal/ops/browser)",
		"graph/graph.go:5: graph is a core and uses context: time and chance arrive in events, effects are what it returns",
		"graph/graph.go:6: graph is a core and uses math/rand/v2: time and chance arrive in events, effects are what it returns",
		"graph/graph.go:7: graph is a core and uses sync/atomic: time and chance arrive in events, effects are what it returns",
		"graph/graph.go:12: graph is a core and uses a channel: time and chance arrive in events, effects are what it returns",
		"graph/graph.go:13: graph is a core and uses a goroutine: time and chance arrive in events, effects are what it returns",
		"graph/graph.go:14: graph is a core and uses a select: time and chance arrive in events, effects are what it returns",
		"graph/graph.go:19: graph is a core and uses time.Now: time and chance arrive in events, effects are what it returns",
		"internal/agents/tool/tool.go:7: internal/agents/tool imports internal/store/blob: an agent puts models, tools and a place to work in the seat that an actor gives it, and knows neither network nor store",
		"internal/core/workflow/workflow.go:6: internal/core/workflow imports internal/agents/tool: a core knows cores, languages and the contract, and no effect, actor or host",
		"internal/core/workflow/workflow.go:4: internal/core/workflow imports github.com/nats-io/nats.go: only the wire knows NATS, and the demo that plays a service (internal/store/natsjournal, internal/net/natswire, internal/base/transient, internal/net/lease, internal/net/broker, internal/store/blob, internal/ops/vault, internal/host, internal/net/client, internal/ops/demo)",
		"internal/helper/helper.go:1: package internal/helper has no place in the house: put it into a group of test/layers_test.go",
	}
	if diff := cmp.Diff(want, layerProblems(load(t, "testdata/house"))); diff != "" {
		t.Errorf("problems of the bad house (-want +got):\n%s", diff)
	}
}

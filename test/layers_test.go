package test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The arrows of the house point down only. A package may import its own
// subpackages, and what the first row that it matches lists.
var (
	contract = []string{"proto/loom/v1", "proto/subject", "internal/fault", "internal/suggest"}
	cores    = []string{
		"graph", "roles", "processes",
		"internal/budget", "internal/commitlock", "internal/condition", "internal/document", "internal/drawing", "internal/format", "internal/intent",
		"internal/journal", "internal/membership", "internal/notice", "internal/patch", "internal/patchscan", "internal/permission", "internal/plan", "internal/project", "internal/reach", "internal/repomap", "internal/setup", "internal/staffing", "internal/strictyaml",
		"internal/team", "internal/train", "internal/turn", "internal/verify", "internal/workflow",
	}
	// crafts compute what tools of knowledge work give: pure, and of no use to
	// the engine.
	crafts = []string{
		"internal/calculator", "internal/chart", "internal/comparison", "internal/manuscript", "internal/placeholder",
		"internal/sheet", "internal/statistics",
	}
	effects = []string{
		"internal/blob/...", "internal/broker", "internal/ceokey", "internal/config", "internal/datadir", "internal/egress", "internal/git", "internal/identity", "internal/mcp",
		"internal/lease", "internal/model/...", "internal/natsjournal", "internal/natswire", "internal/projection", "internal/repomap/index", "internal/retention",
		"internal/sandbox", "internal/setups", "internal/source/...", "internal/streamfile", "internal/headmark", "internal/watermark", "internal/token", "internal/tool", "internal/toolkit", "internal/web",
	}
)

var arrows = []struct {
	from, to []string
	why      string
}{
	{[]string{"proto/loom/v1"}, nil, "the contract depends on nothing"},
	{[]string{"internal/suggest"}, nil, "it is below everything"},
	{[]string{"internal/fault"}, []string{"proto/loom/v1", "internal/suggest"}, "every package may use it"},
	{[]string{"proto/subject"}, []string{"internal/fault"}, "every package may use it"},
	{cores, slices.Concat(contract, cores), "a core knows cores and the contract, and no effect, actor or host"},
	{[]string{"internal/journal/journaltest"}, slices.Concat(contract, cores), "it tests what keeps the contract of the log"},
	{[]string{"internal/workflow/workflowtest"}, contract, "it draws definitions for tests"},
	{[]string{"internal/redact"}, nil, "it is below everything that could tell a secret"},
	{[]string{"internal/durable"}, nil, "it is below everything that writes files"},
	{[]string{"internal/privatefile"}, slices.Concat(contract, []string{"internal/durable"}), "it keeps a list in a file, whatever the list means"},
	{[]string{"internal/certificate", "internal/identity", "internal/token"}, slices.Concat(contract, []string{"internal/privatefile"}), "who may come in is kept in private files, and known to no effect but the broker"},
	{[]string{"internal/broker/brokertest"}, slices.Concat(contract, []string{"internal/broker", "internal/datadir", "internal/identity"}), "it runs several hosts' brokers for tests"},
	{[]string{"internal/broker"}, slices.Concat(contract, cores, []string{"internal/natsjournal", "internal/blob", "internal/datadir", "internal/identity", "internal/certificate", "internal/transient"}), "an effect knows no other effect; the broker places the log and the blobs where the manifest says"},
	{crafts, slices.Concat(contract, crafts), "a craft knows crafts and the contract, and nothing of Loom's work"},
	{[]string{"internal/source/..."}, slices.Concat(contract, crafts), "a source of knowledge knows no other effect"},
	{[]string{"internal/lsp/lsptest"}, nil, "it is a server for tests, and knows nothing of ours"},
	{[]string{"internal/lsp"}, contract, "it speaks with a server that it is given"},
	{[]string{"internal/tool"}, slices.Concat(contract, cores, crafts, []string{"internal/source/...", "internal/lsp"}), "tools put crafts and sources to work on a workspace"},
	{[]string{"internal/transient"}, nil, "it is below everything that talks to a cluster"},
	{[]string{"internal/natsjournal", "internal/blob/..."}, slices.Concat(contract, cores, []string{"internal/transient"}), "an effect knows no other effect, but what passes by itself"},
	{[]string{"internal/mcp/mcptest"}, nil, "it is a server for tests, and knows nothing of ours"},
	{[]string{"internal/mcp"}, slices.Concat(contract, []string{"internal/privatefile"}), "what is trusted is kept in a private file"},
	{[]string{"internal/toolkit"}, slices.Concat(contract, cores, []string{"internal/privatefile", "internal/durable"}), "what is trusted is kept in a private file, and its bytes beside it"},
	{[]string{"internal/mcpserver"}, contract, "it translates between a protocol and a host's services, which it is given"},
	{effects, slices.Concat(contract, cores, []string{"internal/durable", "internal/redact"}), "an effect knows cores and the contract, and no other effect"},
	{[]string{"internal/agent"}, slices.Concat(contract, cores, []string{"actors", "internal/model", "internal/tool", "internal/git", "internal/repomap/index", "internal/model/recording", "internal/redact", "internal/setups"}), "an agent puts model, tools and git to work in the seat that an actor gives it, and knows nothing of the wire"},
	{[]string{"actors"}, slices.Concat(contract, cores), "an actor names the methods it needs; the host plugs the effects in"},
	{[]string{"internal/client"}, slices.Concat(contract, cores, []string{"internal/broker", "internal/identity", "internal/certificate"}), "a client talks to a host over NATS alone; the broker knows where it listens"},
	{[]string{"internal/vault"}, slices.Concat(contract, cores, []string{"internal/blob", "internal/broker", "internal/ceokey", "internal/datadir", "internal/durable", "internal/headmark", "internal/natsjournal", "internal/retention", "internal/streamfile"}), "it reads what hosts keep, and makes it anew from a backup"},
	{[]string{"internal/host"}, slices.Concat(contract, cores, effects, []string{"actors", "internal/agent", "internal/client", "internal/certificate", "internal/mcpserver", "internal/redact"}), "the host wires everything, and no command is below it"},
	{[]string{"internal/demo"}, slices.Concat(contract, cores, []string{"internal/host", "internal/client", "internal/ceokey", "internal/git", "internal/model/..."}), "the demo stands where a command does: above a host, its client and its owner"},
	{[]string{"internal/sandbox/probe"}, slices.Concat(contract, []string{"internal/sandbox"}), "it tries what a sandbox must refuse"},
	{[]string{"internal/sandbox/cgroup"}, contract, "it knows the kernel, and not what runs in its groups"},
	{[]string{"tools/..."}, nil, "a tool of the workshop is a module of its own"},
	{[]string{"internal/doctor"}, slices.Concat(contract, cores, effects, []string{"internal/sandbox/probe", "internal/sandbox/cgroup", "internal/client", "internal/model"}), "it looks at everything that a host stands on, and at no host's inside"},
	{[]string{"internal/errand"}, slices.Concat(contract, cores, []string{"internal/host", "internal/client", "internal/ceokey", "internal/git", "internal/model", "internal/model/recording"}), "an errand stands where a command does: above a host, its client and its owner"},
	{[]string{"cmd/..."}, slices.Concat(contract, cores, []string{"actors", "internal/host", "internal/client", "internal/demo", "internal/errand", "internal/git", "internal/ceokey", "internal/datadir", "internal/model/...", "internal/config", "internal/doctor", "internal/token", "internal/identity", "internal/certificate", "internal/durable", "internal/vault", "internal/retention", "internal/mcp", "internal/mcpserver", "internal/toolkit"}), "a command reaches the rest through the host"},
	{free, slices.Concat(contract, cores, effects, []string{"actors", "internal/..."}), "they may use everything but commands"},
}

// owners are the only packages that may import what is not ours, or a part of
// the standard library that acts on the world.
var owners = []struct {
	imports string
	only    []string
	why     string
}{
	{"github.com/asynkron/protoactor-go/...", []string{"actors", "internal/natswire", "internal/host"}, "only shells know actors"},
	{"github.com/nats-io/nats.go/...", []string{"internal/natsjournal", "internal/natswire", "internal/transient", "internal/lease", "internal/broker", "internal/blob", "internal/vault", "internal/host", "internal/client", "internal/demo"}, "only the wire knows NATS, and the demo that plays a service"},
	{"github.com/nats-io/nats-server/...", []string{"internal/broker/...", "internal/host"}, "only the broker embeds a server"},
	{"github.com/nats-io/nkeys", []string{"internal/project", "internal/ceokey", "internal/broker", "internal/host", "internal/client", "internal/identity"}, "keys have few hands"},
	{"os/exec", starters, "only tools start processes"},
	{"database/sql/...", []string{"internal/projection"}, "the tables have one author"},
	{"modernc.org/sqlite/...", []string{"internal/projection"}, "the tables have one author"},
	{"gopkg.in/yaml.v3", []string{"internal/strictyaml"}, "YAML is read strictly, in one place"},
	{"cel.dev/cel-go/...", []string{"internal/condition"}, "conditions are compiled in one place"},
	{"github.com/anthropics/anthropic-sdk-go/...", []string{"internal/model/..."}, "a vendor's types stay behind the provider"},
	{"github.com/sashabaranov/go-openai/...", []string{"internal/model/..."}, "a vendor's types stay behind the provider"},
	{"github.com/sourcegraph/jsonrpc2", []string{"internal/lsp/..."}, "the protocol of language servers is spoken in one place"},
	{"github.com/modelcontextprotocol/...", []string{"internal/mcp/...", "internal/mcpserver"}, "the protocol has one side each"},
	{"github.com/prometheus/...", []string{"internal/web"}, "figures are shown in one place"},
	{"golang.org/x/time/...", []string{"internal/web", "internal/source/..."}, "rates are limited where requests come in, and where they go out to sources"},
	{"github.com/xuri/excelize/...", []string{"internal/sheet"}, "workbooks are read and written in one place"},
	{"gonum.org/v1/...", []string{"internal/statistics", "internal/chart"}, "figures and pictures have one maker each"},
	{"github.com/yuin/goldmark/...", []string{"internal/manuscript"}, "Markdown is read in one place"},
	{"github.com/JohannesKaufmann/...", []string{"internal/source/..."}, "pages are turned into text where they are fetched"},
	{"github.com/spf13/cobra/...", []string{"cmd/..."}, "the command line is the command's"},
	{"github.com/pelletier/go-toml/...", []string{"internal/config", "internal/patchscan"}, "TOML is read strictly: settings, and the rules for keys"},
}

// starters are the packages that start processes.
var starters = []string{"internal/tool", "internal/git", "internal/sandbox", "internal/mcp"}

// free may import anything.
var free = []string{"test/...", "bench/..."}

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
var pure = slices.Concat(cores, crafts, []string{"proto/subject", "internal/fault", "internal/suggest"})

// impureByRight are parts of cores that are not pure, and why.
var impureByRight = map[string][]string{
	// Its interface blocks, and its in-memory twin lets readers wait.
	"internal/journal": {"context", "sync", "a channel", "a select", "a goroutine"},
}

func TestLayers(t *testing.T) { report(t, layerProblems(load(t, ".."))) }

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
	for _, row := range arrows {
		if !matchesAny(row.from, f.dir()) {
			continue
		}
		f.imports(func(at token.Pos, name string) {
			to, ours := strings.CutPrefix(name, module+"/")
			if ours && !matchesAny(row.to, to) && !below(f.dir(), to) && !sameTree(row.from, f.dir(), to) {
				problems = append(problems, f.problem(at, "%s imports %s: %s", f.dir(), to, row.why))
			}
		})
		return problems
	}
	return []string{f.problemAt(1, "package %s has no place in the house: give it a row in test/layers_test.go", f.dir())}
}

// below reports whether b is a subpackage of a.
func below(a, b string) bool { return strings.HasPrefix(b, a+"/") }

// sameTree reports whether both packages lie below one pattern of the row, as
// the parts of internal/model do.
func sameTree(from []string, a, b string) bool {
	for _, p := range from {
		if strings.HasSuffix(p, "/...") && matches(p, a) && matches(p, b) {
			return true
		}
	}
	return false
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
		"actors/actors.go:5: actors imports internal/tool: an actor names the methods it needs; the host plugs the effects in",
		"cmd/loom/main.go:8: cmd/loom imports internal/tool: a command reaches the rest through the host",
		"cmd/loom/main.go:12: cmd/loom starts a process: only tools do (internal/tool, internal/git, internal/sandbox, internal/mcp)",
		"cmd/loom/main.go:5: cmd/loom imports os/exec: only tools start processes (internal/tool, internal/git, internal/sandbox, internal/mcp)",
		"graph/graph.go:5: graph is a core and uses context: time and chance arrive in events, effects are what it returns",
		"graph/graph.go:6: graph is a core and uses math/rand/v2: time and chance arrive in events, effects are what it returns",
		"graph/graph.go:7: graph is a core and uses sync/atomic: time and chance arrive in events, effects are what it returns",
		"graph/graph.go:12: graph is a core and uses a channel: time and chance arrive in events, effects are what it returns",
		"graph/graph.go:13: graph is a core and uses a goroutine: time and chance arrive in events, effects are what it returns",
		"graph/graph.go:14: graph is a core and uses a select: time and chance arrive in events, effects are what it returns",
		"graph/graph.go:19: graph is a core and uses time.Now: time and chance arrive in events, effects are what it returns",
		"internal/helper/helper.go:1: package internal/helper has no place in the house: give it a row in test/layers_test.go",
		"internal/tool/tool.go:7: internal/tool imports internal/git: tools put crafts and sources to work on a workspace",
		"internal/workflow/workflow.go:6: internal/workflow imports internal/tool: a core knows cores and the contract, and no effect, actor or host",
		"internal/workflow/workflow.go:4: internal/workflow imports github.com/nats-io/nats.go: only the wire knows NATS, and the demo that plays a service (internal/natsjournal, internal/natswire, internal/transient, internal/lease, internal/broker, internal/blob, internal/vault, internal/host, internal/client, internal/demo)",
	}
	if diff := cmp.Diff(want, layerProblems(load(t, "testdata/house"))); diff != "" {
		t.Errorf("problems of the bad house (-want +got):\n%s", diff)
	}
}

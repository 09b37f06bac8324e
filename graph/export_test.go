package graph_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/graph"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// hostile are titles that try to be something else.
var hostile = []string{
	"", " ", `"`, `\`, `\"`, `a\`, "a\nb", "a\r\nd1 -> d2", "]; d1 -> d2 [label=\"", `"]`, `</td>`, "&amp;", "&#34;", `\N`, `\l`,
	"#quot;", "#35;", "style a:b#c;", "classDef x:#1;", "%%{init: {'theme':'dark'}}%%", "`**b**`", "<script>alert(1)</script>",
	"a|b", "end", "click d1 call f()", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "a\u202eb", "a\x00b", "a\u2028b", "\xff\xfe", "日本語 é", "👩‍💻",
	"subgraph x", ":::gone", "--> d2", "{}", "()", "[[]]", "~~struck~~", "; ", "\u009b31m",
}

func TestGRAPH06_HostileTitles(t *testing.T) {
	for _, s := range hostile {
		written(t, s, s)
	}
}

func FuzzGRAPH06_Export(f *testing.F) {
	for i, s := range hostile {
		f.Add(s, hostile[len(hostile)-1-i])
	}
	f.Fuzz(func(t *testing.T, title, other string) { written(t, title, other) })
}

// written checks that every form of a graph with these texts reads back as the
// same two nodes and two edges, and that nothing in it steers a terminal.
func written(t *testing.T, title, other string) {
	t.Helper()
	g := &loomv1.DecisionGraph{
		Nodes: []*loomv1.DecisionNode{
			{Id: "d1", Type: goal, Status: active, Title: title, Confidence: 90},
			{Id: "x" + other, Type: decision, Status: superseded, Title: other},
		},
		Edges: []*loomv1.DecisionEdge{
			{Id: 1, From: "d1", To: "x" + other, Type: leadsTo, Rationale: other},
			{Id: 2, From: "x" + other, To: "d1", Type: rejected, Rationale: title},
			{Id: 3, From: "d1", To: "d9", Type: leadsTo},
		},
	}
	dot, mermaid, text := graph.DOT(g), graph.Mermaid(g), graph.Text(g, nil)
	for _, out := range []string{dot, mermaid, text} {
		for _, r := range out {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Errorf("of %q and %q came %q", title, other, out)
			}
		}
	}
	if dot != graph.DOT(g) || mermaid != graph.Mermaid(g) || text != graph.Text(g, nil) {
		t.Errorf("of %q and %q came two different texts", title, other)
	}
	readDOT(t, dot, title, other)
	readMermaid(t, mermaid, title, other)
	if lines := strings.Split(text, "\n"); len(lines) != 4 || !strings.HasPrefix(lines[0], "d1 goal: "+cleaned(title)) ||
		!strings.HasPrefix(lines[1], "  x") || !strings.Contains(lines[1], "~~"+cleaned(other)+"~~ (0%)") || lines[2] != "    d1 (see above)" {
		t.Errorf("Text of %q and %q:\n%s", title, other, text)
	}
}

// cleaned is a text as one printable line.
func cleaned(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.In(r, unicode.Cc, unicode.Co):
			b.WriteRune('\ufffd')
		case !unicode.Is(unicode.Cf, r):
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

const quoted = `"((?:[^"\\]|\\.)*)"`

var (
	dotNode = regexp.MustCompile(`^  ` + quoted + ` \[label=` + quoted + `, shape=[a-z]+(, style=dashed, color=gray, fontcolor=gray)?\];$`)
	dotEdge = regexp.MustCompile(`^  ` + quoted + ` -> ` + quoted + ` \[label=` + quoted + `(?:, tooltip=` + quoted + `)?(, style=dashed, color=gray, fontcolor=gray)?\];$`)

	mermaidNode = regexp.MustCompile(`^  ([dx][0-9a-f]+)\["([^"]*)<br/>([^"<>]*)"\](:::gone)?$`)
	mermaidEdge = regexp.MustCompile(`^  ([dx][0-9a-f]+) (-->|-\.->)\|[a-z_]+\| ([dx][0-9a-f]+)$`)
	safe        = regexp.MustCompile(`^(?:[\pL\p{Nd} .,_()/+=!?'-]|#[0-9]+;)*$`)
	entity      = regexp.MustCompile(`#[0-9]+;`)
)

func readDOT(t *testing.T, dot, title, other string) {
	t.Helper()
	lines := strings.Split(dot, "\n")
	if len(lines) != 7 || lines[0] != "digraph decisions {" || lines[5] != "}" || lines[6] != "" {
		t.Fatalf("DOT of %q and %q:\n%s", title, other, dot)
	}
	for i, want := range []string{title, other} {
		m := dotNode.FindStringSubmatch(lines[1+i])
		if m == nil {
			t.Fatalf("DOT of %q and %q: node %s", title, other, lines[1+i])
		}
		_, label, _ := strings.Cut(m[2], `%)\n`)
		if got := strings.NewReplacer(`\\`, `\`, `\"`, `"`, "&amp;", "&").Replace(label); got != cleaned(want) {
			t.Errorf("DOT label of %q reads %q", want, got)
		}
	}
	for _, l := range lines[3:5] {
		if dotEdge.FindString(l) == "" {
			t.Errorf("DOT of %q and %q: edge %s", title, other, l)
		}
	}
}

func readMermaid(t *testing.T, mermaid, title, other string) {
	t.Helper()
	lines := strings.Split(mermaid, "\n")
	if len(lines) != 7 || lines[0] != "flowchart TD" {
		t.Fatalf("Mermaid of %q and %q:\n%s", title, other, mermaid)
	}
	for i, want := range []string{title, other} {
		m := mermaidNode.FindStringSubmatch(lines[1+i])
		if m == nil || !safe.MatchString(m[3]) {
			t.Fatalf("Mermaid of %q and %q: node %s", title, other, lines[1+i])
		}
		got := entity.ReplaceAllStringFunc(m[3], func(e string) string {
			n, _ := strconv.Atoi(e[1 : len(e)-1])
			return string(rune(n))
		})
		if got != cleaned(want) {
			t.Errorf("Mermaid label of %q reads %q", want, got)
		}
	}
	for _, l := range lines[3:5] {
		if !mermaidEdge.MatchString(l) {
			t.Errorf("Mermaid of %q and %q: edge %s", title, other, l)
		}
	}
}

func TestGRAPH06_JSONReadsBack(t *testing.T) {
	w := story(t)
	w.take(w.graph.Add(&loomv1.AddDecision{Node: &loomv1.DecisionNode{
		Type: option, Title: "a \"quoted\"\nline", Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{
			"z": structpb.NewNumberValue(1.5), "a": structpb.NewNullValue(), "m": structpb.NewStringValue("<>&"),
		}},
	}}))
	whole := w.graph.Snapshot()
	first, err := graph.JSON(whole)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := graph.JSON(mustRestore(t, whole).Snapshot()); again != first {
		t.Errorf("JSON of the same graph differs:\n%s\n%s", first, again)
	}
	back := &loomv1.DecisionGraph{}
	if err := protojson.Unmarshal([]byte(first), back); err != nil {
		t.Fatal(err)
	}
	if diff := same(whole, mustRestore(t, back).Snapshot()); diff != "" {
		t.Errorf("read back it differs: %s", diff)
	}
	if empty, err := graph.JSON(nil); err != nil || empty != "{}\n" {
		t.Errorf("JSON(nil) = %q, %v", empty, err)
	}
	bad := &loomv1.DecisionGraph{Nodes: []*loomv1.DecisionNode{{Metadata: meta(&structpb.Value{})}}}
	if got, err := graph.JSON(bad); err == nil {
		t.Errorf("JSON of a value without a kind = %q", got)
	}
}

func TestGRAPH06_TextOfAnyPart(t *testing.T) {
	node := func(id string, ty loomv1.DecisionType, st loomv1.DecisionStatus) *loomv1.DecisionNode {
		return &loomv1.DecisionNode{Id: id, Type: ty, Status: st, Title: "t" + id}
	}
	for _, tt := range []struct {
		name string
		g    *loomv1.DecisionGraph
		want string
	}{
		{"nothing", nil, ""},
		{"no node", &loomv1.DecisionGraph{Nodes: []*loomv1.DecisionNode{nil}, Edges: []*loomv1.DecisionEdge{nil}}, ""},
		{
			"goals first", &loomv1.DecisionGraph{Nodes: []*loomv1.DecisionNode{node("d1", option, active), node("d2", goal, active)}},
			"d2 goal: td2 (0%)\nd1 option: td1 (0%)\n",
		},
		{"abandoned", &loomv1.DecisionGraph{Nodes: []*loomv1.DecisionNode{node("d1", option, abandoned)}}, "d1 option: ~~td1~~ (0%) (abandoned)\n"},
		{"round, which no log leads to", &loomv1.DecisionGraph{
			Nodes: []*loomv1.DecisionNode{node("d1", goal, active), node("d2", goal, active), node("d1", option, active)},
			Edges: links(edge("d1", leadsTo, "d2"), edge("d2", leadsTo, "d1"), edge("d1", leadsTo, "d1"), edge("d1", chosen, "d2")),
		}, "d1 goal: td1 (0%)\n  d2 goal: td2 (0%) (chosen by d1)\n    d1 (see above)\n"},
	} {
		if got := graph.Text(tt.g, nil); got != tt.want {
			t.Errorf("GRAPH06 %s: Text =\n%swant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestGRAPH06_ANodeIsDrawnOnce(t *testing.T) {
	n := &loomv1.DecisionNode{Id: "d1", Type: goal, Title: "t"}
	g := &loomv1.DecisionGraph{Nodes: []*loomv1.DecisionNode{n, n}}
	for _, out := range []string{graph.DOT(g), graph.Mermaid(g), graph.Text(g, nil)} {
		if strings.Count(out, "d1 goal") != 1 {
			t.Errorf("drawn twice:\n%s", out)
		}
	}
}

func TestGRAPH06_TextStaysNarrowAndShort(t *testing.T) {
	w := newWorld(t)
	w.add(goal, "g")
	for i := range 50 {
		w.add(decision, "n", from(fmt.Sprintf("d%d", i+1), leadsTo))
	}
	for i := range 7 {
		w.link("d51", requires, fmt.Sprintf("d%d", i+1))
	}
	lines := strings.Split(graph.Text(w.graph.Snapshot(), nil), "\n")
	if len(lines) != 52 || lines[30] != strings.Repeat("  ", 30)+"d31 decision by architect/1: n (80%)" || lines[31] != strings.Repeat("  ", 30)+"d32 decision by architect/1: n (80%)" {
		t.Errorf("line 31 is %q, line 32 is %q of %d", lines[30], lines[31], len(lines))
	}
	if want := "d51 decision by architect/1: n (80%) (requires d1, d2, d3, d4, d5 and 2 more)"; strings.TrimSpace(lines[50]) != want {
		t.Errorf("the last is %q, want %q", lines[50], want)
	}
}

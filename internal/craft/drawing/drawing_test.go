package drawing_test

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/craft/drawing"
)

// picture is what a test reads off a drawing.
type picture struct {
	Width  float64 `xml:"width,attr"`
	Height float64 `xml:"height,attr"`
	Title  string  `xml:"title"`
	Desc   string  `xml:"desc"`
	Groups []group `xml:"g"`
}

type group struct {
	Class string `xml:"class,attr"`
	Node  string `xml:"data-node,attr"`
	From  string `xml:"data-from,attr"`
	To    string `xml:"data-to,attr"`
	Title string `xml:"title"`
	Rects []struct {
		X float64 `xml:"x,attr"`
		Y float64 `xml:"y,attr"`
		W float64 `xml:"width,attr"`
		H float64 `xml:"height,attr"`
	} `xml:"rect"`
	Paths []struct {
		D string `xml:"d,attr"`
	} `xml:"path"`
	Texts []string `xml:"text"`
}

func (g group) is(class string) bool { return strings.HasPrefix(g.Class, class) }

type point struct{ x, y float64 }

// box is where something is drawn: from its upper left to its lower right.
type box struct{ a, b point }

func (b box) overlaps(o box) bool {
	return b.a.x < o.b.x && o.a.x < b.b.x && b.a.y < o.b.y && o.a.y < b.b.y
}

// holds says whether a point lies within a box, more than a hair from its edge.
func (b box) holds(p point) bool {
	const hair = 0.2
	return b.a.x+hair < p.x && p.x < b.b.x-hair && b.a.y+hair < p.y && p.y < b.b.y-hair
}

// touches says whether a point lies on a box's upper or lower side.
func (b box) touches(p point) bool {
	return b.a.x <= p.x && p.x <= b.b.x && min(math.Abs(p.y-b.a.y), math.Abs(p.y-b.b.y)) < 0.2
}

// box returns the outline of a node or a label.
func (g group) box() box {
	if len(g.Rects) > 0 {
		r := g.Rects[0]
		return box{point{r.X, r.Y}, point{r.X + r.W, r.Y + r.H}}
	}
	at := walk(g.Paths[0].D)
	b := box{at[0], at[0]}
	for _, p := range at {
		b = box{point{min(b.a.x, p.x), min(b.a.y, p.y)}, point{max(b.b.x, p.x), max(b.b.y, p.y)}}
	}
	return b
}

// walk returns points along a path, close to each other.
func walk(d string) (at []point) {
	fields := strings.Fields(strings.NewReplacer("M", " M ", "L", " L ", "H", " H ", "V", " V ", "C", " C ", "z", "").Replace(d))
	var p point
	next := func() float64 {
		f, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			panic(err)
		}
		fields = fields[1:]
		return f
	}
	line := func(to point) {
		for i := 1; i <= 20; i++ {
			t := float64(i) / 20
			at = append(at, point{p.x + (to.x-p.x)*t, p.y + (to.y-p.y)*t})
		}
		p = to
	}
	for len(fields) > 0 {
		step := fields[0]
		fields = fields[1:]
		switch step {
		case "M":
			p = point{next(), next()}
			at = append(at, p)
		case "L":
			line(point{next(), next()})
		case "H":
			line(point{next(), p.y})
		case "V":
			line(point{p.x, next()})
		case "C":
			c1, c2, to := point{next(), next()}, point{next(), next()}, point{next(), next()}
			for i := 1; i <= 30; i++ {
				t := float64(i) / 30
				u := 1 - t
				at = append(at, point{
					u*u*u*p.x + 3*u*u*t*c1.x + 3*u*t*t*c2.x + t*t*t*to.x,
					u*u*u*p.y + 3*u*u*t*c1.y + 3*u*t*t*c2.y + t*t*t*to.y,
				})
			}
			p = to
		default:
			panic("unknown step " + step)
		}
	}
	return at
}

// read parses a drawing and returns what is wrong with its geometry.
func read(g *drawing.Graph) (*picture, []string) {
	p := &picture{}
	if err := xml.Unmarshal([]byte(g.SVG()), p); err != nil {
		return p, []string{err.Error()}
	}
	var bad []string
	type placed struct {
		group
		at box
	}
	var all []placed
	for _, group := range p.Groups {
		if group.is("edge") {
			continue
		}
		b := group.box()
		if b.a.x < 0 || b.a.y < 0 || b.b.x > p.Width || b.b.y > p.Height {
			bad = append(bad, fmt.Sprintf("%s%s is not within the picture", group.Node, group.From))
		}
		for _, o := range all {
			if b.overlaps(o.at) {
				bad = append(bad, fmt.Sprintf("%v overlaps %v", group.Texts, o.Texts))
			}
		}
		all = append(all, placed{group, b})
	}
	for _, e := range p.Groups {
		if !e.is("edge") {
			continue
		}
		way := walk(e.Paths[0].D)
		tip, _, _ := strings.Cut(e.Paths[1].D, "l")
		for _, o := range all {
			if o.Node == e.To && !o.at.touches(walk(tip)[0]) {
				bad = append(bad, fmt.Sprintf("the arrow from %s to %s does not end there", e.From, e.To))
			}
		}
		for _, o := range all {
			own := o.is("label") && o.From == e.From && o.To == e.To
			for _, at := range way {
				if !own && o.at.holds(at) {
					bad = append(bad, fmt.Sprintf("the edge from %s to %s crosses %v", e.From, e.To, o.Texts))
					break
				}
			}
		}
	}
	return p, bad
}

func draw(t *rapid.T) *drawing.Graph {
	g := &drawing.Graph{Title: "t"}
	n := rapid.IntRange(0, 60).Draw(t, "nodes")
	for i := range n {
		lines := rapid.SliceOfN(rapid.StringN(0, 40, -1), 0, 4).Draw(t, "lines")
		g.Nodes = append(g.Nodes, drawing.Node{
			ID: fmt.Sprintf("n%d", i), Lines: lines, Shape: drawing.Shape(rapid.IntRange(0, 3).Draw(t, "shape")),
			Tone: drawing.Tone(rapid.IntRange(0, 5).Draw(t, "tone")), Hint: rapid.String().Draw(t, "hint"),
		})
	}
	for range rapid.IntRange(0, 2*n).Draw(t, "edges") {
		e := drawing.Edge{
			From: fmt.Sprintf("n%d", rapid.IntRange(0, n-1).Draw(t, "from")), To: fmt.Sprintf("n%d", rapid.IntRange(0, n-1).Draw(t, "to")),
			Dashed: rapid.Bool().Draw(t, "dashed"), Back: rapid.IntRange(0, 4).Draw(t, "back") == 0,
		}
		if rapid.Bool().Draw(t, "labelled") {
			e.Label = rapid.StringN(0, 60, -1).Draw(t, "label")
		}
		g.Edges = append(g.Edges, e)
	}
	return g
}

// Whatever the graph, cycles included: nothing overlaps, no edge crosses what
// is not its own, all is in the picture, and it is drawn the same again.
func TestWF01_DrawingsAreClear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := draw(t)
		p, bad := read(g)
		if len(bad) > 0 {
			t.Fatalf("%s\n%s", strings.Join(bad, "\n"), g.SVG())
		}
		nodes, edges := 0, 0
		for _, group := range p.Groups {
			switch {
			case group.is("node"):
				nodes++
			case group.is("edge"):
				edges++
			}
		}
		drawn := 0
		for _, e := range g.Edges {
			if e.From != e.To {
				drawn++
			}
		}
		if nodes != len(g.Nodes) || edges != drawn {
			t.Fatalf("%d nodes and %d edges are drawn, want %d and %d", nodes, edges, len(g.Nodes), drawn)
		}
		for _, draw := range []func() string{g.SVG, g.DOT, g.Mermaid} {
			if first, again := draw(), draw(); first != again {
				t.Fatalf("it is not the same twice:\n%s\n%s", first, again)
			}
		}
	})
}

func fan(n int) *drawing.Graph {
	g := &drawing.Graph{Title: "fan", Nodes: []drawing.Node{{ID: "s", Lines: []string{"start"}}, {ID: "e", Lines: []string{"end"}}}}
	for i := range n {
		id := fmt.Sprint("n", i)
		g.Nodes = append(g.Nodes, drawing.Node{ID: id, Lines: []string{id, "lead"}})
		g.Edges = append(g.Edges, drawing.Edge{From: "s", To: id, Label: fmt.Sprintf("outcome.n == %d", i)}, drawing.Edge{From: id, To: "e"})
	}
	return g
}

// What goes down is drawn downwards, what leads back upwards, and an orderly
// graph has no crossings to speak of: sides stay sides.
func TestWF01_Layers(t *testing.T) {
	for _, tt := range []struct {
		name string
		g    *drawing.Graph
	}{
		{"a fan of twenty", fan(20)},
		{"a diamond with a way back", &drawing.Graph{
			Nodes: []drawing.Node{{ID: "s"}, {ID: "a", Lines: []string{"left"}}, {ID: "b", Shape: drawing.Hexagon}, {ID: "m", Shape: drawing.Doubled}},
			Edges: []drawing.Edge{{From: "s", To: "a"}, {From: "s", To: "b"}, {From: "a", To: "m"}, {From: "b", To: "m"}, {From: "m", To: "b", Back: true, Label: "rework"}},
		}},
	} {
		t.Run("WF01 "+tt.name, func(t *testing.T) {
			p, bad := read(tt.g)
			if len(bad) > 0 {
				t.Error(strings.Join(bad, "\n"))
			}
			at := map[string]box{}
			for _, group := range p.Groups {
				if group.is("node") {
					at[group.Node] = group.box()
				}
			}
			for _, e := range tt.g.Edges {
				if down := at[e.From].b.y < at[e.To].a.y; down == e.Back {
					t.Errorf("%s to %s goes down: %t", e.From, e.To, down)
				}
			}
		})
	}
}

// hostile are texts that mean something in one of the three languages.
const hostile = "</title><script>alert(1)</script> \"]; n -> x [label=\" end click n0 call() %%{init} #quot; & \\\" \u202e \x00 \n```"

func TestWF01_TextIsOnlyText(t *testing.T) {
	g := &drawing.Graph{
		Title: hostile, Description: hostile,
		Nodes: []drawing.Node{{ID: hostile, Lines: []string{hostile}, Hint: hostile}, {ID: "end", Lines: []string{"end"}}},
		Edges: []drawing.Edge{{From: hostile, To: "end", Label: hostile, Hint: hostile}},
	}
	p, bad := read(g)
	if len(bad) > 0 || len(p.Groups) != 4 || !strings.HasPrefix(p.Title, "</title><script>") || strings.Contains(g.SVG(), "<script") {
		t.Errorf("%v, %d groups, title %q", bad, len(p.Groups), p.Title)
	}
	wantDOT := `  "</title><script>alert(1)</script> \"]; n -> x [label=\" end click n0 call() %%{init} #quot; &amp; \\\"   ` + `\n` + "```\" -> \"end\""
	if dot := g.DOT(); !strings.Contains(dot, wantDOT) || strings.Count(dot, "\n") != 9 {
		t.Errorf("DOT lacks\n%s\nin\n%s", wantDOT, dot)
	}
	for l := range strings.Lines(g.Mermaid()) {
		if strings.Contains(l, "script>") || strings.Contains(l, "%%") || strings.Contains(l, "`") {
			t.Errorf("Mermaid holds %q", l)
		}
	}
}

// Pictures say who they are to those who cannot see them.
func TestWF01_Accessible(t *testing.T) {
	g := &drawing.Graph{Title: "a title", Description: "what is drawn", Nodes: []drawing.Node{{ID: "a", Lines: []string{"a", "running"}, Hint: "all of it"}}}
	p, _ := read(g)
	if p.Title != "a title" || p.Desc != "what is drawn" || p.Groups[0].Title != "all of it" {
		t.Errorf("title %q, description %q, hint %q", p.Title, p.Desc, p.Groups[0].Title)
	}
	for _, want := range []string{`role="img"`, `aria-labelledby="title desc"`, "prefers-color-scheme: dark"} {
		if !strings.Contains(g.SVG(), want) {
			t.Errorf("the drawing lacks %s", want)
		}
	}
}

func ExampleGraph_Mermaid() {
	g := &drawing.Graph{
		Title: "tea", Description: "how tea is made",
		Nodes: []drawing.Node{{ID: "boil", Lines: []string{"boil", "kettle"}}, {ID: "end", Lines: []string{"end"}, Shape: drawing.Pill, Tone: drawing.Good}},
		Edges: []drawing.Edge{{From: "boil", To: "end", Label: `heat > 99 "C"`}, {From: "end", To: "boil", Label: "again", Dashed: true, Back: true}},
	}
	fmt.Print(strings.SplitAfter(g.Mermaid(), "  classDef")[0])
	// Output:
	// flowchart TD
	//   accTitle: tea
	//   accDescr: how tea is made
	//   n0["boil<br/>kettle"]
	//   n1(["end"]):::good
	//   n0 -->|"heat #62; 99 #34;C#34;"| n1
	//   n1 -.->|"again"| n0
	//   classDef
}

func ExampleGraph_DOT() {
	g := &drawing.Graph{
		Title: "tea", Description: "how tea is made",
		Nodes: []drawing.Node{{ID: "boil", Lines: []string{"boil", "kettle"}}, {ID: "end", Lines: []string{"end"}, Shape: drawing.Pill}},
		Edges: []drawing.Edge{{From: "boil", To: "end", Label: `heat == "full"`}, {From: "end", To: "boil", Label: "again", Dashed: true, Back: true}},
	}
	fmt.Print(g.DOT())
	// Output:
	// digraph "tea" {
	//   rankdir=TB;
	//   tooltip="how tea is made";
	//   node [shape=box, style=filled, fillcolor=white, fontname=Helvetica];
	//   edge [fontname=Helvetica, fontsize=10];
	//   "boil" [label="boil\nkettle"];
	//   "end" [label="end", shape=box, style="rounded,filled"];
	//   "boil" -> "end" [label="heat == \"full\""];
	//   "end" -> "boil" [label="again", style=dashed, constraint=false];
	// }
}

// The largest workflow there may be is drawn while one waits.
func BenchmarkLargest(b *testing.B) {
	g := &drawing.Graph{}
	for i := range 256 {
		g.Nodes = append(g.Nodes, drawing.Node{ID: fmt.Sprint(i), Lines: []string{fmt.Sprint("node ", i), "lead"}})
		for j := range 4 {
			if i > 0 {
				g.Edges = append(g.Edges, drawing.Edge{From: fmt.Sprint(i * (j + 3) / 8 % i), To: fmt.Sprint(i), Label: "outcome.x"})
			}
		}
		if i > 0 {
			g.Edges = append(g.Edges, drawing.Edge{From: fmt.Sprint(i - 1), To: fmt.Sprint(i)})
		}
	}
	for b.Loop() {
		g.SVG()
	}
}

func TestWF01_LongTextIsCut(t *testing.T) {
	long := strings.Repeat("word ", 100)
	g := &drawing.Graph{Nodes: []drawing.Node{{ID: "a", Lines: []string{long}}, {ID: "b"}}, Edges: []drawing.Edge{{From: "a", To: "b", Label: long, Hint: long}}}
	p, _ := read(g)
	if p.Width > 400 {
		t.Errorf("the picture is %v wide", p.Width)
	}
	var got []string
	for _, group := range p.Groups {
		for _, text := range group.Texts {
			if len(text) > 60 || !strings.HasSuffix(text, "…") {
				got = append(got, text)
			}
		}
	}
	if diff := cmp.Diff([]string(nil), got); diff != "" {
		t.Errorf("texts that are not cut:\n%s", diff)
	}
}

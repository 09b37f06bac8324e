package office

import (
	"bytes"
	"fmt"
	"image"
	_ "image/jpeg" // pictures of both kinds are looked at
	_ "image/png"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/calculator"
	"github.com/loomrun/loom/internal/craft/chart"
	"github.com/loomrun/loom/internal/craft/manuscript"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// flow is a document in reading order, as the writers of docx, pdf, md and html take
// it.
type flow struct {
	title, subtitle string
	meta            *loomv1.SpecMetadata
	style           style
	blocks          []block
	tables, figures int          // how many have captions
	notes           [][]run      // footnotes that texts name, the first has the number 1
	seen            map[int]bool // of them, those that html has led to
}

// block is a heading, paragraph, item, code, quote, table, figure or callout.
type block struct {
	kind    string
	id      string // of a heading: the section's
	level   int    // of a heading, or an item
	number  string // of a heading, if headings have numbers: 1.2
	text    string // of a heading
	runs    []manuscript.Run
	ordered bool
	first   bool // the first item of its list
	place   int  // of an item in its list, from 1
	callout string
	grid    *grid
	picture *picture
	caption string
	count   int // the caption's number
}

// picture is what a figure shows.
type picture struct {
	data          []byte
	kind          string // png or jpeg
	svg           []byte // of a chart
	width, height int
	alt           string
	title         string // of a chart that the program draws
	chart         *loomv1.SpecChart
}

type run = manuscript.Run

// flow brings a spec into reading order.
func (w *work) flow(spec proto.Message) (*flow, error) {
	f := &flow{}
	b := &builder{work: w, f: f}
	switch s := spec.(type) {
	case *loomv1.DocumentSpec:
		f.title, f.subtitle, f.meta, f.style, b.figures = s.Title, s.Subtitle, s.Metadata, w.styleOf(s.Styles, s.Metadata), s.Figures
		b.footnotes = s.Footnotes
		for _, x := range s.Sections {
			b.heading(x.Id, int(max(x.Level, 1)), x.Heading)
			b.body(x.Body)
			b.items(x.Bullets, false)
			b.items(x.Steps, true)
			b.table(x.Table)
			b.figure(x.Id)
			b.callouts(x.Callouts)
		}
		b.clauses(s.Clauses)
		b.sources(s.Sources)
	case *loomv1.SheetSpec:
		f.title, f.subtitle, f.meta, f.style, b.figures = s.Title, s.Subtitle, s.Metadata, w.styleOf(s.Styles, s.Metadata), s.Figures
		for _, x := range s.Sheets {
			t, err := computed(x)
			if err != nil {
				return nil, err
			}
			b.heading(x.Id, 1, x.Name)
			b.body(x.Body)
			b.table(t)
			b.figure(x.Id)
			b.callouts(x.Callouts)
		}
	case *loomv1.PresentationSpec:
		f.title, f.subtitle, f.meta, f.style, b.figures = s.Title, s.Subtitle, s.Metadata, w.styleOf(s.Styles, s.Metadata), s.Figures
		for _, x := range s.Slides {
			b.heading(x.Id, 1, x.Heading)
			b.body(x.Body)
			b.items(x.Bullets, false)
			b.items(x.Right, false)
			b.table(x.Table)
			b.figure(x.Id)
			b.callouts(x.Callouts)
			b.body(x.Notes)
		}
	default:
		return nil, fault.New("document/format", "a %s is no spec that a file is made of", spec.ProtoReflect().Descriptor().Name())
	}
	return f, b.err
}

type builder struct {
	work    *work
	f       *flow
	figures []*loomv1.Figure
	count   [7]int
	err     error

	footnotes []*loomv1.Footnote
	numbers   map[string]int // of the footnotes that were named
}

func (b *builder) add(x block) { b.f.blocks = append(b.f.blocks, x) }

func (b *builder) heading(id string, level int, text string) {
	b.count[level]++
	clear(b.count[level+1:])
	number := ""
	if b.f.style.numbers {
		var parts []string
		for _, n := range b.count[1 : level+1] {
			parts = append(parts, strconv.Itoa(n))
		}
		number = strings.Join(parts, ".")
	}
	b.add(block{kind: "heading", id: id, level: level, number: number, text: text})
}

func (b *builder) body(text string) {
	place := map[int]int{}
	for _, x := range manuscript.Blocks(text) {
		if x.Kind != "item" {
			clear(place)
			b.add(block{kind: x.Kind, runs: b.named(x.Runs)})
			continue
		}
		first := x.Number == 1 || place[x.Level] == 0
		if first {
			place[x.Level] = 0
		}
		place[x.Level]++
		b.add(block{kind: "item", level: x.Level, ordered: x.Ordered, first: first, place: place[x.Level], runs: b.named(x.Runs)})
	}
}

func (b *builder) items(list []string, ordered bool) {
	for i, text := range list {
		b.add(block{kind: "item", ordered: ordered, first: i == 0, place: i + 1, runs: b.named(manuscript.Inline(text))})
	}
}

func (b *builder) table(t *loomv1.SpecTable) {
	if t == nil {
		return
	}
	x := block{kind: "table", grid: gridOf(t, b.f.style.labels), caption: strings.TrimSpace(t.Caption)}
	if x.caption != "" {
		b.f.tables++
		x.count = b.f.tables
	}
	b.add(x)
}

func (b *builder) callouts(list []*loomv1.Callout) {
	for _, c := range list {
		b.add(block{kind: "callout", callout: c.Kind, runs: b.named(manuscript.Inline(c.Text))})
	}
}

func (b *builder) figure(section string) {
	for _, f := range b.figures {
		if f.Section != section {
			continue
		}
		p, err := b.work.picture(f, b.f.style)
		if err != nil {
			b.err = err
			return
		}
		x := block{kind: "figure", picture: p, caption: strings.TrimSpace(f.Caption)}
		if x.caption != "" {
			b.f.figures++
			x.count = b.f.figures
		}
		b.add(x)
	}
}

func (b *builder) clauses(list []*loomv1.Clause) {
	if len(list) > 0 {
		b.heading("terms", 1, b.f.style.labels.terms)
	}
	for _, c := range list {
		name := strings.ReplaceAll(c.Name, "-", " ")
		b.add(block{kind: "paragraph", runs: []run{{Text: strings.ToUpper(name[:1]) + name[1:] + ". ", Bold: true}, {Text: c.Text}}})
	}
}

func (b *builder) sources(list []*loomv1.Source) {
	if len(list) > 0 {
		b.heading("sources", 1, b.f.style.labels.sources)
	}
	for i, s := range list {
		runs := []run{{Text: fmt.Sprintf("[%d] %s", i+1, s.Title)}}
		if s.Url != "" {
			runs = append(runs, run{Text: ", "}, run{Text: s.Url, Link: s.Url})
		}
		if s.Accessed != "" {
			runs = append(runs, run{Text: ", " + b.f.style.labels.accessed + " " + s.Accessed})
		}
		b.add(block{kind: "source", runs: runs})
	}
}

// picture draws a figure's chart, or gets its picture; one that is not there is a
// downgrade, and one that is no picture an error.
func (w *work) picture(f *loomv1.Figure, s style) (*picture, error) {
	p := &picture{alt: f.Alt, chart: f.Chart}
	if f.Chart != nil {
		c := chartOf(f)
		c.Colors, c.Captioned = s.seriesColors(), strings.TrimSpace(f.Caption) != ""
		png, err := c.PNG()
		if err == nil {
			p.svg, err = c.SVG()
		}
		if err != nil {
			return nil, fault.New("document/invalid", "the chart of the figure %q cannot be drawn", f.Id).Because(err)
		}
		p.data, p.kind = png, "png"
	} else {
		if w.Image == nil {
			w.lacks(fmt.Sprintf("the picture %q of the figure %q is not given", f.Image, f.Id))
			return p, nil
		}
		data, err := w.Image(f.Image)
		if err != nil {
			w.lacks(fmt.Sprintf("the picture %q of the figure %q cannot be read", f.Image, f.Id))
			return p, nil //nolint:nilerr // it is told as a downgrade
		}
		p.data = data
	}
	size, kind, err := image.DecodeConfig(bytes.NewReader(p.data))
	const most = 20_000
	if err != nil || kind != "png" && kind != "jpeg" || size.Width < 1 || size.Height < 1 || size.Width > most || size.Height > most {
		return nil, fault.New("document/invalid", "the picture of the figure %q is no png or jpeg of at most %d pixels a side", f.Id, most).Got(f.Image)
	}
	p.width, p.height, p.kind = size.Width, size.Height, kind
	return p, nil
}

func chartOf(f *loomv1.Figure) *chart.Chart {
	title := f.Caption
	if title == "" {
		title = f.Id
	}
	if r := []rune(title); len(r) > 110 {
		title = string(r[:110]) + "..."
	}
	c := &chart.Chart{Kind: f.Chart.Kind, Title: title, X: f.Chart.X, Y: f.Chart.Y, Categories: f.Chart.Categories}
	for _, s := range f.Chart.Series {
		x := chart.Series{Name: s.Name}
		for _, v := range s.Values {
			x.Values = append(x.Values, chart.Number(v))
		}
		c.Series = append(c.Series, x)
	}
	return c
}

// computed is a sheet's table with its computed columns as values.
func computed(s *loomv1.SheetPage) (*loomv1.SpecTable, error) {
	t := proto.CloneOf(s.Table)
	if t.Formats == nil {
		t.Formats = map[string]string{}
	}
	if t.Totals == nil {
		t.Totals = map[string]*structpb.Value{}
	}
	if t.Aggregates == nil {
		t.Aggregates = map[string]string{}
	}
	for _, c := range s.Computed {
		e, err := calculator.Parse(c.Formula)
		if err == nil {
			err = addComputed(t, c, e)
		}
		if err != nil {
			return nil, fault.New("document/invalid", "the column %q of the sheet %q cannot be computed: %s", c.Header, s.Name, err)
		}
	}
	return t, nil
}

// piece is text, or a mention of a table or figure that is there.
type piece struct {
	text string
	kind string // table or figure, "" for text
	n    int
}

// pieces cuts a text at what it says of numbered tables and figures.
func (f *flow) pieces(text string) (list []piece) {
	l := f.style.labels
	find := regexp.MustCompile(`\b(` + regexp.QuoteMeta(l.table) + `|` + regexp.QuoteMeta(l.figure) + `) (\d{1,3})\b`)
	at := 0
	for _, m := range find.FindAllStringSubmatchIndex(text, -1) {
		kind, count := "figure", f.figures
		if text[m[2]:m[3]] == l.table {
			kind, count = "table", f.tables
		}
		n, _ := strconv.Atoi(text[m[4]:m[5]]) // digits
		if n < 1 || n > count {
			continue
		}
		if m[0] > at {
			list = append(list, piece{text: text[at:m[0]]})
		}
		list = append(list, piece{text[m[0]:m[1]], kind, n})
		at = m[1]
	}
	if at < len(text) {
		list = append(list, piece{text: text[at:]})
	}
	return list
}

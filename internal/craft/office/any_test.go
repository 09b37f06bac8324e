package office

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/core/document"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// odd are texts that writers of XML, Markdown and pages stumble over.
var odd = rapid.SampledFrom([]string{
	"plain", "", "<w:p/>", "]]>", "a & b &amp; c", "\"quoted\" 'too'", "# not a heading", "1. not an item", "| a | b |", "**bold", "`code", "[x](http://", "![i](x)", "line\nline", "para\n\npara", "\tindented",
	"- a\n- b\n  - c\n\n3. d", "> q", "```\ncode", "    code", "日本語 🎉 \u202e rtl \u00ad soft", strings.Repeat("long ", 90), strings.Repeat("unbroken", 50), "Table 1 and Figure 1, Table 99", "=1+1", "-5", "<script>", "\\", "---", "$&", "{x}",
})

func drawTable(t *rapid.T) *loomv1.SpecTable {
	n := rapid.IntRange(1, 6).Draw(t, "columns")
	x := &loomv1.SpecTable{Caption: odd.Draw(t, "caption"), Note: odd.Draw(t, "note"), Formats: map[string]string{}, Totals: map[string]*structpb.Value{}}
	for i := range n {
		h := fmt.Sprint(i, strings.TrimSpace(odd.Draw(t, "header")))
		if len(h) > 200 {
			h = h[:200] // of letters of one byte
		}
		x.Headers = append(x.Headers, h)
		if rapid.Bool().Draw(t, "format") {
			x.Formats[h] = rapid.SampledFrom([]string{"text", "integer", "number", "percent", "date", "usd", "eur", "gbp"}).Draw(t, "kind")
		}
		if rapid.Bool().Draw(t, "total") {
			x.Totals[h] = structpb.NewNumberValue(rapid.Float64Range(-1e9, 1e9).Draw(t, "sum"))
		}
	}
	for range rapid.IntRange(0, 14).Draw(t, "rows") {
		row := &structpb.ListValue{}
		for range n {
			row.Values = append(row.Values, rapid.OneOf(
				rapid.Map(odd, structpb.NewStringValue), rapid.Map(rapid.Float64Range(-1e12, 1e12), structpb.NewNumberValue),
				rapid.Map(rapid.Bool(), structpb.NewBoolValue), rapid.Just(structpb.NewNullValue()),
			).Draw(t, "cell"))
		}
		x.Rows = append(x.Rows, row)
	}
	if len(x.Rows) > 2 && n > 1 && rapid.Bool().Draw(t, "merge") {
		x.Merges = []*loomv1.CellMerge{{Row: 1, Column: 0, Rows: rapid.Int32Range(1, 2).Draw(t, "down"), Columns: 2}}
	}
	return x
}

// Whatever a spec says, each format that takes it makes a sound file that comes back.
func TestDOC06_AnySpecMakesSoundFiles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := &loomv1.DocumentSpec{Version: "0.2", Title: "T", Metadata: &loomv1.SpecMetadata{Language: "en"}}
		p := &loomv1.PresentationSpec{Version: "0.1", Title: "x"}
		s := &loomv1.SheetSpec{Version: "0.1", Title: "x"}
		for i := range rapid.IntRange(1, 3).Draw(rt, "sections") {
			id, heading := fmt.Sprint("s", i), fmt.Sprint(i, " ", strings.TrimSpace(odd.Draw(rt, "heading")))
			if len(heading) > 300 {
				heading = heading[:300] // of letters of one byte
			}
			body, items := odd.Draw(rt, "body"), rapid.SliceOfN(odd, 0, 3).Draw(rt, "items")
			callouts := []*loomv1.Callout{{Kind: "risk", Text: "x" + odd.Draw(rt, "callout")}}
			table := drawTable(rt)
			d.Sections = append(d.Sections, &loomv1.DocumentSection{Id: id, Heading: heading, Level: rapid.Int32Range(1, 6).Draw(rt, "level"), Body: body, Bullets: items, Steps: items, Table: table, Callouts: callouts})
			p.Slides = append(p.Slides, &loomv1.Slide{Id: id, Heading: heading, Body: body, Bullets: items, Right: items, Table: table, Callouts: callouts, Notes: body})
			s.Sheets = append(s.Sheets, &loomv1.SheetPage{Id: id, Name: fmt.Sprint("Sheet ", i), Body: body, Table: table, Callouts: callouts})
		}
		d.Styles = &loomv1.DocumentStyles{NumberHeadings: rapid.Bool().Draw(rt, "numbers"), TableOfContents: rapid.Bool().Draw(rt, "contents")}
		all := []sample{{"document", d, "docx"}, {"document", d, "pdf"}, {"document", d, "md"}, {"document", d, "html"}, {"document", d, "pptx"}, {"deck", p, "pptx"}, {"sheet", s, "xlsx"}, {"sheet", s, "docx"}}
		x := all[rapid.IntRange(0, len(all)-1).Draw(rt, "file")]
		if _, err := document.Read("", document.JSON(x.spec), ""); err != nil {
			rt.Fatalf("the draw is no spec: %v", err)
		}
		r, err := Render(x.spec, x.format, Options{Carry: document.Canonical(x.spec)})
		if err != nil {
			rt.Fatalf("%s as %s: %v", x.name, x.format, err)
		}
		if x.format == "docx" || x.format == "xlsx" || x.format == "pptx" {
			soundPackage(t, x.name+"."+x.format, r.Data)
		}
		if x.format == "md" || x.format == "pdf" {
			return
		}
		text, err := Open(r.Data)
		if err != nil {
			rt.Fatalf("%s.%s: %v", x.name, x.format, err)
		}
		if m, err := document.Read("", text, ""); err != nil || document.Hash(m) != document.Hash(x.spec) {
			rt.Fatalf("%s.%s does not come back: %v", x.name, x.format, err)
		}
	})
}

func FuzzDOC06_Open(f *testing.F) {
	d := read(f, "document")
	for _, format := range []string{"docx", "html"} {
		r, err := Render(d, format, Options{Carry: document.Canonical(d)})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(r.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if text, err := Open(data); err == nil && len(text) > maxSpec {
			t.Errorf("a spec of %d bytes came out", len(text))
		}
	})
}

// large is a document at the guardrails: 50 sections, and a table of 2,000 rows.
func large() *loomv1.DocumentSpec {
	d := &loomv1.DocumentSpec{Version: "0.2", Title: "Large", Styles: &loomv1.DocumentStyles{TableOfContents: true, NumberHeadings: true}}
	for i := range 50 {
		d.Sections = append(d.Sections, &loomv1.DocumentSection{Id: fmt.Sprint("s", i), Heading: fmt.Sprint("Section ", i), Body: strings.Repeat("The ship leaves the quay at eight and comes back at noon. ", 40)})
	}
	t := &loomv1.SpecTable{Caption: "All", Headers: []string{"N", "Name", "From", "To", "Value"}}
	for i := range 2000 {
		t.Rows = append(t.Rows, &structpb.ListValue{Values: []*structpb.Value{structpb.NewNumberValue(float64(i)), structpb.NewStringValue("Name of it"), structpb.NewStringValue("2026-01-01"), structpb.NewStringValue("2026-01-02"), structpb.NewNumberValue(1.5)}})
	}
	d.Sections[49].Table = t
	return d
}

func BenchmarkDOC06_Large(b *testing.B) {
	d := large()
	data := document.JSON(d)
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := document.Read("", data, "document"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("review", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			document.Review{}.Run(d)
		}
	})
	b.Run("outline", func(b *testing.B) {
		b.ReportAllocs()
		o := &loomv1.PlanningOutline{Version: "0.1", ArtifactType: "docx", Purpose: "Large"}
		for _, s := range d.Sections {
			o.Sections = append(o.Sections, &loomv1.OutlineSection{Id: s.Id, Title: s.Heading})
		}
		text := document.JSON(o)
		for b.Loop() {
			if _, err := document.Read("", text, "outline"); err != nil {
				b.Fatal(err)
			}
			document.Trace(o, d)
		}
	})
	b.Run("patch", func(b *testing.B) {
		b.ReportAllocs()
		value := structpb.NewStringValue("Another.")
		for b.Loop() {
			if _, r := document.Apply(d, []*loomv1.Patch{{Target: "sections[3].body", Action: "replace", Value: value}}); r.Refused > 0 {
				b.Fatal(r)
			}
		}
	})
	b.Run("record", func(b *testing.B) {
		b.ReportAllocs()
		m := document.Making{Artifact: "a.docx", Format: "docx", Spec: d, Data: data, Before: d, At: "2026-03-01T00:00:00Z"}
		for b.Loop() {
			document.NewRecord(m)
		}
	})
	for _, format := range []string{"docx", "pdf", "md", "html", "pptx"} {
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Render(d, format, Options{Carry: data}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package office

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/document"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The same spec gives the same bytes, and those of a package are well-formed XML whose
// parts are all there.
func TestDOC06_FilesAreTheSameEachTimeAndSound(t *testing.T) {
	longtest.Skip(t)
	for _, s := range samples(t) {
		a, b := render(t, s.name, s.spec, s.format), render(t, s.name, proto.Clone(s.spec), s.format)
		if !bytes.Equal(a.Data, b.Data) {
			t.Errorf("%s.%s: two files of one spec differ", s.name, s.format)
		}
		if len(a.Data) == 0 {
			t.Errorf("%s.%s is empty", s.name, s.format)
		}
		if s.format == "docx" || s.format == "xlsx" || s.format == "pptx" {
			soundPackage(t, s.name+"."+s.format, a.Data)
		}
	}
}

// What Loom wrote comes back to its spec.
func TestDOC06_FilesComeBackToTheirSpec(t *testing.T) {
	longtest.Skip(t)
	for _, s := range samples(t) {
		data := render(t, s.name, s.spec, s.format).Data
		text, err := Open(data)
		if s.format == "md" || s.format == "pdf" {
			if fault.Code(err) != "document/foreign" {
				t.Errorf("%s.%s: %v, want document/foreign", s.name, s.format, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s.%s: %v", s.name, s.format, err)
			continue
		}
		m, err := document.Read("", text, document.KindOf(s.spec).Name)
		if err != nil {
			t.Errorf("%s.%s: %v", s.name, s.format, err)
			continue
		}
		if diff := cmp.Diff(s.spec, m, protocmp.Transform()); diff != "" {
			t.Errorf("%s.%s came back otherwise:\n%s", s.name, s.format, diff)
		}
	}
	for _, bad := range [][]byte{nil, []byte("PK\x03\x04 nothing"), []byte("<html></html>"), []byte(pageMark + "{}")} {
		if _, err := Open(bad); fault.Code(err) != "document/foreign" {
			t.Errorf("Open(%q) = %v, want document/foreign", bad, err)
		}
	}
}

func TestDOC06_DocxHasWhatWordProcessorsLookFor(t *testing.T) {
	d := everything(t)
	files := unzip(t, render(t, "full", d, "docx").Data)
	doc := parseXML(t, files["word/document.xml"])
	var headings []string
	for _, p := range doc.all("p") {
		if style := p.all("pStyle"); len(style) == 1 && strings.HasPrefix(style[0].attr("val"), "Heading") {
			headings = append(headings, style[0].attr("val")+" "+p.text("t"))
		}
	}
	want := []string{"Heading1 Summary", "Heading1 Passengers", "Heading2 By ship", "Heading1 Sailings", "Heading2 The quay", "Heading1 Terms", "Heading1 Sources"}
	if diff := cmp.Diff(want, headings); diff != "" {
		t.Errorf("headings (-want +got):\n%s", diff)
	}
	fields := doc.text("instrText")
	for _, f := range []string{`TOC \o "1-3"`, `PAGEREF _Toc00000001`, `SEQ Table`, `SEQ Figure`, `REF table1 \h`, `REF figure2 \h`, `=SUM(B2:B3)`, `=SUM(D2:D71)`} {
		if !strings.Contains(fields, f) {
			t.Errorf("no field %s in %q", f, fields)
		}
	}
	if n := len(parseXML(t, files["word/settings.xml"]).all("updateFields")); n != 1 {
		t.Errorf("the contents are not computed on opening: %d", n)
	}
	if n := len(doc.all("tblHeader")); n != 3 {
		t.Errorf("%d header rows, want 3", n)
	}
	if n := len(doc.all("vMerge")); n != 2 {
		t.Errorf("%d cells of a merge, want 2", n)
	}
	for _, p := range doc.all("docPr") {
		if p.attr("descr") == "" {
			t.Error("a picture has no alternative text")
		}
	}
	marks := map[string]bool{}
	for _, m := range doc.all("bookmarkStart") {
		if marks[m.attr("name")] {
			t.Errorf("the bookmark %s is there twice", m.attr("name"))
		}
		marks[m.attr("name")] = true
	}
	for _, h := range doc.all("hyperlink") {
		if a := h.attr("anchor"); a != "" && !marks[a] {
			t.Errorf("a link leads to the bookmark %s, which is not there", a)
		}
	}
	styles := parseXML(t, files["word/styles.xml"])
	if lang := styles.all("lang")[0].attr("val"); lang != "en-GB" {
		t.Errorf("language %s, want en-GB", lang)
	}
	known := map[string]bool{}
	for _, s := range styles.all("style") {
		known[s.attr("styleId")] = true
	}
	for _, s := range append(doc.all("pStyle"), doc.all("rStyle")...) {
		if !known[s.attr("val")] {
			t.Errorf("the style %s is not there", s.attr("val"))
		}
	}
	numbers := map[string]bool{}
	for _, n := range parseXML(t, files["word/numbering.xml"]).all("num") {
		numbers[n.attr("numId")] = true
	}
	for _, n := range doc.all("numId") {
		if !numbers[n.attr("val")] {
			t.Errorf("the list %s is not there", n.attr("val"))
		}
	}
	core := parseXML(t, files["docProps/core.xml"])
	if core.text("title") != d.Title || core.text("creator") != "Operations" || core.text("language") != "en-GB" {
		t.Errorf("properties %+v", core)
	}
	if foot := parseXML(t, files["word/footer1.xml"]); !strings.Contains(foot.text("instrText"), "NUMPAGES") || !strings.Contains(foot.text("t"), "Annual report") {
		t.Errorf("the footer has %q and %q", foot.text("instrText"), foot.text("t"))
	}
}

// Totals and computed columns are formulas with their values saved: programs that do
// not compute read numbers.
func TestDOC06_WorkbooksComputeAndHaveTheirValues(t *testing.T) {
	f, err := excelize.OpenReader(bytes.NewReader(render(t, "sheet", read(t, "sheet"), "xlsx").Data))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if diff := cmp.Diff([]string{"Costs", "Data fig-1"}, f.GetSheetList()); diff != "" {
		t.Errorf("sheets (-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ at, formula, saved string }{
		{"D5", "(B5*C5)", "5100"}, {"D6", "(B6*C6)", "1000"}, {"D8", "SUM(D5:D7)", "7300"},
	} {
		formula, err := f.GetCellFormula("Costs", tt.at)
		if err != nil || formula != tt.formula {
			t.Errorf("%s has the formula %q, %v; want %s", tt.at, formula, err, tt.formula)
		}
		saved, err := f.GetCellValue("Costs", tt.at, excelize.Options{RawCellValue: true})
		if err != nil || saved != tt.saved {
			t.Errorf("%s has the value %q, %v; want %s", tt.at, saved, err, tt.saved)
		}
		if kind, err := f.GetCellType("Costs", tt.at); err != nil || kind == excelize.CellTypeSharedString || kind == excelize.CellTypeFormula || kind == excelize.CellTypeInlineString {
			t.Errorf("%s is saved as type %v, %v; want a number", tt.at, kind, err)
		}
		now, err := f.CalcCellValue("Costs", tt.at, excelize.Options{RawCellValue: true})
		if err != nil || now != tt.saved {
			t.Errorf("%s computes to %q, %v; want what is saved, %s", tt.at, now, err, tt.saved)
		}
	}
	if shown, err := f.GetCellValue("Costs", "D8"); err != nil || shown != "$7,300.00" {
		t.Errorf("the total is shown as %q, %v", shown, err)
	}
	if p, err := f.GetDocProps(); err != nil || p.Title != "Budget of the move" || p.Language != "en" {
		t.Errorf("properties %+v, %v", p, err)
	}
}

// A text never becomes a formula, and wrong formulas are told by their sheet.
func TestDOC06_CellsAreNotRun(t *testing.T) {
	s := read(t, "sheet").(*loomv1.SheetSpec)
	s.Sheets[0].Table.Rows[0].Values[0] = structpb.NewStringValue("=cmd|' /C calc'!A0")
	f, err := excelize.OpenReader(bytes.NewReader(render(t, "hostile", s, "xlsx").Data))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if formula, err := f.GetCellFormula("Costs", "A5"); err != nil || formula != "" {
		t.Errorf("a text became the formula %q, %v", formula, err)
	}
	for formula, want := range map[string]string{
		"Quantity * {Unit cost}": `the column "Cost" of the sheet "Costs" cannot be computed: there is no such column (got "Unit cost")`,
		"Quantity *":             `the column "Cost" of the sheet "Costs" cannot be computed: character 11: the expression ends where a value should follow`,
		"Quantity / 0":           `the column "Cost" of the sheet "Costs" cannot be computed: row 1: character 10: `,
	} {
		s := read(t, "sheet").(*loomv1.SheetSpec)
		s.Sheets[0].Computed[0].Formula = formula
		_, err := Render(s, "xlsx", Options{})
		if fault.Code(err) != "document/invalid" || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", formula, err, want)
		}
	}
}

func TestDOC06_DecksHaveLayoutsNotesAndTables(t *testing.T) {
	files := unzip(t, render(t, "deck", read(t, "presentation"), "pptx").Data)
	var titles []string
	for i := 1; files[fmt.Sprintf("ppt/slides/slide%d.xml", i)] != nil; i++ {
		s := parseXML(t, files[fmt.Sprintf("ppt/slides/slide%d.xml", i)])
		for _, shape := range s.all("sp") {
			if ph := shape.all("ph"); len(ph) == 1 && strings.Contains(strings.ToLower(ph[0].attr("type")), "title") && ph[0].attr("type") != "subTitle" {
				titles = append(titles, shape.text("t"))
			}
		}
	}
	if diff := cmp.Diff([]string{"Move of the northern depot", "What we ask for", "Schedule"}, titles); diff != "" {
		t.Errorf("titles (-want +got):\n%s", diff)
	}
	if notes := parseXML(t, files["ppt/notesSlides/notesSlide2.xml"]).text("t"); notes != "Say why it cannot wait." {
		t.Errorf("notes %q", notes)
	}
	if rows := parseXML(t, files["ppt/slides/slide3.xml"]).all("tr"); len(rows) != 4 {
		t.Errorf("%d rows, want header, two and a total", len(rows))
	}
	// A table that is too long for a slide goes on on the next.
	full := unzip(t, render(t, "full", everything(t), "pptx").Data)
	rows := 0
	for name, data := range full {
		if strings.HasPrefix(name, "ppt/slides/slide") {
			if n := len(parseXML(t, data).all("tr")); n > mostRows+2 {
				t.Errorf("%s has a table of %d rows", name, n)
			} else if strings.Contains(string(data), "Harbour island") {
				rows += n - 1
			}
		}
	}
	if rows != 71 {
		t.Errorf("%d rows of the long table and its total are on slides, want 71", rows)
	}
}

func TestDOC06_MarkdownAndHTML(t *testing.T) {
	d := everything(t)
	md := string(render(t, "full", d, "md").Data)
	for _, want := range []string{
		"# Annual report of the ferry line\n", "## 1 Summary\n", "### 2.1 By ship\n", "**Table 1: Passengers by quarter**", "| Quarter | From | To | Passengers | Share of year | Fare |", "| --- | --- | --- | ---: | ---: | ---: |",
		"| First | 2025-01-01 | 2025-03-31 | 1,200 | 10 | 8.50 € |", "| **Year** |  |  | **12,000** | **100** | **9.00 €** |", "> **Risk:** ", "1. Sell the old ship\n", "[timetable](https://example.com/times)", "\\[1\\] Tickets sold in 2025",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("md lacks %q", want)
		}
	}
	page := string(render(t, "full", d, "html").Data)
	for _, want := range []string{
		`<html lang="en-GB">`, `<h2 id="summary">1 Summary</h2>`, `<th scope="col" class="n">Passengers</th>`, `<td rowspan="2">Third</td>`, `<a href="#table-1">Table 1</a>`, `<caption>Table 1: Passengers by quarter</caption>`,
		`<img alt="Bars that rise to the third quarter and fall to the fourth" src="data:image/svg+xml;base64,`, `&lt;angles&gt;`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("html lacks %q", want)
		}
	}
	hostile := read(t, "document").(*loomv1.DocumentSpec)
	hostile.Title = `</title><script>alert(1)</script>`
	hostile.Sections[0].Body = `<img src=x onerror=alert(1)> [x](javascript:alert(1)) </script>`
	page = string(render(t, "hostile", hostile, "html").Data)
	if n := strings.Count(page, "<script"); n != 1 || strings.Contains(page, "<img src=x") || strings.Contains(page, `href="javascript`) {
		t.Errorf("hostile text reached the page: %d script elements\n%s", n, page)
	}
	if text, err := Open([]byte(page)); err != nil || !json.Valid(text) {
		t.Errorf("the hostile page's spec: %v", err)
	}
}

// What a format cannot show is told.
func TestDOC06_DowngradesAreTold(t *testing.T) {
	longtest.Skip(t)
	d := everything(t)
	r, err := Render(d, "pdf", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pdf has the font Go", "pdf has no tags", `the picture "quay.png" of the figure "fig-2" is not given`} {
		if !slices.ContainsFunc(r.Downgrades, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("downgrades %q lack %q", r.Downgrades, want)
		}
	}
	d.Title = "日本"
	if r, err = Render(d, "pdf", Options{}); err != nil || !slices.Contains(r.Downgrades, "the font of pdf lacks the characters 日本") {
		t.Errorf("downgrades %q, %v", r.Downgrades, err)
	}
	o := options(t, d)
	o.Image = func(string) ([]byte, error) { return []byte("no picture"), nil }
	if _, err := Render(d, "docx", o); fault.Code(err) != "document/invalid" {
		t.Errorf("bytes that are no picture: %v", err)
	}
	for _, tt := range []struct {
		m      proto.Message
		format string
	}{{d, "xlsx"}, {d, "odt"}, {read(t, "sheet"), "pptx"}, {read(t, "outline"), "docx"}} {
		if _, err := Render(tt.m, tt.format, Options{}); fault.Code(err) != "document/format" {
			t.Errorf("%T as %s: %v, want document/format", tt.m, tt.format, err)
		}
	}
}

// What announces a list stands on its page.
func TestDOC06_AParagraphThatAnnouncesStaysWithWhatFollows(t *testing.T) {
	d := &loomv1.DocumentSpec{Version: "0.2", Title: "T", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "A", Body: "Plain.\n\nThree **things**:\n\nPlain: no.", Bullets: []string{"one"}}}}
	var kept []string
	for _, p := range parseXML(t, unzip(t, render(t, "colon", d, "docx").Data)["word/document.xml"]).all("p") {
		if len(p.all("keepNext")) > 0 {
			kept = append(kept, p.text("t"))
		}
	}
	if want := []string{"Three things:"}; !slices.Equal(kept, want) {
		t.Errorf("kept with what follows are %q, want %q", kept, want)
	}
}

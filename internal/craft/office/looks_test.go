package office

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Percentages have the places that their author gave, one or two; what was calculated
// has one.
func TestDOC06_PercentagesKeepTheirPlaces(t *testing.T) {
	for want, values := range map[string][]any{
		"12.24% 8.00%": {0.1224, 0.08},
		"12.0% 8.5%":   {0.12, 0.085},
		"33.3% 66.7%":  {1.0 / 3, 2.0 / 3},
		"12.2% 33.3%":  {0.1224, 1.0 / 3},
	} {
		g := gridOf(&loomv1.SpecTable{Headers: []string{"Part"}, Formats: map[string]string{"Part": "percent"}, Rows: rowsOf(values)}, labels{})
		if got := g.text(0, 0) + " " + g.text(1, 0); got != want {
			t.Errorf("%v are shown as %q, want %q", values, got, want)
		}
	}
	s := &loomv1.SheetSpec{Version: "0.1", Title: "T", Sheets: []*loomv1.SheetPage{{Name: "A", Table: &loomv1.SpecTable{Headers: []string{"Part"}, Formats: map[string]string{"Part": "percent"}, Rows: rowsOf([]any{0.1224, 0.08})}}}}
	if styles := string(unzip(t, render(t, "percent", s, "xlsx").Data)["xl/styles.xml"]); !strings.Contains(styles, `formatCode="0.00%"`) {
		t.Errorf("the workbook has no format of two places: %s", styles)
	}
}

func rowsOf(values []any) (list []*structpb.ListValue) {
	for _, v := range values {
		list = append(list, listOf(v))
	}
	return list
}

// A chart whose caption stands below it has no second title, as in a docx.
func TestDOC06_ACaptionIsSaidOnce(t *testing.T) {
	f := &loomv1.Figure{Id: "f", Caption: "Boats by quay", Chart: &loomv1.SpecChart{Kind: "bar", Categories: []string{"a", "b"}, Series: []*loomv1.ChartSeries{{Name: "n", Values: []float64{1, 2}}}}}
	w := &work{}
	p, err := w.picture(f, w.styleOf(nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(p.svg), ">Boats by quay<") {
		t.Error("the picture has the caption in it")
	}
	f.Caption = ""
	if p, err = w.picture(f, w.styleOf(nil, nil)); err != nil || !strings.Contains(string(p.svg), ">f<") {
		t.Errorf("one without a caption has no title: %v", err)
	}
}

// On slides steps keep their numbers, texts have the deck's font, behind code too, and
// begin where tables do.
func TestDOC06_SlidesLookAsTheirDocument(t *testing.T) {
	d := &loomv1.DocumentSpec{Version: "0.2", Title: "T", Sections: []*loomv1.DocumentSection{{
		Id: "a", Heading: "A", Bullets: []string{"plain"}, Steps: []string{"Sell the *old* ship", "Order the new one"},
		Callouts: []*loomv1.Callout{{Kind: "risk", Text: "What ignores `Vary` may fail."}},
	}}}
	files := unzip(t, render(t, "steps", d, "pptx").Data)
	slide := string(files["ppt/slides/slide2.xml"])
	for _, want := range []string{
		`<a:buAutoNum type="arabicPeriod" startAt="1"/>`, `<a:buAutoNum type="arabicPeriod" startAt="2"/>`,
		`<a:latin typeface="+mn-lt"/></a:rPr><a:t> may fail.</a:t>`, `<a:latin typeface="+mn-lt"/></a:rPr><a:t>Risk: </a:t>`,
	} {
		if !strings.Contains(slide, want) {
			t.Errorf("the slide lacks %s", want)
		}
	}
	if strings.Count(slide, "buAutoNum") != 2 || strings.Contains(slide, ">1. ") {
		t.Errorf("numbers are not the program's: %s", slide)
	}
	if layout := string(files["ppt/slideLayouts/slideLayout2.xml"]); strings.Count(layout, flush) < 2 {
		t.Error("texts of the layout do not begin where tables do")
	}
}

// What is on a slide ends above its foot, however long its cells are; no row is lost, and
// the parts of a table are about as full as each other.
func TestDOC06_TablesStayOnTheirSlides(t *testing.T) {
	long := strings.Repeat("what a cell says that goes over lines ", 6)
	for name, tt := range map[string]struct {
		rows   int
		cell   string
		slide  *loomv1.Slide
		slides int
	}{
		"short cells":     {36, "short", &loomv1.Slide{}, 4},
		"long cells":      {9, long, &loomv1.Slide{}, 0},
		"beside bullets":  {9, long, &loomv1.Slide{Bullets: []string{"a", "b"}}, 0},
		"above a callout": {8, long, &loomv1.Slide{Callouts: []*loomv1.Callout{{Kind: "note", Text: long}, {Kind: "note", Text: long}}}, 0},
	} {
		table := &loomv1.SpecTable{Headers: []string{"Number", "What", "Why"}}
		for i := range tt.rows {
			table.Rows = append(table.Rows, listOf(float64(i), tt.cell, tt.cell))
		}
		s := tt.slide
		s.Id, s.Heading, s.Table = "a", "A", table
		files := unzip(t, render(t, "slides", &loomv1.PresentationSpec{Version: "0.1", Title: "T", Slides: []*loomv1.Slide{s}}, "pptx").Data)
		var rows []int
		for file, data := range files {
			if !strings.HasPrefix(file, "ppt/slides/slide") || !strings.Contains(string(data), "<a:tbl>") {
				continue
			}
			trs := parseXML(t, data).all("tr")
			rows = append(rows, len(trs)-1)
			high, last := 0, 0
			for _, m := range rowHigh.FindAllStringSubmatch(string(data), -1) {
				last, _ = strconv.Atoi(m[1])
				high += last
			}
			end := slideEnd
			for _, c := range s.Callouts {
				if strings.Contains(string(data), "Callout") {
					end -= calloutHigh(c) + slideGap/3
				}
			}
			if slideTop+high > end {
				t.Errorf("%s: a table of %d rows ends at %d, and there is room to %d", name, len(trs)-1, slideTop+high, end)
			}
		}
		all := 0
		for _, n := range rows {
			all += n
		}
		if all != tt.rows || tt.slides > 0 && len(rows) != tt.slides || len(rows) < 2 || slices.Max(rows) > mostRows {
			t.Errorf("%s: %d rows on slides of %v", name, all, rows)
		}
		if tt.cell == "short" && slices.Max(rows)-slices.Min(rows) > 1 {
			t.Errorf("%s: slides have %v rows", name, rows)
		}
	}
}

var rowHigh = regexp.MustCompile(`<a:tr h="([0-9]+)"`)

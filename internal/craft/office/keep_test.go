package office

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"

	"github.com/loomrun/loom/internal/base/longtest"
)

func listOf(values ...any) *structpb.ListValue {
	l, err := structpb.NewList(values)
	if err != nil {
		panic(err)
	}
	return l
}

func layoutOf(t *testing.T, d *loomv1.DocumentSpec) *pdfPages {
	t.Helper()
	w := &work{}
	f, err := w.flow(d)
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.layout(f, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Wherever a page ends, a heading stands on the page of what it is of: the next heading,
// the table with its caption, the picture, the first lines.
func TestDOC06_HeadingsStandWithWhatTheyAreOf(t *testing.T) {
	longtest.Skip(t)
	table := &loomv1.SpecTable{Caption: "Boats", Headers: []string{"Boat", "Seats"}, Totals: map[string]*structpb.Value{"Seats": structpb.NewNumberValue(60)}}
	for i := range 4 {
		table.Rows = append(table.Rows, listOf(fmt.Sprint("Boat ", i), 15))
	}
	chart := &loomv1.SpecChart{Kind: "bar", Categories: []string{"a", "b"}, Series: []*loomv1.ChartSeries{{Name: "n", Values: []float64{1, 2}}}}
	for name, what := range map[string]*loomv1.DocumentSection{
		"table":     {Table: table},
		"announced": {Body: "The boats are these:", Table: table},
		"figure":    {},
		"code":      {Body: "```\na\nb\nc\nd\ne\n```"},
		"callout":   {Callouts: []*loomv1.Callout{{Kind: "note", Text: strings.Repeat("Words of a callout. ", 30)}}},
		"item":      {Bullets: []string{strings.Repeat("Words of an item that goes on. ", 5)}},
	} {
		for filler := 10; filler < 34; filler += 2 {
			d := &loomv1.DocumentSpec{Version: "0.2", Title: "T", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "First", Body: strings.Repeat("Filler.\n\n", filler)}}}
			s := &loomv1.DocumentSection{Id: "b", Heading: "Second", Level: 1}
			s.Body, s.Table, s.Callouts, s.Bullets = what.Body, what.Table, what.Callouts, what.Bullets
			if name == "figure" {
				d.Figures = []*loomv1.Figure{{Id: "f", Section: "b", Caption: "Numbers", Chart: chart}}
			}
			d.Sections = append(d.Sections, s)
			l := layoutOf(t, d)
			if l.PageCount() > l.headings[1] {
				t.Errorf("%s after %d paragraphs: the heading is on page %d, and what it is of ends on %d", name, filler, l.headings[1], l.PageCount())
			}
		}
	}
}

// Wherever a page ends, no row of a table stands alone before or after it.
func TestDOC06_NoRowStandsAlone(t *testing.T) {
	for filler := range 40 {
		const rows = 30
		table := &loomv1.SpecTable{Caption: "Boats", Headers: []string{"Boat", "Seats"}, Totals: map[string]*structpb.Value{"Seats": structpb.NewNumberValue(15 * rows)}}
		for i := range rows {
			table.Rows = append(table.Rows, listOf(fmt.Sprint("Boat ", i), 15))
		}
		l := layoutOf(t, &loomv1.DocumentSpec{Version: "0.2", Title: "T", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "First", Body: strings.Repeat("Filler.\n\n", filler), Table: table}}})
		if l.PageCount() == 1 {
			continue
		}
		high := l.size*0.88*leading + cellPad
		last := int(math.Round((l.y-margin-l.size*0.9)/high)) - 1 // without the header
		before := rows + 1 - last
		if last > rows { // the caption came along: all of it stands on the last page
			continue
		}
		if last < 2 || before < 2 {
			t.Errorf("after %d paragraphs %d rows stand on the last page, and %d before it", filler, last, before)
		}
	}
}

// What stays together in a file for word processors: a small table, the first rows and
// the last, the rows of a merged cell, and a short text under a heading with its table.
func TestDOC06_RowsAreKeptTogetherInDocx(t *testing.T) {
	table := func(rows int) *loomv1.SpecTable {
		x := &loomv1.SpecTable{Caption: "Boats", Headers: []string{"Boat", "Seats"}, Totals: map[string]*structpb.Value{"Seats": structpb.NewNumberValue(float64(15 * rows))}}
		for i := range rows {
			x.Rows = append(x.Rows, listOf(fmt.Sprint("Boat ", i), 15))
		}
		return x
	}
	merged, noted := table(30), table(3)
	merged.Merges = []*loomv1.CellMerge{{Row: 10, Column: 0, Rows: 3}}
	noted.Note = "Seats of 2026."
	for name, tt := range map[string]struct {
		table *loomv1.SpecTable
		want  string
	}{
		"small":  {table(3), "k k k k ."},
		"noted":  {noted, "k k k k k"},
		"large":  {table(30), "k k" + strings.Repeat(" .", 28) + " k ."},
		"merged": {merged, "k k" + strings.Repeat(" .", 9) + " k k" + strings.Repeat(" .", 17) + " k ."},
	} {
		d := &loomv1.DocumentSpec{Version: "0.2", Title: "T", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "A", Body: "All of them.", Table: tt.table}, {Id: "b", Heading: "B", Body: "Plain."}}}
		body := parseXML(t, unzip(t, render(t, name, d, "docx").Data)["word/document.xml"])
		var got []string
		for _, row := range body.all("tr") {
			mark := "."
			if cells := len(row.all("tc")); len(row.all("keepNext")) == cells {
				mark = "k"
			}
			got = append(got, mark)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: rows are kept %s, want %s", name, s, tt.want)
		}
		for _, p := range body.all("p") {
			if s, kept := p.text("t"), len(p.all("keepNext")) > 0; s == "All of them." && !kept || s == "Plain." && kept {
				t.Errorf("%s: %q is kept with what follows: %v", name, s, kept)
			}
		}
	}
}

// Columns are wide enough for their words and numbers while there is room, and a table
// that has none gives each column its part.
func TestDOC06_ColumnsAreAsWideAsTheirWords(t *testing.T) {
	long := strings.Repeat("what a cell says that goes over many lines ", 8)
	for name, tt := range map[string]struct {
		headers []string
		rows    [][]any
		narrow  bool
	}{
		"labels beside texts": {headers: []string{"Nr", "Owner", "What is done", "Why"}, rows: [][]any{{1, "Harbour office", long, long}, {2, "Crew", long, long}}},
		"sums":                {headers: []string{"Item", "2025", "2026", "2027", "2028"}, rows: [][]any{{long, 1234567.25, 1234567.25, 1234567.25, 1234567.25}}},
		"identifiers":         {headers: []string{"Function", "Since", "What it does"}, rows: [][]any{{"ContextWithoutDeadline", "2026-03-02", long}}},
		"many columns":        {headers: strings.Fields("One Two Three Four Five Six Seven Eight Nine"), rows: [][]any{{"Interdependence", 1, 2, 3, 4, 5, 6, 7, long}}},
		"no room":             {headers: strings.Fields("One Two Three Four Five Six Seven Eight Nine Ten"), rows: [][]any{{"Interdependence", "Interdependence", "Interdependence", "Interdependence", "Interdependence", "Interdependence", "Interdependence", "Interdependence", "Interdependence", "Interdependence"}}, narrow: true},
	} {
		table := &loomv1.SpecTable{Headers: tt.headers, Formats: map[string]string{}}
		for _, row := range tt.rows {
			table.Rows = append(table.Rows, listOf(row...))
		}
		if name == "sums" {
			for _, h := range tt.headers[1:] {
				table.Formats[h] = "eur"
			}
		}
		l := layoutOf(t, &loomv1.DocumentSpec{Version: "0.2", Title: "T", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "A", Table: table}}})
		var x block
		for _, b := range l.f.blocks {
			if b.kind == "table" {
				x = b
			}
		}
		widths, sum := l.tableOf(x), 0.0
		for j, wide := range widths.widths {
			sum += wide
			for i := range table.Rows {
				s := x.grid.text(i, j)
				words := strings.Fields(s)
				if x.grid.right[j] || len(s) <= longestLabel && name != "many columns" {
					words = []string{s}
				}
				for _, word := range words {
					l.font("Go", "", widths.size)
					if need := l.wide(word) + 2*cellPad; need > wide && !tt.narrow {
						t.Errorf("%s: column %q is %.1f wide, and %q needs %.1f", name, tt.headers[j], wide, word, need)
					}
				}
			}
		}
		if math.Abs(sum-l.width) > 0.01 {
			t.Errorf("%s: the columns are %v wide, the page %v", name, sum, l.width)
		}
	}
}

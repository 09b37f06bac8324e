package office

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/xuri/excelize/v2"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// charted is a deck, or a text, with a chart of each kind.
func charted(kind string) (*loomv1.PresentationSpec, *loomv1.DocumentSpec) {
	f := []*loomv1.Figure{{
		Id: "f", Section: "a", Caption: "Sales & <costs>", Alt: "Bars",
		Chart: &loomv1.SpecChart{
			Kind: kind, X: "Quarter", Y: "Euro", Categories: []string{"Q1", "Q2 & more"},
			Series: []*loomv1.ChartSeries{{Name: "2025", Values: []float64{1.5, -2}}, {Name: "2026", Values: []float64{3, 4e6}}},
		},
	}}
	if kind == "pie" {
		f[0].Chart.Series = []*loomv1.ChartSeries{{Name: "2026", Values: []float64{3, 4.25}}}
	}
	return &loomv1.PresentationSpec{Version: "0.1", Title: "Charts", Slides: []*loomv1.Slide{{Id: "a", Heading: "Sales", Bullets: []string{"They rise"}}}, Figures: f},
		&loomv1.DocumentSpec{Version: "0.2", Title: "Charts", Sections: []*loomv1.DocumentSection{{Id: "a", Heading: "Sales"}}, Figures: f}
}

// A chart is one that its program draws and can change: a part with the values, and a
// workbook in it that has the same ones in the cells that the part names.
func TestDOC06_ChartsAreNative(t *testing.T) {
	longtest.Skip(t)
	for _, kind := range []string{"bar", "line", "pie"} {
		deck, doc := charted(kind)
		for format, r := range map[string]*Result{"pptx": render(t, "charts-"+kind, deck, "pptx"), "docx": render(t, "charts-"+kind, doc, "docx")} {
			name := kind + " in " + format
			soundPackage(t, name, r.Data)
			files := unzip(t, r.Data)
			dir := map[string]string{"pptx": "ppt", "docx": "word"}[format]
			for file := range files {
				if strings.Contains(file, "/media/") {
					t.Errorf("%s: the chart is a picture too: %s", name, file)
				}
			}
			for _, d := range r.Downgrades {
				if strings.Contains(d, "chart") {
					t.Errorf("%s: %s", name, d)
				}
			}
			part := files[dir+"/charts/chart1.xml"]
			if part == nil {
				t.Errorf("%s has no chart", name)
				continue
			}
			chart := parseXML(t, part)
			if n := len(chart.all(kind + "Chart")); n != 1 {
				t.Errorf("%s: %d %sChart", name, n, kind)
			}
			if title := chart.all("title"); (format == "pptx") != (len(title) > 0 && strings.Contains(title[0].text("t"), "Sales & <costs>")) {
				t.Errorf("%s: titles %v", name, title)
			}
			sameCells(t, name, chart, files[dir+"/embeddings/chart1.xlsx"], map[string]int{"bar": 2, "line": 2, "pie": 1}[kind])
			main := map[string]string{"pptx": "ppt/slides/slide2.xml", "docx": "word/document.xml"}[format]
			frame := string(files[main])
			if !strings.Contains(frame, `descr="Bars"`) || !strings.Contains(string(files[path.Dir(main)+"/_rels/"+path.Base(main)+".rels"]), "charts/chart1.xml") {
				t.Errorf("%s: nothing shows the chart", name)
			}
		}
	}
}

// sameCells reads a chart's workbook with another library, and holds what the chart has
// kept of each cell against it.
func sameCells(t *testing.T, name string, chart *node, book []byte, series int) {
	t.Helper()
	x, err := excelize.OpenReader(bytes.NewReader(book))
	if err != nil {
		t.Errorf("%s: the workbook: %v", name, err)
		return
	}
	defer x.Close()
	list := chart.all("ser")
	if len(list) != series {
		t.Errorf("%s: %d series, want %d", name, len(list), series)
	}
	for i, s := range list {
		for _, ref := range append(s.all("strRef"), s.all("numRef")...) {
			area := ref.text("f")
			sheet, cells, _ := strings.Cut(strings.ReplaceAll(area, "$", ""), "!")
			from, to, several := strings.Cut(cells, ":")
			if !several {
				to = from
			}
			column, first, _ := excelize.CellNameToCoordinates(from)
			_, last, err := excelize.CellNameToCoordinates(to)
			if err != nil {
				t.Errorf("%s: %s: %v", name, area, err)
				continue
			}
			var want, got []string
			for row := first; row <= last; row++ {
				at, _ := excelize.CoordinatesToCellName(column, row)
				v, err := x.GetCellValue(sheet, at, excelize.Options{RawCellValue: true})
				if err != nil {
					t.Errorf("%s: %s: %v", name, at, err)
				}
				want = append(want, v)
			}
			for _, v := range ref.all("v") {
				got = append(got, v.Text)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: series %d has %q of %s, the workbook %q", name, i, got, area, want)
			}
		}
	}
}

// A chart that nobody can draw is refused by its figure in every format.
func TestDOC06_ChartsThatAreNoneAreRefused(t *testing.T) {
	deck, doc := charted("bar")
	deck.Figures[0].Chart.Series[0].Values = []float64{1}
	if _, err := Render(deck, "pptx", Options{}); fault.Code(err) != "document/invalid" || !strings.Contains(err.Error(), `figure "f"`) {
		t.Errorf("pptx: %v", err)
	}
	if _, err := Render(doc, "docx", Options{}); fault.Code(err) != "document/invalid" {
		t.Errorf("docx: %v", err)
	}
}

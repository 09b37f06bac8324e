package office

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/calculator"
	"github.com/loomrun/loom/internal/craft/sheet"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// numberFormats are the formats of cells as workbooks write them.
var numberFormats = map[string]string{
	"text": "@", "integer": "#,##0", "number": "#,##0.00", "percent": "0.0%", finePercent: "0.00%", "date": "yyyy-mm-dd",
	"usd": `"$"#,##0.00`, "eur": `#,##0.00\ "€"`, "gbp": `"£"#,##0.00`,
}

// xlsx writes a workbook: a sheet for each of the spec's, with the computed columns and
// the totals as formulas that have their values saved.
func (w *work) xlsx(s *loomv1.SheetSpec) (*Result, error) {
	f := excelize.NewFile()
	defer f.Close()
	x := &workbook{work: w, file: f, spec: s, style: w.styleOf(s.Styles, s.Metadata)}
	for i, page := range s.Sheets {
		var err error
		if i == 0 {
			err = f.SetSheetName(f.GetSheetList()[0], page.Name)
		} else {
			_, err = f.NewSheet(page.Name)
		}
		if err == nil {
			err = x.sheet(page)
		}
		if err != nil {
			return nil, broken(page.Name, err)
		}
	}
	always := true
	stamp := first(s.Metadata.GetDate(), "1980-01-01") + "T00:00:00Z"
	for _, err := range []error{
		f.SetCalcProps(&excelize.CalcPropsOptions{FullCalcOnLoad: &always}),
		f.SetDocProps(&excelize.DocProperties{
			Title: s.Title, Subject: first(s.Metadata.GetSubject(), s.Subtitle), Creator: s.Metadata.GetAuthor(), Keywords: strings.Join(s.Metadata.GetKeywords(), ", "),
			Language: x.style.lang, Created: stamp, Modified: stamp, LastModifiedBy: s.Metadata.GetAuthor(), Identifier: "xlsx",
		}),
		f.SetAppProps(&excelize.AppProperties{Application: "Loom"}),
	} {
		if err != nil {
			return nil, broken("properties", err)
		}
	}
	f.SetActiveSheet(0)
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		return nil, broken("workbook", err)
	}
	data, err := w.repack(b.Bytes())
	if err != nil {
		return nil, err
	}
	return w.result(data), nil
}

func broken(what string, err error) error {
	if fault.Code(err) != "" {
		return err
	}
	return fmt.Errorf("xlsx: %s: %w", what, err)
}

// repack gives a package an order and dates that are always the same, and the spec.
func (w *work) repack(data []byte) ([]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("xlsx: %w", err)
	}
	files := map[string][]byte{}
	var names []string
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("xlsx: %w", err)
		}
		files[f.Name], err = io.ReadAll(r)
		if err = firstError(err, r.Close()); err != nil {
			return nil, fmt.Errorf("xlsx: %w", err)
		}
		names = append(names, f.Name)
	}
	slices.Sort(names) // [Content_Types].xml comes first by itself
	const main, types = "xl/_rels/workbook.xml.rels", "[Content_Types].xml"
	p := &parts{}
	if w.Carry != nil {
		link := `<Relationship Id="rIdSpec" Type="` + officeRel + `customXml" Target="../customXml/item1.xml"/></Relationships>`
		files[main] = []byte(strings.Replace(string(files[main]), "</Relationships>", link, 1))
		kind := fmt.Sprintf(`<Override PartName="%s" ContentType="%s"/></Types>`, customType[0], customType[1])
		files[types] = []byte(strings.Replace(string(files[types]), "</Types>", kind, 1))
	}
	files[types] = sorted(files[types])
	for _, name := range names {
		p.bytes(name, sheet.NumbersOfFormulas(files[name]))
	}
	var unused relations
	w.carry(p, &unused, "")
	return p.pack()
}

var ending = regexp.MustCompile(`<Default [^>]*>(?:</Default>)?`)

// sorted orders the endings of a package's types, which the library writes in any
// order.
func sorted(types []byte) []byte {
	list := ending.FindAllString(string(types), -1)
	slices.Sort(list)
	i := -1
	return ending.ReplaceAllFunc(types, func([]byte) []byte { i++; return []byte(list[i]) })
}

func firstError(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// workbook is one xlsx in the making.
type workbook struct {
	*work
	file  *excelize.File
	spec  *loomv1.SheetSpec
	style style
	looks map[string]int
}

// look is the id of a style, made once.
func (x *workbook) look(key string, make func() *excelize.Style) (int, error) {
	if id, ok := x.looks[key]; ok {
		return id, nil
	}
	if x.looks == nil {
		x.looks = map[string]int{}
	}
	id, err := x.file.NewStyle(make())
	x.looks[key] = id
	return id, err
}

func (x *workbook) font(size float64, bold bool, color string) *excelize.Font {
	return &excelize.Font{Family: x.style.bodyFont, Size: size, Bold: bold, Color: color}
}

var thin = []excelize.Border{
	{Type: "left", Style: 1, Color: "C8CCD2"}, {Type: "right", Style: 1, Color: "C8CCD2"}, {Type: "top", Style: 1, Color: "C8CCD2"}, {Type: "bottom", Style: 1, Color: "C8CCD2"},
}

// sheet writes title, body, table, callouts and charts, from the first row down.
func (x *workbook) sheet(page *loomv1.SheetPage) error {
	name, row := page.Name, 1
	line := func(text string, font *excelize.Font, fill string) error {
		at := fmt.Sprintf("A%d", row)
		id, err := x.look(fmt.Sprint("line", *font, fill), func() *excelize.Style {
			s := &excelize.Style{Font: font, Alignment: &excelize.Alignment{Vertical: "top"}}
			if fill != "" {
				s.Fill = excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{fill}}
			}
			return s
		})
		row++
		return firstError(err, x.file.SetCellStr(name, at, text), x.file.SetCellStyle(name, at, at, id))
	}
	if err := line(first(page.Table.Caption, x.spec.Title), &excelize.Font{Family: x.style.headingFont, Size: 14, Bold: true, Color: x.style.primary}, ""); err != nil {
		return err
	}
	for p := range strings.SplitSeq(page.Body, "\n") {
		if p = strings.TrimSpace(p); p != "" {
			if err := line(p, x.font(10, false, "595959"), ""); err != nil {
				return err
			}
		}
	}
	row++
	last, err := x.table(page, row)
	if err != nil {
		return err
	}
	row = last + 2
	if page.Table.Note != "" {
		if err := line(page.Table.Note, x.font(9, false, "595959"), ""); err != nil {
			return err
		}
	}
	for _, c := range page.Callouts {
		colors := calloutColors[c.Kind]
		if err := line(x.style.labels.callouts[c.Kind]+": "+c.Text, x.font(10, true, colors[0]), colors[1]); err != nil {
			return err
		}
	}
	return firstError(x.charts(page, row+1), x.paper(name))
}

func (x *workbook) paper(name string) error {
	size, fit, wide := 9, true, "landscape"
	if x.style.letter {
		size = 1
	}
	one, none := 1, 0
	footer := "&L" + strings.ReplaceAll(x.style.footer, "&", "&&") + "&R" + x.style.labels.page + " &P " + x.style.labels.of + " &N"
	header := ""
	if x.style.header != "" {
		header = "&L" + strings.ReplaceAll(x.style.header, "&", "&&")
	}
	return firstError(
		x.file.SetSheetProps(name, &excelize.SheetPropsOptions{FitToPage: &fit}),
		x.file.SetPageLayout(name, &excelize.PageLayoutOptions{Size: &size, Orientation: &wide, FitToWidth: &one, FitToHeight: &none}),
		x.file.SetHeaderFooter(name, &excelize.HeaderFooterOptions{OddFooter: footer, OddHeader: header}),
	)
}

// table writes the table from a row on and returns its last row.
func (x *workbook) table(page *loomv1.SheetPage, top int) (int, error) {
	whole, err := computed(page)
	if err != nil {
		return 0, err
	}
	g := gridOf(whole, x.style.labels)
	for j, h := range g.Headers {
		if err := x.column(page, g, j, h, top); err != nil {
			return 0, err
		}
	}
	last := top + len(g.Rows)
	end := letters(len(g.Headers) - 1)
	for _, m := range g.Merges {
		rows, columns := g.span(int(m.Row), int(m.Column))
		from := fmt.Sprintf("%s%d", letters(int(m.Column)), top+1+int(m.Row))
		to := fmt.Sprintf("%s%d", letters(int(m.Column)+columns-1), top+int(m.Row)+rows)
		if err := x.file.MergeCell(page.Name, from, to); err != nil {
			return 0, err
		}
	}
	if len(g.Merges) == 0 {
		if err := x.file.AutoFilter(page.Name, fmt.Sprintf("A%d:%s%d", top, end, max(last, top)), nil); err != nil {
			return 0, err
		}
	}
	if err := x.file.SetPanes(page.Name, &excelize.Panes{Freeze: true, YSplit: top, TopLeftCell: fmt.Sprintf("A%d", top+1), ActivePane: "bottomLeft"}); err != nil {
		return 0, err
	}
	if err := x.file.SetDefinedName(&excelize.DefinedName{Name: "_xlnm.Print_Titles", RefersTo: fmt.Sprintf("'%s'!$%d:$%d", page.Name, top, top), Scope: page.Name}); err != nil {
		return 0, err
	}
	if g.total {
		last++
	}
	return last, nil
}

// column writes a column: header, cells, total.
func (x *workbook) column(page *loomv1.SheetPage, g *grid, j int, header string, top int) error {
	f, name, letter := x.file, page.Name, letters(j)
	side := "left"
	if g.right[j] {
		side = "right"
	}
	head, err := x.look("head"+side, func() *excelize.Style {
		return &excelize.Style{
			Font: x.font(11, true, "FFFFFF"), Border: thin, Alignment: &excelize.Alignment{Horizontal: side, Vertical: "center", WrapText: true},
			Fill: excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{x.style.primary}},
		}
	})
	at := fmt.Sprintf("%s%d", letter, top)
	if err = firstError(err, f.SetCellStr(name, at, header), f.SetCellStyle(name, at, at, head)); err != nil {
		return err
	}
	format := g.format(j)
	body, err := x.look("body"+format, func() *excelize.Style { return x.cellStyle(format, false) })
	if err != nil {
		return err
	}
	formula, err := x.formula(page, g, header)
	if err != nil {
		return err
	}
	width := float64(len([]rune(header))) + 4
	for i, r := range g.Rows {
		at := fmt.Sprintf("%s%d", letter, top+1+i)
		if err := x.cell(name, at, r.Values[j], format); err != nil {
			return err
		}
		if n, ok := number(r.Values[j]); ok && formula != nil {
			if err := x.saved(name, at, formula(top+1+i), n); err != nil {
				return err
			}
		}
		width = max(width, float64(len([]rune(g.text(i, j))))+2)
	}
	last := top + len(g.Rows)
	if len(g.Rows) > 0 {
		if err := f.SetCellStyle(name, fmt.Sprintf("%s%d", letter, top+1), fmt.Sprintf("%s%d", letter, last), body); err != nil {
			return err
		}
	}
	if g.total {
		if err := x.total(name, g, j, top+1, last); err != nil {
			return err
		}
		width = max(width, float64(len([]rune(g.totalText(j))))+3)
	}
	return f.SetColWidth(name, letter, letter, min(width, 60))
}

func (x *workbook) cellStyle(format string, total bool) *excelize.Style {
	s := &excelize.Style{Font: x.font(11, total, ""), Border: thin, Alignment: &excelize.Alignment{Vertical: "top", WrapText: true}}
	if code, ok := numberFormats[format]; ok {
		s.CustomNumFmt = &code
	}
	if total {
		s.Fill = excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{"F2F4F7"}}
	}
	return s
}

// cell writes a value; a text never becomes a formula.
func (x *workbook) cell(name, at string, v *structpb.Value, format string) error {
	switch k := v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		return x.file.SetCellFloat(name, at, k.NumberValue, -1, 64)
	case *structpb.Value_BoolValue:
		return x.file.SetCellBool(name, at, k.BoolValue)
	case *structpb.Value_StringValue:
		if day, ok := serial(k.StringValue); ok && format == "date" {
			return x.file.SetCellInt(name, at, day)
		}
		return x.file.SetCellStr(name, at, k.StringValue)
	}
	return nil
}

// saved puts a formula into a cell that has its value: programs that do not compute
// read the number, and not a text.
func (x *workbook) saved(name, at, formula string, value float64) error {
	return firstError(x.file.SetCellFormula(name, at, formula), x.file.SetCellFloat(name, at, value, -1, 64), x.file.SetCellFormula(name, at, formula))
}

// formula is how a computed column is written for a row; nil for other columns.
func (x *workbook) formula(page *loomv1.SheetPage, g *grid, header string) (func(row int) string, error) {
	i := slices.IndexFunc(page.Computed, func(c *loomv1.ComputedColumn) bool { return c.Header == header })
	if i < 0 {
		return nil, nil //nolint:nilnil // no formula is no error
	}
	e, err := calculator.Parse(page.Computed[i].Formula)
	if err != nil {
		return nil, err
	}
	return func(row int) string {
		return e.Spreadsheet(func(of string) string { return fmt.Sprintf("%s%d", letters(slices.Index(g.Headers, of)), row) })
	}, nil
}

func (x *workbook) total(name string, g *grid, j, from, to int) error {
	header := g.Headers[j]
	at := fmt.Sprintf("%s%d", letters(j), to+1)
	id, err := x.look("total"+g.format(j), func() *excelize.Style { return x.cellStyle(g.format(j), true) })
	if err = firstError(err, x.file.SetCellStyle(name, at, at, id)); err != nil {
		return err
	}
	v, there := g.Totals[header]
	if !there {
		if text := g.totalText(j); text != "" {
			return x.file.SetCellStr(name, at, text)
		}
		return nil
	}
	if function, ok := g.function(j); ok && len(g.Rows) > 0 {
		n, _ := number(v)
		return x.saved(name, at, fmt.Sprintf("%s(%s%d:%s%d)", function, letters(j), from, letters(j), to), n)
	}
	return x.cell(name, at, v, g.Formats[header])
}

var chartKinds = map[string]excelize.ChartType{"bar": excelize.Col, "line": excelize.Line, "pie": excelize.Pie}

// charts draws the sheet's charts from their data, which stands on sheets of its own.
func (x *workbook) charts(page *loomv1.SheetPage, row int) error {
	for _, f := range x.spec.Figures {
		if f.Section != page.Id {
			continue
		}
		if f.Chart == nil {
			if err := x.image(page.Name, f, row); err != nil {
				return err
			}
			row += 18
			continue
		}
		data, err := x.chartData(f)
		if err != nil {
			return err
		}
		c := &excelize.Chart{
			Type: chartKinds[f.Chart.Kind], Title: excelize.ChartTitle{Paragraph: []excelize.RichTextRun{{Text: first(f.Caption, f.Id)}}}, Format: excelize.GraphicOptions{AltText: first(f.Alt, f.Caption)},
			Dimension: excelize.ChartDimension{Width: 640, Height: 340}, Legend: excelize.ChartLegend{Position: "bottom"},
			XAxis: excelize.ChartAxis{Font: excelize.Font{Color: "404040"}}, YAxis: excelize.ChartAxis{Font: excelize.Font{Color: "404040"}, MajorGridLines: true, NumFmt: excelize.ChartNumFmt{CustomNumFmt: axisFormat(f.Chart)}},
		}
		byPoint := f.Chart.Kind == "pie" // else a series has one colour
		c.VaryColors = &byPoint
		if len(f.Chart.Series) == 1 && !byPoint {
			c.Legend.Position = "none"
		}
		n := len(f.Chart.Categories) + 1
		for i := range f.Chart.Series {
			col := letters(i + 1)
			var fill excelize.Fill
			if !byPoint {
				fill = excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{x.style.seriesColor(i)}}
			}
			c.Series = append(c.Series, excelize.ChartSeries{
				Fill: fill, Name: fmt.Sprintf("'%s'!$%s$1", data, col), Categories: fmt.Sprintf("'%s'!$A$2:$A$%d", data, n), Values: fmt.Sprintf("'%s'!$%s$2:$%s$%d", data, col, col, n),
			})
		}
		if err := x.file.AddChart(page.Name, fmt.Sprintf("A%d", row), c); err != nil {
			return err
		}
		row += 18
	}
	return nil
}

// chartData writes a chart's data to a sheet behind the others.
func (x *workbook) chartData(f *loomv1.Figure) (string, error) {
	name := "Data " + f.Id
	if r := []rune(name); len(r) > 31 {
		name = string(r[:31])
	}
	for n := 2; slices.ContainsFunc(x.file.GetSheetList(), func(s string) bool { return strings.EqualFold(s, name) }); n++ {
		r := []rune(name)
		name = fmt.Sprintf("%s %d", string(r[:min(len(r), 27)]), n)
	}
	if _, err := x.file.NewSheet(name); err != nil {
		return "", err
	}
	set := func(column, row int, v any) error {
		at := fmt.Sprintf("%s%d", letters(column), row)
		if n, ok := v.(float64); ok {
			return x.file.SetCellFloat(name, at, n, -1, 64)
		}
		return x.file.SetCellStr(name, at, fmt.Sprint(v))
	}
	err := set(0, 1, first(f.Chart.X, f.Id))
	for i, c := range f.Chart.Categories {
		err = firstError(err, set(0, i+2, c))
	}
	for j, s := range f.Chart.Series {
		err = firstError(err, set(j+1, 1, s.Name))
		for i, v := range s.Values {
			err = firstError(err, set(j+1, i+2, v))
		}
	}
	return name, err
}

func (x *workbook) image(name string, f *loomv1.Figure, row int) error {
	p, err := x.picture(f, x.style)
	if err != nil || p.data == nil {
		return err
	}
	ending := map[string]string{"png": ".png", "jpeg": ".jpeg"}[p.kind]
	scale := min(1, 640/float64(p.width))
	return x.file.AddPictureFromBytes(name, fmt.Sprintf("A%d", row), &excelize.Picture{
		Extension: ending, File: p.data, Format: &excelize.GraphicOptions{AltText: first(f.Alt, f.Caption), ScaleX: scale, ScaleY: scale},
	})
}

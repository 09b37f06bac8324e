package office

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	chartSpace    = "http://schemas.openxmlformats.org/drawingml/2006/chart"
	chartType     = "application/vnd.openxmlformats-officedocument.drawingml.chart+xml"
	embeddingType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	chartSheet    = "Data" // of the workbook in a chart
)

// nativeCharts are the charts of a docx or pptx that its program draws and can change:
// each is a part, with a workbook in it that has the data.
type nativeCharts struct {
	dir   string // of the main part: ppt or word
	style style
	parts [][2][]byte // chart and workbook
}

// soundChart refuses a chart that nobody could draw.
func soundChart(f *loomv1.Figure) error {
	if _, err := chartOf(f).SVG(); err != nil {
		return fault.New("document/invalid", "the chart of the figure %q cannot be drawn", f.Id).Because(err)
	}
	return nil
}

// add adds a chart and returns its name below the main part's directory. Points are the
// size of its text; a title is left out where the caption stands beside it.
func (c *nativeCharts) add(f *loomv1.SpecChart, title string, points int) (string, error) {
	book, err := chartBook(f)
	if err != nil {
		return "", err
	}
	c.parts = append(c.parts, [2][]byte{[]byte(c.chart(f, title, points)), book})
	return fmt.Sprintf("charts/chart%d.xml", len(c.parts)), nil
}

// pack adds the parts to the package, and returns their types.
func (c *nativeCharts) pack(p *parts) (types [][2]string) {
	for i, x := range c.parts {
		chart, book := fmt.Sprintf("%s/charts/chart%d.xml", c.dir, i+1), fmt.Sprintf("%s/embeddings/chart%d.xlsx", c.dir, i+1)
		p.bytes(chart, x[0])
		var rels relations
		rels.add("package", fmt.Sprintf("../embeddings/chart%d.xlsx", i+1), false)
		p.add(fmt.Sprintf("%s/charts/_rels/chart%d.xml.rels", c.dir, i+1), rels.xml())
		p.bytes(book, x[1])
		types = append(types, [2]string{"/" + chart, chartType}, [2]string{"/" + book, embeddingType})
	}
	return types
}

// chartGraphic is how a drawing shows a chart by its link.
func chartGraphic(link string) string {
	return `<a:graphic><a:graphicData uri="` + chartSpace + `"><c:chart xmlns:c="` + chartSpace + `" r:id="` + link + `"/></a:graphicData></a:graphic>`
}

// chart is the part itself.
func (c *nativeCharts) chart(f *loomv1.SpecChart, title string, points int) string {
	var b strings.Builder
	b.WriteString(xmlHead + `<c:chartSpace xmlns:c="` + chartSpace + `" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">` +
		`<c:date1904 val="0"/><c:roundedCorners val="0"/><c:chart>`)
	if title != "" {
		b.WriteString(chartText(title, (points+2)*100, true) + `<c:autoTitleDeleted val="0"/>`)
	} else {
		b.WriteString(`<c:autoTitleDeleted val="1"/>`)
	}
	b.WriteString(`<c:plotArea><c:layout/>`)
	switch f.Kind {
	case "pie":
		b.WriteString(`<c:pieChart><c:varyColors val="1"/>` + c.series(f) + `<c:firstSliceAng val="0"/></c:pieChart>`)
	case "line":
		b.WriteString(`<c:lineChart><c:grouping val="standard"/><c:varyColors val="0"/>` + c.series(f) + `<c:marker val="1"/><c:axId val="1001"/><c:axId val="1002"/></c:lineChart>`)
	default:
		b.WriteString(`<c:barChart><c:barDir val="col"/><c:grouping val="clustered"/><c:varyColors val="0"/>` + c.series(f) + `<c:gapWidth val="80"/><c:axId val="1001"/><c:axId val="1002"/></c:barChart>`)
	}
	if f.Kind != "pie" {
		b.WriteString(chartAxis("catAx", 1001, 1002, "b", "", f.X, points, "General", `<c:auto val="1"/><c:lblAlgn val="ctr"/><c:lblOffset val="100"/><c:noMultiLvlLbl val="0"/>`))
		b.WriteString(chartAxis("valAx", 1002, 1001, "l", `<c:majorGridlines><c:spPr><a:ln w="6350"><a:solidFill><a:srgbClr val="D9DCE1"/></a:solidFill></a:ln></c:spPr></c:majorGridlines>`, f.Y, points, axisFormat(f), `<c:crossBetween val="between"/>`))
	}
	b.WriteString(`</c:plotArea>`)
	if len(f.Series) > 1 || f.Kind == "pie" {
		b.WriteString(`<c:legend><c:legendPos val="b"/><c:overlay val="0"/></c:legend>`)
	}
	fmt.Fprintf(&b, `<c:plotVisOnly val="1"/><c:dispBlanksAs val="gap"/></c:chart><c:txPr><a:bodyPr/><a:p><a:pPr><a:defRPr sz="%d"><a:solidFill><a:srgbClr val="404040"/></a:solidFill><a:latin typeface="%s"/></a:defRPr></a:pPr><a:endParaRPr lang="%s"/></a:p></c:txPr>`, points*100, esc(c.style.bodyFont), esc(c.style.lang))
	b.WriteString(`<c:externalData r:id="rId1"><c:autoUpdate val="0"/></c:externalData></c:chartSpace>`)
	return b.String()
}

// chartText is a title of the chart, or of an axis.
func chartText(s string, size int, bold bool) string {
	return fmt.Sprintf(`<c:title><c:tx><c:rich><a:bodyPr/><a:p><a:pPr><a:defRPr sz="%[1]d" b="%[2]d"/></a:pPr><a:r><a:rPr lang="en" sz="%[1]d" b="%[2]d"/><a:t>%[3]s</a:t></a:r></a:p></c:rich></c:tx><c:overlay val="0"/></c:title>`, size, map[bool]int{true: 1}[bold], esc(s))
}

// axisFormat groups the digits of large numbers.
func axisFormat(f *loomv1.SpecChart) string {
	for _, s := range f.Series {
		for _, v := range s.Values {
			if v >= 10_000 || v <= -10_000 {
				return "#,##0"
			}
		}
	}
	return "General"
}

func chartAxis(kind string, id, cross int, place, lines, title string, points int, format, rest string) string {
	if title != "" {
		title = chartText(title, points*100, false)
	}
	return fmt.Sprintf(`<c:%[1]s><c:axId val="%[2]d"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:delete val="0"/><c:axPos val="%[4]s"/>%[5]s%[6]s<c:numFmt formatCode="%[8]s" sourceLinked="0"/><c:majorTickMark val="none"/><c:minorTickMark val="none"/><c:tickLblPos val="low"/><c:crossAx val="%[3]d"/><c:crosses val="autoZero"/>%[7]s</c:%[1]s>`,
		kind, id, cross, place, lines, title, rest, format)
}

// series are the values, by the cells of the workbook, with what these have now.
func (c *nativeCharts) series(f *loomv1.SpecChart) string {
	var b strings.Builder
	last := len(f.Categories) + 1
	for i, s := range f.Series {
		fill := `<a:solidFill><a:srgbClr val="` + c.style.seriesColor(i) + `"/></a:solidFill>`
		fmt.Fprintf(&b, `<c:ser><c:idx val="%[1]d"/><c:order val="%[1]d"/><c:tx><c:strRef><c:f>%[2]s!$%[3]s$1</c:f>%[4]s</c:strRef></c:tx>`, i, chartSheet, letters(i+1), chartCache("str", []string{s.Name}))
		switch f.Kind {
		case "pie":
			for j := range f.Categories {
				fmt.Fprintf(&b, `<c:dPt><c:idx val="%d"/><c:bubble3D val="0"/><c:spPr><a:solidFill><a:srgbClr val="%s"/></a:solidFill></c:spPr></c:dPt>`, j, c.style.seriesColor(j))
			}
		case "line":
			b.WriteString(`<c:spPr><a:ln w="28575">` + fill + `</a:ln></c:spPr><c:marker><c:symbol val="circle"/><c:size val="6"/><c:spPr>` + fill + `</c:spPr></c:marker>`)
		default:
			b.WriteString(`<c:spPr>` + fill + `</c:spPr><c:invertIfNegative val="0"/>`)
		}
		var values []string
		for _, v := range s.Values {
			values = append(values, strconv.FormatFloat(v, 'g', -1, 64))
		}
		fmt.Fprintf(&b, `<c:cat><c:strRef><c:f>%[1]s!$A$2:$A$%[2]d</c:f>%[3]s</c:strRef></c:cat><c:val><c:numRef><c:f>%[1]s!$%[4]s$2:$%[4]s$%[2]d</c:f>%[5]s</c:numRef></c:val>`,
			chartSheet, last, chartCache("str", f.Categories), letters(i+1), chartCache("num", values))
		if f.Kind == "line" {
			b.WriteString(`<c:smooth val="0"/>`)
		}
		b.WriteString(`</c:ser>`)
	}
	return b.String()
}

// chartCache is what cells had when the chart was made.
func chartCache(kind string, values []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<c:%sCache>`, kind)
	if kind == "num" {
		b.WriteString(`<c:formatCode>General</c:formatCode>`)
	}
	fmt.Fprintf(&b, `<c:ptCount val="%d"/>`, len(values))
	for i, v := range values {
		fmt.Fprintf(&b, `<c:pt idx="%d"><c:v>%s</c:v></c:pt>`, i, esc(v))
	}
	fmt.Fprintf(&b, `</c:%sCache>`, kind)
	return b.String()
}

// chartBook is the workbook with a chart's data: categories in the first column, a
// series in each further one.
func chartBook(f *loomv1.SpecChart) ([]byte, error) {
	const sml = "application/vnd.openxmlformats-officedocument.spreadsheetml."
	var b strings.Builder
	word := func(at, s string) string {
		return `<c r="` + at + `" t="inlineStr"><is><t xml:space="preserve">` + esc(s) + `</t></is></c>`
	}
	b.WriteString(xmlHead + `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1">` + word("A1", first(f.X, "Category")))
	for j, s := range f.Series {
		b.WriteString(word(letters(j+1)+"1", s.Name))
	}
	b.WriteString(`</row>`)
	for i, name := range f.Categories {
		row := strconv.Itoa(i + 2)
		b.WriteString(`<row r="` + row + `">` + word("A"+row, name))
		for j, s := range f.Series {
			b.WriteString(`<c r="` + letters(j+1) + row + `"><v>` + strconv.FormatFloat(s.Values[i], 'g', -1, 64) + `</v></c>`)
		}
		b.WriteString(`</row>`)
	}
	b.WriteString(`</sheetData></worksheet>`)
	var root, main relations
	root.add("officeDocument", "xl/workbook.xml", false)
	main.add("worksheet", "worksheets/sheet1.xml", false)
	p := &parts{}
	p.add("[Content_Types].xml", contentTypes([][2]string{{"/xl/workbook.xml", sml + "sheet.main+xml"}, {"/xl/worksheets/sheet1.xml", sml + "worksheet+xml"}}))
	p.add("_rels/.rels", root.xml())
	p.add("xl/workbook.xml", xmlHead+`<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="`+chartSheet+`" sheetId="1" r:id="rId1"/></sheets></workbook>`)
	p.add("xl/_rels/workbook.xml.rels", main.xml())
	p.add("xl/worksheets/sheet1.xml", b.String())
	return p.pack()
}

package office

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/loomrun/loom/internal/craft/manuscript"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func titleShape(kind, title string) string {
	return `<p:sp><p:nvSpPr><p:cNvPr id="2" name="Title"/><p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr><p:ph type="` + kind + `"/></p:nvPr></p:nvSpPr><p:spPr/>` +
		`<p:txBody><a:bodyPr/><a:p><a:r><a:rPr lang="en"/><a:t>` + esc(title) + `</a:t></a:r></a:p></p:txBody></p:sp>`
}

const bodyType = `<a:latin typeface="+mn-lt"/>`

// runs writes text with its looks. Links of slides lead nowhere: their addresses are
// in the text already, or in the notes.
func (d *deck) runs(runs []run, size string) string {
	var b strings.Builder
	for _, r := range runs {
		if r.Break {
			b.WriteString(`<a:br/>`)
			continue
		}
		if r.Link != "" {
			d.lacks("pptx has no links")
		}
		look := size
		if r.Bold {
			look += ` b="1"`
		}
		if r.Italic {
			look += ` i="1"`
		}
		font := bodyType // else a run behind code has that of the code in some programs
		if r.Code {
			font = `<a:latin typeface="Consolas"/>`
		}
		b.WriteString(`<a:r><a:rPr lang="en"` + look + `>` + font + `</a:rPr><a:t>` + esc(strings.ReplaceAll(r.Text, "\n", " ")) + `</a:t></a:r>`)
	}
	return b.String()
}

// placeholder fills a placeholder of the layout, in its place.
func (d *deck) placeholder(kind string, index int, text [][]run, bullets bool, plain int) string {
	return d.shape(kind, index, text, bullets, plain, "", "")
}

func (d *deck) shape(kind string, index int, text [][]run, bullets bool, plain int, place, size string) string {
	var b strings.Builder
	if kind != "" {
		kind = ` type="` + kind + `"`
	}
	fmt.Fprintf(&b, `<p:sp><p:nvSpPr><p:cNvPr id="%[1]d" name="Text %[2]d"/><p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr><p:ph%[3]s idx="%[2]d"/></p:nvPr></p:nvSpPr><p:spPr>%[4]s</p:spPr><p:txBody><a:bodyPr><a:normAutofit/></a:bodyPr>`, 2+index, index, kind, place)
	empty := true
	for i, runs := range text {
		step := ""
		if bullets && i >= plain {
			runs, step = stepOf(runs)
		}
		content := d.runs(runs, size)
		if content == "" || content == d.runs([]run{{}}, size) {
			continue
		}
		empty = false
		properties := ""
		if bullets && i < plain {
			properties = `<a:pPr marL="0" indent="0"><a:buNone/></a:pPr>`
		}
		if step != "" {
			properties = `<a:pPr marL="457200" indent="-457200"><a:buFont typeface="+mj-lt"/><a:buAutoNum type="arabicPeriod" startAt="` + step + `"/></a:pPr>`
		}
		b.WriteString(`<a:p>` + properties + content + `</a:p>`)
	}
	if empty {
		b.WriteString(`<a:p/>`)
	}
	b.WriteString(`</p:txBody></p:sp>`)
	return b.String()
}

var stepNumber = regexp.MustCompile(`^([1-9][0-9]?)\. +`)

// bullet is the text of a bullet; one that begins with a number keeps it.
func bullet(s string) []run {
	number := stepNumber.FindString(s)
	runs := manuscript.Inline(s[len(number):])
	if number != "" {
		runs = append([]run{{Text: number}}, runs...)
	}
	return runs
}

// stepOf takes the number off a bullet that begins with one: its program writes it.
func stepOf(runs []run) ([]run, string) {
	if len(runs) > 0 {
		if m := stepNumber.FindStringSubmatch(runs[0].Text); m != nil && m[0] == runs[0].Text {
			return runs[1:], m[1]
		}
	}
	return runs, ""
}

// textShape writes paragraphs and bullets as large as their number lets them be.
func (d *deck) textShape(index int, text [][]run, plain int, a area) string {
	lines, points := 0, 20
	for ; points > 11; points -= 2 {
		lines = 0
		perLine := max(a.wide/(points*pointUnits/2), 8)
		for _, runs := range text {
			n := 0
			for _, r := range runs {
				n += len([]rune(r.Text))
			}
			lines += 1 + n/perLine
		}
		if lines*points*pointUnits*13/10+len(text)*points*pointUnits*6/10 < a.high {
			break
		}
	}
	return d.shape("", index, text, true, plain, place(a), fmt.Sprintf(` sz="%d"`, points*100))
}

func place(a area) string {
	return fmt.Sprintf(`<a:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></a:xfrm>`, a.x, a.y, a.wide, a.high)
}

func (d *deck) callout(id int, c *loomv1.Callout, a area) string {
	colors := calloutColors[c.Kind]
	return fmt.Sprintf(`<p:sp><p:nvSpPr><p:cNvPr id="%d" name="Callout %d"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr>%s<a:prstGeom prst="rect"><a:avLst/></a:prstGeom><a:solidFill><a:srgbClr val="%s"/></a:solidFill><a:ln w="12700"><a:solidFill><a:srgbClr val="%s"/></a:solidFill></a:ln></p:spPr>`, id, id, place(a), colors[1], colors[0]) +
		`<p:txBody><a:bodyPr wrap="square" anchor="ctr"><a:normAutofit/></a:bodyPr><a:p><a:r><a:rPr lang="en" sz="1600" b="1"><a:solidFill><a:srgbClr val="` + colors[0] + `"/></a:solidFill>` + bodyType + `</a:rPr><a:t>` + esc(d.style.labels.callouts[c.Kind]) + `: </a:t></a:r>` +
		d.runs(manuscript.Inline(c.Text), ` sz="1600"`) + `</a:p></p:txBody></p:sp>`
}

// table writes a table as high as its rows need.
func (d *deck) table(id int, t *loomv1.SpecTable, a area) string {
	g := gridOf(t, d.style.labels)
	if t.Caption != "" {
		d.lacks("pptx has the captions of tables and figures as alternative texts")
	}
	rows := len(g.Rows) + 1
	if g.total {
		rows++
	}
	points := g.points(rows, a.wide, a.high)
	heights := g.rowHeights(points, a.wide)
	if sum(heights) > a.high {
		d.lacks("pptx has a table that is higher than its slide")
	}
	left := max(min((a.high-sum(heights))/len(heights), points*pointUnits*6/5), 0) // a line at most for each
	for i := range heights {
		heights[i] += left
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="%d" name="Table %d" descr="%s"/><p:cNvGraphicFramePr><a:graphicFrameLocks noGrp="1"/></p:cNvGraphicFramePr><p:nvPr/></p:nvGraphicFramePr><p:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></p:xfrm>`,
		id, id, esc(t.Caption), a.x, a.y, a.wide, sum(heights))
	b.WriteString(`<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/table"><a:tbl><a:tblPr firstRow="1"/><a:tblGrid>`)
	for _, share := range g.weights(lettersIn(float64(a.wide)/pointUnits, float64(points))) {
		fmt.Fprintf(&b, `<a:gridCol w="%d"/>`, int(share*float64(a.wide)))
	}
	b.WriteString(`</a:tblGrid>`)
	cell := func(text, color, fill, span string, bold, right bool) {
		side := "l"
		if right {
			side = "r"
		}
		strong := ""
		if bold {
			strong = ` b="1"`
		}
		content := `<a:endParaRPr lang="en"/>`
		if text != "" {
			content = fmt.Sprintf(`<a:r><a:rPr lang="en" sz="%d"%s><a:solidFill><a:srgbClr val="%s"/></a:solidFill></a:rPr><a:t>%s</a:t></a:r>`, points*100, strong, color, esc(strings.ReplaceAll(text, "\n", " ")))
		}
		border := ""
		for _, edge := range []string{"lnL", "lnR", "lnT", "lnB"} {
			border += `<a:` + edge + ` w="6350"><a:solidFill><a:srgbClr val="C8CCD2"/></a:solidFill></a:` + edge + `>`
		}
		fmt.Fprintf(&b, `<a:tc%s><a:txBody><a:bodyPr/><a:p><a:pPr algn="%s"/>%s</a:p></a:txBody><a:tcPr marT="30480" marB="30480" anchor="ctr">%s<a:solidFill><a:srgbClr val="%s"/></a:solidFill></a:tcPr></a:tc>`, span, side, content, border, fill)
	}
	at := 0
	begin := func() {
		fmt.Fprintf(&b, `<a:tr h="%d">`, heights[at])
		at++
	}
	begin()
	for j, h := range g.Headers {
		cell(h, "FFFFFF", d.style.primary, "", true, g.right[j])
	}
	b.WriteString(`</a:tr>`)
	for i := range g.Rows {
		begin()
		for j := range g.Headers {
			cell(g.cellText(i, j), "222222", "FFFFFF", g.spanOf(i, j), false, g.right[j])
		}
		b.WriteString(`</a:tr>`)
	}
	if g.total {
		begin()
		for j := range g.Headers {
			cell(g.totalText(j), "222222", "F2F4F7", "", true, g.right[j])
		}
		b.WriteString(`</a:tr>`)
	}
	b.WriteString(`</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`)
	return b.String()
}

// cellText is a cell's text, nothing for one that is covered.
func (g *grid) cellText(i, j int) string {
	if g.under[[2]int{i, j}] {
		return ""
	}
	return g.text(i, j)
}

// spanOf is how a slide's table says that a cell goes over others, or is covered.
func (g *grid) spanOf(i, j int) string {
	rows, columns := g.span(i, j)
	span := ""
	if columns > 1 {
		span += fmt.Sprintf(` gridSpan="%d"`, columns)
	}
	if rows > 1 {
		span += fmt.Sprintf(` rowSpan="%d"`, rows)
	}
	if !g.under[[2]int{i, j}] {
		return span
	}
	for at, s := range g.spans {
		if at[0] <= i && i < at[0]+s[0] && at[1] <= j && j < at[1]+s[1] {
			if at[1] < j {
				span += ` hMerge="1"`
			}
			if at[0] < i {
				span += ` vMerge="1"`
			}
		}
	}
	return span
}

// figure writes a chart that the program draws, or a picture.
func (d *deck) figure(id int, p *picture, a area, rels *relations) (string, error) {
	if p.chart == nil {
		return d.image(id, p, a, rels), nil
	}
	const points = 12
	name, err := d.charts.add(p.chart, p.title, points)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="%d" name="Chart %d" descr="%s"/><p:cNvGraphicFramePr><a:graphicFrameLocks noGrp="1"/></p:cNvGraphicFramePr><p:nvPr/></p:nvGraphicFramePr><p:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></p:xfrm>%s</p:graphicFrame>`,
		id, id, esc(p.alt), a.x, a.y, a.wide, a.high, chartGraphic(rels.add("chart", "../"+name, false))), nil
}

// image writes a picture as large as its place lets it be.
func (d *deck) image(id int, p *picture, a area, rels *relations) string {
	if p.data == nil {
		return fmt.Sprintf(`<p:sp><p:nvSpPr><p:cNvPr id="%d" name="Figure %d"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr>%s<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr><p:txBody><a:bodyPr wrap="square"/><a:p>%s</a:p></p:txBody></p:sp>`,
			id, id, place(a), d.runs([]run{{Text: p.alt, Italic: true}}, ` sz="1600"`))
	}
	d.media++
	name := fmt.Sprintf("media/image%d.%s", d.media, p.kind)
	d.p.bytes("ppt/"+name, p.data)
	link := rels.add("image", "../"+name, false)
	wide, high := a.wide, int(int64(a.wide)*int64(p.height)/int64(p.width))
	if high > a.high {
		wide, high = int(int64(a.high)*int64(p.width)/int64(p.height)), a.high
	}
	at := area{a.x + (a.wide-wide)/2, a.y, wide, high}
	return fmt.Sprintf(`<p:pic><p:nvPicPr><p:cNvPr id="%d" name="Picture %d" descr="%s"/><p:cNvPicPr><a:picLocks noChangeAspect="1"/></p:cNvPicPr><p:nvPr/></p:nvPicPr><p:blipFill><a:blip r:embed="%s"/><a:stretch><a:fillRect/></a:stretch></p:blipFill><p:spPr>%s<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr></p:pic>`,
		id, id, esc(p.alt), link, place(at))
}

package office

import (
	"fmt"
	"slices"
	"strings"
)

// table writes a table: a header row that comes again on each page, merged cells, and
// totals as fields that compute them.
func (d *wordFile) table(x block) {
	g := x.grid
	if x.caption != "" {
		d.caption("table", d.f.style.labels.table, x)
	}
	b := &d.b
	fmt.Fprintf(b, `<w:tbl><w:tblPr><w:tblW w:w="%d" w:type="dxa"/><w:tblBorders>`, d.width)
	for _, side := range []string{"top", "left", "bottom", "right", "insideH", "insideV"} {
		fmt.Fprintf(b, `<w:%s w:val="single" w:sz="4" w:space="0" w:color="C8CCD2"/>`, side)
	}
	b.WriteString(`</w:tblBorders><w:tblLayout w:type="fixed"/><w:tblCellMar><w:top w:w="40" w:type="dxa"/><w:left w:w="100" w:type="dxa"/><w:bottom w:w="40" w:type="dxa"/><w:right w:w="100" w:type="dxa"/></w:tblCellMar><w:tblLook w:val="0060" w:firstRow="1" w:lastRow="1" w:firstColumn="0" w:lastColumn="0" w:noHBand="1" w:noVBand="1"/>`)
	if x.caption != "" {
		fmt.Fprintf(b, `<w:tblCaption w:val="%s"/>`, esc(x.caption))
	}
	b.WriteString(`</w:tblPr><w:tblGrid>`)
	widths := make([]int, len(g.Headers))
	times, textLook, totalLook := tableTimes, "TableText", "TableTotal"
	width := float64(d.width) / 20
	if g.small(width, d.f.style.size) {
		times, textLook, totalLook = smallTimes, "TableSmall", "TableSmallTotal"
	}
	room := lettersIn(width, d.f.style.size*times)
	weights := g.weights(room)
	for j, share := range weights {
		widths[j] = int(share * float64(d.width))
		fmt.Fprintf(b, `<w:gridCol w:w="%d"/>`, widths[j])
	}
	b.WriteString(`</w:tblGrid><w:tr><w:trPr><w:cantSplit/><w:tblHeader/></w:trPr>`)
	for j, h := range g.Headers {
		d.cell(widths[j], `<w:shd w:val="clear" w:color="auto" w:fill="`+d.f.style.primary+`"/><w:vAlign w:val="bottom"/>`, g.right[j], text(h, `<w:b/><w:color w:val="FFFFFF"/>`), textLook, true)
	}
	b.WriteString(`</w:tr>`)
	kept := g.kept(weights, room)
	for i := range g.Rows {
		b.WriteString(`<w:tr><w:trPr><w:cantSplit/></w:trPr>`)
		d.row(g, i, widths, textLook, kept[i])
		b.WriteString(`</w:tr>`)
	}
	if g.total {
		b.WriteString(`<w:tr><w:trPr><w:cantSplit/></w:trPr>`)
		for j := range g.Headers {
			d.cell(widths[j], `<w:shd w:val="clear" w:color="auto" w:fill="F2F4F7"/>`, g.right[j], d.total(g, j), totalLook, kept[len(g.Rows)])
		}
		b.WriteString(`</w:tr>`)
	}
	b.WriteString(`</w:tbl>`)
	d.paragraph("TableNote", "", text(g.Note, ""))
}

func (d *wordFile) cell(width int, properties string, right bool, content, look string, keep bool) {
	style := ""
	if keep {
		style = `<w:keepNext/>`
	}
	if right {
		style += `<w:jc w:val="right"/>`
	}
	fmt.Fprintf(&d.b, `<w:tc><w:tcPr><w:tcW w:w="%d" w:type="dxa"/>%s</w:tcPr><w:p><w:pPr><w:pStyle w:val="%s"/>%s</w:pPr>%s</w:p></w:tc>`, width, properties, look, style, content)
}

// row writes cells; one that goes over several rows goes on, empty, in the rows below.
func (d *wordFile) row(g *grid, i int, widths []int, look string, keep bool) {
	for j := 0; j < len(g.Headers); {
		rows, columns := g.span(i, j)
		merge, content := "", text(g.text(i, j), "")
		if rows > 1 {
			merge = `<w:vMerge w:val="restart"/>`
		}
		if g.under[[2]int{i, j}] { // only of a merge that began in a row above: others are stepped over
			_, columns = g.above(i, j)
			merge, content = `<w:vMerge/>`, ""
		}
		width := 0
		for k := j; k < j+columns; k++ {
			width += widths[k]
		}
		span := ""
		if columns > 1 {
			span = fmt.Sprintf(`<w:gridSpan w:val="%d"/>`, columns)
		}
		d.cell(width, span+merge, g.right[j] && columns == 1, content, look, keep)
		j += columns
	}
}

// above is the merge that covers a cell from a row above it.
func (g *grid) above(row, column int) (rows, columns int) {
	for at, s := range g.spans {
		if at[1] == column && at[0] < row && row < at[0]+s[0] {
			return s[0], s[1]
		}
	}
	return 1, 1
}

// total is a total as a field, where a word processor reads the column's cells as the
// numbers that they are, else as text.
func (d *wordFile) total(g *grid, j int) string {
	now := g.totalText(j)
	function, numeric := g.function(j)
	format := g.Formats[g.Headers[j]]
	if !numeric || len(g.Merges) > 0 || len(g.Rows) == 0 || !slices.Contains([]string{"", "integer", "number"}, format) {
		return text(now, "")
	}
	picture := ""
	switch format {
	case "":
		if g.commas[j] {
			picture = ` \# "#,##0.###"`
		}
	case "integer":
		picture = ` \# "#,##0"`
	case "number":
		picture = ` \# "#,##0.00"`
	}
	return field(fmt.Sprintf(`=%s(%s2:%s%d)%s`, function, letters(j), letters(j), len(g.Rows)+1, picture), now, "")
}

// styles are what paragraphs and characters look like, by name, so that people change
// them in one place.
func (d *wordFile) styles() string {
	s := d.f.style
	var b strings.Builder
	half := int(s.size * 2)
	font := func(name string) string {
		return `<w:rFonts w:ascii="` + esc(name) + `" w:hAnsi="` + esc(name) + `" w:cs="` + esc(name) + `" w:eastAsia="` + esc(name) + `"/>`
	}
	size := func(n int) string { return fmt.Sprintf(`<w:sz w:val="%d"/><w:szCs w:val="%d"/>`, n, n) }
	fmt.Fprintf(&b, xmlHead+`<w:styles %s><w:docDefaults><w:rPrDefault><w:rPr>%s%s<w:lang w:val="%s" w:eastAsia="%s"/></w:rPr></w:rPrDefault><w:pPrDefault><w:pPr><w:spacing w:after="120" w:line="264" w:lineRule="auto"/></w:pPr></w:pPrDefault></w:docDefaults>`,
		wordSpace, font(s.bodyFont), size(half), esc(s.lang), esc(s.lang))
	add := func(id, name, based, next, paragraph, look string) {
		fmt.Fprintf(&b, `<w:style w:type="paragraph" w:styleId="%s"`, id)
		if id == "Normal" {
			b.WriteString(` w:default="1"`)
		}
		fmt.Fprintf(&b, `><w:name w:val="%s"/>`, name)
		if based != "" {
			fmt.Fprintf(&b, `<w:basedOn w:val="%s"/>`, based)
		}
		if next != "" {
			fmt.Fprintf(&b, `<w:next w:val="%s"/>`, next)
		}
		fmt.Fprintf(&b, `<w:qFormat/><w:pPr>%s</w:pPr><w:rPr>%s</w:rPr></w:style>`, paragraph, look)
	}
	color := func(c string) string { return `<w:color w:val="` + c + `"/>` }
	add("Normal", "Normal", "", "", "", "")
	add("BodyText", "Body Text", "Normal", "", "", "")
	add("Title", "Title", "Normal", "Subtitle", `<w:keepNext/><w:spacing w:before="240" w:after="60" w:line="240" w:lineRule="auto"/>`, font(s.headingFont)+`<w:b/>`+color(s.primary)+size(half*5/2))
	add("Subtitle", "Subtitle", "Normal", "BodyText", `<w:spacing w:after="120"/>`, color("595959")+size(half*13/10))
	add("About", "About", "Normal", "BodyText", `<w:pBdr><w:bottom w:val="single" w:sz="6" w:space="6" w:color="`+s.primary+`"/></w:pBdr><w:spacing w:after="240"/>`, color("595959"))
	for level, times := range []int{16, 13, 12, 11, 10, 10} {
		number := ""
		if s.numbers {
			number = fmt.Sprintf(`<w:numPr><w:ilvl w:val="%d"/><w:numId w:val="2"/></w:numPr>`, level)
		}
		add(fmt.Sprintf("Heading%d", level+1), fmt.Sprintf("heading %d", level+1), "Normal", "BodyText",
			fmt.Sprintf(`<w:keepNext/><w:keepLines/>%s<w:spacing w:before="%d" w:after="80" w:line="240" w:lineRule="auto"/><w:outlineLvl w:val="%d"/>`, number, 360-level*40, level), font(s.headingFont)+`<w:b/>`+color(s.primary)+size(half*times/10))
	}
	add("TOCHeading", "TOC Heading", "Normal", "BodyText", `<w:keepNext/><w:spacing w:before="240" w:after="120"/>`, font(s.headingFont)+`<w:b/>`+color(s.primary)+size(half*14/10))
	for level := range 3 {
		add(fmt.Sprintf("TOC%d", level+1), fmt.Sprintf("toc %d", level+1), "Normal", "", fmt.Sprintf(`<w:tabs><w:tab w:val="right" w:leader="dot" w:pos="%d"/></w:tabs><w:spacing w:after="60"/><w:ind w:left="%d"/>`, d.width, level*240), "")
	}
	add("Caption", "caption", "Normal", "BodyText", `<w:spacing w:before="120" w:after="80"/>`, `<w:b/>`+color("404040")+size(half*9/10))
	add("ListBullet", "List Bullet", "Normal", "", "", "")
	add("ListNumber", "List Number", "Normal", "", "", "")
	add("Quote", "Quote", "Normal", "", `<w:pBdr><w:left w:val="single" w:sz="12" w:space="8" w:color="BFBFBF"/></w:pBdr><w:ind w:left="360" w:right="360"/>`, `<w:i/>`+color("595959"))
	add("Code", "Code", "Normal", "", `<w:keepLines/><w:shd w:val="clear" w:color="auto" w:fill="F4F4F4"/><w:spacing w:line="240" w:lineRule="auto"/>`, font("Consolas")+size(half*9/10))
	add("Callout", "Callout", "Normal", "BodyText", `<w:keepLines/><w:spacing w:before="120" w:after="160"/><w:ind w:left="160"/>`, "")
	add("Source", "Source", "Normal", "", `<w:ind w:left="360" w:hanging="360"/>`, size(half*9/10))
	add("Figure", "Figure", "Normal", "Caption", `<w:keepNext/><w:spacing w:before="160" w:after="60"/>`, "")
	add("TableText", "Table Text", "Normal", "", `<w:spacing w:after="0" w:line="240" w:lineRule="auto"/>`, size(half*9/10))
	add("TableTotal", "Table Total", "TableText", "", "", `<w:b/>`)
	add("TableSmall", "Table Small", "TableText", "", "", size(half*3/4))
	add("TableSmallTotal", "Table Small Total", "TableSmall", "", "", `<w:b/>`)
	add("TableNote", "Table Note", "Normal", "BodyText", `<w:spacing w:before="60" w:after="160"/>`, `<w:i/>`+color("595959")+size(half*8/10))
	if len(d.f.notes) > 0 {
		add("FootnoteText", "footnote text", "Normal", "", `<w:spacing w:after="0" w:line="240" w:lineRule="auto"/>`, size(half*8/10))
	}
	add("Header", "header", "Normal", "", `<w:spacing w:after="0"/>`, color("595959")+size(half*8/10))
	add("Footer", "footer", "Normal", "", `<w:spacing w:after="0"/>`, color("595959")+size(half*8/10))
	fmt.Fprintf(&b, `<w:style w:type="character" w:default="1" w:styleId="DefaultParagraphFont"><w:name w:val="Default Paragraph Font"/></w:style>`+
		`<w:style w:type="character" w:styleId="Hyperlink"><w:name w:val="Hyperlink"/><w:rPr><w:color w:val="%s"/><w:u w:val="single"/></w:rPr></w:style>`+
		`<w:style w:type="character" w:styleId="CodeChar"><w:name w:val="Code Char"/><w:rPr>%s<w:shd w:val="clear" w:color="auto" w:fill="F4F4F4"/></w:rPr></w:style></w:styles>`, s.accent, font("Consolas"))
	return strings.Replace(b.String(), "</w:styles>", d.noteStyle()+"</w:styles>", 1)
}

// numbering are the lists: bullets, headings, and a numbered list for each that begins
// with 1.
func (d *wordFile) numbering() string {
	var b strings.Builder
	b.WriteString(xmlHead + `<w:numbering ` + wordSpace + `>`)
	level := func(i int, format, text, style string, left, hanging int) {
		if style != "" {
			style = `<w:pStyle w:val="` + style + `"/>`
		}
		fmt.Fprintf(&b, `<w:lvl w:ilvl="%d"><w:start w:val="1"/><w:numFmt w:val="%s"/>%s<w:lvlText w:val="%s"/><w:lvlJc w:val="left"/><w:pPr><w:ind w:left="%d" w:hanging="%d"/></w:pPr></w:lvl>`, i, format, style, text, left, hanging)
	}
	b.WriteString(`<w:abstractNum w:abstractNumId="0"><w:multiLevelType w:val="hybridMultilevel"/>`)
	for i := range 6 {
		level(i, "bullet", []string{"•", "–", "▪"}[i%3], "", 360*(i+1), 260)
	}
	b.WriteString(`</w:abstractNum><w:abstractNum w:abstractNumId="1"><w:multiLevelType w:val="multilevel"/>`)
	places := ""
	for i := range 6 {
		places = strings.TrimPrefix(fmt.Sprintf("%s.%%%d", places, i+1), ".")
		level(i, "decimal", places, fmt.Sprintf("Heading%d", i+1), 432+i*144, 432+i*144)
	}
	b.WriteString(`</w:abstractNum><w:abstractNum w:abstractNumId="2"><w:multiLevelType w:val="multilevel"/>`)
	for i := range 6 {
		level(i, []string{"decimal", "lowerLetter", "lowerRoman"}[i%3], fmt.Sprintf("%%%d.", i+1), "", 360*(i+1), 360)
	}
	b.WriteString(`</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>`)
	for i := range d.lists {
		fmt.Fprintf(&b, `<w:num w:numId="%d"><w:abstractNumId w:val="2"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>`, 3+i)
	}
	b.WriteString(`</w:numbering>`)
	return b.String()
}

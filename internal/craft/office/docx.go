package office

import (
	"fmt"
	"strings"
)

// docx writes Office Open XML for word processors.
func (w *work) docx(f *flow) (*Result, error) {
	d := &wordFile{work: w, f: f, width: 9026, bookmark: 1, charts: nativeCharts{dir: "word", style: f.style}}
	if f.style.letter {
		d.width = 9360
	}
	for _, fixed := range [][2]string{{"styles", "styles.xml"}, {"numbering", "numbering.xml"}, {"settings", "settings.xml"}, {"footer", "footer1.xml"}, {"header", "header1.xml"}} {
		d.rels.add(fixed[0], fixed[1], false)
	}
	if len(f.notes) > 0 {
		d.rels.add("footnotes", "footnotes.xml", false)
	}
	body, err := d.body()
	if err != nil {
		return nil, err
	}
	core, app := properties(f)
	var root relations
	root.add("officeDocument", "word/document.xml", false)
	root.add("http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties", "docProps/core.xml", false)
	root.add("extended-properties", "docProps/app.xml", false)
	const wml = "application/vnd.openxmlformats-officedocument.wordprocessingml."
	types := [][2]string{
		{"/word/document.xml", wml + "document.main+xml"},
		{"/word/styles.xml", wml + "styles+xml"},
		{"/word/numbering.xml", wml + "numbering+xml"},
		{"/word/settings.xml", wml + "settings+xml"},
		{"/word/header1.xml", wml + "header+xml"},
		{"/word/footer1.xml", wml + "footer+xml"},
		{"/docProps/core.xml", "application/vnd.openxmlformats-package.core-properties+xml"},
		{"/docProps/app.xml", "application/vnd.openxmlformats-officedocument.extended-properties+xml"},
	}
	if len(f.notes) > 0 {
		types = append(types, [2]string{"/word/footnotes.xml", wml + "footnotes+xml"})
	}
	p := &parts{}
	p.add("[Content_Types].xml", "") // first, and filled at the end
	types = append(types, d.charts.pack(p)...)
	if w.Carry != nil {
		types = append(types, customType)
	}
	p.add("[Content_Types].xml", contentTypes(types))
	p.add("_rels/.rels", root.xml())
	p.add("word/document.xml", body)
	p.add("word/styles.xml", d.styles())
	p.add("word/numbering.xml", d.numbering())
	p.add("word/settings.xml", xmlHead+`<w:settings `+wordSpace+`><w:zoom w:percent="100"/><w:defaultTabStop w:val="720"/><w:characterSpacingControl w:val="doNotCompress"/>`+d.fieldSettings()+d.noteSettings()+`<w:compat><w:compatSetting w:name="compatibilityMode" w:uri="http://schemas.microsoft.com/office/word" w:val="15"/></w:compat><w:themeFontLang w:val="`+esc(f.style.lang)+`"/></w:settings>`)
	p.add("word/header1.xml", xmlHead+`<w:hdr `+wordSpace+`><w:p><w:pPr><w:pStyle w:val="Header"/></w:pPr>`+text(f.style.header, "")+`</w:p></w:hdr>`)
	p.add("word/footer1.xml", d.footer())
	d.footnotes(p)
	w.carry(p, &d.rels, "../")
	p.add("word/_rels/document.xml.rels", d.rels.xml())
	for i, m := range d.media {
		p.bytes(fmt.Sprintf("word/media/image%d.%s", i+1, m.kind), m.data)
	}
	p.add("docProps/core.xml", core)
	p.add("docProps/app.xml", app)
	data, err := p.pack()
	if err != nil {
		return nil, err
	}
	return w.result(data), nil
}

const wordSpace = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" ` +
	`xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"`

// wordFile is one docx in the making.
type wordFile struct {
	*work
	f        *flow
	rels     relations
	media    []*picture
	width    int // of the text, in twentieths of a point
	bookmark int
	charts   nativeCharts
	drawings int
	err      error
	noted    map[int]bool // footnotes that were named
	lists    int          // numbered lists, each of which begins with 1
	b        strings.Builder
}

// fieldSettings have a word processor compute the contents as it opens the file: its fonts
// have other widths than those that the pages were counted with.
func (d *wordFile) fieldSettings() string {
	if !d.f.style.contents {
		return ""
	}
	return `<w:updateFields w:val="true"/>`
}

func (d *wordFile) body() (string, error) {
	d.b.WriteString(xmlHead + `<w:document ` + wordSpace + `><w:body>`)
	d.paragraph("Title", "", text(d.f.title, ""))
	if d.f.subtitle != "" {
		d.paragraph("Subtitle", "", text(d.f.subtitle, ""))
	}
	if line := aboutLine(d.f); line != "" {
		d.paragraph("About", "", text(line, ""))
	}
	if d.f.style.contents {
		if err := d.contents(); err != nil {
			return "", err
		}
	}
	for i, x := range d.f.blocks {
		d.block(x, i)
	}
	if d.err != nil {
		return "", d.err
	}
	width, height := 11906, 16838
	if d.f.style.letter {
		width, height = 12240, 15840
	}
	fmt.Fprintf(&d.b, `<w:sectPr><w:headerReference w:type="default" r:id="rId5"/><w:footerReference w:type="default" r:id="rId4"/><w:pgSz w:w="%d" w:h="%d"/><w:pgMar w:top="1440" w:right="1440" w:bottom="1440" w:left="1440" w:header="720" w:footer="720" w:gutter="0"/></w:sectPr></w:body></w:document>`, width, height)
	return d.b.String(), nil
}

// text is a run with the properties given.
func text(s, properties string) string {
	if s == "" {
		return ""
	}
	if properties != "" {
		properties = "<w:rPr>" + properties + "</w:rPr>"
	}
	var b strings.Builder
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			b.WriteString(`<w:r>` + properties + `<w:br/></w:r>`)
		}
		if line != "" {
			b.WriteString(`<w:r>` + properties + `<w:t xml:space="preserve">` + esc(line) + `</w:t></w:r>`)
		}
	}
	return b.String()
}

// field is a value that the program computes anew, with the one that it has now.
func field(instruction, now, properties string) string {
	if properties != "" {
		properties = "<w:rPr>" + properties + "</w:rPr>"
	}
	char := func(kind string) string {
		return `<w:r>` + properties + `<w:fldChar w:fldCharType="` + kind + `"/></w:r>`
	}
	return char("begin") + `<w:r>` + properties + `<w:instrText xml:space="preserve"> ` + esc(instruction) + ` </w:instrText></w:r>` + char("separate") +
		`<w:r>` + properties + `<w:t xml:space="preserve">` + esc(now) + `</w:t></w:r>` + char("end")
}

func (d *wordFile) paragraph(style, properties, content string) {
	fmt.Fprintf(&d.b, `<w:p><w:pPr><w:pStyle w:val="%s"/>%s</w:pPr>%s</w:p>`, style, properties, content)
}

// marked puts a bookmark around content, which fields refer to.
func (d *wordFile) marked(name, content string) string {
	d.bookmark++
	return fmt.Sprintf(`<w:bookmarkStart w:id="%[1]d" w:name="%[2]s"/>%[3]s<w:bookmarkEnd w:id="%[1]d"/>`, d.bookmark, name, content)
}

func headingMark(i int) string { return fmt.Sprintf("_Toc%08d", i+1) }

// contents writes the table of contents with the pages that our own layout has: the
// program computes them anew when it is asked to.
func (d *wordFile) contents() error {
	pages, err := d.pages(d.f)
	if err != nil {
		return err
	}
	d.paragraph("TOCHeading", "", text(d.f.style.labels.contents, ""))
	var list []block
	for _, x := range d.f.blocks {
		if x.kind == "heading" {
			list = append(list, x)
		}
	}
	open := false
	for i, x := range list {
		if x.level > 3 {
			continue
		}
		begin := ""
		if !open {
			open = true
			begin = `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> TOC \o "1-3" \h \z \u </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>`
		}
		line := text(numberedText(x), "") + `<w:r><w:tab/></w:r>` + field("PAGEREF "+headingMark(i)+` \h`, fmt.Sprint(pages[i]), "")
		d.paragraph(fmt.Sprintf("TOC%d", x.level), "", begin+`<w:hyperlink w:anchor="`+headingMark(i)+`" w:history="1">`+line+`</w:hyperlink>`)
	}
	if open {
		d.b.WriteString(`<w:p><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`)
	}
	return nil
}

func (d *wordFile) footer() string {
	l := d.f.style.labels
	page := text(l.page+" ", "") + field("PAGE", "1", "") + text(" "+l.of+" ", "") + field("NUMPAGES", "1", "")
	return xmlHead + `<w:ftr ` + wordSpace + `><w:p><w:pPr><w:pStyle w:val="Footer"/><w:tabs><w:tab w:val="right" w:pos="` + fmt.Sprint(d.width) + `"/></w:tabs></w:pPr>` +
		text(d.f.style.footer, "") + `<w:r><w:tab/></w:r>` + page + `</w:p></w:ftr>`
}

func (d *wordFile) block(x block, place int) {
	switch x.kind {
	case "heading":
		i := 0
		for _, y := range d.f.blocks {
			if y.kind == "heading" && y.id == x.id && y.text == x.text {
				break
			}
			if y.kind == "heading" {
				i++
			}
		}
		content := d.marked(headingMark(i), text(x.text, ""))
		d.paragraph(fmt.Sprintf("Heading%d", x.level), "", d.marked(sectionMark(x.id), content))
	case "item":
		if x.ordered && x.first {
			d.lists++
		}
		number, style := 1, "ListBullet"
		if x.ordered {
			number, style = 2+d.lists, "ListNumber"
		}
		after := ""
		if place+1 < len(d.f.blocks) && d.f.blocks[place+1].kind == "item" {
			after = `<w:contextualSpacing/>`
		}
		d.paragraph(style, fmt.Sprintf(`<w:numPr><w:ilvl w:val="%d"/><w:numId w:val="%d"/></w:numPr>%s`, min(x.level, 5), number, after), d.runs(x.runs))
	case "code":
		d.paragraph("Code", "", text(x.runs[0].Text, ""))
	case "quote":
		d.paragraph("Quote", "", d.runs(x.runs))
	case "source":
		d.paragraph("Source", "", d.runs(x.runs))
	case "callout":
		c := calloutColors[x.callout]
		d.paragraph("Callout", fmt.Sprintf(`<w:pBdr><w:left w:val="single" w:sz="24" w:space="8" w:color="%s"/></w:pBdr><w:shd w:val="clear" w:color="auto" w:fill="%s"/>`, c[0], c[1]),
			text(d.f.style.labels.callouts[x.callout]+": ", `<w:b/><w:color w:val="`+c[0]+`"/>`)+d.runs(x.runs))
	case "table":
		d.table(x)
	case "figure":
		d.figure(x)
	default:
		keep := ""
		if d.f.leads(place) {
			keep = `<w:keepNext/>`
		}
		d.paragraph("BodyText", keep, d.runs(x.runs))
	}
}

// sectionMark is a bookmark's name, which has letters, digits and _ alone, 40 at most.
func sectionMark(id string) string {
	name := strings.Map(func(r rune) rune {
		if r < 128 && (r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '_'
	}, id)
	return "s_" + name[:min(len(name), 38)]
}

// runs writes text with its looks, links and cross references.
func (d *wordFile) runs(runs []run) string {
	var b strings.Builder
	for _, r := range runs {
		if r.Break {
			b.WriteString(`<w:r><w:br/></w:r>`)
			continue
		}
		if r.Note > 0 {
			b.WriteString(d.noteRef(r.Note))
			continue
		}
		look := ""
		if r.Code {
			look += `<w:rStyle w:val="CodeChar"/>`
		}
		if r.Link != "" {
			look += `<w:rStyle w:val="Hyperlink"/>`
		}
		if r.Bold {
			look += `<w:b/>`
		}
		if r.Italic {
			look += `<w:i/>`
		}
		switch {
		case strings.HasPrefix(r.Link, "#"):
			b.WriteString(`<w:hyperlink w:anchor="` + sectionMark(r.Link[1:]) + `" w:history="1">` + text(r.Text, look) + `</w:hyperlink>`)
		case r.Link != "":
			b.WriteString(`<w:hyperlink r:id="` + d.rels.add("hyperlink", r.Link, true) + `" w:history="1">` + text(r.Text, look) + `</w:hyperlink>`)
		case r.Code:
			b.WriteString(text(r.Text, look))
		default:
			for _, p := range d.f.pieces(r.Text) {
				if p.kind == "" {
					b.WriteString(text(p.text, look))
				} else {
					b.WriteString(field(fmt.Sprintf(`REF %s%d \h`, p.kind, p.n), p.text, look))
				}
			}
		}
	}
	return b.String()
}

func (d *wordFile) caption(kind, label string, x block) {
	name := field(`SEQ `+label+` \* ARABIC`, fmt.Sprint(x.count), "")
	next := ""
	if kind == "table" {
		next = `<w:keepNext/>`
	}
	d.paragraph("Caption", next, d.marked(fmt.Sprintf("%s%d", kind, x.count), text(label+" ", "")+name)+text(": "+x.caption, ""))
}

func (d *wordFile) figure(x block) {
	p := x.picture
	const perPixel, tallest = 9525, 4 * 914400
	wide, high := p.width*perPixel, p.height*perPixel
	if most := d.width * 635; wide > most {
		wide, high = most, int(int64(high)*int64(most)/int64(wide))
	}
	if high > tallest {
		wide, high = int(int64(wide)*tallest/int64(high)), tallest
	}
	alt := esc(first(p.alt, x.caption))
	switch {
	case p.chart != nil:
		const points = 10
		name, err := d.charts.add(p.chart, "", points) // the caption stands below it
		if err != nil {
			d.err = err
			return
		}
		d.inline("Chart", alt, wide, high, chartGraphic(d.rels.add("chart", name, false)))
	case p.data == nil:
		d.paragraph("BodyText", "", text(first(p.alt, x.caption), "<w:i/>"))
	default:
		d.media = append(d.media, p)
		n := len(d.media)
		id := d.rels.add("image", fmt.Sprintf("media/image%d.%s", n, p.kind), false)
		d.inline("Picture", alt, wide, high, fmt.Sprintf(`<a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:pic><pic:nvPicPr><pic:cNvPr id="%[3]d" name="Picture %[3]d" descr="%[4]s"/><pic:cNvPicPr/></pic:nvPicPr>`+
			`<pic:blipFill><a:blip r:embed="%[5]s"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="%[1]d" cy="%[2]d"/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></pic:spPr></pic:pic></a:graphicData></a:graphic>`,
			wide, high, n, alt, id))
	}
	if x.caption != "" {
		d.caption("figure", d.f.style.labels.figure, x)
	}
}

// inline writes a drawing as a paragraph of its own; alt is escaped.
func (d *wordFile) inline(kind, alt string, wide, high int, graphic string) {
	d.drawings++
	d.paragraph("Figure", `<w:keepNext/>`, fmt.Sprintf(`<w:r><w:drawing><wp:inline distT="0" distB="0" distL="0" distR="0"><wp:extent cx="%[1]d" cy="%[2]d"/><wp:docPr id="%[3]d" name="%[4]s %[3]d" descr="%[5]s"/>%[6]s</wp:inline></w:drawing></w:r>`,
		wide, high, d.drawings, kind, alt, graphic))
}

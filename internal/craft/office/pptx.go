package office

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/craft/manuscript"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The slide, in English Metric Units (914,400 an inch): 16 to 9.
const (
	slideWide  = 12192000
	slideHigh  = 6858000
	slideEdge  = 609600
	slideTop   = 1463040
	slideEnd   = 6217920
	inner      = slideWide - 2*slideEdge
	slideGap   = 304800
	mostRows   = 11 // of a table on a slide
	pointUnits = 12700
)

// mostOnSlide is how many characters of a text stand on a slide, where it has several
// paragraphs.
const mostOnSlide = 700

// deckOf makes slides of a text: a slide a section with its lists and table, or else its
// paragraphs, on several slides where they are long. The paragraphs beside lists and
// tables are what the speaker says, which is told.
func (w *work) deckOf(d *loomv1.DocumentSpec) *loomv1.PresentationSpec {
	d, footnotes := withoutFootnotes(d)
	p := &loomv1.PresentationSpec{Version: "0.1", Title: d.Title, Subtitle: d.Subtitle, Metadata: d.Metadata, Figures: d.Figures, Styles: d.Styles}
	for i, s := range d.Sections {
		x := &loomv1.Slide{Id: s.Id, OutlineId: s.OutlineId, Heading: s.Heading, Bullets: slices.Clone(s.Bullets), Table: s.Table, Callouts: s.Callouts}
		for i, step := range s.Steps {
			x.Bullets = append(x.Bullets, fmt.Sprintf("%d. %s", i+1, step))
		}
		p.Slides = append(p.Slides, x)
		if len(x.Bullets) > 0 || s.Table != nil {
			x.Notes = strings.TrimSpace(s.Body + footnotes[i])
			if strings.TrimSpace(s.Body) != "" {
				w.lacks("pptx has paragraphs that stand beside a list or a table with what the speaker says")
			}
			continue
		}
		bodies := onSlides(s.Body)
		x.Body, x.Notes = bodies[0], strings.TrimSpace(footnotes[i])
		for n, body := range bodies[1:] {
			p.Slides = append(p.Slides, &loomv1.Slide{Id: fmt.Sprintf("%s/%d", s.Id, n+2), OutlineId: s.OutlineId, Heading: fmt.Sprintf("%s (%d)", s.Heading, n+2), Body: body})
		}
	}
	return p
}

// onSlides cuts a body between paragraphs into what slides have room for.
func onSlides(body string) []string {
	list := []string{""}
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(body), "\r\n", "\n"), "\n\n") {
		last := &list[len(list)-1]
		inCode := strings.Count(*last, "```")%2 == 1
		if *last != "" && !inCode && len([]rune(*last))+len([]rune(paragraph)) > mostOnSlide {
			list = append(list, paragraph)
			continue
		}
		*last = strings.TrimPrefix(*last+"\n\n"+paragraph, "\n\n")
	}
	return list
}

// pptx writes Office Open XML for presentations.
func (w *work) pptx(s *loomv1.PresentationSpec) (*Result, error) {
	d := &deck{work: w, spec: s, style: w.styleOf(s.Styles, s.Metadata), p: &parts{}}
	d.charts = nativeCharts{dir: "ppt", style: d.style}
	core, app := properties(&flow{title: s.Title, subtitle: s.Subtitle, meta: s.Metadata, style: d.style})
	d.p.add("[Content_Types].xml", "") // first, and filled at the end
	var root relations
	root.add("officeDocument", "ppt/presentation.xml", false)
	root.add("http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties", "docProps/core.xml", false)
	root.add("extended-properties", "docProps/app.xml", false)
	d.p.add("_rels/.rels", root.xml())
	d.main.add("slideMaster", "slideMasters/slideMaster1.xml", false)
	d.main.add("notesMaster", "notesMasters/notesMaster1.xml", false)
	d.main.add("theme", "theme/theme1.xml", false)
	if err := d.slides(); err != nil {
		return nil, err
	}
	d.masters()
	const pml = "application/vnd.openxmlformats-officedocument.presentationml."
	types := [][2]string{
		{"/ppt/presentation.xml", pml + "presentation.main+xml"},
		{"/ppt/slideMasters/slideMaster1.xml", pml + "slideMaster+xml"},
		{"/ppt/notesMasters/notesMaster1.xml", pml + "notesMaster+xml"},
		{"/ppt/theme/theme1.xml", "application/vnd.openxmlformats-officedocument.theme+xml"},
		{"/ppt/theme/theme2.xml", "application/vnd.openxmlformats-officedocument.theme+xml"},
		{"/docProps/core.xml", "application/vnd.openxmlformats-package.core-properties+xml"},
		{"/docProps/app.xml", "application/vnd.openxmlformats-officedocument.extended-properties+xml"},
	}
	for i := range layouts {
		types = append(types, [2]string{fmt.Sprintf("/ppt/slideLayouts/slideLayout%d.xml", i+1), pml + "slideLayout+xml"})
	}
	ids := ""
	for i := 1; i <= d.count; i++ {
		types = append(types, [2]string{fmt.Sprintf("/ppt/slides/slide%d.xml", i), pml + "slide+xml"})
		if d.notes[i] {
			types = append(types, [2]string{fmt.Sprintf("/ppt/notesSlides/notesSlide%d.xml", i), pml + "notesSlide+xml"})
		}
		ids += fmt.Sprintf(`<p:sldId id="%d" r:id="rId%d"/>`, 255+i, 3+i)
	}
	types = append(types, d.charts.pack(d.p)...)
	if w.Carry != nil {
		types = append(types, customType)
	}
	d.p.add("ppt/presentation.xml", xmlHead+`<p:presentation `+slideSpace+` saveSubsetFonts="1"><p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="rId1"/></p:sldMasterIdLst><p:notesMasterIdLst><p:notesMasterId r:id="rId2"/></p:notesMasterIdLst><p:sldIdLst>`+ids+
		fmt.Sprintf(`</p:sldIdLst><p:sldSz cx="%d" cy="%d"/><p:notesSz cx="%d" cy="%d"/></p:presentation>`, slideWide, slideHigh, slideHigh, 9144000))
	w.carry(d.p, &d.main, "../")
	d.p.add("ppt/_rels/presentation.xml.rels", d.main.xml())
	d.p.add("docProps/core.xml", core)
	d.p.add("docProps/app.xml", app)
	d.p.add("[Content_Types].xml", contentTypes(types))
	data, err := d.p.pack()
	if err != nil {
		return nil, err
	}
	return w.result(data), nil
}

const slideSpace = `xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"`

// deck is one pptx in the making.
type deck struct {
	*work
	spec  *loomv1.PresentationSpec
	style style
	p     *parts
	main  relations
	count int
	media int
	notes map[int]bool

	charts nativeCharts
}

func (d *deck) slides() error {
	d.notes = map[int]bool{}
	d.slide(1, titleShape("ctrTitle", d.spec.Title)+d.placeholder("subTitle", 1, [][]run{{{Text: d.spec.Subtitle}}, {{Text: aboutLine(&flow{meta: d.spec.Metadata})}}}, false, 0), nil, "")
	for _, s := range d.spec.Slides {
		pictures, err := d.pictures(s)
		if err != nil {
			return err
		}
		list := split(s)
		own := len(list) > 1 || s.Table != nil && (len(s.Table.Headers) > 4 || len(s.Bullets)+len(s.Body) > 0)
		for i, part := range list {
			beside := pictures
			if i > 0 || own {
				beside = nil
			}
			if err := d.content(part, beside); err != nil {
				return err
			}
		}
		if own && len(pictures) > 0 { // there is no room for them beside the rest
			if err := d.content(&loomv1.Slide{Id: s.Id, Heading: fmt.Sprintf("%s (%d)", s.Heading, len(list)+1)}, pictures); err != nil {
				return err
			}
		}
	}
	return nil
}

// split makes several slides of one that has more than one can show: a long table,
// many callouts.
func split(s *loomv1.Slide) (list []*loomv1.Slide) {
	const beside, alone = 2, 6 // callouts
	rest := s.Callouts[min(beside, len(s.Callouts)):]
	if len(rest) > 0 {
		s = proto.CloneOf(s)
		s.Callouts = s.Callouts[:beside]
	}
	list = splitTable(s)
	for len(rest) > 0 {
		n := min(alone, len(rest))
		list = append(list, &loomv1.Slide{Id: s.Id, Heading: fmt.Sprintf("%s (%d)", s.Heading, len(list)+1), Callouts: rest[:n]})
		rest = rest[n:]
	}
	return list
}

// area is a part of a slide.
type area struct{ x, y, wide, high int }

// pictures are those of the figures that stand on a slide.
func (d *deck) pictures(s *loomv1.Slide) (list []*picture, err error) {
	for _, f := range d.spec.Figures {
		if f.Section != s.Id {
			continue
		}
		if f.Chart != nil { // its program draws it
			if err := soundChart(f); err != nil {
				return nil, err
			}
			list = append(list, &picture{chart: f.Chart, alt: first(f.Alt, f.Caption), title: f.Caption})
			continue
		}
		p, err := d.picture(f, d.style)
		if err != nil {
			return nil, err
		}
		p.alt = first(p.alt, f.Caption)
		list = append(list, p)
	}
	return list, nil
}

// content makes a slide: text, right column, table and pictures side by side, callouts
// below them.
func (d *deck) content(s *loomv1.Slide, pictures []*picture) error {
	text := [][]run{}
	for _, b := range manuscript.Blocks(s.Body) {
		text = append(text, b.Runs)
	}
	plain := len(text)
	for _, b := range s.Bullets {
		text = append(text, bullet(b))
	}
	if s.Layout == "section" {
		d.slide(3, titleShape("title", s.Heading)+d.placeholder("body", 1, text, false, 0), nil, s.Notes)
		return nil
	}
	rest := area{slideEdge, slideTop, inner, slideEnd - slideTop}
	shapes := titleShape("title", s.Heading)
	id := 10
	for i := len(s.Callouts) - 1; i >= 0; i-- {
		high := calloutHigh(s.Callouts[i])
		rest.high -= high + slideGap/3
		shapes += d.callout(id, s.Callouts[i], area{rest.x, rest.y + rest.high + slideGap/3, rest.wide, high})
		id++
	}
	var rels relations
	columns := 0
	for _, there := range []bool{len(text) > 0, len(s.Right) > 0, s.Table != nil, len(pictures) > 0} {
		if there {
			columns++
		}
	}
	wide := rest.wide
	if columns > 1 {
		wide = (rest.wide - (columns-1)*slideGap) / columns
	}
	at := rest.x
	next := func() area {
		a := area{at, rest.y, wide, rest.high}
		at += wide + slideGap
		return a
	}
	layout := 2
	if len(text) > 0 {
		shapes += d.textShape(1, text, plain, next())
	}
	if len(s.Right) > 0 {
		layout = 4
		right := [][]run{}
		for _, b := range s.Right {
			right = append(right, bullet(b))
		}
		shapes += d.textShape(2, right, 0, next())
	}
	if s.Table != nil {
		shapes += d.table(id, s.Table, next())
		id++
	}
	if len(pictures) > 0 {
		a := next()
		each := a.high / len(pictures)
		for i, p := range pictures {
			shape, err := d.figure(id, p, area{a.x, a.y + i*each, a.wide, each - slideGap/3}, &rels)
			if err != nil {
				return err
			}
			shapes += shape
			id++
		}
	}
	d.slide(layout, shapes, &rels, s.Notes)
	return nil
}

// slide adds a slide with shapes, and notes if there are any.
func (d *deck) slide(layout int, shapes string, rels *relations, notes string) {
	d.count++
	n := d.count
	if rels == nil {
		rels = &relations{}
	}
	d.main.add("slide", fmt.Sprintf("slides/slide%d.xml", n), false)
	rels.add("slideLayout", fmt.Sprintf("../slideLayouts/slideLayout%d.xml", layout), false)
	footer := ""
	if n > 1 {
		if d.style.footer != "" {
			footer = `<p:sp><p:nvSpPr><p:cNvPr id="90" name="Footer"/><p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr><p:ph type="ftr" sz="quarter" idx="11"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:pPr algn="l"/><a:r><a:rPr lang="` + esc(d.style.lang) + `" sz="1100"><a:solidFill><a:srgbClr val="595959"/></a:solidFill><a:latin typeface="+mn-lt"/></a:rPr><a:t>` + esc(d.style.footer) + `</a:t></a:r></a:p></p:txBody></p:sp>`
		}
		footer += fmt.Sprintf(`<p:sp><p:nvSpPr><p:cNvPr id="91" name="Slide Number"/><p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr><p:ph type="sldNum" sz="quarter" idx="12"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:fld id="{B6F15528-21DE-4FAA-801E-634DDDAF4B2B}" type="slidenum"><a:rPr lang="en"/><a:t>%d</a:t></a:fld></a:p></p:txBody></p:sp>`, n)
	}
	if strings.TrimSpace(notes) != "" {
		d.notes[n] = true
		rels.add("notesSlide", fmt.Sprintf("../notesSlides/notesSlide%d.xml", n), false)
		d.speak(n, notes)
	}
	d.p.add(fmt.Sprintf("ppt/slides/slide%d.xml", n), xmlHead+`<p:sld `+slideSpace+`><p:cSld><p:spTree>`+groupHead+d.language(shapes+footer)+`</p:spTree></p:cSld><p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:sld>`)
	d.p.add(fmt.Sprintf("ppt/slides/_rels/slide%d.xml.rels", n), rels.xml())
}

// language marks the runs with the deck's language.
func (d *deck) language(shapes string) string {
	return strings.ReplaceAll(shapes, `<a:rPr lang="en"`, `<a:rPr lang="`+esc(d.style.lang)+`"`)
}

const groupHead = `<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="0" cy="0"/><a:chOff x="0" y="0"/><a:chExt cx="0" cy="0"/></a:xfrm></p:grpSpPr>`

// speak adds what the speaker says.
func (d *deck) speak(n int, notes string) {
	var body strings.Builder
	for _, b := range manuscript.Blocks(notes) {
		body.WriteString(`<a:p>` + d.runs(b.Runs, "") + `</a:p>`)
	}
	var rels relations
	rels.add("notesMaster", "../notesMasters/notesMaster1.xml", false)
	rels.add("slide", fmt.Sprintf("../slides/slide%d.xml", n), false)
	d.p.add(fmt.Sprintf("ppt/notesSlides/_rels/notesSlide%d.xml.rels", n), rels.xml())
	d.p.add(fmt.Sprintf("ppt/notesSlides/notesSlide%d.xml", n), xmlHead+`<p:notes `+slideSpace+`><p:cSld><p:spTree>`+groupHead+
		`<p:sp><p:nvSpPr><p:cNvPr id="2" name="Slide"/><p:cNvSpPr><a:spLocks noGrp="1" noRot="1" noChangeAspect="1"/></p:cNvSpPr><p:nvPr><p:ph type="sldImg"/></p:nvPr></p:nvSpPr><p:spPr/></p:sp>`+
		`<p:sp><p:nvSpPr><p:cNvPr id="3" name="Notes"/><p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr><p:ph type="body" idx="1"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>`+d.language(body.String())+`</p:txBody></p:sp>`+
		`</p:spTree></p:cSld><p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:notes>`)
}

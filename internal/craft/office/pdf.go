package office

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gobolditalic"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"google.golang.org/protobuf/proto"
)

// pdf writes pages. They are laid out twice: once to know which page each heading is
// on, and once with that in the table of contents.
func (w *work) pdf(f *flow) (*Result, error) {
	first, err := w.layout(f, nil, 0)
	if err != nil {
		return nil, err
	}
	l, err := w.layout(f, first.headings, first.PageCount())
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := l.Output(&b); err != nil {
		return nil, fmt.Errorf("pdf: %w", err)
	}
	if f.style.bodyFont != "Go" || f.style.headingFont != "Go" {
		w.lacks("pdf has the font Go, which may be shipped, in the place of " + strings.Join(slices.Compact([]string{f.style.headingFont, f.style.bodyFont}), " and "))
	}
	for _, x := range f.blocks {
		if x.kind == "figure" && x.picture.data != nil {
			w.lacks("pdf has no tags, and so no alternative texts for pictures")
		}
	}
	if missing := l.missing(); missing != "" {
		w.lacks("the font of pdf lacks the characters " + missing)
	}
	return w.result(b.Bytes()), nil
}

// pages are the pages that the headings are on.
func (w *work) pages(f *flow) ([]int, error) {
	quiet := &work{Options: w.Options}
	first, err := quiet.layout(f, nil, 0)
	if err != nil {
		return nil, err
	}
	return first.headings, nil
}

// Pages is how many pages a spec takes, by the layout of our pdf; that of a word processor
// may have one more or less in ten. Errors are those of [Render].
func Pages(spec proto.Message, o Options) (int, error) {
	w := &work{Options: o}
	f, err := w.flow(spec)
	if err != nil {
		return 0, err
	}
	l, err := w.layout(f, nil, 0)
	if err != nil {
		return 0, err
	}
	return l.PageCount(), nil
}

// The page, in points.
const (
	margin  = 72
	a4Wide  = 595.28
	a4High  = 841.89
	usWide  = 612
	usHigh  = 792
	leading = 1.35
)

// pdfPages is a document on pages. The upper left corner is 0, 0.
type pdfPages struct {
	*fpdf.Fpdf
	f        *flow
	left     float64
	width    float64
	bottom   float64 // of what text may take on this page
	end      float64 // of the page, without footnotes
	notes    pageNotes
	y        float64
	size     float64
	headings []int          // page of each heading
	links    map[string]int // of sections, tables and figures
	used     map[rune]bool
	family   string
	style    string
	points   float64
}

func (w *work) layout(f *flow, pages []int, count int) (*pdfPages, error) {
	wide, high := a4Wide, a4High
	if f.style.letter {
		wide, high = usWide, usHigh
	}
	l := &pdfPages{
		Fpdf: fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: wide, Ht: high}}),
		f:    f, left: margin, width: wide - 2*margin, bottom: high - margin, size: f.style.size, links: map[string]int{}, used: map[rune]bool{},
	}
	l.end = l.bottom
	l.SetCatalogSort(true)
	stamp := day
	if t, err := time.Parse(time.DateOnly, f.meta.GetDate()); err == nil {
		stamp = t
	}
	l.SetCreationDate(stamp)
	l.SetModificationDate(stamp)
	l.SetTitle(l.plane(f.title), true)
	l.SetSubject(l.plane(first(f.meta.GetSubject(), f.subtitle)), true)
	l.SetAuthor(l.plane(f.meta.GetAuthor()), true)
	l.SetKeywords(l.plane(strings.Join(f.meta.GetKeywords(), ", ")), true)
	l.SetCreator("Loom", true)
	l.SetProducer("Loom", true)
	l.SetLang(f.style.lang)
	for _, font := range []struct {
		style string
		data  []byte
	}{{"", goregular.TTF}, {"B", gobold.TTF}, {"I", goitalic.TTF}, {"BI", gobolditalic.TTF}} { // their order is that of the file
		l.AddUTF8FontFromBytes("Go", font.style, slices.Clone(font.data)) // the library writes into what it is given
	}
	l.AddUTF8FontFromBytes("GoMono", "", slices.Clone(gomono.TTF))
	l.SetMargins(0, 0, 0)
	l.SetCellMargin(0)
	l.SetAutoPageBreak(false, 0)
	l.SetHeaderFunc(l.header)
	l.SetFooterFunc(func() { l.footer(high, count) })
	for _, x := range f.blocks {
		if x.kind == "heading" {
			l.links["#"+x.id] = l.AddLink()
		}
	}
	for i := range f.tables {
		l.links[fmt.Sprint("table", i+1)] = l.AddLink()
	}
	for i := range f.figures {
		l.links[fmt.Sprint("figure", i+1)] = l.AddLink()
	}
	l.newPage()
	l.titles(pages)
	for i, x := range f.blocks {
		l.block(x, i)
		if l.Err() {
			break
		}
	}
	for l.drawNotes(); len(l.notes.waiting) > 0 && !l.Err(); l.drawNotes() {
		l.newPage()
	}
	if err := l.Error(); err != nil {
		return nil, fmt.Errorf("pdf: %w", err)
	}
	return l, nil
}

func (l *pdfPages) newPage() {
	l.drawNotes()
	l.AddPage()
	l.y = margin
	l.family = "" // a page begins with no font
	l.placeNotes()
}

// room begins a page if there is less than this left on it.
func (l *pdfPages) room(high float64) {
	if l.y+high > l.bottom && l.y > margin {
		l.newPage()
	}
}

func (l *pdfPages) font(family, style string, points float64) {
	if l.family != family || l.style != style || l.points != points {
		l.SetFont(family, style, points)
		l.family, l.style, l.points = family, style, points
	}
}

func (l *pdfPages) color(hex string) { l.SetTextColor(rgb(hex)) }

func rgb(hex string) (r, g, b int) {
	n, _ := strconv.ParseUint(hex, 16, 32) // checked where it was read
	return int(n >> 16), int(n >> 8 & 255), int(n & 255)
}

// put writes a text with its base line at y.
func (l *pdfPages) put(x, y float64, s string) {
	l.Text(x, y, l.plane(s))
}

// plane notes the characters of a text and replaces those beyond the first plane of
// Unicode, on which the library breaks down.
func (l *pdfPages) plane(s string) string {
	return strings.Map(func(r rune) rune {
		if l.used[r] = true; r > 0xFFFF {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// wide is how wide a text is.
func (l *pdfPages) wide(s string) float64 { return l.GetStringWidth(l.plane(s)) }

func (l *pdfPages) header() {
	l.family = ""
	if l.f.style.header == "" {
		return
	}
	l.font("Go", "", l.size*0.8)
	l.color("595959")
	l.put(l.left, margin*0.6, l.f.style.header)
}

func (l *pdfPages) footer(high float64, count int) {
	l.family = ""
	l.font("Go", "", l.size*0.8)
	l.color("595959")
	y := high - margin*0.5
	if l.f.style.footer != "" {
		l.put(l.left, y, l.f.style.footer)
	}
	s := fmt.Sprintf("%s %d", l.f.style.labels.page, l.PageNo())
	if count > 0 {
		s = fmt.Sprintf("%s %s %d", s, l.f.style.labels.of, count)
	}
	l.put(l.left+l.width-l.wide(s), y, s)
}

func (l *pdfPages) titles(pages []int) {
	l.y += l.size
	l.text(run{Text: l.f.title, Bold: true}, 2.2, l.f.style.primary, 0)
	if l.f.subtitle != "" {
		l.text(run{Text: l.f.subtitle}, 1.25, "595959", 0)
	}
	if line := aboutLine(l.f); line != "" {
		l.text(run{Text: line}, 1, "595959", 0)
	}
	r, g, b := rgb(l.f.style.primary)
	l.SetDrawColor(r, g, b)
	l.SetLineWidth(1)
	l.Line(l.left, l.y, l.left+l.width, l.y)
	l.y += l.size * 1.5
	if !l.f.style.contents {
		return
	}
	l.text(run{Text: l.f.style.labels.contents, Bold: true}, 1.3, l.f.style.primary, 0)
	i := 0
	for _, x := range l.f.blocks {
		if x.kind != "heading" {
			continue
		}
		page := 0
		if i < len(pages) {
			page = pages[i]
		}
		i++
		if x.level <= 3 {
			l.entry(x, page)
		}
	}
	l.y += l.size
}

// entry is a line of the table of contents.
func (l *pdfPages) entry(x block, page int) {
	high := l.size * leading
	l.room(high)
	l.font("Go", "", l.size)
	l.color("222222")
	indent := float64(x.level-1) * l.size * 1.4
	y := l.y + l.size
	number := strconv.Itoa(page)
	end := l.left + l.width - l.wide("0000")
	name := numberedText(x)
	for l.left+indent+l.wide(name) > end-20 && len(name) > 4 {
		r := []rune(strings.TrimSuffix(name, "..."))
		name = string(r[:len(r)-1]) + "..."
	}
	l.put(l.left+indent, y, name)
	if page > 0 {
		l.put(l.left+l.width-l.wide(number), y, number)
	}
	dot := l.wide(" .")
	from := l.left + indent + l.wide(name) + 4
	if n := int((end - from) / dot); n > 0 {
		l.color("999999")
		l.put(end-float64(n)*dot, y, strings.Repeat(" .", n))
	}
	l.Link(l.left, l.y, l.width, high, l.links["#"+x.id])
	l.y += high
}

func (l *pdfPages) text(r run, times float64, color string, indent float64) {
	l.flow([]run{r}, l.size*times, color, l.left+indent, l.width-indent)
	l.y += l.size * 0.45
}

func (l *pdfPages) block(x block, i int) {
	switch x.kind {
	case "heading":
		times := headingTimes[x.level-1]
		l.y += l.size * 0.9
		l.room(l.least(i) - l.size*0.9)
		l.headings = append(l.headings, l.PageNo())
		l.Bookmark(l.plane(numberedText(x)), x.level-1, l.y)
		l.SetLink(l.links["#"+x.id], l.y, -1)
		l.text(run{Text: numberedText(x), Bold: true}, times, l.f.style.primary, 0)
	case "item":
		l.item(x)
		if i+1 == len(l.f.blocks) || l.f.blocks[i+1].kind != "item" {
			l.y += l.size * 0.4
		}
	case "code":
		l.code(x.runs[0].Text)
	case "quote":
		l.ruled(x.runs, "BFBFBF", "")
	case "callout":
		c := calloutColors[x.callout]
		l.ruled(append([]run{{Text: l.f.style.labels.callouts[x.callout] + ": ", Bold: true}}, x.runs...), c[0], c[1])
	case "table":
		l.table(x)
	case "figure":
		l.figure(x)
	case "source":
		l.flow(x.runs, l.size*0.9, "222222", l.left, l.width)
		l.y += l.size * 0.2
	default:
		if l.f.leads(i) {
			l.room(l.least(i))
		}
		l.flow(x.runs, l.size, "222222", l.left, l.width)
		l.y += l.size * 0.55
	}
}

func (l *pdfPages) item(x block) {
	indent := l.size * 1.5 * float64(x.level+1)
	mark := []string{"•", "–", "•"}[x.level%3]
	if x.ordered {
		mark = fmt.Sprintf("%d.", x.place)
	}
	lines := l.wrap(x.runs, l.size, l.width-indent)
	l.room(l.size*leading*float64(together(0, len(lines))) + l.noteRoom(lines[:1])) // the mark stands beside its text
	l.font("Go", "", l.size)
	l.color("222222")
	l.put(l.left+indent-l.size*1.1, l.y+l.size, mark)
	l.lines(lines, l.size, "222222", l.left+indent)
	l.y += l.size * 0.15
}

func (l *pdfPages) code(s string) {
	size := l.size * codeTimes
	l.room(l.codeHigh(s))
	for line := range strings.SplitSeq(s, "\n") {
		for _, part := range l.codeLines(strings.ReplaceAll(line, "\t", "    "), size) {
			l.room(size * leading)
			l.SetFillColor(244, 244, 244)
			l.Rect(l.left, l.y, l.width, size*leading, "F")
			l.font("GoMono", "", size)
			l.color("222222")
			l.put(l.left+6, l.y+size, part)
			l.y += size * leading
		}
	}
	l.y += l.size * 0.6
}

// codeLines cuts a line of code into what the page is wide enough for. All of its letters
// have one width.
func (l *pdfPages) codeLines(line string, size float64) (parts []string) {
	l.font("GoMono", "", size)
	most := max(int((l.width-12)/l.GetStringWidth("m")), 1)
	letters := []rune(line)
	for len(letters) > most {
		parts, letters = append(parts, string(letters[:most])), letters[most:]
	}
	return append(parts, string(letters))
}

// ruled is text with a line at its left, on a ground if one is given. One that is
// longer than a page goes on without the ground.
func (l *pdfPages) ruled(runs []run, border, ground string) {
	pad := l.size * 0.6
	lines := l.wrap(runs, l.size, l.width-3*pad-4)
	high := float64(len(lines))*l.size*leading + pad + l.noteRoom(lines)
	l.y += l.size * 0.3
	l.room(high)
	whole := l.y+high <= l.bottom
	high -= l.noteRoom(lines)
	if whole && ground != "" {
		l.SetFillColor(rgb(ground))
		l.Rect(l.left, l.y, l.width, high, "F")
	}
	if whole {
		l.SetFillColor(rgb(border))
		l.Rect(l.left, l.y, 3, high, "F")
	}
	l.y += pad / 2
	l.lines(lines, l.size, "222222", l.left+3+pad*1.5)
	l.y += pad/2 + l.size*0.7
}

func (l *pdfPages) figure(x block) {
	p := x.picture
	if p.data == nil {
		l.text(run{Text: first(p.alt, x.caption), Italic: true}, 1, "595959", 0)
	} else {
		wide, high := l.pictureSize(p)
		l.y += l.size * 0.5
		l.room(high + 3*l.size)
		name := hashName(p.data)
		kind := map[string]string{"png": "PNG", "jpeg": "JPG"}[p.kind]
		l.RegisterImageOptionsReader(name, fpdf.ImageOptions{ImageType: kind}, bytes.NewReader(p.data))
		l.ImageOptions(name, l.left, l.y, wide, high, false, fpdf.ImageOptions{ImageType: kind}, 0, "")
		l.y += high + l.size*0.5
	}
	if x.caption != "" {
		l.SetLink(l.links[fmt.Sprint("figure", x.count)], l.y, -1)
		l.text(run{Text: caption(l.f.style.labels.figure, x.count, x.caption), Bold: true}, 0.9, "404040", 0)
	}
}

// missing are characters of the text that the font does not have.
func (l *pdfPages) missing() string {
	font, err := sfnt.Parse(goregular.TTF)
	if err != nil {
		return ""
	}
	var buffer sfnt.Buffer
	var list []rune
	for r := range l.used {
		if i, err := font.GlyphIndex(&buffer, r); r >= ' ' && (err != nil || i == 0) {
			list = append(list, r)
		}
	}
	slices.Sort(list)
	const most = 20
	if len(list) > most {
		return string(list[:most]) + fmt.Sprintf(" and %d more", len(list)-most)
	}
	return string(list)
}

package foreign

import (
	"math"
	"strings"
	"unicode"
)

const (
	maxForms = 12      // forms that are drawn within each other
	maxSaved = 100     // states that are kept
	maxRuns  = 300_000 // pieces of text of a page
	maxEdges = 1000    // rules of a page
)

// pdfRun is a piece of text at a place of a page: in points, from the left and from the top.
type pdfRun struct {
	x, y, end float64 // begin and end on the base line
	size      float64
	text      string
	bold      bool
	mono      bool
	mark      int  // of the structure, from 0, or -1
	beside    bool // neither text nor structure: head and foot of a page
}

// pdfEdge is a rule, or the side of a box: y and from x to end, or x and from y to end.
type pdfEdge struct{ at, from, end float64 }

// pdfPage is what stands on a page.
type pdfPage struct {
	ref           pdfRef
	width, height float64
	runs          []pdfRun
	rows, columns []pdfEdge // rules that lie and that stand
	turned        bool      // text at an angle was left out
	glyphs, lost  int       // how many there are, and of how many it is not known what they say
}

type matrix [6]float64

// times is m, and then n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3], m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

func (m matrix) point(x, y float64) (float64, float64) {
	return m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]
}

// pdfState is what q keeps.
type pdfState struct {
	at                                       matrix
	font                                     *pdfFont
	size, chars, words, stretch, lead, raise float64
}

// pdfDrawing carries out what a page is drawn with, as far as it is text and rules.
type pdfDrawing struct {
	file  *pdfFile
	fonts map[pdfRef]*pdfFont
	page  *pdfPage
	pdfState
	saved      []pdfState
	line, text matrix
	marks      []pdfMark // what is open
	path       [][4]float64
	x, y       float64
	forms      int
}

// pdfMark is marked content that is open; instead says what it says, whatever is drawn.
type pdfMark struct {
	mark, from int
	beside     bool
	instead    string
}

// draw carries out a stream of operators.
func (d *pdfDrawing) draw(data []byte, resources pdfDict) {
	l := &pdfLexer{data: data, work: d.file.work}
	var stack []any
	for {
		v, ok := l.next()
		if !ok {
			return
		}
		word, is := v.(pdfWord)
		if !is {
			if len(stack) < 64 {
				stack = append(stack, v)
			}
			continue
		}
		if word == "BI" {
			l.skipPicture()
		} else if !d.state(string(word), stack, resources) && !d.draws(string(word), stack, resources) {
			d.marked(string(word), stack, resources)
		}
		stack = stack[:0]
	}
}

// skipPicture passes over a picture that stands among the operators.
func (l *pdfLexer) skipPicture() {
	for {
		if t, ok := l.token(); !ok || t == pdfWord("ID") {
			break
		}
	}
	from := l.at
	for ; l.at+3 < len(l.data); l.at++ {
		if s := l.data[l.at:]; pdfSpace(s[0]) && s[1] == 'E' && s[2] == 'I' && pdfSpace(s[3]) {
			l.at += 3
			l.work.spend((l.at - from) / 64)
			return
		}
	}
	l.at = len(l.data)
}

// operand is a number of the stack, 0 where there is none; from its end with -1.
func operand(stack []any, i int) float64 {
	if i < 0 {
		i += len(stack)
	}
	if i < 0 || i >= len(stack) {
		return 0
	}
	n, _ := stack[i].(float64)
	return n
}

func operands(stack []any) (m matrix) {
	for i := range m {
		m[i] = operand(stack, i)
	}
	return m
}

// state carries out what changes how text is set.
func (d *pdfDrawing) state(word string, stack []any, resources pdfDict) bool {
	switch word {
	case "q":
		if len(d.saved) < maxSaved {
			d.saved = append(d.saved, d.pdfState)
		}
	case "Q":
		if last := len(d.saved) - 1; last >= 0 {
			d.pdfState, d.saved = d.saved[last], d.saved[:last]
		}
	case "cm":
		d.at = operands(stack).times(d.at)
	case "BT":
		d.line, d.text = matrix{1, 0, 0, 1}, matrix{1, 0, 0, 1}
	case "Tf":
		if len(stack) > 1 {
			name, _ := stack[0].(pdfName)
			d.font, d.size = d.fontOf(d.file.dict(resources["Font"])[name]), operand(stack, 1)
		}
	case "Tc":
		d.chars = operand(stack, 0)
	case "Tw":
		d.words = operand(stack, 0)
	case "Tz":
		d.stretch = operand(stack, 0) / 100
	case "TL":
		d.lead = operand(stack, 0)
	case "Ts":
		d.raise = operand(stack, 0)
	case "Td", "TD":
		if word == "TD" {
			d.lead = -operand(stack, 1)
		}
		d.feed(operand(stack, 0), operand(stack, 1))
	case "Tm":
		d.line = operands(stack)
		d.text = d.line
	case "T*":
		d.feed(0, -d.lead)
	default:
		return false
	}
	return true
}

func (d *pdfDrawing) feed(x, y float64) {
	d.line = matrix{1, 0, 0, 1, x, y}.times(d.line)
	d.text = d.line
}

// fontOf reads a font once.
func (d *pdfDrawing) fontOf(v any) *pdfFont {
	ref, ok := v.(pdfRef)
	if !ok {
		return d.file.font(v)
	}
	if d.fonts[ref] == nil {
		if len(d.fonts) > 500 {
			clear(d.fonts)
		}
		d.fonts[ref] = d.file.font(v)
	}
	return d.fonts[ref]
}

// draws carries out what makes marks on the page.
func (d *pdfDrawing) draws(word string, stack []any, resources pdfDict) bool {
	switch word {
	case "Tj", "'", "\"":
		if word != "Tj" {
			d.feed(0, -d.lead)
		}
		if word == "\"" && len(stack) > 2 {
			d.words, d.chars = operand(stack, 0), operand(stack, 1)
		}
		if len(stack) > 0 {
			s, _ := stack[len(stack)-1].(pdfString)
			d.show(s)
		}
	case "TJ":
		if len(stack) > 0 {
			list, _ := stack[0].(pdfArray)
			for _, v := range list {
				if s, ok := v.(pdfString); ok {
					d.show(s)
				} else if n, ok := v.(float64); ok {
					d.advance(-n / 1000 * d.size * d.stretch)
				}
			}
		}
	case "Do":
		if len(stack) > 0 {
			name, _ := stack[0].(pdfName)
			d.form(d.file.dict(resources["XObject"])[name], resources)
		}
	case "m":
		d.x, d.y = d.at.point(operand(stack, 0), operand(stack, 1))
	case "l":
		x, y := d.at.point(operand(stack, 0), operand(stack, 1))
		d.side(d.x, d.y, x, y)
		d.x, d.y = x, y
	case "re":
		x, y := operand(stack, 0), operand(stack, 1)
		x0, y0 := d.at.point(x, y)
		x1, y1 := d.at.point(x+operand(stack, 2), y+operand(stack, 3))
		d.side(x0, y0, x1, y0)
		d.side(x0, y1, x1, y1)
		d.side(x0, y0, x0, y1)
		d.side(x1, y0, x1, y1)
	case "S", "s", "f", "F", "f*", "B", "B*", "b", "b*":
		d.rules()
	case "n":
		d.path = d.path[:0]
	default:
		return false
	}
	return true
}

func (d *pdfDrawing) side(x0, y0, x1, y1 float64) {
	if len(d.path) < maxEdges {
		d.path = append(d.path, [4]float64{x0, y0, x1, y1})
	}
}

// rules keeps the sides of what was drawn that lie or stand.
func (d *pdfDrawing) rules() {
	const thin, short = 1, 4 // points
	for _, s := range d.path {
		w, h := math.Abs(s[2]-s[0]), math.Abs(s[3]-s[1])
		switch y := d.page.height - s[1]; {
		case h < thin && w > short && len(d.page.rows) < maxEdges:
			d.page.rows = append(d.page.rows, pdfEdge{y, min(s[0], s[2]), max(s[0], s[2])})
		case w < thin && h > short && len(d.page.columns) < maxEdges:
			d.page.columns = append(d.page.columns, pdfEdge{s[0], d.page.height - max(s[1], s[3]), d.page.height - min(s[1], s[3])})
		}
	}
	d.path = d.path[:0]
}

// form draws a form of its own, with its own resources where it has some.
func (d *pdfDrawing) form(v any, resources pdfDict) {
	s, ok := d.file.get(v).(pdfStream)
	if !ok || d.forms >= maxForms || d.file.name(s.dict["Subtype"]) != "Form" {
		return
	}
	if own := d.file.dict(s.dict["Resources"]); own != nil {
		resources = own
	}
	const cost = 300 // steps: what surrounds a form takes longer than its operators
	d.file.work.spend(cost)
	before, saved, line, text := d.pdfState, d.saved, d.line, d.text
	if m := d.file.list(s.dict["Matrix"]); len(m) == 6 {
		d.at = operands(m).times(d.at)
	}
	d.forms++
	d.saved = nil
	d.draw(d.file.decode(s), resources)
	d.forms--
	d.pdfState, d.saved, d.line, d.text = before, saved, line, text
}

func (d *pdfDrawing) advance(by float64) { d.text = matrix{1, 0, 0, 1, by, 0}.times(d.text) }

// show sets a string.
func (d *pdfDrawing) show(s pdfString) {
	if d.font == nil || len(s) == 0 {
		return
	}
	at := matrix{d.size * d.stretch, 0, 0, d.size, 0, d.raise}.times(d.text).times(d.at)
	var text strings.Builder
	for rest := s; len(rest) > 0 && d.file.work.spend(1); {
		code, n := d.font.code(rest)
		rest = rest[n:]
		said := d.font.text(code)
		if d.page.glyphs++; said == string(unread) {
			d.page.lost++
		}
		text.WriteString(said)
		by := d.font.widthOf(code)*d.size + d.chars
		if n == 1 && code == ' ' {
			by += d.words
		}
		d.advance(by * d.stretch)
	}
	end := matrix{d.size * d.stretch, 0, 0, d.size, 0, d.raise}.times(d.text).times(d.at)
	run := pdfRun{x: at[4], y: d.page.height - at[5], end: end[4], size: math.Hypot(at[2], at[3]), bold: d.font.bold, mono: d.font.mono, mark: -1, text: text.String()}
	for _, m := range d.marks {
		run.beside = run.beside || m.beside
		if m.mark >= 0 {
			run.mark = m.mark
		}
	}
	level := math.Abs(at[1]) < 0.1*math.Abs(at[0]) && at[0] > 0
	switch {
	case strings.TrimFunc(run.text, unicode.IsSpace) == "" && !level:
	case !level:
		d.page.turned = true
	case len(d.page.runs) < maxRuns && !math.IsNaN(run.x+run.y+run.end+run.size) && run.size > 0.5:
		d.page.runs = append(d.page.runs, run)
	}
}

// marked opens and closes marked content.
func (d *pdfDrawing) marked(word string, stack []any, resources pdfDict) {
	switch word {
	case "BMC", "BDC":
		m := pdfMark{mark: -1, from: len(d.page.runs)}
		if len(stack) > 0 {
			m.beside = stack[0] == pdfName("Artifact")
		}
		if len(stack) > 1 {
			of, _ := stack[1].(pdfDict)
			if name, ok := stack[1].(pdfName); ok {
				of = d.file.dict(d.file.dict(resources["Properties"])[name])
			}
			if n, ok := of["MCID"].(float64); ok && n >= 0 && n < maxNodes {
				m.mark = int(n)
			}
			if s, ok := of["ActualText"].(pdfString); ok {
				m.instead = pdfText(s)
			}
		}
		d.marks = append(d.marks, m)
		if len(d.marks) > maxSaved {
			d.marks = d.marks[1:]
		}
	case "EMC":
		last := len(d.marks) - 1
		if last < 0 {
			return
		}
		m := d.marks[last]
		d.marks = d.marks[:last]
		if m.instead != "" && m.from < len(d.page.runs) {
			one := d.page.runs[m.from]
			one.text, one.end = m.instead, d.page.runs[len(d.page.runs)-1].end
			d.page.runs = append(d.page.runs[:m.from], one)
		}
	}
}

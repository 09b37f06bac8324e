package foreign

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// pdfPart is text that hangs together on a line: a line has several where it is a row.
type pdfPart struct {
	x, end float64
	text   string
}

// pdfLine is what stands on one base line.
type pdfLine struct {
	page   int
	y      float64 // from the top
	size   float64 // of most of its letters
	bold   bool    // all of it
	mono   bool    // the same
	parts  []pdfPart
	before *pdfLine // on the page
}

func (l *pdfLine) text() string {
	texts := make([]string, len(l.parts))
	for i, p := range l.parts {
		texts[i] = p.text
	}
	return oneLine(strings.Join(texts, " "))
}

func (l *pdfLine) x() float64   { return l.parts[0].x }
func (l *pdfLine) end() float64 { return l.parts[len(l.parts)-1].end }

// gapBetween is what stands between two pieces: nothing, or a blank.
func gapBetween(a, b pdfRun) string {
	size := max(a.size, b.size)
	if math.Abs(a.y-b.y) > 0.5*size || b.x-a.end > 0.15*size || b.x < a.x-size {
		return " "
	}
	return ""
}

// flowing is the text of pieces that follow each other, over lines.
func flowing(runs []pdfRun) string {
	var b strings.Builder
	for i, r := range runs {
		if i > 0 {
			b.WriteString(gapBetween(runs[i-1], r))
		}
		b.WriteString(r.text)
	}
	return mended(b.String())
}

// mended takes out what is there only to set a text: blanks, hyphens at the end of a line,
// ligatures.
func mended(s string) string {
	clean := strings.NewReplacer("\u00AD ", "", "\u00AD", "", "\u00A0", " ", "ﬁ", "fi", "ﬂ", "fl", "ﬀ", "ff", "ﬃ", "ffi", "ﬄ", "ffl", "\u200B", "").Replace(s)
	clean = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, clean)
	text := oneLine(clean)
	if strings.HasPrefix(clean, " ") {
		text = " " + text
	}
	if strings.HasSuffix(clean, " ") && text != "" {
		text += " "
	}
	return text
}

// lines puts the pieces of a page together, from its top to its foot.
func (p *pdfPage) lines(number int) []*pdfLine {
	runs := slices.DeleteFunc(slices.Clone(p.runs), func(r pdfRun) bool { return strings.TrimSpace(r.text) == "" || r.beside })
	slices.SortStableFunc(runs, func(a, b pdfRun) int { return cmp.Compare(a.y, b.y) })
	var list []*pdfLine
	for len(runs) > 0 {
		n := 1
		for n < len(runs) && runs[n].y-runs[0].y < near(runs[0].size, runs[n].size) {
			n++
		}
		line := p.line(number, runs[:n])
		if runs = runs[n:]; len(line.parts) == 0 {
			continue
		}
		if len(list) > 0 {
			line.before = list[len(list)-1]
		}
		list = append(list, line)
	}
	return list
}

// near is how far the base lines of two pieces of a line are from each other at most: small
// letters may be raised.
func near(a, b float64) float64 {
	if min(a, b) < 0.8*max(a, b) {
		return 0.5 * max(a, b)
	}
	return 0.4 * max(a, b)
}

// line puts pieces together that stand on a base line.
func (p *pdfPage) line(number int, runs []pdfRun) *pdfLine {
	slices.SortStableFunc(runs, func(a, b pdfRun) int { return cmp.Compare(a.x, b.x) })
	l := &pdfLine{page: number, bold: true, mono: true}
	letters := 0
	var text strings.Builder
	var last pdfRun
	close := func() {
		if t := strings.TrimSpace(mended(text.String())); t != "" {
			l.parts[len(l.parts)-1].text = t
		} else if len(l.parts) > 0 {
			l.parts = l.parts[:len(l.parts)-1]
		}
		text.Reset()
	}
	for _, r := range runs {
		if r.text == last.text && math.Abs(r.x-last.x) < 0.2*r.size {
			continue // drawn twice, to look bold
		}
		gap := r.x - last.end
		switch {
		case len(l.parts) == 0 || gap > 0.9*max(r.size, last.size) || gap > 0 && p.between(last.end, r.x, r.y):
			if len(l.parts) > 0 {
				close()
			}
			l.parts = append(l.parts, pdfPart{x: r.x})
		default:
			text.WriteString(gapBetween(pdfRun{x: last.x, end: last.end, size: last.size, y: r.y}, r))
		}
		text.WriteString(r.text)
		part := &l.parts[len(l.parts)-1]
		part.end = max(part.end, r.end)
		if len(r.text) > letters {
			letters, l.size, l.y = len(r.text), r.size, r.y
		}
		l.bold, l.mono = l.bold && r.bold, l.mono && r.mono
		last = r
	}
	close()
	return l
}

// between says whether a rule stands between two places of a line.
func (p *pdfPage) between(from, to, y float64) bool {
	for _, e := range p.columns {
		if e.at > from-1 && e.at < to+1 && e.from < y && e.end > y-2 {
			return true
		}
	}
	return false
}

// rule is the first rule that lies between two base lines, over a place.
func (p *pdfPage) rule(above, below, x float64) (rule pdfEdge, found bool) {
	for _, e := range p.rows {
		if e.at > above && e.at < below && e.from < x+2 && e.end > x && (!found || e.at < rule.at) {
			rule, found = e, true
		}
	}
	return rule, found
}

// alike says whether two rules begin and end at the same places.
func alike(a, b pdfEdge) bool {
	return math.Abs(a.from-b.from) < 3 && math.Abs(a.end-b.end) < 3
}

// letters is a text without blanks and signs, in small letters.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

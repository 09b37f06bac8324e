package office

import "strconv"

// The looks of footnotes, as parts of the size of the text.
const (
	noteSize = 0.85
	noteMark = 0.65 // of the number where a text names one
	noteGap  = 1.2  // lines between the text and the first
)

// pageNotes are the footnotes of a page: lines that stand on it, lines that wait for the
// next because there was no room, and which were named so far.
type pageNotes struct {
	placed, waiting []line
	named           map[int]bool
}

// fresh are the footnotes that lines name for the first time.
func (l *pdfPages) fresh(lines []line) (list []int) {
	for _, ln := range lines {
		for _, a := range ln {
			if a.Note > 0 && !l.notes.named[a.Note] {
				list = append(list, a.Note)
			}
		}
	}
	return list
}

// set sets a footnote as lines.
func (l *pdfPages) set(n int) []line {
	runs := append([]run{{Text: strconv.Itoa(n) + "  "}}, l.f.notes[n-1]...)
	return l.wrap(runs, l.size*noteSize, l.width)
}

func (l *pdfPages) noteLine() float64 { return l.size * noteSize * leading }

// noteRoom is how much of the page the footnotes take that lines name for the first
// time; no page gives more than its half.
func (l *pdfPages) noteRoom(lines []line) float64 {
	n := 0
	for _, note := range l.fresh(lines) {
		n += len(l.set(note))
	}
	return l.heightOf(min(n, l.vacant()))
}

// heightOf is the height of so many further lines of footnotes.
func (l *pdfPages) heightOf(n int) float64 {
	if n <= 0 {
		return 0
	}
	high := float64(n) * l.noteLine()
	if len(l.notes.placed) == 0 {
		high += noteGap * l.size
	}
	return high
}

// vacant is how many lines of footnotes the page still takes.
func (l *pdfPages) vacant() int {
	return max(int((l.end-margin)/2/l.noteLine())-len(l.notes.placed), 0)
}

// named has the footnotes that a line names stand on the page. Their room is there.
func (l *pdfPages) named(ln line) {
	for _, n := range l.fresh([]line{ln}) {
		if l.notes.named == nil {
			l.notes.named = map[int]bool{}
		}
		l.notes.named[n] = true
		l.notes.waiting = append(l.notes.waiting, l.set(n)...)
	}
	l.placeNotes()
}

// placeNotes gives the lines that wait what room there is.
func (l *pdfPages) placeNotes() {
	n := min(len(l.notes.waiting), l.vacant())
	l.bottom -= l.heightOf(n)
	l.notes.placed = append(l.notes.placed, l.notes.waiting[:n]...)
	l.notes.waiting = l.notes.waiting[n:]
}

// drawNotes draws the footnotes of the page, below a rule, and has none for the next.
func (l *pdfPages) drawNotes() {
	if len(l.notes.placed) > 0 {
		y := l.y
		l.y = l.end - float64(len(l.notes.placed))*l.noteLine()
		l.SetDrawColor(rgb("999999"))
		l.SetLineWidth(0.5)
		l.Line(l.left, l.y-l.size*0.4, l.left+l.width/3, l.y-l.size*0.4)
		for _, ln := range l.notes.placed {
			l.line(ln, l.size*noteSize, "404040", l.left)
			l.y += l.noteLine()
		}
		l.y = y
	}
	l.notes.placed, l.bottom = nil, l.end
}

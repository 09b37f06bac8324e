package foreign

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/lazy"
)

var (
	numberMark = lazy.Compile(`^(\d{1,3}[.)]|\(?[a-zA-Z][.)]|[ivx]{1,5}[.)])$`)
	pageNumber = lazy.Compile(`^(\d{1,4}|[ivxl]{1,6})$`)
	leader     = lazy.Compile(`(\. ?){4,}|…{2,}|_{4,}`)
)

// bulletMark says whether a text is nothing but the mark of an item.
func bulletMark(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return size == len(s) && (strings.ContainsRune("•◦▪▫■□●○‣⁃∙·–—-*➢✓❖o", r) || r >= 0xE000 && r <= 0xF8FF)
}

// pdfLayout makes blocks of lines by where they stand and how they look.
type pdfLayout struct {
	d         *Document
	pages     []*pdfPage
	lines     []*pdfLine
	bookmarks map[string][]bookmark
	body      float64   // size of most letters
	sizes     []float64 // of headings, the largest first
	spacing   float64   // between the lines of a paragraph, in sizes
	right     float64   // where long lines end

	onPage int // of the last table

	open  Block
	last  *pdfLine  // of the open block
	marks []float64 // where the marks of the list at hand stand, by level
}

// laidOut reads a pdf by its look.
func (d *Document) laidOut(pages []*pdfPage, marks []bookmark) {
	l := &pdfLayout{d: d, pages: pages, bookmarks: map[string][]bookmark{}}
	for _, b := range marks {
		if b.title != "" {
			l.bookmarks[b.title] = append(l.bookmarks[b.title], b)
		}
	}
	for i, p := range pages {
		l.lines = append(l.lines, p.lines(i)...)
	}
	l.dropRepeated()
	l.measure()
	for i := 0; i < len(l.lines) && !d.full(); {
		if n := l.table(i); n > 0 {
			i += n
			continue
		}
		i += l.line(i)
	}
	l.flush()
}

// dropRepeated leaves out numbers of pages, and what stands at the head or foot of most
// pages behind the first of them.
func (l *pdfLayout) dropRepeated() {
	seen := map[string]map[int]bool{}
	key := func(x *pdfLine) string {
		p := l.pages[x.page]
		if x.y > 0.1*p.height && x.y < 0.9*p.height {
			return ""
		}
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return '#'
			}
			return r
		}, strings.Join(strings.Fields(strings.ReplaceAll(x.text(), "##", "#")), " ")) + string(rune('a'+int(x.y/p.height*20)))
	}
	for _, x := range l.lines {
		if k := key(x); k != "" {
			if seen[k] == nil {
				seen[k] = map[int]bool{}
			}
			seen[k][x.page] = true
		}
	}
	first := map[string]bool{}
	l.lines = slices.DeleteFunc(l.lines, func(x *pdfLine) bool {
		k := key(x)
		if k == "" || pageNumber.MatchString(x.text()) {
			return k != ""
		}
		repeated := len(seen[k]) > 2 && len(seen[k])*3 > len(l.pages) && first[k]
		first[k] = true
		return repeated
	})
}

// measure finds what is usual.
func (l *pdfLayout) measure() {
	sizes, gaps := map[float64]int{}, map[float64]int{}
	for _, x := range l.lines {
		size := math.Round(x.size*2) / 2
		if len(x.parts) == 1 { // no row
			sizes[size] += len(x.text())
		}
	}
	l.body = most(sizes)
	for i, x := range l.lines {
		if math.Abs(x.size-l.body) < 0.6 {
			l.right = max(l.right, x.end())
			if i > 0 && l.lines[i-1].page == x.page && math.Abs(l.lines[i-1].size-l.body) < 0.6 {
				gaps[math.Round((x.y-l.lines[i-1].y)/l.body*20)/20]++
			}
		}
	}
	if l.spacing = most(gaps); l.spacing < 1 || l.spacing > 2.2 {
		l.spacing = 1.3
	}
	for size := range sizes {
		if size > 1.13*l.body {
			l.sizes = append(l.sizes, size)
		}
	}
	slices.SortFunc(l.sizes, func(a, b float64) int { return cmp.Compare(b, a) })
}

// most is the key that is counted most often, of several the smallest.
func most(counts map[float64]int) (key float64) {
	best := 0
	for k, n := range counts {
		if n > best || n == best && k < key {
			key, best = k, n
		}
	}
	return key
}

// flush ends the block that is open.
func (l *pdfLayout) flush() {
	l.d.add(l.open)
	if l.open.Kind != "item" {
		l.marks = nil
	}
	l.open, l.last = Block{}, nil
}

// line takes a line that is no row of a table; it returns how many it took: a heading may
// have several.
func (l *pdfLayout) line(i int) int {
	x := l.lines[i]
	if level, n := l.heading(i); n > 0 {
		l.flush()
		var texts []string
		for _, h := range l.lines[i : i+n] {
			texts = append(texts, h.text())
		}
		l.d.add(Block{Kind: "heading", Level: level, Text: strings.Join(texts, " ")})
		l.marks = nil
		return n
	}
	if text, at, ok := l.item(x); ok {
		l.flush()
		level := 0
		l.marks, level = itemLevel(l.marks, at)
		l.open, l.last = Block{Kind: "item", Level: level, Text: text}, x
		return 1
	}
	if on := l.goesOn(x); on && x.mono && l.last.mono {
		l.open.Text += "\n" + x.text()
	} else if on {
		l.open.Text = joined(l.open.Text, x.text())
	} else {
		item := l.open.Kind == "item"
		l.flush()
		if item {
			l.marks = nil
		}
		l.open = Block{Kind: "paragraph", Text: x.text()}
	}
	l.last = x
	return 1
}

// itemLevel is the level of an item whose mark stands at a place, in a list with marks at
// places by level, and the places with it.
func itemLevel(marks []float64, at float64) ([]float64, int) {
	for len(marks) > 0 && marks[len(marks)-1] > at+3 {
		marks = marks[:len(marks)-1]
	}
	if len(marks) == 0 || marks[len(marks)-1] < at-3 {
		marks = append(marks, at)
	}
	return marks, len(marks) - 1
}

// joined puts two lines together. A hyphen stays: it may belong to the word.
func joined(a, b string) string {
	before, _ := utf8.DecodeLastRuneInString(strings.TrimSuffix(a, "-"))
	if strings.HasSuffix(a, "-") && unicode.IsLetter(before) {
		return a + b
	}
	return a + " " + b
}

// goesOn says whether a line belongs to the block that is open.
func (l *pdfLayout) goesOn(x *pdfLine) bool {
	last := l.last
	if last == nil || math.Abs(last.size-x.size) > 0.15*x.size || leader.MatchString(x.text()) || leader.MatchString(last.text()) {
		return false
	}
	end, _ := utf8.DecodeLastRuneInString(l.open.Text)
	ended := strings.ContainsRune(".!?:;", end)
	if last.page != x.page {
		begin, _ := utf8.DecodeRuneInString(x.text())
		return x.page == last.page+1 && !ended && unicode.IsLower(begin)
	}
	gap := x.y - last.y
	if gap > max(l.spacing*1.22, 1.25)*x.size || gap < 0 {
		return false
	}
	if l.open.Kind == "item" {
		if at := last.parts[len(last.parts)-1].x; len(last.parts) > 1 && last.x() <= l.marks[len(l.marks)-1]+3 || len(last.parts) == 1 && last.x() > l.marks[len(l.marks)-1]+3 {
			return math.Abs(x.x()-at) < 3 // where the text of the item stands
		}
		return x.x() > l.marks[len(l.marks)-1]+3
	}
	short := last.end() < l.right-0.2*(l.right-last.x())
	indented := x.x() > last.x()+0.9*x.size
	return (!short || !ended) && !(indented && ended)
}

// itemOf is the text of a line behind the mark of an item, and where the mark stands.
func itemOf(x *pdfLine) (text string, at float64, ok bool) {
	text = x.text()
	mark, rest, found := strings.Cut(text, " ")
	switch {
	case !found || rest == "":
		return "", 0, false
	case bulletMark(mark) && (mark != "o" || len(x.parts) > 1):
		return rest, x.x(), true
	case numberMark.MatchString(mark) && x.parts[0].text == mark:
		return text, x.x(), true // the number stands apart
	case numberMark.MatchString(mark) && mark[0] >= '0' && mark[0] <= '9' && !strings.HasSuffix(mark, ".") || mark == "1.":
		return text, x.x(), true
	}
	return "", 0, false
}

// item is the same, also for a number that follows that of the item before.
func (l *pdfLayout) item(x *pdfLine) (text string, at float64, ok bool) {
	if text, at, ok = itemOf(x); ok || l.open.Kind != "item" {
		return text, at, ok
	}
	before, _, _ := strings.Cut(l.open.Text, ".")
	n, err := strconv.Atoi(before)
	text = x.text()
	return text, x.x(), err == nil && n < 1000 && strings.HasPrefix(text, strconv.Itoa(n+1)+". ")
}

// heading is the level of a heading that begins at a line, and how many lines it has; 0 for
// none.
func (l *pdfLayout) heading(i int) (level, n int) {
	x := l.lines[i]
	if leader.MatchString(x.text()) {
		return 0, 0 // of the contents
	}
	title := ""
	for n := 1; n <= 4 && i+n <= len(l.lines); n++ {
		h := l.lines[i+n-1]
		if h.page != x.page || math.Abs(h.size-x.size) > 0.6 {
			break
		}
		title += letters(h.text())
		for _, b := range l.bookmarks[title] {
			if b.page < 0 || b.page == x.page {
				return min(b.level, 6), n
			}
		}
	}
	size := math.Round(x.size*2) / 2
	if place := slices.Index(l.sizes, size); place >= 0 && letters(x.text()) != "" {
		for n = 1; i+n < len(l.lines); n++ {
			h := l.lines[i+n]
			if h.page != x.page || math.Abs(h.size-x.size) > 0.6 || h.y-l.lines[i+n-1].y > 1.6*x.size {
				break
			}
		}
		if end := l.lines[i+n-1].text(); n <= 4 && !(n > 1 && strings.HasSuffix(end, ".")) {
			return min(place+1, 6), n
		}
		return 0, 0 // it is a text
	}
	text := x.text()
	if end, _ := utf8.DecodeLastRuneInString(text); !x.bold || len(l.bookmarks) > 0 || len(text) > 100 || len(x.parts) > 2 || x.size < l.body-0.3 ||
		strings.ContainsRune(".!?:;,", end) || letters(text) == "" || l.goesOn(x) && l.last.bold {
		return 0, 0
	}
	if next := i + 1; next < len(l.lines) && l.lines[next].page == x.page && l.lines[next].bold && l.lines[next].y-x.y < 1.5*x.size {
		return 0, 0
	}
	return min(len(l.sizes)+1, 6), 1
}

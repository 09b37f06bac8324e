package office

import (
	"math"
	"strings"
)

// headingTimes are the sizes of headings, codeTimes that of code, as parts of the size of
// the text.
var headingTimes = []float64{1.5, 1.25, 1.12, 1.05, 1, 1}

const codeTimes = 0.88

// leads says whether a paragraph stands on the page of what follows: one that ends in a
// colon, and a short one between a heading and what it is of.
func (f *flow) leads(i int) bool {
	x := f.blocks[i]
	if x.kind != "paragraph" || len(x.runs) == 0 || i+1 == len(f.blocks) {
		return false
	}
	if strings.HasSuffix(strings.TrimSpace(x.runs[len(x.runs)-1].Text), ":") {
		return true
	}
	const short = 240 // three lines
	long := 0
	for _, r := range x.runs {
		long += len(r.Text)
	}
	next := f.blocks[i+1].kind
	return long <= short && i > 0 && f.blocks[i-1].kind == "heading" && (next == "table" || next == "figure")
}

// together is how many lines of a paragraph stand on one page from this one on: no line
// stands alone.
func together(i, lines int) int {
	switch {
	case i == 0 && lines <= 3:
		return lines
	case i == 0, i == lines-2:
		return 2
	}
	return 1
}

// least is how high the part of a block is that stands on one page, with all that it must
// not be parted from: a heading from what it is of, a caption from its table.
func (l *pdfPages) least(i int) float64 {
	if i >= len(l.f.blocks) {
		return 0
	}
	x, high := l.f.blocks[i], 0.0
	switch x.kind {
	case "heading":
		times := headingTimes[x.level-1]
		lines := l.wrap([]run{{Text: numberedText(x), Bold: true}}, l.size*times, l.width)
		high = l.size*(0.9+0.45) + float64(len(lines))*l.size*times*leading + l.least(i+1)
	case "table":
		high = l.size*0.3 + l.tableOf(x).least(x)
	case "figure":
		if high = 3.5 * l.size; x.picture.data != nil {
			_, picture := l.pictureSize(x.picture)
			high += picture
		}
	case "code":
		high = l.codeHigh(x.runs[0].Text)
	case "quote", "callout":
		lines := l.wrap(x.runs, l.size, l.width-1.8*l.size-4)
		high = l.size*0.9 + float64(len(lines))*l.size*leading
	case "item":
		indent := l.size * 1.5 * float64(x.level+1)
		lines := l.wrap(x.runs, l.size, l.width-indent)
		high = float64(together(0, len(lines))) * l.size * leading
	default:
		lines := l.wrap(x.runs, l.size, l.width)
		n := together(0, len(lines))
		if l.f.leads(i) {
			n = len(lines)
			high = l.size*0.55 + l.least(i+1)
		}
		high += float64(n) * l.size * leading
	}
	return math.Min(high, (l.end-margin)*0.7)
}

// pictureSize is what a picture takes of a page.
func (l *pdfPages) pictureSize(p *picture) (wide, high float64) {
	wide, high = float64(p.width)*0.75, float64(p.height)*0.75
	if wide > l.width {
		wide, high = l.width, high*l.width/wide
	}
	if most := (l.end - margin) * 0.45; high > most {
		wide, high = wide*most/high, most
	}
	return wide, high
}

// codeHigh is how high code is; what takes a third of a page or more is broken anywhere.
func (l *pdfPages) codeHigh(s string) float64 {
	lines, size := 0, l.size*codeTimes
	for line := range strings.SplitSeq(s, "\n") {
		lines += len(l.codeLines(strings.ReplaceAll(line, "\t", "    "), size))
	}
	if high := float64(lines) * size * leading; high < (l.end-margin)/3 {
		return high
	}
	return size * leading
}

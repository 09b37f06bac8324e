package chart

import (
	"image/color"
	"strconv"
)

// Looks of the texts of a chart.
var (
	heading = look{size: 20, bold: true, stand: around}
	naming  = look{size: 14, stand: around}
	small   = look{size: 13}
)

// draw draws a chart that was checked.
func (c *Chart) draw(on canvas) {
	if !c.Captioned {
		fitted(on, point{width / 2, 28}, c.Title, heading, width-32)
	}
	if c.Kind == "pie" {
		c.pie(on)
		return
	}
	p := c.plot()
	p.frame(on)
	p.series(on)
	p.legend(on)
}

// fitted writes a text smaller, and then shorter, until there is room for it.
func fitted(on canvas, at point, words string, l look, room float64) {
	for l.wide(words) > room {
		if l.size > 10 {
			l.size--
		} else {
			words = shorten(words, len([]rune(words))-1)
		}
	}
	on.text(at, words, l)
}

// entry is a line of a legend, with what draws its sign in a place of 24 pixels.
type entry struct {
	name string
	sign func(on canvas, at point)
}

// block is a bar from one value to another, in the coordinates of the data.
type block struct {
	at, width, from, to float64
	tone                color.RGBA
}

// plot is a chart with axes, measured.
type plot struct {
	*Chart
	x, y    axis
	xs, ys  span
	names   []string // below the axis, in the place of figures
	blocks  []block
	entries []entry
	slanted bool
}

// plot measures what is drawn.
func (c *Chart) plot() *plot {
	p := &plot{Chart: c, xs: nothing(), ys: nothing()}
	switch c.Kind {
	case "scatter":
		p.points()
	case "line":
		p.lines()
	case "waterfall":
		p.steps()
	default:
		p.bars()
	}
	p.headroom()
	p.place()
	return p
}

func (p *plot) points() {
	for i, s := range p.Series {
		for _, at := range s.Points {
			p.xs.with(float64(at.X))
			p.ys.with(float64(at.Y))
		}
		p.named(s.Name, func(on canvas, at point) { p.mark(on, i, at) })
	}
	p.xs, p.ys = p.xs.open().wider(), p.ys.open().wider()
}

func (p *plot) lines() {
	for i, s := range p.Series {
		for _, v := range s.Values {
			if !v.none() {
				p.ys.with(float64(v))
			}
		}
		p.named(s.Name, func(on canvas, at point) {
			on.line(p.strokeOf(i), at.plus(-12, 0), at.plus(12, 0))
			p.mark(on, i, at)
		})
	}
	p.ys = p.ys.open()
	switch {
	case p.ys.least > 0 && p.ys.least < p.ys.most/2:
		p.ys.least = 0
	case p.ys.least != 0:
		p.ys.least = p.ys.wider().least
	}
	p.below(p.Categories)
}

func (p *plot) bars() {
	const together = 0.8 // of the room that a category has
	each := together / float64(len(p.Series))
	for i, s := range p.Series {
		for k, v := range s.Values {
			if !v.none() {
				at := float64(k) - together/2 + each*(float64(i)+0.5)
				p.blocks = append(p.blocks, block{at, each * 0.95, 0, float64(v), p.tone(i)})
			}
		}
		p.named(s.Name, swatch(p.tone(i)))
	}
	p.standing()
	p.below(p.Categories)
}

// steps shows how each value changes the sum, and the sum at the end.
func (p *plot) steps() {
	up, down, total := palette[2], palette[5], palette[0]
	sum := 0.0
	for i, v := range p.Series[0].Values {
		tone := up
		if v < 0 {
			tone = down
		}
		p.blocks = append(p.blocks, block{float64(i), 0.7, sum, sum + float64(v), tone})
		sum += float64(v)
	}
	p.blocks = append(p.blocks, block{float64(len(p.Categories)), 0.7, 0, sum, total})
	p.entries = []entry{{"increase", swatch(up)}, {"decrease", swatch(down)}, {"total", swatch(total)}}
	p.standing()
	p.below(append(append([]string{}, p.Categories...), "Total"))
}

// standing is the range of bars, which has zero in it.
func (p *plot) standing() {
	p.ys.with(0)
	for _, b := range p.blocks {
		p.ys.with(b.from, b.to)
	}
	if p.ys.most-p.ys.least < 1/largest {
		p.ys.most = 1
	}
	if p.ys.least < 0 {
		p.ys.least = p.ys.wider().least
	}
}

// swatch is a bar's colour in the legend.
func swatch(tone color.RGBA) func(canvas, point) {
	return func(on canvas, at point) {
		on.fill(tone, at.plus(-12, -6), at.plus(12, -6), at.plus(12, 6), at.plus(-12, 6))
	}
}

// named puts a series into the legend if there is more than one.
func (p *plot) named(name string, sign func(canvas, point)) {
	if len(p.Series) > 1 {
		p.entries = append(p.entries, entry{name, sign})
	}
}

// below names the categories under the axis, slanted if they are long or many.
func (p *plot) below(names []string) {
	longest := 0
	for _, name := range names {
		p.names = append(p.names, shorten(name, 24))
		longest = max(longest, len([]rune(p.names[len(p.names)-1])))
	}
	p.xs = span{-0.5, float64(len(names)) - 0.5}
	p.slanted = longest*len(names) > 95
}

func shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

const row = 20 // pixels of a line of the legend

// headroom leaves space for the legend above what is drawn.
func (p *plot) headroom() {
	if n := len(p.entries); n > 0 {
		part := (float64(n)*row + 14) / 380
		p.ys.most += (p.ys.most - p.ys.least) * part / (1 - part)
	} else {
		p.ys.most += (p.ys.most - p.ys.least) * 0.03
	}
}

// place gives the axes the room that their texts leave.
func (p *plot) place() {
	left, bottom := 0.0, 22.0
	for _, v := range p.ys.ticks() {
		left = max(left, small.wide(p.figure(v)))
	}
	if p.slanted {
		for _, name := range p.names {
			bottom = max(bottom, small.wide(name)*0.71+16)
		}
	}
	left += 24
	if p.Y != "" {
		left += 22
	}
	if p.X != "" {
		bottom += 22
	}
	if p.slanted { // the first name reaches to the left
		left = max(left, min(small.wide(p.names[0])*0.71, 120))
	}
	p.x = axis{p.xs.least, p.xs.most, left, width - 24}
	top := 56.0
	if p.Captioned {
		top = 24
	}
	p.y = axis{p.ys.least, p.ys.most, height - bottom - 12, top}
}

// frame draws the axes, with their figures and names.
func (p *plot) frame(on canvas) {
	grid, edge := pen{tone: faint, width: 1}, pen{tone: ink, width: 1}
	figures := small
	figures.stand = leftOf
	for _, v := range p.ys.ticks() {
		y := p.y.at(v)
		on.line(grid, point{p.x.from, y}, point{p.x.to, y})
		on.text(point{p.x.from - 8, y}, p.figure(v), figures)
	}
	figures.stand = around
	if p.names == nil {
		for _, v := range p.xs.ticks() {
			x := p.x.at(v)
			on.line(grid, point{x, p.y.from}, point{x, p.y.to})
			on.text(point{x, p.y.from + 14}, p.figure(v), figures)
		}
	}
	if p.slanted {
		figures.stand, figures.turn = leftOf, 45
	}
	for i, name := range p.names {
		x := p.x.at(float64(i))
		on.line(edge, point{x, p.y.from}, point{x, p.y.from + 4})
		on.text(point{x, p.y.from + 14}, name, figures)
	}
	on.line(edge, point{p.x.from, p.y.to}, point{p.x.from, p.y.from}, point{p.x.to, p.y.from})
	if p.X != "" {
		fitted(on, point{(p.x.from + p.x.to) / 2, height - 14}, p.X, naming, p.x.to-p.x.from)
	}
	if p.Y != "" {
		upright := naming
		upright.turn = 90
		fitted(on, point{16, (p.y.from + p.y.to) / 2}, p.Y, upright, p.y.from-p.y.to)
	}
}

// series draws what there is of data.
func (p *plot) series(on canvas) {
	for _, b := range p.blocks {
		left, right, low, high := p.x.at(b.at-b.width/2), p.x.at(b.at+b.width/2), p.y.at(b.from), p.y.at(b.to)
		on.fill(b.tone, point{left, low}, point{right, low}, point{right, high}, point{left, high})
	}
	if p.blocks != nil {
		on.line(pen{tone: ink, width: 1}, point{p.x.from, p.y.at(0)}, point{p.x.to, p.y.at(0)})
		return
	}
	for i, s := range p.Series {
		for _, at := range s.Points {
			p.mark(on, i, point{p.x.at(float64(at.X)), p.y.at(float64(at.Y))})
		}
		for _, run := range p.runs(s.Values) {
			on.line(p.strokeOf(i), run...)
			for _, at := range run {
				p.mark(on, i, at)
			}
		}
	}
}

// runs are the stretches of values that are there: a line is interrupted where one is
// missing.
func (p *plot) runs(values []Number) (list [][]point) {
	open := false
	for i, v := range values {
		if v.none() {
			open = false
			continue
		}
		if !open {
			list, open = append(list, nil), true
		}
		list[len(list)-1] = append(list[len(list)-1], point{p.x.at(float64(i)), p.y.at(float64(v))})
	}
	return list
}

// legend names the series at the top right.
func (p *plot) legend(on canvas) {
	names := small
	names.stand = leftOf
	for i, e := range p.entries {
		at := point{p.x.to - 20, p.y.to + 8 + row*float64(i)}
		e.sign(on, at)
		on.text(at.plus(-18, 0), shorten(e.name, 60), names)
	}
}

// percent writes a share.
func percent(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + " %" }

package chart

import (
	"image/color"
	"math"
)

// palette is Okabe and Ito's, which people tell apart who see colours badly.
var palette = []color.RGBA{
	{0, 114, 178, 255},
	{230, 159, 0, 255},
	{0, 158, 115, 255},
	{204, 121, 167, 255},
	{86, 180, 233, 255},
	{213, 94, 0, 255},
	{120, 120, 120, 255},
	{184, 170, 20, 255},
}

var (
	ink   = color.RGBA{40, 40, 40, 255}
	faint = color.RGBA{225, 225, 225, 255}
	white = color.RGBA{255, 255, 255, 255}
)

// tone is the colour of a series or share; after the last it begins again, lighter.
func (c *Chart) tone(i int) color.RGBA {
	list := c.Colors
	if len(list) == 0 {
		list = palette
	}
	base := list[i%len(list)]
	for range i / len(list) {
		base.R, base.G, base.B = lighter(base.R), lighter(base.G), lighter(base.B)
	}
	return base
}

func lighter(v uint8) uint8 { return v + (255-v)/2 }

// dashes of lines, so that they differ also in black and white.
var dashes = [][]float64{nil, {9, 4}, {3, 3}, {10, 4, 3, 4}}

// strokeOf is the line of a series.
func (c *Chart) strokeOf(i int) pen { return pen{c.tone(i), 2.5, dashes[i%len(dashes)]} }

// disc returns the corners of a polygon that looks round.
func disc(center point, radius float64) []point { return arc(center, radius, 0, 2*math.Pi) }

// arc returns points of a circle, clockwise from an angle that is 0 at the top.
func arc(center point, radius, from, turn float64) []point {
	steps := max(3, int(math.Ceil(math.Abs(turn)*max(radius, 4)/2)))
	steps = min(steps, 360)
	list := make([]point, steps+1)
	for i := range list {
		sin, cos := math.Sincos(from + turn*float64(i)/float64(steps))
		list[i] = center.plus(radius*sin, -radius*cos)
	}
	return list
}

// mark draws a mark of its own shape and colour for each series.
func (c *Chart) mark(on canvas, i int, at point) {
	const r = 4.5 // pixels
	line := pen{tone: c.tone(i), width: 1.5}
	box := []point{at.plus(-r, -r), at.plus(r, -r), at.plus(r, r), at.plus(-r, r)}
	peak := []point{at.plus(0, -r), at.plus(r, r*0.8), at.plus(-r, r*0.8)}
	closed := func(p []point) []point { return append(p[:len(p):len(p)], p[0]) }
	switch i % 8 {
	case 0:
		on.fill(line.tone, disc(at, r)...)
	case 1:
		on.fill(line.tone, box...)
	case 2:
		on.fill(line.tone, peak...)
	case 3:
		on.line(line, box[0], box[2])
		on.line(line, box[1], box[3])
	case 4:
		on.line(line, disc(at, r)...)
	case 5:
		on.line(line, closed(box)...)
	case 6:
		on.line(line, closed(peak)...)
	case 7:
		on.line(line, at.plus(-r, 0), at.plus(r, 0))
		on.line(line, at.plus(0, -r), at.plus(0, r))
	}
}

package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// fill draws the series into a frame.
func (c *Chart) fill(p *plot.Plot) error {
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = faint, faint
	if c.Kind != "scatter" {
		grid.Vertical.Width = 0
	}
	p.Add(grid)
	switch c.Kind {
	case "scatter":
		return c.scatter(p)
	case "line":
		return c.lines(p)
	case "waterfall":
		c.waterfall(p)
	default:
		c.bars(p)
	}
	return nil
}

// named puts a series into the legend if there is more than one.
func (c *Chart) named(p *plot.Plot, s Series, t plot.Thumbnailer) {
	if len(c.Series) > 1 {
		p.Legend.Add(s.Name, t)
	}
}

func (c *Chart) scatter(p *plot.Plot) error {
	for i, s := range c.Series {
		points := make(plotter.XYs, len(s.Points))
		for k, at := range s.Points {
			points[k] = plotter.XY{X: float64(at.X), Y: float64(at.Y)}
		}
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		dots.GlyphStyle = glyph(i)
		p.Add(dots)
		c.named(p, s, dots)
	}
	p.X.Min, p.X.Max = wider(p.X.Min, p.X.Max)
	p.Y.Min, p.Y.Max = wider(p.Y.Min, p.Y.Max)
	c.headroom(p)
	return nil
}

// wider is a range with some room at both ends.
func wider(least, most float64) (float64, float64) {
	room := (most - least) * 0.04
	return least - room, most + room
}

// headroom leaves space for the legend, if there is one: a row of it takes
// about a 20th of the height.
func (c *Chart) headroom(p *plot.Plot) {
	if n := len(c.Series); n > 1 {
		part := 0.035 + 0.05*float64(n)
		p.Y.Max += (p.Y.Max - p.Y.Min) * part / (1 - part)
	}
}

// glyph is a mark of its own shape and colour for each series.
func glyph(i int) draw.GlyphStyle {
	shapes := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.CrossGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PlusGlyph{}}
	return draw.GlyphStyle{Color: palette[i%len(palette)], Radius: vg.Points(3.5), Shape: shapes[i%len(shapes)]}
}

// dashes of lines, so that they differ also in black and white.
var dashes = [][]vg.Length{nil, {vg.Points(7), vg.Points(3)}, {vg.Points(2), vg.Points(2)}, {vg.Points(8), vg.Points(3), vg.Points(2), vg.Points(3)}}

// lines are interrupted where a value is missing.
func (c *Chart) lines(p *plot.Plot) error {
	for i, s := range c.Series {
		look := draw.LineStyle{Color: palette[i%len(palette)], Width: vg.Points(2), Dashes: dashes[i%len(dashes)]}
		first := true
		for _, part := range runs(s.Values) {
			line, dots, err := plotter.NewLinePoints(part)
			if err != nil {
				return err
			}
			line.LineStyle, dots.GlyphStyle = look, glyph(i)
			p.Add(line, dots)
			if first && len(c.Series) > 1 {
				p.Legend.Add(s.Name, line, dots)
			}
			first = false
		}
	}
	c.below(p)
	if p.Y.Min > 0 && p.Y.Min < p.Y.Max/2 {
		p.Y.Min = 0
	}
	if p.Y.Min != 0 {
		p.Y.Min, _ = wider(p.Y.Min, p.Y.Max)
	}
	c.headroom(p)
	return nil
}

// runs are the stretches of values that are there.
func runs(values []Number) (list []plotter.XYs) {
	open := false
	for i, v := range values {
		if v.none() {
			open = false
			continue
		}
		if !open {
			list = append(list, nil)
			open = true
		}
		list[len(list)-1] = append(list[len(list)-1], plotter.XY{X: float64(i), Y: float64(v)})
	}
	return list
}

// below names the categories under the axis, slanted if they are long or many.
func (c *Chart) below(p *plot.Plot) {
	longest := 0
	for _, name := range c.Categories {
		longest = max(longest, len([]rune(name)))
	}
	shown := make([]string, len(c.Categories))
	for i, name := range c.Categories {
		shown[i] = shorten(name, 24)
	}
	p.NominalX(shown...)
	p.X.Tick.Length = vg.Points(3)
	p.X.Min, p.X.Max = -0.5, float64(len(c.Categories))-0.5
	if min(longest, 24)*len(c.Categories) > 100 {
		p.X.Tick.Label.Rotation = math.Pi / 4
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}
}

func shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// block is a bar from one value to another, in the coordinates of the data.
type block struct {
	at, width, from, to float64
	color               color.Color
}

// blocks draws bars; the axis shows zero.
type blocks []block

// Plot draws the bars and the line of zero.
func (b blocks) Plot(canvas draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&canvas)
	for _, bar := range b {
		left, right, low, high := x(bar.at-bar.width/2), x(bar.at+bar.width/2), y(bar.from), y(bar.to)
		canvas.FillPolygon(bar.color, []vg.Point{{X: left, Y: low}, {X: right, Y: low}, {X: right, Y: high}, {X: left, Y: high}})
	}
	canvas.StrokeLine2(draw.LineStyle{Color: ink, Width: vg.Points(0.8)}, canvas.Min.X, y(0), canvas.Max.X, y(0))
}

// DataRange has zero in it.
func (b blocks) DataRange() (left, right, low, high float64) {
	left, right = math.Inf(1), math.Inf(-1)
	for _, bar := range b {
		left, right = min(left, bar.at-bar.width/2), max(right, bar.at+bar.width/2)
		low, high = min(low, bar.from, bar.to), max(high, bar.from, bar.to)
	}
	if low == 0 && high == 0 {
		high = 1
	}
	return left, right, low, high
}

// swatch is a bar's colour in the legend.
type swatch struct{ color color.Color }

// Thumbnail fills the place in the legend.
func (s swatch) Thumbnail(canvas *draw.Canvas) {
	canvas.FillPolygon(s.color, []vg.Point{canvas.Min, {X: canvas.Min.X, Y: canvas.Max.Y}, canvas.Max, {X: canvas.Max.X, Y: canvas.Min.Y}})
}

func (c *Chart) bars(p *plot.Plot) {
	const together = 0.8 // of the room that a category has
	each := together / float64(len(c.Series))
	var list blocks
	for i, s := range c.Series {
		tone := palette[i%len(palette)]
		for k, v := range s.Values {
			if !v.none() {
				at := float64(k) - together/2 + each*(float64(i)+0.5)
				list = append(list, block{at, each * 0.95, 0, float64(v), tone})
			}
		}
		c.named(p, s, swatch{tone})
	}
	p.Add(list)
	c.below(p)
	c.headroom(p)
}

// waterfall shows how each value changes the sum, and the sum at the end.
func (c *Chart) waterfall(p *plot.Plot) {
	up, down, total := palette[2], palette[5], palette[0]
	var list blocks
	sum := 0.0
	for i, v := range c.Series[0].Values {
		tone := up
		if v < 0 {
			tone = down
		}
		list = append(list, block{float64(i), 0.7, sum, sum + float64(v), tone})
		sum += float64(v)
	}
	list = append(list, block{float64(len(c.Categories)), 0.7, 0, sum, total})
	p.Add(list)
	whole := *c
	whole.Categories = append(append([]string{}, c.Categories...), "Total")
	whole.below(p)
	p.Legend.Add("increase", swatch{up})
	p.Legend.Add("decrease", swatch{down})
	p.Legend.Add("total", swatch{total})
	p.Y.Max += (p.Y.Max - p.Y.Min) * 0.23
}

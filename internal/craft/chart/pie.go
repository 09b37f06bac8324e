package chart

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// pie draws shares clockwise from the top, each with its name, value and part
// beside the circle.
func (c *Chart) pie(area draw.Canvas) {
	title := sans(15, true)
	title.XAlign, title.YAlign = text.XCenter, text.YTop
	area.FillText(title, vg.Point{X: area.Center().X, Y: area.Max.Y}, c.Title)
	values := c.Series[0].Values
	sum := 0.0
	for _, v := range values {
		sum += float64(v)
	}
	radius := vg.Length(math.Min(float64(area.Max.Y-area.Min.Y)-60, float64(area.Max.X-area.Min.X)*0.5) / 2)
	center := vg.Point{X: area.Min.X + radius + vg.Points(20), Y: (area.Min.Y + area.Max.Y - vg.Points(24)) / 2}
	angle := math.Pi / 2
	for i, v := range values {
		turn := -2 * math.Pi * float64(v) / sum
		slice(area, center, radius, angle, turn, tone(i))
		angle += turn
	}
	c.shares(area, center.X+radius+vg.Points(40), sum)
}

// tone is the colour of a share; after the palette it begins again, lighter.
func tone(i int) color.Color {
	base := palette[i%len(palette)]
	for range i / len(palette) {
		base.R, base.G, base.B = lighter(base.R), lighter(base.G), lighter(base.B)
	}
	return base
}

func lighter(v uint8) uint8 { return v + (255-v)/2 }

func slice(area draw.Canvas, center vg.Point, radius vg.Length, from, turn float64, fill color.Color) {
	if turn == 0 {
		return
	}
	var path vg.Path
	path.Move(center)
	path.Line(vg.Point{X: center.X + radius*vg.Length(math.Cos(from)), Y: center.Y + radius*vg.Length(math.Sin(from))})
	path.Arc(center, radius, from, turn)
	path.Close()
	area.SetColor(fill)
	area.Fill(path)
	area.SetLineStyle(draw.LineStyle{Color: color.White, Width: vg.Points(1.5)})
	area.Stroke(path)
}

// shares lists the names from the top down.
func (c *Chart) shares(area draw.Canvas, left vg.Length, sum float64) {
	row := min(vg.Points(20), (area.Max.Y-area.Min.Y-vg.Points(40))/vg.Length(len(c.Categories)))
	look := sans(min(10, float64(row)*0.7), false)
	look.YAlign = text.YCenter
	y := area.Max.Y - vg.Points(44)
	for i, name := range c.Categories {
		v := float64(c.Series[0].Values[i])
		half := row * 0.35
		area.FillPolygon(tone(i), []vg.Point{{X: left, Y: y - half}, {X: left, Y: y + half}, {X: left + 2*half, Y: y + half}, {X: left + 2*half, Y: y - half}})
		label := shorten(name, 30) + "   " + figure(v) + "   " + strconv.FormatFloat(100*v/sum, 'f', 1, 64) + " %"
		area.FillText(look, vg.Point{X: left + 3*half, Y: y}, label)
		y -= row
	}
}

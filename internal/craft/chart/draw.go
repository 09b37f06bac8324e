package chart

import (
	"bytes"
	"image/color"
	"math"
	"strconv"

	weight "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/loomrun/loom/internal/base/fault"
)

// Size of a picture: 800 by 500 pixels, twice that many in a PNG.
const (
	width  = 800 * vg.Inch / 96
	height = 500 * vg.Inch / 96
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
)

// PNG draws the chart as a picture of 1600 by 1000 pixels.
func (c *Chart) PNG() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(192), vgimg.UseBackgroundColor(color.White))
	if err := c.draw(canvas); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&out); err != nil {
		return nil, fault.New("chart/invalid", "the picture cannot be written: %s", err)
	}
	return out.Bytes(), nil
}

// SVG draws the chart as text that scales. It names its font and, for where
// that is missing, others of the same widths.
func (c *Chart) SVG() ([]byte, error) {
	canvas := vgsvg.New(width, height)
	if err := c.draw(canvas); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fault.New("chart/invalid", "the picture cannot be written: %s", err)
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")), nil
}

// draw checks and draws; a library that breaks down on odd figures has a
// refusal made of it.
func (c *Chart) draw(canvas vg.CanvasSizer) (err error) {
	if err := c.Check(); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fault.New("chart/invalid", "these figures cannot be drawn: %v", p)
		}
	}()
	area := draw.New(canvas)
	area.SetColor(color.White)
	area.Fill(area.Rectangle.Path())
	area = draw.Crop(area, vg.Points(12), -vg.Points(18), vg.Points(12), -vg.Points(12))
	if c.Kind == "pie" {
		c.pie(area)
		return nil
	}
	p, err := c.plot()
	if err != nil {
		return fault.New("chart/invalid", "these figures cannot be drawn: %s", err)
	}
	p.Draw(area)
	return nil
}

// sans is the font of all text, kept in the program.
func sans(points float64, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(points)}
	if bold {
		f.Weight = weight.WeightBold
	}
	return text.Style{Color: ink, Font: f, Handler: text.Plain{Fonts: fonts}}
}

var fonts = font.NewCache(liberation.Collection())

// plot makes the frame that all charts with axes have.
func (c *Chart) plot() (*plot.Plot, error) {
	p := plot.New()
	p.BackgroundColor = color.White
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.TextHandler = text.Plain{Fonts: fonts}
	style(&p.Title.TextStyle, 15, true)
	p.Title.Padding = vg.Points(10)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		style(&axis.Label.TextStyle, 11, false)
		style(&axis.Tick.Label, 10, false)
		axis.Label.Padding = vg.Points(6)
		axis.Color, axis.Tick.Color = ink, ink
		axis.Tick.Marker = ticks{}
	}
	style(&p.Legend.TextStyle, 10, false)
	p.Legend.Top, p.Legend.Padding, p.Legend.YOffs = true, vg.Points(4), -vg.Points(4)
	return p, c.fill(p)
}

// style sets font, size and colour, and leaves how the text is placed.
func style(s *text.Style, points float64, bold bool) {
	look := sans(points, bold)
	s.Font, s.Color, s.Handler = look.Font, look.Color, look.Handler
}

// ticks are at round numbers, written as people do.
type ticks struct{}

// Ticks returns the marks from least to most.
func (ticks) Ticks(least, most float64) []plot.Tick {
	if span := most - least; math.IsInf(span, 0) || span < 1e-9*max(math.Abs(least), math.Abs(most)) || span < 1/largest {
		return []plot.Tick{{Value: least, Label: figure(least)}, {Value: most, Label: figure(most)}} // round numbers would be looked for without end
	}
	list := plot.DefaultTicks{}.Ticks(least, most)
	for i := range list {
		if v, err := strconv.ParseFloat(list[i].Label, 64); err == nil {
			list[i].Label = figure(v)
		}
	}
	return list
}

// figure writes a number with separated thousands, and large ones with M or G.
func figure(v float64) string {
	suffix := ""
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}} {
		if math.Abs(v) >= unit.size {
			v, suffix = v/unit.size, " "+unit.name
			break
		}
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if math.Abs(v) >= 1e4 || len(s) > 8 {
		s = strconv.FormatFloat(v, 'g', 6, 64)
	}
	return grouped(s) + suffix
}

// grouped puts a comma between the thousands of a plain number.
func grouped(s string) string {
	end := len(s)
	for i, r := range s {
		if r == 'e' {
			return s
		}
		if r == '.' {
			end = i
		}
	}
	for i := end - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

package chart

import (
	"image/color"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Size of a picture in pixels; a PNG has twice as many.
const (
	width  = 800
	height = 500
)

// point is a place in a picture: pixels from the left and from the top.
type point struct{ x, y float64 }

func (p point) plus(x, y float64) point { return point{p.x + x, p.y + y} }

// canvas is what a picture is drawn on.
type canvas interface {
	// fill paints the inside of a polygon.
	fill(tone color.RGBA, corners ...point)
	// line draws through points.
	line(pen pen, points ...point)
	// text writes one line, its middle at the height of a point.
	text(at point, words string, look look)
}

// pen says how a line looks. Dashes are lengths of what is drawn and left out by turns;
// none draw all of it.
type pen struct {
	tone   color.RGBA
	width  float64
	dashes []float64
}

// Where a text stands from its point.
const (
	rightOf = iota
	around
	leftOf
)

// look says how a text looks.
type look struct {
	size  float64 // pixels
	bold  bool
	stand int     // rightOf, around or leftOf its point
	turn  float64 // degrees counterclockwise, about its point
}

// rise is how far below the middle of a text its base line is, in sizes.
const rise = 0.35

// The fonts, kept in the program.
var (
	regular = parsed(goregular.TTF)
	bold    = parsed(gobold.TTF)
)

func parsed(data []byte) *sfnt.Font {
	f, err := sfnt.Parse(data)
	if err != nil {
		panic(err) // it is in the program
	}
	return f
}

func (l look) font() *sfnt.Font {
	if l.bold {
		return bold
	}
	return regular
}

// wide returns how wide words are, in pixels.
func (l look) wide(words string) float64 {
	total := 0.0
	l.glyphs(words, func(_ *sfnt.Font, _ sfnt.GlyphIndex, at float64) { total = at })
	return total
}

// glyphs visits the glyphs of words, each with where it begins, and at last glyph 0 with
// the end.
func (l look) glyphs(words string, visit func(f *sfnt.Font, glyph sfnt.GlyphIndex, at float64)) {
	f, buffer, at := l.font(), &sfnt.Buffer{}, 0.0
	units := fixed.Int26_6(f.UnitsPerEm())
	for _, r := range words {
		glyph, err := f.GlyphIndex(buffer, r)
		if err != nil {
			glyph = 0 // the box of what a font does not have
		}
		visit(f, glyph, at)
		if advance, err := f.GlyphAdvance(buffer, glyph, units, font.HintingNone); err == nil {
			at += float64(advance) * l.size / float64(units)
		}
	}
	visit(f, 0, at)
}

// turned returns a place that is x to the right and y below another one, after a turn
// about that.
func (l look) turned(at point, x, y float64) point {
	sin, cos := math.Sincos(-l.turn * math.Pi / 180)
	return at.plus(x*cos-y*sin, x*sin+y*cos)
}

// begins returns how far from its point a text begins.
func (l look) begins(words string) float64 {
	switch l.stand {
	case around:
		return -l.wide(words) / 2
	case leftOf:
		return -l.wide(words)
	}
	return 0
}

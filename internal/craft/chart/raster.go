package chart

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"

	"github.com/loomrun/loom/internal/base/fault"
)

// sharp is how many pixels of a PNG one of the picture is, each way.
const sharp = 2

// PNG draws the chart as a picture of 1600 by 1000 pixels.
func (c *Chart) PNG() ([]byte, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	r := raster{image.NewRGBA(image.Rect(0, 0, width*sharp, height*sharp))}
	draw.Draw(r, r.Bounds(), image.White, image.Point{}, draw.Src)
	c.draw(r)
	var out bytes.Buffer
	if err := png.Encode(&out, r.RGBA); err != nil {
		return nil, fault.New("chart/invalid", "the picture cannot be written: %s", err)
	}
	return out.Bytes(), nil
}

// raster is a canvas of pixels.
type raster struct{ *image.RGBA }

func (r raster) fill(tone color.RGBA, corners ...point) {
	r.shape(tone, corners, func(v *vector.Rasterizer, at func(point) (x, y float32)) {
		v.MoveTo(at(corners[0]))
		for _, p := range corners[1:] {
			v.LineTo(at(p))
		}
		v.ClosePath()
	})
}

// shape paints the inside of outlines that lie within the bounds of some points: only
// so much is looked at.
func (r raster) shape(tone color.RGBA, within []point, outline func(v *vector.Rasterizer, at func(point) (x, y float32))) {
	least, most := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, p := range within {
		least = point{min(least.x, p.x), min(least.y, p.y)}
		most = point{max(most.x, p.x), max(most.y, p.y)}
	}
	box := image.Rect(int(math.Floor(least.x*sharp)), int(math.Floor(least.y*sharp)), int(math.Ceil(most.x*sharp)), int(math.Ceil(most.y*sharp))).
		Intersect(r.Bounds())
	if box.Empty() {
		return
	}
	v := vector.NewRasterizer(box.Dx(), box.Dy())
	outline(v, func(p point) (x, y float32) {
		return float32(p.x*sharp - float64(box.Min.X)), float32(p.y*sharp - float64(box.Min.Y))
	})
	v.Draw(r, box, image.NewUniform(tone), image.Point{})
}

// line draws each stretch as a bar, with a disc where it meets the next.
func (r raster) line(p pen, points ...point) {
	dash, left := 0, math.Inf(1)
	if len(p.dashes) > 0 {
		left = p.dashes[0]
	}
	for i := 1; i < len(points); i++ {
		from, to := points[i-1], points[i]
		length := math.Hypot(to.x-from.x, to.y-from.y)
		along := func(at float64) point { return from.plus((to.x-from.x)*at/length, (to.y-from.y)*at/length) }
		for at := 0.0; at < length; {
			end := min(at+left, length)
			if dash%2 == 0 {
				r.bar(p, along(at), along(end))
			}
			if left -= end - at; left <= 0 {
				dash++
				left = p.dashes[dash%len(p.dashes)]
			}
			at = end
		}
		if dash%2 == 0 && i+1 < len(points) {
			r.fill(p.tone, disc(to, p.width/2)...)
		}
	}
}

func (r raster) bar(p pen, from, to point) {
	length := math.Hypot(to.x-from.x, to.y-from.y)
	if length == 0 {
		return
	}
	x, y := (to.y-from.y)/length*p.width/2, (from.x-to.x)/length*p.width/2
	r.fill(p.tone, from.plus(x, y), to.plus(x, y), to.plus(-x, -y), from.plus(-x, -y))
}

// text draws the outlines of the glyphs.
func (r raster) text(at point, words string, l look) {
	begin, buffer := l.begins(words), &sfnt.Buffer{}
	l.glyphs(words, func(f *sfnt.Font, glyph sfnt.GlyphIndex, x float64) {
		units := fixed.Int26_6(f.UnitsPerEm())
		outline, err := f.LoadGlyph(buffer, glyph, units, nil)
		if err != nil || glyph == 0 {
			return // a letter that the font does not have is a gap
		}
		place := func(p fixed.Point26_6) point {
			scale := l.size / float64(units)
			return l.turned(at, begin+x+float64(p.X)*scale, rise*l.size+float64(p.Y)*scale)
		}
		var all []point
		for _, s := range outline {
			for _, p := range s.Args[:arguments[s.Op]] {
				all = append(all, place(p))
			}
		}
		r.shape(ink, all, func(v *vector.Rasterizer, to func(point) (x, y float32)) {
			for _, s := range outline {
				draw1(v, s, func(p fixed.Point26_6) (x, y float32) { return to(place(p)) })
			}
		})
	})
}

// arguments is how many points a part of an outline has.
var arguments = map[sfnt.SegmentOp]int{sfnt.SegmentOpMoveTo: 1, sfnt.SegmentOpLineTo: 1, sfnt.SegmentOpQuadTo: 2, sfnt.SegmentOpCubeTo: 3}

// draw1 draws a part of an outline.
func draw1(v *vector.Rasterizer, s sfnt.Segment, at func(fixed.Point26_6) (x, y float32)) {
	ax, ay := at(s.Args[0])
	switch s.Op {
	case sfnt.SegmentOpMoveTo:
		v.ClosePath()
		v.MoveTo(ax, ay)
	case sfnt.SegmentOpLineTo:
		v.LineTo(ax, ay)
	case sfnt.SegmentOpQuadTo:
		bx, by := at(s.Args[1])
		v.QuadTo(ax, ay, bx, by)
	case sfnt.SegmentOpCubeTo:
		bx, by := at(s.Args[1])
		cx, cy := at(s.Args[2])
		v.CubeTo(ax, ay, bx, by, cx, cy)
	}
}

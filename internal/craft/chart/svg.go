package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"
)

// SVG draws the chart as text that scales. It names its font and, for where that is
// missing, others.
func (c *Chart) SVG() ([]byte, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	s := &svg{}
	fmt.Fprintf(s, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\""+
		" font-family=\"Go,Arial,Helvetica,sans-serif\" fill=\"%s\">\n", width, height, width, height, hex(ink))
	fmt.Fprintf(s, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height)
	c.draw(s)
	s.WriteString("</svg>\n")
	return s.Bytes(), nil
}

// svg is a canvas of text.
type svg struct{ bytes.Buffer }

func (s *svg) fill(tone color.RGBA, corners ...point) {
	fmt.Fprintf(s, "<path d=\"%sZ\" fill=\"%s\"/>\n", path(corners), hex(tone))
}

func (s *svg) line(p pen, points ...point) {
	fmt.Fprintf(s, "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-linejoin=\"round\"", path(points), hex(p.tone), short(p.width))
	if len(p.dashes) > 0 {
		list := make([]string, len(p.dashes))
		for i, d := range p.dashes {
			list[i] = short(d)
		}
		fmt.Fprintf(s, " stroke-dasharray=\"%s\"", strings.Join(list, ","))
	}
	s.WriteString("/>\n")
}

func (s *svg) text(at point, words string, l look) {
	fmt.Fprintf(s, "<text x=\"%s\" y=\"%s\" font-size=\"%s\"", short(at.x), short(at.y+rise*l.size), short(l.size))
	if l.bold {
		s.WriteString(" font-weight=\"bold\"")
	}
	if l.stand != rightOf {
		fmt.Fprintf(s, " text-anchor=\"%s\"", []string{"start", "middle", "end"}[l.stand])
	}
	if l.turn != 0 {
		fmt.Fprintf(s, " transform=\"rotate(%s %s %s)\"", short(-l.turn), short(at.x), short(at.y))
	}
	s.WriteString(">")
	_ = xml.EscapeText(s, []byte(words)) // the buffer takes everything
	s.WriteString("</text>\n")
}

func path(points []point) string {
	var b strings.Builder
	for i, p := range points {
		b.WriteString([]string{"M", "L"}[min(i, 1)] + short(p.x) + " " + short(p.y))
	}
	return b.String()
}

// short writes a length to a tenth of a pixel.
func short(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64) }

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

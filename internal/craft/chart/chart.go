package chart

import (
	"image/color"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// Kinds of charts.
var Kinds = []string{"bar", "line", "pie", "scatter", "waterfall"}

// Limits of a chart.
const (
	MaxSeries     = 8
	MaxCategories = 60
	MaxPoints     = 5000
	maxText       = 120 // characters of a title or label
)

// Chart says what is drawn. It is also the chart's data, as JSON.
type Chart struct {
	Kind  string `json:"kind"`
	Title string `json:"title"`
	// Captioned says that the title stands beside the chart, and so not in it.
	Captioned bool `json:"-"`
	// X and Y name the axes; a pie has none.
	X string `json:"x,omitempty"`
	Y string `json:"y,omitempty"`
	// Categories are what values belong to; a scatter chart has none.
	Categories []string `json:"categories,omitempty"`
	Series     []Series `json:"series"`
	// Colors are those of the series, or of a pie's shares, in their order; with none it
	// is drawn in colours that people tell apart who see colours badly. A waterfall has
	// its own.
	Colors []color.RGBA `json:"-"`
}

// Series is values in the order of the categories, or points.
type Series struct {
	Name string `json:"name"`
	// Values are null (NaN) where there is none, in bars and lines.
	Values []Number `json:"values,omitempty"`
	Points []Point  `json:"points,omitempty"`
}

// Point is one of a scatter chart.
type Point struct {
	X Number `json:"x"`
	Y Number `json:"y"`
}

// Check reports all that keeps the chart from being drawn, as chart/invalid.
func (c *Chart) Check() error {
	var errs []*fault.Error
	refuse := func(where, format string, args ...any) {
		errs = append(errs, fault.New("chart/invalid", format, args...).At(where))
	}
	if !slices.Contains(Kinds, c.Kind) {
		refuse("kind", "there is no such chart; %s", suggest.Among(c.Kind, Kinds))
		return fault.Join(errs)
	}
	for where, text := range map[string]string{"title": c.Title, "x": c.X, "y": c.Y} {
		if utf8.RuneCountInString(text) > maxText || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
			refuse(where, "it is not one line of at most %d characters", maxText)
		}
	}
	if strings.TrimSpace(c.Title) == "" {
		refuse("title", "a chart says in its title what it shows")
	}
	slices.SortFunc(errs, func(a, b *fault.Error) int { return strings.Compare(a.Where, b.Where) })
	c.checkSeries(refuse)
	if c.Kind == "scatter" {
		c.checkPoints(refuse)
	} else {
		c.checkValues(refuse)
	}
	return fault.Join(errs)
}

type refusal func(where, format string, args ...any)

func (c *Chart) checkSeries(refuse refusal) {
	if n := len(c.Series); n == 0 || n > MaxSeries {
		refuse("series", "there are %d series, not 1 to %d", n, MaxSeries)
	}
	if len(c.Series) > 1 && (c.Kind == "pie" || c.Kind == "waterfall") {
		refuse("series", "a %s chart shows one series", c.Kind)
	}
	seen := map[string]bool{}
	for _, s := range c.Series {
		if seen[s.Name] {
			refuse("series", "two series have the name %q", s.Name)
		}
		seen[s.Name] = true
	}
}

func (c *Chart) checkPoints(refuse refusal) {
	total := 0
	for _, s := range c.Series {
		total += len(s.Points)
		for i, p := range s.Points {
			if !p.X.finite() || !p.Y.finite() || p.X.large() || p.Y.large() {
				refuse("series "+s.Name, "point %d has no number", i+1)
				return
			}
		}
	}
	if total == 0 || total > MaxPoints {
		refuse("series", "there are %d points, not 1 to %d", total, MaxPoints)
	}
}

func (c *Chart) checkValues(refuse refusal) {
	if n := len(c.Categories); n == 0 || n > MaxCategories {
		refuse("categories", "there are %d categories, not 1 to %d", n, MaxCategories)
	}
	for _, s := range c.Series {
		if len(s.Values) != len(c.Categories) {
			refuse("series "+s.Name, "it has %d values for %d categories", len(s.Values), len(c.Categories))
			continue
		}
		c.checkSigns(s, refuse)
	}
}

// checkSigns looks for values that the kind of chart cannot show.
func (c *Chart) checkSigns(s Series, refuse refusal) {
	sum, numbers := 0.0, 0
	for i, v := range s.Values {
		switch {
		case v.none() && (c.Kind == "pie" || c.Kind == "waterfall"):
			refuse("series "+s.Name, "%q has no value", c.Categories[i])
		case v.none():
		case v.large():
			refuse("series "+s.Name, "%q is beyond %g, too large to be drawn", c.Categories[i], float64(largest))
		case !v.finite():
			refuse("series "+s.Name, "%q is not a finite number", c.Categories[i])
		case c.Kind == "pie" && v < 0:
			refuse("series "+s.Name, "%q is negative, and a pie has no such share", c.Categories[i])
		default:
			sum += math.Abs(float64(v))
			numbers++
		}
	}
	if numbers == 0 {
		refuse("series "+s.Name, "it has no numbers")
	} else if c.Kind == "pie" && sum == 0 {
		refuse("series "+s.Name, "all shares are zero")
	}
}

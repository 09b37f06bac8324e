package chart_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/craft/chart"
)

func numbers(list ...float64) []chart.Number {
	out := make([]chart.Number, len(list))
	for i, v := range list {
		out[i] = chart.Number(v)
	}
	return out
}

var none = math.NaN()

func samples() map[string]*chart.Chart {
	quarters := []string{"Q1", "Q2", "Q3", "Q4"}
	return map[string]*chart.Chart{
		"bar": {Kind: "bar", Title: "Revenue by region", X: "Quarter", Y: "USD", Categories: quarters, Series: []chart.Series{
			{Name: "North", Values: numbers(1200000, 1500000, -300000, 1900000)}, {Name: "South", Values: numbers(900000, none, 1100000, 1250000)},
		}},
		"line": {Kind: "line", Title: "Users & visitors", X: "Quarter", Y: "Users", Categories: quarters, Series: []chart.Series{
			{Name: "Free", Values: numbers(10, none, 15, 22)}, {Name: "Paid <all>", Values: numbers(1, 2, 2.5, 3)},
		}},
		"pie": {Kind: "pie", Title: "Market share", Categories: quarters, Series: []chart.Series{{Name: "Share", Values: numbers(41, 27, 0, 20)}}},
		"scatter": {Kind: "scatter", Title: "Price and quality", X: "Price", Y: "Score", Series: []chart.Series{
			{Name: "A", Points: []chart.Point{{X: 10, Y: 3}, {X: 20, Y: 4}}},
		}},
		"waterfall": {Kind: "waterfall", Title: "From revenue to profit", Y: "USD k", Categories: quarters, Series: []chart.Series{
			{Name: "P&L", Values: numbers(1000, -400, 50, -200)},
		}},
	}
}

// Each kind is drawn, twice the same, with all its words, as sound PNG and XML.
func TestTOOL01_ChartsAreDrawn(t *testing.T) {
	longtest.Skip(t)
	for kind, c := range samples() {
		picture, err := c.PNG()
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		again, _ := c.PNG()
		size, err := png.DecodeConfig(bytes.NewReader(picture))
		if err != nil || !bytes.Equal(picture, again) || size.Width != 1600 || size.Height != 1000 {
			t.Errorf("%s: %v, the same again: %t", kind, err, bytes.Equal(picture, again))
			continue
		}
		if img, err := png.Decode(bytes.NewReader(picture)); err != nil || colours(img) < 5 {
			t.Errorf("%s: %v, or an empty picture", kind, err)
		}
		svg, err := c.SVG()
		svgAgain, _ := c.SVG()
		if err != nil || !bytes.Equal(svg, svgAgain) {
			t.Errorf("%s: %v, the same again: %t", kind, err, bytes.Equal(svg, svgAgain))
		}
		words := texts(t, svg)
		for _, w := range append([]string{c.Title}, c.Categories...) {
			if !strings.Contains(words, w) {
				t.Errorf("%s: the SVG lacks %q: %s", kind, w, words)
			}
		}
	}
}

func colours(img image.Image) int {
	seen := map[color.Color]bool{}
	const step = 3 // pixels
	for x := 0; x < img.Bounds().Dx(); x += step {
		for y := 0; y < img.Bounds().Dy(); y += step {
			seen[img.At(x, y)] = true
		}
	}
	return len(seen)
}

// texts reads all text of an SVG, which must be sound XML.
func texts(t testing.TB, svg []byte) string {
	t.Helper()
	var b strings.Builder
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
		if text, ok := token.(xml.CharData); ok {
			b.Write(text)
		}
	}
}

// All that is drawn lies within the picture, whatever the texts and figures are.
func TestTOOL01_NothingIsDrawnOutside(t *testing.T) {
	names := make([]string, 60)
	values := make([]float64, len(names))
	for i := range names {
		names[i], values[i] = strings.Repeat("long name ", 12), float64(i)*1e15-2e16
	}
	wide := strings.Repeat("W", 120)
	for _, c := range []*chart.Chart{
		{Kind: "bar", Title: wide, X: wide, Y: wide, Categories: names, Series: []chart.Series{{Name: wide, Values: numbers(values...)}, {Name: "b", Values: numbers(values...)}}},
		{Kind: "line", Title: "t", Y: "y", Categories: names, Series: []chart.Series{{Name: "a", Values: numbers(values...)}}},
		{Kind: "scatter", Title: "t", Series: []chart.Series{{Points: []chart.Point{{X: -1e99, Y: 1e99}}}}},
		{Kind: "pie", Title: wide, Categories: names[:20], Series: []chart.Series{{Values: numbers(values[40:]...)}}},
	} {
		svg, err := c.SVG()
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range places(t, svg) {
			if at[0] < 0 || at[0] > 800 || at[1] < 0 || at[1] > 500 {
				t.Errorf("%s: something is drawn at %v", c.Kind, at)
			}
		}
	}
}

// places are the corners of all shapes of an SVG, and where its texts stand.
func places(t testing.TB, svg []byte) (list [][2]float64) {
	t.Helper()
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, m := range regexp.MustCompile(`[ML](-?[\d.]+) (-?[\d.]+)|<text x="(-?[\d.]+)" y="(-?[\d.]+)"`).FindAllSubmatch(svg, -1) {
		list = append(list, [2]float64{number(string(m[1]) + string(m[3])), number(string(m[2]) + string(m[4]))})
	}
	if len(list) < 10 {
		t.Fatalf("%d places", len(list))
	}
	return list
}

// The bars and lines are where they were when somebody last looked at them.
func TestTOOL01_PictureOfAChart(t *testing.T) {
	for kind, c := range samples() {
		svg, err := c.SVG()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", kind+".svg")
		if os.Getenv("UPDATE_PICTURES") != "" {
			if err := os.WriteFile(path, svg, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(want, svg) {
			t.Errorf("%s is another picture (%v); look at it, then run with UPDATE_PICTURES=1", kind, err)
		}
	}
}

func TestTOOL01_ChartsThatAreRefused(t *testing.T) {
	many := make([]string, 61)
	for _, tt := range []struct {
		chart chart.Chart
		want  string
	}{
		{chart.Chart{Kind: "radar"}, "kind: there is no such chart"},
		{chart.Chart{Kind: "bar", Categories: []string{"a"}, Series: []chart.Series{{Values: numbers(1)}}}, "title: a chart says in its title what it shows"},
		{chart.Chart{Kind: "bar", Title: "a\nb", Categories: []string{"a"}, Series: []chart.Series{{Values: numbers(1)}}}, "title: it is not one line of at most 120 characters"},
		{chart.Chart{Kind: "bar", Title: "t", Categories: []string{"a"}}, "series: there are 0 series, not 1 to 8"},
		{chart.Chart{Kind: "bar", Title: "t", Categories: []string{"a"}, Series: []chart.Series{{Name: "s", Values: numbers(1, 2)}}}, "series s: it has 2 values for 1 categories"},
		{chart.Chart{Kind: "bar", Title: "t", Categories: []string{"a"}, Series: []chart.Series{{Name: "s", Values: numbers(none)}}}, "series s: it has no numbers"},
		{chart.Chart{Kind: "bar", Title: "t", Categories: []string{"a"}, Series: []chart.Series{{Name: "s", Values: numbers(math.Inf(1))}}}, `series s: "a" is not a finite number`},
		{chart.Chart{Kind: "bar", Title: "t", Categories: many, Series: []chart.Series{{Name: "s"}}}, "categories: there are 61 categories, not 1 to 60"},
		{chart.Chart{Kind: "line", Title: "t", Categories: []string{"a"}, Series: []chart.Series{{Name: "s", Values: numbers(1)}, {Name: "s", Values: numbers(1)}}}, `series: two series have the name "s"`},
		{chart.Chart{Kind: "pie", Title: "t", Categories: []string{"a", "b"}, Series: []chart.Series{{Name: "s", Values: numbers(1, -1)}}}, `series s: "b" is negative, and a pie has no such share`},
		{chart.Chart{Kind: "pie", Title: "t", Categories: []string{"a"}, Series: []chart.Series{{Name: "s", Values: numbers(0)}}}, "series s: all shares are zero"},
		{chart.Chart{Kind: "waterfall", Title: "t", Categories: []string{"a"}, Series: []chart.Series{{Name: "s", Values: numbers(1)}, {Name: "r", Values: numbers(1)}}}, "series: a waterfall chart shows one series"},
		{chart.Chart{Kind: "scatter", Title: "t", Series: []chart.Series{{Name: "s"}}}, "series: there are 0 points, not 1 to 5000"},
		{chart.Chart{Kind: "scatter", Title: "t", Series: []chart.Series{{Name: "s", Points: []chart.Point{{X: chart.None()}}}}}, "series s: point 1 has no number"},
	} {
		_, err := tt.chart.PNG()
		if fault.Code(err) != "chart/invalid" || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %s", tt.chart, err, tt.want)
		}
	}
}

// The data of a chart survive JSON.
func TestTOOL01_ChartData(t *testing.T) {
	c := samples()["bar"]
	data, err := json.Marshal(c)
	if err != nil || !strings.Contains(string(data), `"values":[900000,null,1100000,1250000]`) {
		t.Fatalf("%s %v", data, err)
	}
	var back chart.Chart
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if again, _ := json.Marshal(back); !bytes.Equal(again, data) {
		t.Errorf("%s, then %s", data, again)
	}
}

// Whatever the figures are, they are drawn or refused.
func TestTOOL01_AnyFiguresAreDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := chart.Chart{Kind: rapid.SampledFrom(chart.Kinds).Draw(t, "kind"), Title: "t"}
		n := rapid.IntRange(1, 5).Draw(t, "categories")
		var s chart.Series
		for i := range n {
			v := chart.Number(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, 1, -1, 1e300, 1e-300, none})).Draw(t, "value"))
			c.Categories = append(c.Categories, fmt.Sprint(i))
			s.Values, s.Points = append(s.Values, v), append(s.Points, chart.Point{X: v, Y: chart.Number(i)})
		}
		if c.Kind == "scatter" {
			c.Categories, s.Values = nil, nil
		}
		c.Series = []chart.Series{s}
		if _, err := c.SVG(); err != nil && fault.Code(err) != "chart/invalid" {
			t.Fatalf("%+v: %v", c, err)
		}
	})
}

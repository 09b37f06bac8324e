package chart

import (
	"math"
	"strconv"
)

// axis maps the values of a range to pixels.
type axis struct {
	least, most float64
	from, to    float64
}

// at returns where a value is.
func (a axis) at(v float64) float64 {
	return a.from + (v-a.least)/(a.most-a.least)*(a.to-a.from)
}

// span is a range of values that grows.
type span struct{ least, most float64 }

func nothing() span { return span{math.Inf(1), math.Inf(-1)} }

func (s *span) with(values ...float64) {
	for _, v := range values {
		s.least, s.most = min(s.least, v), max(s.most, v)
	}
}

// wider is the range with some room at both ends.
func (s span) wider() span {
	room := (s.most - s.least) * 0.04
	return span{s.least - room, s.most + room}
}

// open is the range, or one around its only value.
func (s span) open() span {
	if s.most-s.least > 1e-9*max(math.Abs(s.least), math.Abs(s.most)) && s.most-s.least >= 1/largest {
		return s
	}
	room := max(math.Abs(s.least), math.Abs(s.most)) / 2
	if room < 1/largest {
		room = 1
	}
	return span{s.least - room, s.most + room}
}

// ticks are round numbers within a range, at most eleven: multiples of 1, 2, 2.5 or 5
// times a power of ten.
func (s span) ticks() (list []float64) {
	raw := (s.most - s.least) / 6
	size := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * size
	for _, f := range []float64{5, 2.5, 2, 1} {
		if f*size >= raw {
			step = f * size
		}
	}
	for k := math.Ceil(s.least/step - 1e-9); k*step <= s.most+step*1e-9 && len(list) <= 12; k++ {
		v, err := strconv.ParseFloat(strconv.FormatFloat(k*step, 'g', 12, 64), 64)
		if err == nil {
			list = append(list, v+0) // no -0
		}
	}
	return list
}

// groups is from where on figures have commas between their thousands, all of a chart
// alike, as those of a table's column have.
const groups = 10_000

// figure writes a number of the chart.
func (c *Chart) figure(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if len(s) > 8 && math.Abs(v) < groups || math.Abs(v) >= 1e15 {
		s = strconv.FormatFloat(v, 'g', 6, 64)
	}
	if c.largest() < groups {
		return s
	}
	return grouped(s)
}

// largest is the largest figure that the chart is about, without its sign.
func (c *Chart) largest() (most float64) {
	for _, s := range c.Series {
		for _, v := range s.Values {
			if !v.none() {
				most = max(most, math.Abs(float64(v)))
			}
		}
		for _, p := range s.Points {
			most = max(most, math.Abs(float64(p.X)), math.Abs(float64(p.Y)))
		}
	}
	return most
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

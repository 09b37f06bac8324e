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

package main

import (
	"cmp"
	"math"
	"slices"
)

// figure is what one benchmark takes for one operation.
type figure struct {
	Probe  string  `json:"probe"`
	Time   float64 `json:"time"`   // in units of the probe
	Bytes  float64 `json:"bytes"`  // allocated
	Allocs float64 `json:"allocs"` // allocations
}

// run is what one run measured, by package and benchmark.
type run struct {
	Machine string            `json:"machine"` // for the reader; nothing is decided by it
	Figures map[string]figure `json:"figures"`
}

// limits say from which factor on something has become worse.
type limits struct{ time, memory float64 }

// verdict is one benchmark, then and now.
type verdict struct {
	Name      string  `json:"name"`
	Was       *figure `json:"was,omitempty"` // nil: it is new
	Is        *figure `json:"is,omitempty"`  // nil: it is gone
	Time      float64 `json:"time"`          // now as a multiple of then; 0 if one is missing
	Bytes     float64 `json:"bytes"`
	Allocs    float64 `json:"allocs"`
	Regressed bool    `json:"regressed"`
}

// compare holds one run against another, by name; the worst come first.
func compare(was, is run, l limits) []verdict {
	var all []verdict
	for name, f := range is.Figures {
		v := verdict{Name: name, Is: &f}
		if old, ok := was.Figures[name]; ok && old.Probe == f.Probe {
			v.against(old, l)
		}
		all = append(all, v)
	}
	for name, f := range was.Figures {
		if _, ok := is.Figures[name]; !ok {
			all = append(all, verdict{Name: name, Was: &f})
		}
	}
	slices.SortFunc(all, func(a, b verdict) int { return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name)) })
	return all
}

func (v *verdict) against(old figure, l limits) {
	v.Was = &old
	v.Time = factor(old.Time, v.Is.Time)
	v.Bytes, v.Allocs = factor(old.Bytes, v.Is.Bytes), factor(old.Allocs, v.Is.Allocs)
	// A handful of bytes, or one allocation, comes of rounding.
	moreBytes := v.Bytes > l.memory && v.Is.Bytes-old.Bytes > 64
	moreAllocs := v.Allocs > l.memory && v.Is.Allocs-old.Allocs > 1
	v.Regressed = v.Time > l.time || moreBytes || moreAllocs
}

// factor is how many times as much b is as a; nothing to nothing is 1.
func factor(a, b float64) float64 {
	if a == b {
		return 1
	}
	if a == 0 {
		return math.MaxFloat64 // JSON knows no infinity
	}
	return b / a
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

package chart

import (
	"encoding/json"
	"math"
)

// Number is a value of a chart; one that is missing is NaN, and null in JSON.
type Number float64

// None is a value that is missing.
func None() Number { return Number(math.NaN()) }

func (n Number) none() bool { return math.IsNaN(float64(n)) }

// largest is the largest figure that is drawn: axes of larger ones overflow.
const largest = 1e100

// large reports whether a figure is too large to be drawn.
func (n Number) large() bool { return math.Abs(float64(n)) > largest && !math.IsInf(float64(n), 0) }

func (n Number) finite() bool { return !n.none() && !math.IsInf(float64(n), 0) }

// MarshalJSON writes the shortest decimal that is the number.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.finite() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads a number, or null.
func (n *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = None()
		return nil
	}
	return json.Unmarshal(data, (*float64)(n))
}

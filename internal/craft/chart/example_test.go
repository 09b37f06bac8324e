package chart_test

import (
	"fmt"

	"github.com/loomrun/loom/internal/craft/chart"
)

// What would mislead is refused.
func ExampleChart_SVG() {
	c := chart.Chart{Kind: "pie", Title: "Result by product", Categories: []string{"pens", "ink"}, Series: []chart.Series{{Name: "USD", Values: []chart.Number{7, -2}}}}
	_, err := c.SVG()
	fmt.Println(err)
	c.Kind = "bar"
	picture, err := c.SVG()
	fmt.Println(len(picture) > 1000, err)
	// Output:
	// series USD: "ink" is negative, and a pie has no such share
	// true <nil>
}

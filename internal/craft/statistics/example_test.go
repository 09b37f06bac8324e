package statistics_test

import (
	"fmt"

	"github.com/loomrun/loom/internal/craft/statistics"
)

// A line through the first of Anscombe's sets.
func ExampleRegress() {
	x := []float64{10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5}
	y := []float64{8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68}
	r, err := statistics.Regress(y, [][]float64{x})
	fmt.Printf("y = %.2f + %.3f x, R2 %.3f, p %.4f, of %d %v\n", r.Coefficients[0].Value, r.Coefficients[1].Value, r.R2, r.P, r.Count, err)
	// Output:
	// y = 3.00 + 0.500 x, R2 0.667, p 0.0022, of 11 <nil>
}

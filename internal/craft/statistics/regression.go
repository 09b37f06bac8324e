package statistics

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loomrun/loom/internal/base/fault"
)

// Limits of a regression.
const (
	MaxPredictors = 20
	maxCondition  = 1e12 // beyond which too few digits of coefficients are right
)

// Coefficient is one of a regression.
type Coefficient struct {
	Value, Error float64
	// T is Value over Error; P the chance of one as far from 0 if it is 0.
	T, P float64
}

// Regression is a linear one by least squares.
type Regression struct {
	Count int
	// Coefficients are the constant, then one for each predictor.
	Coefficients []Coefficient
	// R2 is the part of the variance that is explained; Adjusted allows for
	// the number of predictors.
	R2, Adjusted float64
	// Deviation is that of the residuals.
	Deviation float64
	// F and P test that all coefficients but the constant are 0.
	F, P float64
}

// Regress fits y = constant + sum of coefficients * x, where x[i] is the
// column of predictor i. It needs 2 rows more than predictors.
func Regress(y []float64, x [][]float64) (Regression, error) {
	n, k := len(y), len(x)
	if k == 0 || k > MaxPredictors {
		return Regression{}, fault.New("calculation/limit", "a regression has 1 to %d predictors, not %d", MaxPredictors, k)
	}
	if n < k+2 {
		return Regression{}, few("this regression", k+2, n)
	}
	// Centred and scaled columns keep the digits of large numbers with small
	// differences.
	centres, scales, design := scaled(x, n)
	top := mean(y)
	target := mat.NewVecDense(n, nil)
	total := 0.0
	for i, v := range y {
		target.SetVec(i, v-top)
		total += (v - top) * (v - top)
	}
	var qr mat.QR
	qr.Factorize(design)
	if c := qr.Cond(); math.IsNaN(c) || c > maxCondition {
		return Regression{}, fault.New("calculation/domain", "the predictors depend on each other, or one of them is constant: leave one out")
	}
	var beta mat.VecDense
	if err := qr.SolveVecTo(&beta, false, target); err != nil {
		return Regression{}, fault.New("calculation/domain", "the regression has no solution: %s", err)
	}
	residual := residuals(design, &beta, target)
	return assemble(n, k, top, total, residual, beta.RawVector().Data, centres, scales, spread(&qr, k)), nil
}

func scaled(x [][]float64, n int) (centres, scales []float64, design *mat.Dense) {
	design = mat.NewDense(n, len(x), nil)
	for j, column := range x {
		m, squares := mean(column), 0.0
		for _, v := range column {
			squares += (v - m) * (v - m)
		}
		s := math.Sqrt(squares)
		centres, scales = append(centres, m), append(scales, s)
		for i, v := range column {
			design.Set(i, j, (v-m)/s)
		}
	}
	return centres, scales, design
}

// residuals returns the sum of their squares.
func residuals(design *mat.Dense, beta, target *mat.VecDense) (sum float64) {
	var fitted mat.VecDense
	fitted.MulVec(design, beta)
	for i := range target.Len() {
		d := target.AtVec(i) - fitted.AtVec(i)
		sum += d * d
	}
	return sum
}

// spread is the inverse of the product of the design with itself.
func spread(qr *mat.QR, k int) *mat.Dense {
	var r, inverse, product mat.Dense
	qr.RTo(&r)
	if err := inverse.Inverse(r.Slice(0, k, 0, k)); err != nil {
		return mat.NewDense(k, k, nil) // the condition was checked
	}
	product.Mul(&inverse, inverse.T())
	return &product
}

func assemble(n, k int, top, total, residual float64, beta, centres, scales []float64, spread *mat.Dense) Regression {
	freedom := float64(n - k - 1)
	variance := residual / freedom
	r := Regression{Count: n, Deviation: math.Sqrt(variance), R2: 1 - residual/total}
	r.Adjusted = 1 - (1-r.R2)*float64(n-1)/freedom
	r.F = (total - residual) / float64(k) / variance
	r.P = distuv.F{D1: float64(k), D2: freedom}.Survival(r.F)
	constant, shift := top, mat.NewVecDense(k, nil)
	for j := range k {
		constant -= beta[j] / scales[j] * centres[j]
		shift.SetVec(j, centres[j]/scales[j])
	}
	var v mat.VecDense
	v.MulVec(spread, shift)
	r.add(constant, math.Sqrt(variance*(1/float64(n)+mat.Dot(shift, &v))), freedom)
	for j := range k {
		r.add(beta[j]/scales[j], math.Sqrt(variance*spread.At(j, j))/scales[j], freedom)
	}
	return r
}

func (r *Regression) add(value, deviation, freedom float64) {
	t := value / deviation
	r.Coefficients = append(r.Coefficients, Coefficient{value, deviation, t, twoSided(t, freedom)})
}

// twoSided is the chance of a t as far from 0 as this one.
func twoSided(t, freedom float64) float64 {
	if math.IsNaN(t) {
		return math.NaN()
	}
	return 2 * distuv.StudentsT{Sigma: 1, Nu: freedom}.Survival(math.Abs(t))
}

// Trend is how a column goes on with time.
type Trend struct {
	Regression
	// Slope is the change for one step of time.
	Slope float64
	// First and Last are the values at both ends.
	First, Last float64
	// Direction is "rising", "falling" or "no clear trend" at 5 %.
	Direction string
}

// Follow fits a line through values at times, which must not all be the same.
func Follow(at, values []float64) (Trend, error) {
	if len(values) < 3 {
		return Trend{}, few("a trend", 3, len(values))
	}
	r, err := Regress(values, [][]float64{at})
	if err != nil {
		return Trend{}, err
	}
	t := Trend{Regression: r, Slope: r.Coefficients[1].Value, First: values[0], Last: values[len(values)-1], Direction: "no clear trend"}
	switch p := r.Coefficients[1].P; {
	case t.Slope > 0 && p < 0.05:
		t.Direction = "rising"
	case t.Slope < 0 && p < 0.05:
		t.Direction = "falling"
	}
	return t, nil
}

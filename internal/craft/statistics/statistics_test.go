package statistics_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/statistics"
)

// agrees fails unless got has so many digits of want.
func agrees(t testing.TB, what string, got, want float64, digits int) {
	t.Helper()
	if math.Abs(got-want) > math.Abs(want)*math.Pow10(-digits) || math.IsNaN(got) {
		t.Errorf("%s = %.15g, want %.15g to %d digits", what, got, want, digits)
	}
}

// alternating is a data set of NIST: a middle, then so often one below and one
// above it.
func alternating(middle, low, high string, pairs int) (list []decimal.Decimal) {
	list = append(list, decimal.RequireFromString(middle))
	for range pairs {
		list = append(list, decimal.RequireFromString(low), decimal.RequireFromString(high))
	}
	return list
}

// NIST StRD, univariate summary statistics: certified mean and deviation.
func TestTOOL01_NISTUnivariate(t *testing.T) {
	for _, tt := range []struct {
		name      string
		data      []decimal.Decimal
		mean      string
		deviation float64
	}{
		{"NumAcc1", alternating("10000001", "10000003", "10000002", 1)[:3], "10000002", 1},
		{"NumAcc2", alternating("1.2", "1.1", "1.3", 500), "1.2", 0.1},
		{"NumAcc3", alternating("1000000.2", "1000000.1", "1000000.3", 500), "1000000.2", 0.1},
		{"NumAcc4", alternating("10000000.2", "10000000.1", "10000000.3", 500), "10000000.2", 0.1},
	} {
		s, err := statistics.Summarize(tt.data)
		if err != nil || s.Mean.Value.String() != tt.mean || s.Count != len(tt.data) {
			t.Errorf("%s: mean %s of %d (%v), want %s", tt.name, s.Mean.Value, s.Count, err, tt.mean)
		}
		agrees(t, tt.name+" deviation", s.Deviation, tt.deviation, 14)
	}
}

var norrisY = []float64{
	0.1, 338.8, 118.1, 888.0, 9.2, 228.1, 668.5, 998.5, 449.1, 778.9, 559.2, 0.3, 0.1, 778.1, 668.8, 339.3, 448.9, 10.8,
	557.7, 228.3, 998.0, 888.8, 119.6, 0.3, 0.6, 557.6, 339.3, 888.0, 998.5, 778.9, 10.2, 117.6, 228.9, 668.4, 449.2, 0.2,
}

var norrisX = []float64{
	0.2, 337.4, 118.2, 884.6, 10.1, 226.5, 666.3, 996.3, 448.6, 777.0, 558.2, 0.4, 0.6, 775.5, 666.9, 338.0, 447.5, 11.6,
	556.0, 228.1, 995.8, 887.6, 120.2, 0.3, 0.3, 556.8, 339.1, 887.2, 999.0, 779.0, 11.1, 118.3, 229.2, 669.1, 448.9, 0.5,
}

// NIST StRD, linear regression, Norris (lower difficulty): certified values.
func TestTOOL01_NISTNorris(t *testing.T) {
	r, err := statistics.Regress(norrisY, [][]float64{norrisX})
	if err != nil {
		t.Fatal(err)
	}
	agrees(t, "B0", r.Coefficients[0].Value, -0.262323073774029, 10)
	agrees(t, "deviation of B0", r.Coefficients[0].Error, 0.232818234301152, 10)
	agrees(t, "B1", r.Coefficients[1].Value, 1.00211681802045, 12)
	agrees(t, "deviation of B1", r.Coefficients[1].Error, 0.429796848199937e-3, 10)
	agrees(t, "R2", r.R2, 0.999993745883712, 12)
	agrees(t, "residual deviation", r.Deviation, 0.884796396144373, 10)
	agrees(t, "F", r.F, 5436385.54079785, 9)
}

// longley is deflator, GNP, unemployed, armed forces, population, year, and
// employment.
var longley = [][]float64{
	{83, 234289, 2356, 1590, 107608, 1947, 60323},
	{88.5, 259426, 2325, 1456, 108632, 1948, 61122},
	{88.2, 258054, 3682, 1616, 109773, 1949, 60171},
	{89.5, 284599, 3351, 1650, 110929, 1950, 61187},
	{96.2, 328975, 2099, 3099, 112075, 1951, 63221},
	{98.1, 346999, 1932, 3594, 113270, 1952, 63639},
	{99, 365385, 1870, 3547, 115094, 1953, 64989},
	{100, 363112, 3578, 3350, 116219, 1954, 63761},
	{101.2, 397469, 2904, 3048, 117388, 1955, 66019},
	{104.6, 419180, 2822, 2857, 118734, 1956, 67857},
	{108.4, 442769, 2936, 2798, 120445, 1957, 68169},
	{110.8, 444546, 4681, 2637, 121950, 1958, 66513},
	{112.6, 482704, 3813, 2552, 123366, 1959, 68655},
	{114.2, 502601, 3931, 2514, 125368, 1960, 69564},
	{115.7, 518173, 4806, 2572, 127852, 1961, 69331},
	{116.9, 554894, 4007, 2827, 130081, 1962, 70551},
}

// NIST StRD, linear regression, Longley (higher difficulty): certified values.
func TestTOOL01_NISTLongley(t *testing.T) {
	x := make([][]float64, 6)
	var y []float64
	for _, row := range longley {
		for j := range x {
			x[j] = append(x[j], row[j])
		}
		y = append(y, row[6])
	}
	r, err := statistics.Regress(y, x)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ value, deviation float64 }{
		{-3482258.63459582, 890420.383607373},
		{15.0618722713733, 84.9149257747669},
		{-0.358191792925910e-1, 0.334910077722432e-1},
		{-2.02022980381683, 0.488399681651699},
		{-1.03322686717359, 0.214274163161675},
		{-0.511041056535807e-1, 0.226073200069370},
		{1829.15146461355, 455.478499142212},
	} {
		agrees(t, fmt.Sprintf("B%d", i), r.Coefficients[i].Value, want.value, 9)
		agrees(t, fmt.Sprintf("deviation of B%d", i), r.Coefficients[i].Error, want.deviation, 9)
	}
	agrees(t, "R2", r.R2, 0.995479004577296, 12)
	agrees(t, "residual deviation", r.Deviation, 304.854073561965, 10)
	agrees(t, "F", r.F, 330.285339234588, 9)
}

// Anscombe (1973), Graphs in Statistical Analysis: four sets that look
// different and have the same figures.
func TestTOOL01_AnscombesQuartet(t *testing.T) {
	x := []float64{10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5}
	for i, set := range []struct{ x, y []float64 }{
		{x, []float64{8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68}},
		{x, []float64{9.14, 8.14, 8.74, 8.77, 9.26, 8.10, 6.13, 3.10, 9.13, 7.26, 4.74}},
		{x, []float64{7.46, 6.77, 12.74, 7.11, 7.81, 8.84, 6.08, 5.39, 8.15, 6.42, 5.73}},
		{[]float64{8, 8, 8, 8, 8, 8, 8, 19, 8, 8, 8}, []float64{6.58, 5.76, 7.71, 8.84, 8.47, 7.04, 5.25, 12.50, 5.56, 7.91, 6.89}},
	} {
		r, err := statistics.Regress(set.y, [][]float64{set.x})
		if err != nil {
			t.Fatal(err)
		}
		c, err := statistics.Correlate(set.x, set.y, false)
		got := fmt.Sprintf("%.2f %.3f %.2f %.3f", r.Coefficients[0].Value, r.Coefficients[1].Value, r.R2, c.R)
		if got != "3.00 0.500 0.67 0.816" && got != "3.00 0.500 0.67 0.817" || err != nil {
			t.Errorf("set %d: %s (%v)", i+1, got, err)
		}
	}
}

// The example of Wikipedia's page on Spearman's coefficient: IQ and hours of
// television.
func TestTOOL01_Spearman(t *testing.T) {
	iq := []float64{106, 100, 86, 101, 99, 103, 97, 113, 112, 110}
	hours := []float64{7, 27, 2, 50, 28, 29, 20, 12, 6, 17}
	c, err := statistics.Correlate(iq, hours, true)
	if err != nil {
		t.Fatal(err)
	}
	agrees(t, "rho", c.R, -29.0/165, 12)
	agrees(t, "p", c.P, 0.627188, 4)
}

// Quartiles as the documentation of QUARTILE in Excel has them.
func TestTOOL01_Quartiles(t *testing.T) {
	var list []decimal.Decimal
	for _, v := range []int64{1, 2, 4, 7, 8, 9, 10, 12} {
		list = append(list, decimal.NewFromInt(v))
	}
	s, err := statistics.Summarize(list)
	if err != nil || s.First != 3.5 || s.Median != 7.5 || s.Third != 9.25 || s.Least.IntPart() != 1 || s.Most.IntPart() != 12 {
		t.Errorf("%+v %v", s, err)
	}
}

func TestTOOL01_TooLittle(t *testing.T) {
	same, rising := []float64{1, 1, 1, 1}, []float64{1, 2, 3, 4}
	for what, err := range map[string]error{
		"no values":          second(statistics.Summarize(nil)),
		"two pairs":          second(statistics.Correlate(same[:2], same[:2], false)),
		"no variance":        second(statistics.Correlate(same, rising, false)),
		"a constant":         second(statistics.Regress(rising, [][]float64{same})),
		"twice the same":     second(statistics.Regress([]float64{1, 3, 2, 5}, [][]float64{rising, rising})),
		"two rows":           second(statistics.Regress(rising[:2], [][]float64{rising[:2]})),
		"a trend of nothing": second(statistics.Follow(rising[:2], rising[:2])),
	} {
		if fault.Code(err) != "calculation/domain" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestTOOL01_Trend(t *testing.T) {
	at := []float64{1, 2, 3, 4, 5, 6}
	for _, tt := range []struct {
		values []float64
		want   string
	}{
		{[]float64{10, 12, 13.5, 16, 18.5, 20}, "rising"},
		{[]float64{20, 18, 17, 14, 12, 11}, "falling"},
		{[]float64{5, 9, 4, 8, 5, 7}, "no clear trend"},
	} {
		if got, err := statistics.Follow(at, tt.values); err != nil || got.Direction != tt.want {
			t.Errorf("%v: %s (%v), want %s", tt.values, got.Direction, err, tt.want)
		}
	}
}

// A line is found again, wherever it lies.
func TestTOOL01_LinesAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(-1e6, 1e6).Draw(t, "a"), rapid.Float64Range(-1e3, 1e3).Draw(t, "b")
		from := rapid.Float64Range(-1e6, 1e6).Draw(t, "from")
		var x, y []float64
		for i := range rapid.IntRange(4, 30).Draw(t, "n") {
			x = append(x, from+float64(i))
			y = append(y, a+b*x[i])
		}
		r, err := statistics.Regress(y, [][]float64{x})
		if err != nil || math.Abs(r.Coefficients[1].Value-b) > 1e-5 {
			t.Fatalf("slope %g (%v), want %g", r.Coefficients[1].Value, err, b)
		}
	})
}

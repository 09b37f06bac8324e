package statistics

import (
	"math"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/calculator"
)

// Summary describes the numbers of a column.
type Summary struct {
	Count     int
	Sum, Mean calculator.Result
	// Deviation is the standard deviation of a sample, over Count - 1; it is
	// NaN for one value.
	Deviation            float64
	Least, Most          decimal.Decimal
	First, Median, Third float64 // quartiles, as QUARTILE.INC has them
}

// Summarize describes at least one number; it keeps no reference to list.
func Summarize(list []decimal.Decimal) (Summary, error) {
	if len(list) == 0 {
		return Summary{}, few("a summary", 1, 0)
	}
	sum, err := calculator.Aggregate("sum", list)
	if err != nil {
		return Summary{}, err
	}
	mean, err := calculator.Aggregate("average", list)
	if err != nil {
		return Summary{}, err
	}
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b decimal.Decimal) int { return a.Cmp(b) })
	return Summary{
		Count: len(list), Sum: sum, Mean: mean, Deviation: deviation(list, mean.Value),
		Least: sorted[0], Most: sorted[len(sorted)-1],
		First: quantile(sorted, 0.25), Median: quantile(sorted, 0.5), Third: quantile(sorted, 0.75),
	}, nil
}

func few(what string, need, have int) *fault.Error {
	return fault.New("calculation/domain", "%s needs %d values or more, and there are %d", what, need, have)
}

// deviation subtracts the mean exactly, so that nothing cancels.
func deviation(list []decimal.Decimal, mean decimal.Decimal) float64 {
	if len(list) < 2 {
		return math.NaN()
	}
	squares := 0.0
	for _, v := range list {
		d := v.Sub(mean).InexactFloat64()
		squares += d * d
	}
	return math.Sqrt(squares / float64(len(list)-1))
}

// quantile goes straight from one value of the sorted list to the next.
func quantile(sorted []decimal.Decimal, part float64) float64 {
	at := part * float64(len(sorted)-1)
	i := int(at)
	low := sorted[i].InexactFloat64()
	if i+1 == len(sorted) {
		return low
	}
	return low + (at-float64(i))*(sorted[i+1].InexactFloat64()-low)
}

// Correlation is how two columns go together.
type Correlation struct {
	Count int
	// R is from -1 to 1; P is the chance of one as far from 0 if there is none.
	R, P float64
}

// Correlate gives Pearson's coefficient of pairs; with ranks, Spearman's. It
// needs 3 pairs, and values that vary.
func Correlate(x, y []float64, ranks bool) (Correlation, error) {
	if len(x) < 3 {
		return Correlation{}, few("a correlation", 3, len(x))
	}
	if ranks {
		x, y = ranked(x), ranked(y)
	}
	xx, xy, yy := products(x, y)
	if xx == 0 || yy == 0 {
		return Correlation{}, fault.New("calculation/domain", "there is no correlation with a column whose values are all the same")
	}
	r := math.Max(-1, math.Min(1, xy/(math.Sqrt(xx)*math.Sqrt(yy))))
	freedom := float64(len(x) - 2)
	t := math.Inf(1)
	if r*r < 1 {
		t = r * math.Sqrt(freedom/(1-r*r))
	}
	return Correlation{len(x), r, twoSided(t, freedom)}, nil
}

// products are the sums of squares and products around the means.
func products(x, y []float64) (xx, xy, yy float64) {
	mx, my := mean(x), mean(y)
	for i := range x {
		a, b := x[i]-mx, y[i]-my
		xx, xy, yy = xx+a*a, xy+a*b, yy+b*b
	}
	return xx, xy, yy
}

// mean corrects the first guess by the mean of what is left.
func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	guess, rest := sum/float64(len(list)), 0.0
	for _, v := range list {
		rest += v - guess
	}
	return guess + rest/float64(len(list))
}

// ranked gives each value its place from 1, equal ones the mean of theirs.
func ranked(list []float64) []float64 {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case list[a] < list[b]:
			return -1
		case list[a] > list[b]:
			return 1
		}
		return 0
	})
	ranks := make([]float64, len(list))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && list[order[j]] == list[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			ranks[k] = float64(i+j+1) / 2
		}
		i = j
	}
	return ranks
}

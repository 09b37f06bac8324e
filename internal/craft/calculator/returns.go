package calculator

import (
	"fmt"
	"math"
	"strings"

	"github.com/shopspring/decimal"
)

var returns = []Formula{
	{"npv", "net present value of flows at the end of each period", []Parameter{
		{"rate", Amount, false, "discount rate a period, as a fraction"},
		{"flows", List, false, "flows at the end of periods 1, 2, ..."},
		{"initial", Amount, true, "a flow at time 0, not discounted; usually negative"},
	}, npv},
	{"irr", "internal rate of return of flows that are one period apart", []Parameter{
		{"flows", List, false, "flows at times 0, 1, 2, ...; the first is usually negative"},
	}, irr},
	{"xnpv", "net present value, at the earliest date, of flows at dates", []Parameter{
		{"rate", Amount, false, "discount rate a year of 365 days, as a fraction"},
		{"flows", Dated, false, "what is paid (negative) and received, with dates"},
	}, xnpv},
	{"xirr", "internal rate of return a year of 365 days of flows at dates", []Parameter{
		{"flows", Dated, false, "what is paid (negative) and received, with dates"},
	}, xirr},
	{"cagr", "compound annual growth rate", []Parameter{
		{"begin", Amount, false, "value at the beginning, positive"},
		{"end", Amount, false, "value at the end, not negative"},
		{"periods", Amount, false, "years between them, positive"},
	}, cagr},
	{"growth", "what an amount grows to, period by period", []Parameter{
		{"principal", Amount, false, "the amount at the beginning"},
		{"rate", Amount, false, "growth a period, as a fraction"},
		{"periods", Whole, false, "how many periods"},
		{"contribution", Amount, true, "what is added at the end of each period"},
	}, growth},
}

func npv(s *slate, in inputs) Answer {
	factor := s.add(one, in.number("rate"))
	if !factor.IsPositive() {
		s.fail("calculation/domain", "a rate of -100 %% or less discounts nothing")
	}
	sum := zero // by Horner's rule, which divides once a period
	flows := in.lists["flows"]
	r := rough{s}
	for i := len(flows) - 1; i >= 0; i-- {
		sum = r.div(r.add(sum, flows[i]), factor)
	}
	return only(s.named("npv", s.final(s.add(sum, in.number("initial")))))
}

func xnpv(s *slate, in inputs) Answer {
	factor := s.add(one, in.number("rate"))
	if !factor.IsPositive() {
		s.fail("calculation/domain", "a rate of -100 %% or less discounts nothing")
		return Answer{}
	}
	v, _ := rough{s}.worth(in.dated["flows"], rough{s}.ln(factor))
	return only(s.named("npv", s.final(v)))
}

func cagr(s *slate, in inputs) Answer {
	begin, end, periods := in.number("begin"), in.number("end"), in.number("periods")
	switch {
	case !begin.IsPositive():
		s.fail("calculation/domain", "growth from %s has no rate: begin must be positive", begin)
	case end.IsNegative():
		s.fail("calculation/domain", "growth to %s has no rate: end must not be negative", end)
	case !periods.IsPositive():
		s.fail("calculation/domain", "periods must be positive")
	}
	if s.err != nil {
		return Answer{}
	}
	ratio := s.div(end, begin)
	return only(s.rate("cagr", s.sub(s.pow(ratio, s.div(one, periods)), one)))
}

func growth(s *slate, in inputs) Answer {
	balance, factor := in.number("principal"), s.add(one, in.number("rate"))
	a := Answer{Columns: []string{"period", "value"}}
	for n := int64(1); n <= in.count(s, "periods", 1, maxPeriods) && s.err == nil; n++ {
		balance = s.add(s.mul(balance, factor), in.number("contribution"))
		a.Rows = append(a.Rows, []decimal.Decimal{decimal.NewFromInt(n), balance})
	}
	a.Values = []Named{s.named("value", balance)}
	return a
}

func irr(s *slate, in inputs) Answer {
	var flows []flow
	for i, amount := range in.lists["flows"] {
		flows = append(flows, flow{decimal.NewFromInt(int64(i)), amount})
	}
	return s.solve(flows)
}

func xirr(s *slate, in inputs) Answer { return s.solve(in.dated["flows"]) }

// solve finds the rate at which flows are worth nothing. It looks for the
// logarithm of 1 + rate, of which the worth is a sum of exponentials: that has
// at most as many zeros as the flows change sign.
func (s *slate) solve(flows []flow) Answer {
	changes := signChanges(flows)
	if changes == 0 {
		s.fail("calculation/domain", "there is no such rate: all flows have the same sign")
		return Answer{}
	}
	found := zeros(flows)
	if len(found) == 0 {
		s.fail("calculation/domain", "there is no rate between -99.99 %% and 1,000,000 %% at which these flows are worth nothing")
		return Answer{}
	}
	if len(found) > 1 {
		s.ambiguous(found)
		return Answer{}
	}
	rate := s.polish(flows, found[0])
	a := only(s.rate("irr", rate))
	if changes > 1 {
		a.Notes = []string{fmt.Sprintf("the flows change sign %d times; between -99.99 %% and 1,000,000 %% only this rate was found", changes)}
	}
	return a
}

func (s *slate) ambiguous(found []float64) {
	var list []string
	for _, u := range found {
		list = append(list, fmt.Sprintf("%.4f %%", 100*math.Expm1(u)))
	}
	s.fail("calculation/domain", "there is more than one rate at which these flows are worth nothing: %s; compare net present values instead",
		strings.Join(list, ", "))
}

func signChanges(flows []flow) (n int) {
	last := 0
	for _, f := range flows {
		sign := f.amount.Sign()
		if sign != 0 && last != 0 && sign != last {
			n++
		}
		if sign != 0 {
			last = sign
		}
	}
	return n
}

// zeros brackets the zeros on a grid and halves the brackets, in binary
// arithmetic.
func zeros(flows []flow) (list []float64) {
	const steps = 4000
	lowest, highest := math.Log(1e-4), math.Log(1e4+1)
	worth := binaryWorth(flows)
	a, fa := lowest, worth(lowest)
	for i := 1; i <= steps; i++ {
		b := lowest + (highest-lowest)*float64(i)/steps
		fb := worth(b)
		switch {
		case fb == 0:
			list = append(list, b)
		case fa != 0 && fa > 0 != (fb > 0):
			list = append(list, halve(worth, a, b, fa > 0))
		}
		a, fa = b, fb
	}
	return list
}

func halve(worth func(float64) float64, a, b float64, positive bool) float64 {
	for range 100 {
		m := (a + b) / 2
		if worth(m) > 0 == positive {
			a = m
		} else {
			b = m
		}
	}
	return (a + b) / 2
}

// binaryWorth is the worth of flows as a function of ln(1 + rate), up to a
// positive factor that keeps it from overflowing.
func binaryWorth(flows []flow) func(float64) float64 {
	at, amount := make([]float64, len(flows)), make([]float64, len(flows))
	largest := 0
	for _, f := range flows {
		if !f.amount.IsZero() {
			largest = max(largest, magnitude(f.amount))
		}
	}
	for i, f := range flows {
		at[i], amount[i] = f.at.InexactFloat64(), f.amount.Shift(int32(-largest)).InexactFloat64()
	}
	end := at[len(at)-1]
	return func(u float64) (sum float64) {
		from := 0.0
		if u < 0 {
			from = end
		}
		for i := range at {
			sum += amount[i] * math.Exp(-u*(at[i]-from))
		}
		return sum
	}
}

// worth is that of flows at the first one's time, and how it changes with u,
// the logarithm of 1 + rate.
func (r rough) worth(flows []flow, u decimal.Decimal) (sum, slope decimal.Decimal) {
	for _, f := range flows {
		v := r.mul(f.amount, r.exp(r.mul(u.Neg(), f.at)))
		sum = r.add(sum, v)
		slope = r.add(slope, r.mul(v, f.at).Neg())
	}
	return sum, slope
}

// polish makes a zero exact to the last digit, by Newton's method.
func (s *slate) polish(flows []flow, near float64) decimal.Decimal {
	r := rough{s}
	u := decimal.NewFromFloat(near)
	for range 6 {
		sum, slope := r.worth(flows, u)
		if s.err != nil || sum.IsZero() {
			break
		}
		step := r.div(sum, slope)
		if magnitude(step) > -4 {
			return s.fail("calculation/domain", "the rate is not determined by these flows: their worth hardly changes with it")
		}
		u = r.add(u, step.Neg())
		if magnitude(step) < -45 {
			break
		}
	}
	return s.final(r.add(r.exp(u), one.Neg()).RoundBank(40))
}

package calculator

import "github.com/shopspring/decimal"

var loans = []Formula{
	{"amortization", "payments of a loan, with interest, principal and balance of each", []Parameter{
		{"principal", Amount, false, "what is lent, positive"},
		{"annual_rate", Amount, false, "nominal rate a year, as a fraction"},
		{"payments", Whole, false, "how many payments"},
		{"payments_per_year", Whole, true, "12 when not given"},
		{"places", Whole, true, "digits after the point that amounts are rounded to; 2 when not given"},
	}, amortization},
}

// amortization rounds each amount as a bank does; the last payment is what
// is left.
func amortization(s *slate, in inputs) Answer {
	balance, rate := in.number("principal"), in.number("annual_rate")
	n := in.count(s, "payments", 1, maxPeriods)
	rate = s.div(rate, decimal.NewFromInt(in.count(s, "payments_per_year", 12, 366)))
	places := in.or("places", two)
	if places.IsNegative() || places.Cmp(decimal.NewFromInt(10)) > 0 {
		s.fail("calculation/limit", "places are not from 0 to 10")
	}
	if !balance.IsPositive() || rate.IsNegative() {
		s.fail("calculation/domain", "principal must be positive, and annual_rate not negative")
	}
	if s.err != nil {
		return Answer{}
	}
	cents := int32(places.IntPart())
	payment := s.payment(balance, rate, n).Round(cents)
	a := Answer{Columns: []string{"payment", "amount", "interest", "principal", "balance"}}
	paid, interests := zero, zero
	for i := int64(1); i <= n && s.err == nil; i++ {
		interest := s.mul(balance, rate).Round(cents)
		amount := payment
		if due := s.add(balance, interest); i == n || amount.Cmp(due) > 0 {
			amount = due
		}
		part := s.sub(amount, interest)
		balance = s.sub(balance, part)
		paid, interests = s.add(paid, amount), s.add(interests, interest)
		a.Rows = append(a.Rows, []decimal.Decimal{decimal.NewFromInt(i), amount, interest, part, balance})
	}
	a.Values = []Named{{Name: "payment", Value: payment}, {Name: "total_paid", Value: paid}, {Name: "total_interest", Value: interests}}
	if k := len(a.Rows); k > 0 && !a.Rows[k-1][1].Equal(payment) {
		a.Notes = []string{"amounts are rounded, so the last payment is " + a.Rows[k-1][1].StringFixed(cents)}
	}
	return a
}

// payment is the level one that pays off a balance in n periods.
func (s *slate) payment(balance, rate decimal.Decimal, n int64) decimal.Decimal {
	count := decimal.NewFromInt(n)
	if rate.IsZero() {
		return s.div(balance, count)
	}
	discount := s.pow(s.add(one, rate), count.Neg())
	return s.div(s.mul(balance, rate), s.sub(one, discount))
}

package calculator

import (
	"math"
	"math/big"

	"github.com/shopspring/decimal"
)

// The functions below work with guardDigits and round what they return.

// rough is a slate for intermediate values, rounded to guardDigits.
type rough struct{ *slate }

func (r rough) trim(d decimal.Decimal) decimal.Decimal { return r.bound(significant(d, guardDigits)) }

func (r rough) add(a, b decimal.Decimal) decimal.Decimal { return r.trim(r.slate.add(a, b)) }

func (r rough) mul(a, b decimal.Decimal) decimal.Decimal {
	if r.err != nil {
		return zero
	}
	return r.trim(a.Mul(b))
}

func (r rough) div(a, b decimal.Decimal) decimal.Decimal {
	switch {
	case r.err != nil:
		return zero
	case b.IsZero():
		return r.fail("calculation/domain", "division by zero")
	}
	q, _ := quotient(a, b, guardDigits)
	return r.trim(q)
}

// final is a value of a function, rounded.
func (s *slate) final(d decimal.Decimal) decimal.Decimal {
	if s.err != nil {
		return zero
	}
	s.rounded = true
	return s.bound(significant(d, Digits).Normalize())
}

func (s *slate) sqrt(a decimal.Decimal) decimal.Decimal {
	switch {
	case s.err != nil || a.IsZero():
		return zero
	case a.IsNegative():
		return s.fail("calculation/domain", "square root of a negative number")
	}
	root, exact := squareRoot(a)
	if exact {
		return s.keep(root)
	}
	return s.final(root)
}

// squareRoot takes the root of an integer with so many digits that the result
// has enough of them.
func squareRoot(a decimal.Decimal) (root decimal.Decimal, exact bool) {
	shift := max(2*guardDigits-a.NumDigits(), 0)
	if (int(a.Exponent())-shift)%2 != 0 {
		shift++
	}
	c := new(big.Int).Mul(a.Coefficient(), power10(shift))
	r := new(big.Int).Sqrt(c)
	root = decimal.NewFromBigInt(r, (a.Exponent()-int32(shift))/2)
	if new(big.Int).Mul(r, r).Cmp(c) == 0 {
		return root.Normalize(), true
	}
	return sticky(root, 1), false
}

func power10(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// exp halves its argument until the series converges fast, and squares back.
func (s *slate) exp(x decimal.Decimal) decimal.Decimal {
	if x.IsZero() {
		return one
	}
	return s.final(rough{s}.exp(x))
}

func (r rough) exp(x decimal.Decimal) decimal.Decimal {
	if magnitude(x) > 6 {
		return r.fail("calculation/limit", "the exponent of e is out of range")
	}
	halvings := 0
	for small := decimal.New(5, -1); x.Abs().Cmp(small) > 0; halvings++ {
		x = r.trim(x.Mul(small))
	}
	sum, term := one, one
	for n := int64(1); n < 100 && !term.IsZero() && magnitude(term) > -guardDigits-2; n++ {
		term = r.div(r.mul(term, x), decimal.NewFromInt(n))
		sum = r.add(sum, term)
	}
	for ; halvings > 0 && r.err == nil; halvings-- {
		sum = r.mul(sum, sum)
	}
	return sum
}

func (s *slate) ln(a decimal.Decimal) decimal.Decimal {
	switch {
	case s.err != nil || a.Equal(one):
		return zero
	case !a.IsPositive():
		return s.fail("calculation/domain", "logarithm of a number that is not positive")
	}
	return s.final(rough{s}.ln(a))
}

// ln improves what binary arithmetic gives, three digits for one a step.
func (r rough) ln(a decimal.Decimal) decimal.Decimal {
	m := magnitude(a)
	fraction := a.Shift(int32(-m)).InexactFloat64() // 0.1 to 1
	y := decimal.NewFromFloat(math.Log(fraction) + float64(m)*math.Ln10)
	for range 3 {
		e := r.exp(y)
		y = r.add(y, r.div(r.mul(two, a.Sub(e)), r.add(a, e)))
	}
	return y
}

func (s *slate) log10(a decimal.Decimal) decimal.Decimal {
	if s.err == nil && a.IsPositive() && a.Normalize().Coefficient().Cmp(big.NewInt(1)) == 0 {
		return decimal.NewFromInt(int64(a.Normalize().Exponent()))
	}
	if s.err == nil && !a.IsPositive() {
		return s.fail("calculation/domain", "logarithm of a number that is not positive")
	}
	r := rough{s}
	return s.final(r.div(r.ln(a), r.ln(decimal.NewFromInt(10))))
}

// maxPower bounds whole exponents.
const maxPower = 100_000

// pow is exact for whole exponents as long as the digits allow.
func (s *slate) pow(a, b decimal.Decimal) decimal.Decimal {
	switch {
	case s.err != nil:
		return zero
	case b.IsInteger():
		return s.whole(a, b)
	case a.IsNegative():
		return s.fail("calculation/domain", "a negative number to the power of a fraction")
	case a.IsZero() && b.IsNegative():
		return s.fail("calculation/domain", "division by zero")
	case a.IsZero() || a.Equal(one):
		return a
	case b.Equal(decimal.New(5, -1)):
		return s.sqrt(a)
	}
	r := rough{s}
	return s.final(r.exp(r.mul(b, r.ln(a))))
}

func (s *slate) whole(a, b decimal.Decimal) decimal.Decimal {
	if magnitude(b) > 6 || b.Abs().IntPart() > maxPower {
		return s.fail("calculation/limit", "the exponent is larger than %d", maxPower)
	}
	n := b.IntPart()
	switch {
	case n == 0:
		return one
	case n < 0 && a.IsZero():
		return s.fail("calculation/domain", "division by zero")
	case n < 0:
		return s.div(one, s.raise(a, -n))
	}
	return s.raise(a, n)
}

// raise multiplies exactly, or with guard digits if that has too many.
func (s *slate) raise(a decimal.Decimal, n int64) decimal.Decimal {
	a = a.Normalize()
	exact := int64(a.NumDigits())*n <= 2*exactDigits
	result := one
	r := rough{s}
	for ; n > 0 && s.err == nil; n >>= 1 {
		if exact {
			if n&1 == 1 {
				result = result.Mul(a)
			}
			a = a.Mul(a)
			continue
		}
		if n&1 == 1 {
			result = r.mul(result, a)
		}
		if n > 1 {
			a = r.mul(a, a)
		}
	}
	if exact {
		return s.keep(result)
	}
	return s.final(result)
}

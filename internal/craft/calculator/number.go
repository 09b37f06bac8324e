package calculator

import (
	"math/big"

	"github.com/shopspring/decimal"

	"github.com/loomrun/loom/internal/base/fault"
)

// Limits of numbers.
const (
	Digits      = 34   // that a rounded answer has
	exactDigits = 100  // beyond which an exact one is rounded
	guardDigits = 56   // that intermediate values of functions have
	maxExponent = 6000 // powers of ten a value may be away from 1
)

var (
	zero = decimal.Decimal{}
	one  = decimal.NewFromInt(1)
	two  = decimal.NewFromInt(2)
)

// slate computes until something goes wrong, and then keeps the first error;
// what it returns after that means nothing. It remembers whether it rounded.
type slate struct {
	rounded bool
	err     error
}

func (s *slate) fail(code, format string, args ...any) decimal.Decimal {
	if s.err == nil {
		s.err = fault.New(code, format, args...)
	}
	return zero
}

func (s *slate) add(a, b decimal.Decimal) decimal.Decimal {
	if s.err != nil {
		return zero
	}
	if apart := magnitude(a) - magnitude(b); apart > 2*exactDigits && !b.IsZero() || apart < -2*exactDigits && !a.IsZero() {
		s.rounded = true // the smaller one is far below the last digit
		if apart > 0 {
			return s.keep(a)
		}
		return s.keep(b)
	}
	return s.keep(a.Add(b))
}

func (s *slate) sub(a, b decimal.Decimal) decimal.Decimal { return s.add(a, b.Neg()) }

func (s *slate) mul(a, b decimal.Decimal) decimal.Decimal {
	if s.err != nil {
		return zero
	}
	return s.keep(a.Mul(b))
}

func (s *slate) div(a, b decimal.Decimal) decimal.Decimal {
	switch {
	case s.err != nil:
		return zero
	case b.IsZero():
		return s.fail("calculation/domain", "division by zero")
	}
	q, exact := quotient(a, b, exactDigits)
	if !exact {
		s.rounded = true
		q = significant(q, Digits)
	}
	return s.keep(q)
}

// keep rounds what has too many digits, and refuses what is too large.
func (s *slate) keep(d decimal.Decimal) decimal.Decimal {
	if d.NumDigits() > exactDigits {
		d = d.Normalize()
	}
	if d.NumDigits() > exactDigits {
		s.rounded = true
		d = significant(d, Digits)
	}
	return s.bound(d)
}

func (s *slate) bound(d decimal.Decimal) decimal.Decimal {
	switch m := magnitude(d); {
	case d.IsZero():
		return zero
	case m > maxExponent+1:
		return s.fail("calculation/limit", "a value is larger than 1e%d", maxExponent)
	case m < -maxExponent:
		return s.fail("calculation/limit", "a value is smaller than 1e-%d", maxExponent)
	}
	return d
}

// magnitude is the power of ten above d: that of 5 is 1, that of 0.05 is -1.
func magnitude(d decimal.Decimal) int { return d.NumDigits() + int(d.Exponent()) }

// significant rounds d half to even to so many digits.
func significant(d decimal.Decimal, digits int) decimal.Decimal {
	if d.NumDigits() <= digits {
		return d
	}
	return d.RoundBank(int32(digits - magnitude(d)))
}

// quotient divides to so many digits; a last digit of its own stands for a
// remainder, so that rounding it again goes the right way.
func quotient(a, b decimal.Decimal, digits int) (q decimal.Decimal, exact bool) {
	places := int32(digits - magnitude(a) + magnitude(b) + 1)
	q, rest := a.QuoRem(b, places)
	if rest.IsZero() {
		return q.Normalize(), true
	}
	return sticky(q, a.Sign()*b.Sign()), false
}

// sticky appends a digit 1, in the direction of the sign.
func sticky(d decimal.Decimal, sign int) decimal.Decimal {
	c := new(big.Int).Mul(d.Coefficient(), big.NewInt(10))
	c.Add(c, big.NewInt(int64(sign)))
	return decimal.NewFromBigInt(c, d.Exponent()-1)
}

// Format writes a number plainly, with at most so many digits after the point
// if places is not negative, and else with all an exact one has, or 20 digits
// of a rounded one. Very large and very small numbers have an exponent.
func Format(d decimal.Decimal, rounded bool, places int) string {
	switch {
	case places >= 0:
		return d.StringFixedBank(int32(places))
	case rounded:
		d = significant(d, 20)
	}
	d = d.Normalize()
	if m := magnitude(d); m > 40 || m < -20 {
		return d.ScientificNotationString()
	}
	return d.String()
}

package sheet

import (
	"strings"

	"github.com/shopspring/decimal"

	"github.com/loomrun/loom/internal/craft/calculator"
)

// Text is a value that is text, even if it looks like a number.
func Text(s string) Value { return Value{Text: s} }

// Number is a value that is a number.
func Number(d decimal.Decimal) Value {
	return Value{Text: calculator.Format(d, false, -1), Number: d, Numeric: true}
}

// Parse is a value as people write it: a number is one also with a currency
// sign, thousands separated by commas, per cent (12.5% is 0.125), or in
// parentheses, which accountants use for what is negative. Text with leading
// zeros, as of a telephone number, stays text.
func Parse(s string) Value {
	if d, ok := parseNumber(strings.TrimSpace(s)); ok {
		return Value{s, d, true}
	}
	return Value{Text: s}
}

const longestNumber = 60 // bytes

func parseNumber(s string) (decimal.Decimal, bool) {
	if s == "" || len(s) > longestNumber {
		return decimal.Decimal{}, false
	}
	negative := false
	if inner, ok := strings.CutPrefix(s, "("); ok {
		if s, negative = strings.CutSuffix(inner, ")"); !negative {
			return decimal.Decimal{}, false
		}
	}
	if rest, ok := strings.CutPrefix(s, "-"); ok && !negative {
		s, negative = rest, true
	}
	s = strings.TrimSpace(strings.TrimLeft(s, "$€£¥"))
	s, percent := strings.CutSuffix(s, "%")
	s = strings.TrimSpace(s)
	if !plain(s) {
		return decimal.Decimal{}, false
	}
	d, err := calculator.ParseNumber(strings.ReplaceAll(s, ",", ""))
	if err != nil {
		return decimal.Decimal{}, false
	}
	if percent {
		d = d.Shift(-2)
	}
	if negative {
		d = d.Neg()
	}
	return d, true
}

// plain reports whether s is digits, with commas only between thousands, and
// without a zero before other digits.
func plain(s string) bool {
	whole, _, _ := strings.Cut(s, ".")
	whole, _, exponent := strings.Cut(strings.ToLower(whole), "e")
	if s == "" || strings.ContainsAny(s[:1], "+-") || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	groups := strings.Split(whole, ",")
	if len(groups) == 1 {
		return !strings.Contains(s, ",")
	}
	if exponent || len(groups[0]) == 0 || len(groups[0]) > 3 || strings.Contains(s[len(whole):], ",") {
		return false
	}
	for _, g := range groups[1:] {
		if len(g) != 3 {
			return false
		}
	}
	return true
}

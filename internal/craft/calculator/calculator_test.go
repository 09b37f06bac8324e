package calculator_test

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/calculator"
)

func compute(t testing.TB, text string) calculator.Result {
	t.Helper()
	r, err := calculator.Compute(text, map[string]decimal.Decimal{"x": decimal.NewFromInt(7), "unit price": decimal.New(25, -1)})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

func show(r calculator.Result) string { return calculator.Format(r.Value, r.Rounded, -1) }

func TestTOOL04_Expressions(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		rounded    bool
	}{
		{"0.1 + 0.2", "0.3", false},
		{"1 - 0.9 - 0.1", "0", false},
		{"2 + 3 * 4", "14", false},
		{"(2 + 3) * 4", "20", false},
		{"10 - 4 - 3", "3", false},
		{"-2 ^ 2", "-4", false},
		{"2 ^ -2", "0.25", false},
		{"2 ^ 3 ^ 2", "512", false},
		{"2 ** 10", "1024", false},
		{"100 * 15%", "15", false},
		{"1 / 8", "0.125", false},
		{"1 / 3", "0.33333333333333333333", true},
		{"2 / 3", "0.66666666666666666667", true},
		{"1e3 + .5", "1000.5", false},
		{"x * {unit price}", "17.5", false},
		{"{x} + x", "14", false},
		{"99999999999999999999 * 99999999999999999999", "9999999999999999999800000000000000000001", false},
		{"1.15 ^ 5 * 100", "201.13571875", false},
		{"sqrt(2)", "1.4142135623730950488", true}, // 1.41421356237309504880168872420969807857 (OEIS A002193)
		{"sqrt(0.0625)", "0.25", false},
		{"exp(1)", "2.7182818284590452354", true}, // OEIS A001113
		{"ln(2)", "0.69314718055994530942", true}, // OEIS A002162
		{"ln(exp(3))", "3", true},
		{"log10(1000)", "3", false},
		{"log10(2)", "0.30102999566398119521", true},           // OEIS A007524
		{"2 ^ 0.5 - sqrt(2)", "0", true},                       // two ways to one root
		{"(1 + 0.06/12) ^ 360", "6.0225752122632161841", true}, // a known table value of compound interest
		{"round(2.5)", "3", false},
		{"round(-2.5)", "-3", false},
		{"round(1234.567, -2)", "1200", false},
		{"floor(-1.5) + ceiling(-1.5)", "-3", false},
		{"mod(-3, 2)", "1", false}, // as Excel documents MOD
		{"mod(3, -2)", "-1", false},
		{"min(3, 1, 2) + max(3, 1, 2) + sum(1, 2, 3) + average(1, 2) + product(2, 3)", "17.5", false},
		{"if(x > 5, 1, 1 / 0)", "1", false},
		{"if(x <= 5 , 1, 2) + (1 = 1.0) + (1 != 1) + not(0) + and(1, 0) + or(0, 2)", "5", false},
		{"1e6000 * 1e-6000", "1", false},
		{"1e50", "1E50", false},
	} {
		if r := compute(t, tt.text); show(r) != tt.want || r.Rounded != tt.rounded {
			t.Errorf("%s = %s (rounded %t), want %s (%t)", tt.text, show(r), r.Rounded, tt.want, tt.rounded)
		}
	}
}

func TestTOOL04_ExpressionsThatAreRefused(t *testing.T) {
	for _, tt := range []struct{ text, code, want string }{
		{"", "calculation/syntax", "character 1: the expression ends where a value should follow"},
		{"1 +", "calculation/syntax", "character 4: the expression ends where a value should follow"},
		{"1 2", "calculation/syntax", `character 3: an operator is missing before this (got "2")`},
		{"1,000 + 1", "calculation/syntax", "character 2: a comma separates arguments of a function, and nothing else; write 1000, not 1,000"},
		{"(1 + 2", "calculation/syntax", "character 7: the parenthesis at character 1 is not closed"},
		{"1 + 2)", "calculation/syntax", `character 6: this does not fit here (got ")")`},
		{"1 & 2", "calculation/syntax", `character 3: there is no such operator (got "&")`},
		{"1 / (2 - 2)", "calculation/domain", "character 3: division by zero"},
		{"sqrt(-1)", "calculation/domain", "character 1: square root of a negative number"},
		{"ln(0)", "calculation/domain", "character 1: logarithm of a number that is not positive"},
		{"(-8) ^ (1/3)", "calculation/domain", "character 6: a negative number to the power of a fraction"},
		{"y + 1", "calculation/name", `character 1: nothing has this name (got "y")`},
		{"{unit prise} * 2", "calculation/name", `character 1: nothing has this name (got "unit prise"); did you mean "unit price"?`},
		{"sqr(2)", "calculation/name", ""},
		{"sqrt(1, 2)", "calculation/syntax", `character 1: sqrt takes 1 arguments (got "sqrt")`},
		{"sum(1,)", "calculation/syntax", `character 7: this does not fit here (got ")")`},
		{"{x", "calculation/syntax", "character 1: the brace is not closed"},
		{"1e", "calculation/syntax", "character 1: an exponent without digits"},
		{"1e99999", "calculation/limit", ""},
		{"10 ^ 7000", "calculation/limit", ""},
		{"2 ^ 1000000", "calculation/limit", "character 3: the exponent is larger than 100000"},
		{"exp(1e9)", "calculation/limit", ""},
		{strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100), "calculation/limit", "character 66: the expression is nested deeper than 64 levels"},
		{strings.Repeat("-", 100) + "1", "calculation/limit", ""},
		{strings.Repeat("1+", 600) + "1", "calculation/limit", ""},
		{strings.Repeat("1", 5000), "calculation/limit", "the expression has 5000 bytes; at most 4096 are read"},
		{"\xff", "calculation/syntax", ""},
	} {
		_, err := calculator.Compute(tt.text, map[string]decimal.Decimal{"x": {}, "unit price": {}})
		if fault.Code(err) != tt.code || tt.want != "" && err.Error() != tt.want {
			t.Errorf("%.40s: %v (%s), want %s (%s)", tt.text, err, fault.Code(err), tt.want, tt.code)
		}
	}
}

// The laws of arithmetic hold exactly.
func TestTOOL04_ExactArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) decimal.Decimal {
			return decimal.New(rapid.Int64().Draw(t, name), rapid.Int32Range(-12, 3).Draw(t, name+" exponent"))
		}
		values := map[string]decimal.Decimal{"a": draw("a"), "b": draw("b"), "c": draw("c")}
		for _, law := range []string{
			"a + b = b + a", "a * (b + c) = a * b + a * c", "a - b + b = a", "-(-a) = a", "a % * 100 = a",
			"if(b = 0, 1, abs(a / b * b - a) <= abs(a) * 1e-32)", "a ^ 3 = a * a * a", "abs(sqrt(abs(a)) ^ 2 - abs(a)) <= abs(a) * 1e-32",
			"if(a > 0, abs(exp(ln(a)) - a) <= a * 1e-30, 1)",
		} {
			r, err := calculator.Compute(law, values)
			if err != nil || !r.Value.Equal(decimal.NewFromInt(1)) {
				t.Fatalf("%s is %v (%v) for %v", law, r.Value, err, values)
			}
		}
	})
}

// Whatever is written, it is computed or refused with a place, and what is
// printed of a result is read again.
func FuzzCompute(f *testing.F) {
	for _, s := range []string{"1+1", "{a b}^2", "if(x>1,2,3)%", "1e-6000/3", "((", "exp(-50000)", "round(1e6000,100)", "mod(1e50,3)", "9^99999", "0.5^-3000.5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := calculator.Compute(text, map[string]decimal.Decimal{"x": decimal.NewFromInt(3)})
		if err != nil {
			if code := fault.Code(err); !strings.HasPrefix(code, "calculation/") {
				t.Fatalf("%q: %v has the code %q", text, err, code)
			}
			return
		}
		if n := r.Value.NumDigits(); n > 200 {
			t.Fatalf("%q has %d digits", text, n)
		}
		again, err := calculator.ParseNumber(show(r))
		if err != nil || !r.Rounded && !again.Equal(r.Value) {
			t.Fatalf("%q: %s is read as %v (%v)", text, show(r), again, err)
		}
	})
}

package calculator

import (
	"github.com/shopspring/decimal"
)

var values = []Formula{
	{"wacc", "weighted average cost of capital, debt after tax", []Parameter{
		{"equity", Amount, false, "market value of equity"},
		{"debt", Amount, false, "market value of debt"},
		{"cost_of_equity", Amount, false, "as a fraction"},
		{"cost_of_debt", Amount, false, "before tax, as a fraction"},
		{"tax_rate", Amount, false, "as a fraction"},
		{"preferred", Amount, true, "market value of preferred stock"},
		{"cost_of_preferred", Amount, true, "as a fraction"},
	}, wacc},
	{"dcf", "value of a company, and of a share, by discounted cash flow", []Parameter{
		{"cash_flows", List, false, "free cash flows at the end of years 1, 2, ..."},
		{"discount_rate", Amount, false, "as a fraction, usually the wacc"},
		{"terminal_growth", Amount, true, "growth after the last year, as a fraction (Gordon); one of terminal_* is needed"},
		{"terminal_multiple", Amount, true, "of terminal_metric, at the end of the last year"},
		{"terminal_metric", Amount, true, "what the multiple is of, such as the last year's EBITDA"},
		{"terminal_value", Amount, true, "at the end of the last year; 0 for none"},
		{"net_debt", Amount, true, "debt less cash; 0 when not given"},
		{"shares", Amount, true, "shares outstanding, for a value a share"},
	}, dcf},
}

func wacc(s *slate, in inputs) Answer {
	equity, debt, preferred := in.number("equity"), in.number("debt"), in.number("preferred")
	total := s.add(s.add(equity, debt), preferred)
	if equity.IsNegative() || debt.IsNegative() || preferred.IsNegative() || total.IsZero() {
		s.fail("calculation/domain", "capital has no weights: its parts must not be negative, nor all zero")
	}
	after := s.mul(in.number("cost_of_debt"), s.sub(one, in.number("tax_rate")))
	cost := s.mul(equity, in.number("cost_of_equity"))
	cost = s.add(cost, s.mul(debt, after))
	cost = s.add(cost, s.mul(preferred, in.number("cost_of_preferred")))
	a := only(s.rate("wacc", s.div(cost, total)))
	a.Values[0].Rounded = s.rounded
	a.Values = append(a.Values, s.rate("weight_of_equity", s.div(equity, total)), s.rate("weight_of_debt", s.div(debt, total)))
	return a
}

func dcf(s *slate, in inputs) Answer {
	flows, factor := in.lists["cash_flows"], s.add(one, in.number("discount_rate"))
	if !factor.IsPositive() {
		s.fail("calculation/domain", "a rate of -100 %% or less discounts nothing")
	}
	a := Answer{Columns: []string{"year", "cash_flow", "present_value"}}
	explicit := zero
	for i, f := range flows {
		year := decimal.NewFromInt(int64(i + 1))
		present := s.div(f, s.pow(factor, year))
		explicit = s.add(explicit, present)
		a.Rows = append(a.Rows, []decimal.Decimal{year, f, present})
	}
	terminal := s.terminal(in, flows[len(flows)-1])
	present := s.div(terminal, s.pow(factor, decimal.NewFromInt(int64(len(flows)))))
	enterprise := s.add(explicit, present)
	equity := s.sub(enterprise, in.number("net_debt"))
	a.Values = []Named{
		s.named("present_value_of_cash_flows", explicit), s.named("terminal_value", terminal),
		s.named("present_value_of_terminal_value", present), s.named("enterprise_value", enterprise),
		s.named("equity_value", equity),
	}
	if !enterprise.IsZero() {
		a.Values = append(a.Values, s.rate("terminal_share_of_value", s.div(present, enterprise)))
	}
	if in.has("shares") {
		a.Values = append(a.Values, s.named("value_per_share", s.div(equity, in.number("shares"))))
	}
	return a
}

// terminal is the value at the end of the last year of all that comes after.
func (s *slate) terminal(in inputs, last decimal.Decimal) decimal.Decimal {
	growth, multiple, value := in.has("terminal_growth"), in.has("terminal_multiple"), in.has("terminal_value")
	switch {
	case growth && !multiple && !value:
		spread := s.sub(in.number("discount_rate"), in.number("terminal_growth"))
		if !spread.IsPositive() {
			return s.fail("calculation/domain", "terminal_growth is not below discount_rate: the terminal value would be infinite")
		}
		return s.div(s.mul(last, s.add(one, in.number("terminal_growth"))), spread)
	case multiple && in.has("terminal_metric") && !growth && !value:
		return s.mul(in.number("terminal_multiple"), in.number("terminal_metric"))
	case value && !growth && !multiple:
		return in.number("terminal_value")
	}
	return s.fail("calculation/input", "give one of terminal_growth, terminal_value, or terminal_multiple with terminal_metric")
}

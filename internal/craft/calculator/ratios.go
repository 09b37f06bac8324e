package calculator

import "github.com/shopspring/decimal"

var ratios = []Formula{
	ratio("pe", "price to earnings of a share", Parameter{"price", Amount, false, "of a share, or market capitalization"},
		Parameter{"earnings", Amount, false, "of a share, or net income"}),
	ratio("debt_to_equity", "debt to equity", Parameter{"debt", Amount, false, "total debt, or total liabilities"},
		Parameter{"equity", Amount, false, "shareholders' equity"}),
	ratio("current_ratio", "current assets to current liabilities", Parameter{"current_assets", Amount, false, "all of them"},
		Parameter{"current_liabilities", Amount, false, "all of them"}),
	overAverage("roe", "return on equity", "equity"),
	overAverage("roa", "return on assets", "assets"),
	{"ev_ebitda", "enterprise value to EBITDA", []Parameter{
		{"market_cap", Amount, false, "market value of equity"},
		{"debt", Amount, false, "total debt"},
		{"cash", Amount, false, "cash and equivalents"},
		{"ebitda", Amount, false, "earnings before interest, taxes, depreciation and amortization"},
		{"preferred", Amount, true, "preferred stock"},
		{"minority", Amount, true, "minority interest"},
	}, evEBITDA},
	{"quick_ratio", "quick assets to current liabilities", []Parameter{
		{"current_assets", Amount, false, "all of them"},
		{"inventory", Amount, false, "what is in stock"},
		{"current_liabilities", Amount, false, "all of them"},
		{"prepaid", Amount, true, "prepaid expenses and other assets that are not quick"},
	}, quick},
}

// ratio is a formula of one number over another.
func ratio(name, summary string, over, under Parameter) Formula {
	return Formula{name, summary, []Parameter{over, under}, func(s *slate, in inputs) Answer {
		return only(s.quotient(name, in.number(over.Name), in.number(under.Name), under.Name))
	}}
}

// quotient is a ratio that means something only over a positive number.
func (s *slate) quotient(name string, over, under decimal.Decimal, what string) Named {
	if !under.IsPositive() {
		s.fail("calculation/domain", "%s means nothing: %s is not positive", name, what)
	}
	return s.named(name, s.div(over, under))
}

// overAverage is net income over something that may be an average of the
// period's beginning and end.
func overAverage(name, summary, of string) Formula {
	return Formula{name, summary, []Parameter{
		{"net_income", Amount, false, "of the period"},
		{of, Amount, false, "at the end of the period"},
		{of + "_begin", Amount, true, "at its beginning; then the average counts"},
	}, func(s *slate, in inputs) Answer {
		under := in.number(of)
		if in.has(of + "_begin") {
			under = s.div(s.add(under, in.number(of+"_begin")), two)
		}
		v := s.quotient(name, in.number("net_income"), under, of)
		v.Rate = true
		return only(v)
	}}
}

func evEBITDA(s *slate, in inputs) Answer {
	ev := s.add(in.number("market_cap"), in.number("debt"))
	ev = s.add(s.add(ev, in.number("preferred")), in.number("minority"))
	ev = s.sub(ev, in.number("cash"))
	value := s.named("enterprise_value", ev)
	return Answer{Values: []Named{s.quotient("ev_ebitda", ev, in.number("ebitda"), "ebitda"), value}}
}

func quick(s *slate, in inputs) Answer {
	assets := s.sub(s.sub(in.number("current_assets"), in.number("inventory")), in.number("prepaid"))
	return only(s.quotient("quick_ratio", assets, in.number("current_liabilities"), "current_liabilities"))
}

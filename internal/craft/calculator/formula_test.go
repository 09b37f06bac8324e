package calculator_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/xuri/excelize/v2"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/calculator"
)

func run(t testing.TB, formula, inputs string) (calculator.Answer, error) {
	t.Helper()
	f, err := calculator.Find(formula)
	if err != nil {
		t.Fatal(err)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(inputs), &given); err != nil {
		t.Fatalf("%s: %v", inputs, err)
	}
	return f.Run(given)
}

func value(t testing.TB, a calculator.Answer, name string) decimal.Decimal {
	t.Helper()
	for _, v := range a.Values {
		if v.Name == name {
			return v.Value
		}
	}
	t.Fatalf("the answer has no %q: %v", name, a.Values)
	return decimal.Decimal{}
}

// flowsOfMicrosoft are those of the documentation of XIRR and XNPV in Excel.
const flowsOfMicrosoft = `[{"date":"2008-01-01","amount":-10000},{"date":"2008-03-01","amount":2750},{"date":"2008-10-30","amount":4250},` +
	`{"date":"2009-02-15","amount":3250},{"date":"2009-04-01","amount":2750}]`

// Every formula gives what is published: the source of each row is named, and
// the value has the digits that stand there.
func TestTOOL04_PublishedExamples(t *testing.T) {
	for _, tt := range []struct{ source, formula, inputs, name, want string }{
		{"Microsoft, NPV function, example 1", "npv", `{"rate":0.1,"flows":[-10000,3000,4200,6800]}`, "npv", "1188.44"},
		{"Microsoft, NPV function, example 2", "npv", `{"rate":0.08,"flows":[8000,9200,10000,12000,14500],"initial":-40000}`, "npv", "1922.06"},
		{"Microsoft, NPV function, example 2, with a loss in year 6", "npv", `{"rate":"0.08","flows":[8000,9200,10000,12000,14500,-9000],"initial":-40000}`, "npv", "-3749.47"},
		{"Microsoft, IRR function, after four years", "irr", `{"flows":[-70000,12000,15000,18000,21000]}`, "irr", "-0.021"},
		{"Microsoft, IRR function, after five years", "irr", `{"flows":[-70000,12000,15000,18000,21000,26000]}`, "irr", "0.087"},
		{"Microsoft, XIRR function", "xirr", `{"flows":` + flowsOfMicrosoft + `}`, "irr", "0.3734"},
		{"stackoverflow.com/questions/8919718, xirr", "xirr", `{"flows":[{"date":"2010-12-29","amount":-10000},{"date":"2012-01-25","amount":20},{"date":"2012-03-08","amount":10100}]}`, "irr", "0.010061"},
		{"docs.rs/financial 1.1.5, xirr", "xirr", `{"flows":[{"date":"2016-07-08","amount":-379},{"date":"2017-07-08","amount":100},{"date":"2018-07-08","amount":100},` +
			`{"date":"2019-07-08","amount":100},{"date":"2020-07-08","amount":100},{"date":"2021-07-08","amount":100}]}`, "irr", "0.10004608"},
		{"Microsoft, XNPV function", "xnpv", `{"rate":0.09,"flows":` + flowsOfMicrosoft + `}`, "npv", "2086.65"},
		{"Wikipedia, Compound annual growth rate", "cagr", `{"begin":9000,"end":13000,"periods":3}`, "cagr", "0.1304"},
		{"calcforme.com, WACC", "wacc", `{"equity":1000,"debt":200,"cost_of_equity":0.12,"cost_of_debt":0.05,"tax_rate":0.3}`, "wacc", "0.1058"},
		{"studylib.net/doc/27182821, WACC: 0.07575 + 0.007175", "wacc", `{"equity":75000000,"debt":25000000,"cost_of_equity":0.101,"cost_of_debt":0.035,"tax_rate":0.18}`, "wacc", "0.082925"},
		{"solutioninn.com 17273333, ACME: equity by Gordon growth", "dcf", `{"cash_flows":[-25,-10,5,15,25],"discount_rate":0.1,"terminal_growth":0.06,"net_debt":80,"shares":18}`, "equity_value", "329.89"},
		{"forecastingstocks.com, a simple DCF", "dcf", `{"cash_flows":[100,110,121,133,146],"discount_rate":0.1,"terminal_value":2149,"net_debt":200,"shares":100}`, "value_per_share", "15.89"},
		{"Microsoft, PMT function: 10,000 at 8 % in 10 months", "amortization", `{"principal":10000,"annual_rate":0.08,"payments":10}`, "payment", "1037.03"},
		{"sapling.com/8703730, amortization table", "amortization", `{"principal":1000,"annual_rate":0.24,"payments":6}`, "payment", "178.53"},
		{"sapling.com/8703730, total interest", "amortization", `{"principal":1000,"annual_rate":0.24,"payments":6,"places":6}`, "total_interest", "71.15"},
		{"sapling.com/8703730, all payments", "amortization", `{"principal":1000,"annual_rate":0.24,"payments":6,"places":6}`, "total_paid", "1071.15"},
		{"the seed of the tool: 100 growing 15 % for 5 years, by 1.15^5 = 2.0113571875", "growth", `{"principal":100,"rate":0.15,"periods":5}`, "value", "201.1357187500"},
		{"accountingcoach.com, current ratio", "current_ratio", `{"current_assets":100000,"current_liabilities":50000}`, "current_ratio", "2"},
		{"accountingcoach.com, acid test ratio", "quick_ratio", `{"current_assets":100000,"inventory":56000,"prepaid":4000,"current_liabilities":50000}`, "quick_ratio", "0.8"},
		{"toolslick.com, debt to equity", "debt_to_equity", `{"debt":54.77,"equity":14.61}`, "debt_to_equity", "3.75"},
		{"Business Accounting (Hoyle), ROE of PPG Industries 2008", "roe", `{"net_income":538,"equity":3333,"equity_begin":4151}`, "roe", "0.144"},
		{"The Ultimate Business Dictionary, return on assets", "roa", `{"net_income":30,"assets":420}`, "roa", "0.0714"},
		{"edko.ca, P/E: 25 a share over earnings of 5", "pe", `{"price":25,"earnings":5}`, "pe", "5"},
		{"bit1024.com, EBITDA multiple", "ev_ebitda", `{"market_cap":300000,"debt":100000,"minority":20000,"preferred":30000,"cash":15000,"ebitda":50000}`, "ev_ebitda", "8.7"},
		{"qammunity.org/11451257, EBITDA multiple", "ev_ebitda", `{"market_cap":635000,"debt":215000,"cash":39000,"ebitda":264400}`, "ev_ebitda", "3.067"},
	} {
		a, err := run(t, tt.formula, tt.inputs)
		if err != nil {
			t.Errorf("%s: %v", tt.source, err)
			continue
		}
		want := decimal.RequireFromString(tt.want)
		if got := value(t, a, tt.name).Round(-want.Exponent()); !got.Equal(want) {
			t.Errorf("%s: %s = %s, want %s", tt.source, tt.name, value(t, a, tt.name), tt.want)
		}
	}
}

// The schedule that sapling.com/8703730 gives, month by month.
func TestTOOL04_AmortizationSchedule(t *testing.T) {
	a, err := run(t, "amortization", `{"principal":1000,"annual_rate":0.24,"payments":6}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range a.Rows {
		got = append(got, fmt.Sprint(row))
	}
	want := "[1 178.53 20 158.53 841.47];[2 178.53 16.83 161.7 679.77];[3 178.53 13.6 164.93 514.84];" +
		"[4 178.53 10.3 168.23 346.61];[5 178.53 6.93 171.6 175.01];[6 178.51 3.5 175.01 0]"
	if strings.Join(got, ";") != want {
		t.Errorf("schedule %v, want %s", got, want)
	}
	if fmt.Sprint(a.Notes) != "[amounts are rounded, so the last payment is 178.51]" {
		t.Errorf("notes %q", a.Notes)
	}
}

func TestTOOL04_FormulasThatAreRefused(t *testing.T) {
	for _, tt := range []struct{ formula, inputs, code, want string }{
		{"irr", `{"flows":[100,200]}`, "calculation/domain", "there is no such rate: all flows have the same sign"},
		{"irr", `{"flows":[-100,230,-132]}`, "calculation/domain", "there is more than one rate at which these flows are worth nothing: 10.0000 %, 20.0000 %; compare net present values instead"},
		{"irr", `{"flows":[-1,3,-2.5]}`, "calculation/domain", "there is no rate between -99.99 % and 1,000,000 % at which these flows are worth nothing"},
		{"cagr", `{"begin":0,"end":1,"periods":1}`, "calculation/domain", "growth from 0 has no rate: begin must be positive"},
		{"cagr", `{"begin":"ten","end":1,"period":1}`, "calculation/input", `begin: it is not a number (got "ten")`},
		{"dcf", `{"cash_flows":[1],"discount_rate":0.05,"terminal_growth":0.05}`, "calculation/domain", "terminal_growth is not below discount_rate: the terminal value would be infinite"},
		{"dcf", `{"cash_flows":[1],"discount_rate":0.05}`, "calculation/input", "give one of terminal_growth, terminal_value, or terminal_multiple with terminal_metric"},
		{"npv", `{"rate":-1,"flows":[1]}`, "calculation/domain", "a rate of -100 % or less discounts nothing"},
		{"npv", `{"rate":0.1,"flows":[]}`, "calculation/input", "flows: it has 0 numbers, not 1 to 1000"},
		{"npv", `{"rate":0.1,"flows":[1,"2,5"]}`, "calculation/input", `flows[1]: it is not a number (got "2,5")`},
		{"xirr", `{"flows":[{"date":"2026-02-30","amount":1},{"date":"2026-01-01","amount":1}]}`, "calculation/input", `flows[0].date: it is not a date as 2026-11-21 (got "2026-02-30")`},
		{"amortization", `{"principal":1,"annual_rate":0.1,"payments":2.5}`, "calculation/input", `payments: it is not a whole number (got "2.5")`},
		{"amortization", `{"principal":1,"annual_rate":0.1,"payments":5000}`, "calculation/limit", "payments is not from 1 to 1200"},
		{"pe", `{"price":10,"earnings":-1}`, "calculation/domain", "pe means nothing: earnings is not positive"},
		{"wacc", `{"equity":0,"debt":0,"cost_of_equity":0,"cost_of_debt":0,"tax_rate":0}`, "calculation/domain", "capital has no weights: its parts must not be negative, nor all zero"},
	} {
		_, err := run(t, tt.formula, tt.inputs)
		if fault.Code(err) != tt.code || err.Error() != tt.want {
			t.Errorf("%s %s: %v (%s), want %s (%s)", tt.formula, tt.inputs, err, fault.Code(err), tt.want, tt.code)
		}
	}
	if _, err := calculator.Find("nvp"); fault.Code(err) != "calculation/name" || !strings.Contains(err.Error(), "npv") {
		t.Errorf("Find(nvp): %v", err)
	}
}

// What a spreadsheet program's own functions give is what these give.
func TestTOOL04_AgreesWithSpreadsheets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flows := []string{fmt.Sprint(-rapid.IntRange(1, 1e6).Draw(t, "initial"))}
		for range rapid.IntRange(1, 12).Draw(t, "periods") {
			flows = append(flows, fmt.Sprint(rapid.IntRange(1, 1e6).Draw(t, "flow")))
		}
		sheet := excelize.NewFile()
		defer sheet.Close()
		cells := strings.Join(flows, ",")
		for i, f := range flows {
			if err := sheet.SetCellFormula("Sheet1", fmt.Sprintf("A%d", i+1), f); err != nil {
				t.Fatal(err)
			}
		}
		if err := sheet.SetCellFormula("Sheet1", "B1", "NPV(0.07,"+cells+")"); err != nil {
			t.Fatal(err)
		}
		text, err := sheet.CalcCellValue("Sheet1", "B1")
		want, _ := decimal.NewFromString(text)
		if err != nil {
			t.Fatal(err)
		}
		f, _ := calculator.Find("npv")
		a, err := f.Run(map[string]json.RawMessage{"rate": json.RawMessage("0.07"), "flows": json.RawMessage("[" + cells + "]")})
		if err != nil || a.Values[0].Value.Sub(want).Abs().Cmp(decimal.New(1, -3)) > 0 {
			t.Fatalf("npv of %s: %v (%v), excelize has %s", cells, a.Values, err, want)
		}
	})
}

// At its internal rate of return, an investment is worth nothing.
func TestTOOL04_RatesOfReturnAreZeros(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		flows := []json.RawMessage{json.RawMessage(fmt.Sprint(-rapid.IntRange(100, 1e6).Draw(t, "initial")))}
		for range rapid.IntRange(1, 4).Draw(t, "periods") {
			flows = append(flows, json.RawMessage(fmt.Sprint(rapid.IntRange(0, 1e5).Draw(t, "flow"))))
		}
		flows = append(flows, json.RawMessage("50"))
		list, _ := json.Marshal(flows)
		irr, _ := calculator.Find("irr")
		npv, _ := calculator.Find("npv")
		a, err := irr.Run(map[string]json.RawMessage{"flows": list})
		if err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		rest, _ := json.Marshal(flows[1:])
		b, err := npv.Run(map[string]json.RawMessage{"rate": json.RawMessage(a.Values[0].Value.String()), "flows": rest, "initial": flows[0]})
		if err != nil || b.Values[0].Value.Abs().Cmp(decimal.New(1, -15)) > 0 {
			t.Fatalf("%s at %s: %v (%v)", list, a.Values[0].Value, b.Values, err)
		}
	})
}

func FuzzRun(f *testing.F) {
	for _, x := range calculator.Formulas() {
		f.Add(x.Name, `{"flows":[1,-2],"rate":0.1,"begin":1,"end":2,"periods":3}`)
	}
	f.Add("irr", `{"flows":[-1e6000,1e-6000,1]}`)
	f.Add("dcf", `{"cash_flows":[1,2],"discount_rate":-0.5,"terminal_value":1e5999}`)
	f.Add("growth", `{"principal":1,"rate":1e30,"periods":1200}`)
	f.Fuzz(func(t *testing.T, name, inputs string) {
		formula, err := calculator.Find(name)
		var given map[string]json.RawMessage
		if err != nil || json.Unmarshal([]byte(inputs), &given) != nil {
			return
		}
		if _, err := formula.Run(given); err != nil && !strings.HasPrefix(fault.Code(err), "calculation/") {
			t.Fatalf("%s %s: %v has the code %q", name, inputs, err, fault.Code(err))
		}
	})
}

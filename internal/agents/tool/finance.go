package tool

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/agents/source/alphavantage"
	"github.com/loomrun/loom/internal/agents/source/edgar"
	"github.com/loomrun/loom/internal/craft/sheet"
)

var secEDGAR = asking(source{"give the contact that the SEC asks for with --source edgar=CONTACT", func(s Sources) bool { return s.EDGAR != nil }},
	Spec{
		Name:  "sec_edgar",
		Class: reads,
		Description: "Ask EDGAR, the archive of the US SEC: company (by ticker, CIK or name), filings (newest first), " +
			"concept (figures as filed, by their name in US GAAP, as NetIncomeLoss).",
		Schema: schema(`"action","company"`, `
			"action": {"enum": ["company", "filings", "concept"]},
			"company": {"type": "string", "minLength": 1, "maxLength": 100},
			"concept": {"type": "string", "maxLength": 150},
			"form": {"type": "string", "maxLength": 20, "description": "as 10-K; default all"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 200, "description": "default 20"}`),
	}, with(askEDGAR))

type edgarArguments struct {
	Action  string `json:"action"`
	Company string `json:"company"`
	Concept string `json:"concept"`
	Form    string `json:"form"`
	Limit   int    `json:"limit"`
}

func askEDGAR(ctx context.Context, j job, a edgarArguments) (Result, error) {
	c := j.sources().EDGAR
	if (a.Concept != "") != (a.Action == "concept") {
		return Result{}, unfit("concept", "it belongs to the action concept, which needs it")
	}
	co, err := c.Company(ctx, a.Company)
	if err != nil {
		return Result{}, answered(ctx, err)
	}
	limit := cmp.Or(a.Limit, 20)
	switch a.Action {
	case "filings":
		return edgarFilings(ctx, c, co, a.Form, limit)
	case "concept":
		return edgarFigures(ctx, c, co, a, limit)
	}
	return done(fmt.Sprintf("%s, ticker %s, CIK %010d\n", shown(co.Name), co.Ticker, co.CIK), "EDGAR: CIK %d", co.CIK), nil
}

func edgarFilings(ctx context.Context, c *edgar.Client, co edgar.Company, form string, limit int) (Result, error) {
	name, list, err := c.Filings(ctx, co.CIK, form, limit)
	if err != nil {
		return Result{}, answered(ctx, err)
	}
	t, err := sheet.New([]string{"form", "filed", "period", "accession", "description", "url"})
	if err != nil {
		return Result{}, err
	}
	for _, f := range list {
		if err := t.Add(texts(f.Form, f.Filed, f.Period, f.Accession, f.Description, f.URL)); err != nil {
			return Result{}, err
		}
	}
	return done(shown(name)+"\n"+asCSV(&t), "EDGAR: %d filings of CIK %d", len(list), co.CIK), nil
}

func edgarFigures(ctx context.Context, c *edgar.Client, co edgar.Company, a edgarArguments, limit int) (Result, error) {
	label, list, err := c.Figures(ctx, co.CIK, a.Concept, a.Form, limit)
	if err != nil {
		return Result{}, answered(ctx, err)
	}
	t, err := sheet.New([]string{"start", "end", "value", "unit", "form", "filed", "accession"})
	if err != nil {
		return Result{}, err
	}
	for _, f := range list {
		row := texts(f.Start, f.End, f.Value, f.Unit, f.Form, f.Filed, f.Accession)
		row[2] = sheet.Parse(f.Value)
		if err := t.Add(row); err != nil {
			return Result{}, err
		}
	}
	return done(fmt.Sprintf("%s: %s (us-gaap %s), as filed with the SEC\n%s", shown(co.Name), shown(label), a.Concept, asCSV(&t)),
		"EDGAR: %d figures of CIK %d", len(list), co.CIK), nil
}

func texts(list ...string) []sheet.Value {
	row := make([]sheet.Value, len(list))
	for i, s := range list {
		row[i] = sheet.Text(s)
	}
	return row
}

var alphaVantage = asking(source{"give a key in ALPHA_VANTAGE_API_KEY", func(s Sources) bool { return s.AlphaVantage != nil }},
	Spec{
		Name:  "alpha_vantage",
		Class: reads,
		Description: "Ask Alpha Vantage about a stock: quote (newest price), overview (industry, size, ratios), statement, daily (prices). " +
			"A free key has 25 requests a day: keep the answer in a file.",
		Schema: schema(`"action","symbol"`, `
			"action": {"enum": ["quote", "overview", "statement", "daily"]},
			"symbol": {"type": "string", "minLength": 1, "maxLength": 20, "description": "as IBM or SHEL.LON"},
			"statement": {"enum": ["income", "balance", "cash_flow"]},
			"quarters": {"type": "boolean", "description": "not years"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "of statements or days"}`),
	}, with(askAlphaVantage))

type alphaVantageArguments struct {
	Action    string `json:"action"`
	Symbol    string `json:"symbol"`
	Statement string `json:"statement"`
	Quarters  bool   `json:"quarters"`
	Limit     int    `json:"limit"`
}

func askAlphaVantage(ctx context.Context, j job, a alphaVantageArguments) (Result, error) {
	c := j.sources().AlphaVantage
	if (a.Statement != "") != (a.Action == "statement") {
		return Result{}, unfit("statement", "it belongs to the action statement, which needs it")
	}
	text, err := a.ask(ctx, c)
	if err != nil {
		return Result{}, answered(ctx, err)
	}
	return done("from Alpha Vantage, as it gives it\n"+text, "Alpha Vantage: %s of %s", a.Action, a.Symbol), nil
}

func (a alphaVantageArguments) ask(ctx context.Context, c *alphavantage.Client) (string, error) {
	var fields []alphavantage.Field
	var err error
	switch a.Action {
	case "quote":
		fields, err = c.Quote(ctx, a.Symbol)
	case "overview":
		fields, err = c.Overview(ctx, a.Symbol)
	case "statement":
		return a.statements(ctx, c)
	case "daily":
		return a.days(ctx, c)
	}
	return listed(fields), err
}

func listed(fields []alphavantage.Field) string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%s: %s\n", shown(f.Name), cutEnd(shown(f.Value), 2000))
	}
	return b.String()
}

func (a alphaVantageArguments) statements(ctx context.Context, c *alphavantage.Client) (string, error) {
	reports, err := c.Statement(ctx, a.Symbol, a.Statement, a.Quarters, cmp.Or(a.Limit, 5))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, r := range reports {
		b.WriteString(listed(r) + "\n")
	}
	return b.String(), nil
}

func (a alphaVantageArguments) days(ctx context.Context, c *alphavantage.Client) (string, error) {
	list, err := c.Daily(ctx, a.Symbol, cmp.Or(a.Limit, 30))
	if err != nil {
		return "", err
	}
	t, err := sheet.New([]string{"date", "open", "high", "low", "close", "volume"})
	if err != nil {
		return "", err
	}
	for _, d := range list {
		row := texts(d.Date, d.Open, d.High, d.Low, d.Close, d.Volume)
		for i := range row[1:] {
			row[i+1] = sheet.Parse(row[i+1].Text)
		}
		if err := t.Add(row); err != nil {
			return "", err
		}
	}
	return asCSV(&t), nil
}

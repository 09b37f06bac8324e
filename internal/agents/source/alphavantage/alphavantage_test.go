package alphavantage_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/source/alphavantage"
	"github.com/loomrun/loom/internal/agents/source/sourcetest"
	"github.com/loomrun/loom/internal/base/fault"
)

const key = "DEMOKEY123456789"

// answers are those of the service on the wire, cut short; it answers 200 to
// everything.
var answers = map[string]string{
	"GLOBAL_QUOTE IBM": `{"Global Quote": {"01. symbol": "IBM", "02. open": "214.0000", "05. price": "215.1000", "07. latest trading day": "2026-11-20", "10. change percent": "0.5141%"}}`,
	"GLOBAL_QUOTE NIX": `{"Global Quote": {}}`,
	"OVERVIEW IBM":     `{"Symbol": "IBM", "Name": "International Business Machines", "PERatio": "22.5", "DividendPerShare": "None", "EBITDA": "14000000000"}`,
	"OVERVIEW NIX":     `{}`,
	"INCOME_STATEMENT IBM": `{"symbol": "IBM", "annualReports": [{"fiscalDateEnding": "2025-12-31", "reportedCurrency": "USD", "totalRevenue": "62753000000"}, {"fiscalDateEnding": "2024-12-31", "totalRevenue": "61860000000"}],
		"quarterlyReports": [{"fiscalDateEnding": "2026-09-30", "totalRevenue": "15000000000"}]}`,
	"TIME_SERIES_DAILY IBM": `{"Meta Data": {"2. Symbol": "IBM"}, "Time Series (Daily)": {"2026-11-19": {"1. open": "1", "2. high": "2", "3. low": "0.5", "4. close": "1.5", "5. volume": "10"},
		"2026-11-20": {"1. open": "1.5", "2. high": "2", "3. low": "1", "4. close": "2", "5. volume": "11"}}}`,
	"OVERVIEW BAD":          `{"Error Message": "Invalid API call. Please retry or visit the documentation (https://www.alphavantage.co/documentation/) for OVERVIEW."}`,
	"OVERVIEW BUSY":         `{"Information": "Thank you for using Alpha Vantage! Our standard API rate limit is 25 requests per day. Please subscribe to any of the premium plans to instantly remove all daily rate limits."}`,
	"OVERVIEW NOTE":         `{"Note": "Thank you for using Alpha Vantage! Our standard API call frequency is 5 calls per minute."}`,
	"OVERVIEW KEY":          `{"Error Message": "the parameter apikey is invalid or missing."}`,
	"OVERVIEW RICH":         `{"Information": "Thank you for using Alpha Vantage! This is a premium endpoint."}`,
	"TIME_SERIES_DAILY ODD": `{"Time Series (Daily)": []}`,
}

func service(t *testing.T) *sourcetest.Internet {
	net := sourcetest.New(t)
	net.Serve("www.alphavantage.co", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/query" || q.Get("apikey") != key {
			t.Errorf("asked for %s", r.URL.Path)
		}
		text, ok := answers[q.Get("function")+" "+q.Get("symbol")]
		if !ok {
			text = "<html>"
		}
		fmt.Fprint(w, text)
	}))
	return net
}

func client(t *testing.T, net *sourcetest.Internet) *alphavantage.Client {
	t.Helper()
	c, err := alphavantage.New(alphavantage.Config{Key: key, Minute: 100, Day: 100, Connect: net.Config})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTOOL07_AlphaVantage(t *testing.T) {
	ctx, c := context.Background(), client(t, service(t))
	show := func(v any, err error) string {
		if err != nil {
			if strings.Contains(err.Error(), key) {
				t.Errorf("the key is in %v", err)
			}
			return fault.Code(err)
		}
		return fmt.Sprint(v)
	}
	quote := func(s string) string { v, err := c.Quote(ctx, s); return show(v, err) }
	overview := func(s string) string { v, err := c.Overview(ctx, s); return show(v, err) }
	statement := func(s string, q bool) string { v, err := c.Statement(ctx, s, "income", q, 1); return show(v, err) }
	daily := func(s string) string { v, err := c.Daily(ctx, s, 1); return show(v, err) }
	for _, tt := range []struct{ got, want string }{
		{quote("IBM"), "[{symbol IBM} {open 214.0000} {price 215.1000} {latest trading day 2026-11-20} {change percent 0.5141%}]"},
		{quote("NIX"), "source/unknown"},
		{overview("IBM"), "[{EBITDA 14000000000} {Name International Business Machines} {PERatio 22.5} {Symbol IBM}]"},
		{overview("NIX"), "source/unknown"},
		{overview("BAD"), "source/unknown"},
		{overview("BUSY"), "source/rate"},
		{overview("NOTE"), "source/rate"},
		{overview("KEY"), "source/credentials"},
		{overview("RICH"), "source/credentials"},
		{overview("HTML"), "source/refused"},
		{overview("A&apikey=x"), "tool/arguments"},
		{statement("IBM", false), "[[{fiscalDateEnding 2025-12-31} {reportedCurrency USD} {totalRevenue 62753000000}]]"},
		{statement("IBM", true), "[[{fiscalDateEnding 2026-09-30} {totalRevenue 15000000000}]]"},
		{daily("IBM"), "[{2026-11-20 1.5 2 1 2 11}]"},
		{daily("ODD"), "source/refused"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s, want %s", tt.got, tt.want)
		}
	}
}

// A free key's day and minute are not overdrawn.
func TestTOOL07_AlphaVantageLimits(t *testing.T) {
	c, err := alphavantage.New(alphavantage.Config{Key: key, Day: 2, Connect: service(t).Config})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		_, err := c.Quote(context.Background(), "IBM")
		if limited := fault.Code(err) == "source/rate"; limited != (i == 2) {
			t.Errorf("request %d: %v", i+1, err)
		}
	}
}

func TestTOOL07_AlphaVantageKeyAndOffline(t *testing.T) {
	for _, bad := range []string{"", "short", "with blank 123456", "a&b=c1234567890"} {
		_, err := alphavantage.New(alphavantage.Config{Key: bad})
		if fault.Code(err) != "source/credentials" || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	_, err := client(t, sourcetest.New(t)).Quote(context.Background(), "IBM")
	if fault.Code(err) != "source/unavailable" || strings.Contains(err.Error(), key) {
		t.Errorf("offline: %v", err)
	}
}

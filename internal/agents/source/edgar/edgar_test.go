package edgar_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/source/edgar"
	"github.com/loomrun/loom/internal/agents/source/sourcetest"
	"github.com/loomrun/loom/internal/base/fault"
)

// Answers of EDGAR as they are on the wire, cut short.
const (
	tickers = `{"0":{"cik_str":320193,"ticker":"AAPL","title":"Apple Inc."},"1":{"cik_str":789019,"ticker":"MSFT","title":"MICROSOFT CORP"},
		"2":{"cik_str":1652044,"ticker":"GOOGL","title":"Alphabet Inc."},"3":{"cik_str":1652044,"ticker":"GOOG","title":"Alphabet Inc."},
		"4":{"cik_str":1418121,"ticker":"APLE","title":"Apple Hospitality REIT, Inc."}}`
	submissions = `{"cik":"0000320193","entityType":"operating","sic":"3571","sicDescription":"Electronic Computers","name":"Apple Inc.","tickers":["AAPL"],"exchanges":["Nasdaq"],
		"fiscalYearEnd":"0928","filings":{"recent":{"accessionNumber":["0000320193-24-000123","0000320193-24-000081","0000320193-23-000106"],
		"filingDate":["2024-11-01","2024-08-02","2023-11-03"],"reportDate":["2024-09-28","2024-06-29","2023-09-30"],"form":["10-K","10-Q","10-K"],
		"primaryDocument":["aapl-20240928.htm","aapl-20240629.htm","aapl-20230930.htm"],"primaryDocDescription":["10-K","10-Q","10-K"]},"files":[]}}`
	concept = `{"cik":320193,"taxonomy":"us-gaap","tag":"Assets","label":"Assets","description":"...","entityName":"Apple Inc.","units":{"USD":[
		{"end":"2022-09-24","val":352755000000,"accn":"0000320193-22-000108","fy":2022,"fp":"FY","form":"10-K","filed":"2022-10-28"},
		{"end":"2023-09-30","val":352583000000,"accn":"0000320193-23-000106","fy":2023,"fp":"FY","form":"10-K","filed":"2023-11-03","frame":"CY2023Q3I"},
		{"end":"2022-09-24","val":352755000000,"accn":"0000320193-23-000106","fy":2023,"fp":"FY","form":"10-K","filed":"2023-11-03","frame":"CY2022Q3I"},
		{"end":"2023-12-30","val":353514000000,"accn":"0000320193-24-000006","fy":2024,"fp":"Q1","form":"10-Q","filed":"2024-02-02"}]}}`
)

func commission(t *testing.T, contact string) *sourcetest.Internet {
	net := sourcetest.New(t)
	answer := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("User-Agent") != contact {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			fmt.Fprint(w, text)
		}
	}
	www, data := http.NewServeMux(), http.NewServeMux()
	www.Handle("/files/company_tickers.json", answer(tickers))
	data.Handle("/submissions/CIK0000320193.json", answer(submissions))
	data.Handle("/api/xbrl/companyconcept/CIK0000320193/us-gaap/Assets.json", answer(concept))
	data.Handle("/api/xbrl/companyconcept/CIK0000320193/us-gaap/Broken.json", answer("<html>"))
	net.Serve("www.sec.gov", www)
	net.Serve("data.sec.gov", data)
	return net
}

const contact = "Sample Company admin@sample.com"

func TestTOOL07_EDGAR(t *testing.T) {
	ctx := context.Background()
	c, err := edgar.New(contact, commission(t, contact).Config)
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"aapl": "{320193 AAPL Apple Inc.}", "Apple Inc.": "{320193 AAPL Apple Inc.}", "CIK0000789019": "{789019 MSFT MICROSOFT CORP}", "microsoft": "{789019 MSFT MICROSOFT CORP}",
		"alphabet": "{1652044 GOOG Alphabet Inc.}", "12345": "{12345  }", "apple": "source/unknown", "acme": "source/unknown", "": "source/unknown",
	} {
		co, err := c.Company(ctx, query)
		got := fmt.Sprint(co)
		if err != nil {
			got = fault.Code(err)
		}
		if got != want {
			t.Errorf("Company(%q): %s (%v), want %s", query, got, err, want)
		}
	}
	if _, err := c.Company(ctx, "apple"); !strings.Contains(err.Error(), "Apple Inc. (AAPL), Apple Hospitality REIT, Inc. (APLE)") {
		t.Errorf("%v", err)
	}
	name, filings, err := c.Filings(ctx, 320193, "10-k", 1)
	want := "Apple Inc. [{10-K 2024-11-01 2024-09-28 0000320193-24-000123 10-K https://www.sec.gov/Archives/edgar/data/320193/000032019324000123/aapl-20240928.htm}]"
	if got := fmt.Sprint(name, " ", filings); got != want || err != nil {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
	label, figures, err := c.Figures(ctx, 320193, "Assets", "10-K", 5)
	want = "Assets [{ 2023-09-30 352583000000 USD 10-K 2023-11-03 0000320193-23-000106 2023 FY} { 2022-09-24 352755000000 USD 10-K 2023-11-03 0000320193-23-000106 2023 FY}]"
	if got := fmt.Sprint(label, " ", figures); got != want || err != nil {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
	for concept, code := range map[string]string{"Nothing": "source/unknown", "Broken": "source/refused", "../x": "tool/arguments"} {
		if _, _, err := c.Figures(ctx, 320193, concept, "", 5); fault.Code(err) != code {
			t.Errorf("%s: %v, want %s", concept, err, code)
		}
	}
}

func TestTOOL07_EDGARWantsAContact(t *testing.T) {
	for _, bad := range []string{"", "loom", "admin@sample.com", "a\nb admin@sample.com"} {
		if _, err := edgar.New(bad, nil); fault.Code(err) != "source/credentials" {
			t.Errorf("%q: %v", bad, err)
		}
	}
	c, err := edgar.New("Somebody else@sample.com", commission(t, contact).Config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Company(context.Background(), "AAPL"); fault.Code(err) != "source/credentials" {
		t.Errorf("a contact that is refused: %v", err)
	}
}

func TestTOOL07_EDGAROffline(t *testing.T) {
	c, err := edgar.New(contact, sourcetest.New(t).Config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Company(context.Background(), "AAPL"); fault.Code(err) != "source/unavailable" || !strings.Contains(err.Error(), "www.sec.gov was not reached") {
		t.Errorf("%v", err)
	}
}

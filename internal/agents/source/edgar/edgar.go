// Package edgar asks EDGAR, the archive of the United States' Securities and
// Exchange Commission, for companies, their filings and the figures in them.
//
// It promises at most 8 requests a second, as the Commission asks for 10 at
// most, each with the contact that the operator gave; and that figures are as
// they were filed, with period, form and accession number. It computes
// nothing.
package edgar

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/loomrun/loom/internal/agents/source/fetch"
	"github.com/loomrun/loom/internal/base/fault"
)

const maxAnswer = 16 << 20 // bytes; the filings of a large bank have some

// Client asks EDGAR. It may be used by several goroutines.
type Client struct {
	client *fetch.Client

	mu      sync.Mutex
	tickers []Company // read once, and again after a day
	read    time.Time
}

// Company is one that files.
type Company struct {
	CIK    int
	Ticker string
	Name   string
}

// Filing is a document that was filed.
type Filing struct {
	Form, Filed, Period, Accession, Description, URL string
}

// Figure is a value that a company filed for a period.
type Figure struct {
	Start, End, Value, Unit, Form, Filed, Accession string
	Year                                            int
	Period                                          string // FY, Q1 ...
}

var contactPattern = regexp.MustCompile(`^[\x20-\x7e]{2,100} [^\s@]+@[^\s@]+\.[^\s@]+$`)

// New returns a client. The contact is a name and an address of mail, which
// the Commission demands of programs: "Sample Company admin@sample.com".
func New(contact string, connect func(fetch.Config) fetch.Config) (*Client, error) {
	if !contactPattern.MatchString(contact) {
		return nil, fault.New("source/credentials", "the SEC asks programs for a name and an address of mail").At("source/edgar").
			Want("such as \"Sample Company admin@sample.com\"")
	}
	config := fetch.Config{
		Hosts: []string{"www.sec.gov", "data.sec.gov"}, Agent: contact, Most: maxAnswer,
		Limits: []*rate.Limiter{rate.NewLimiter(8, 8)},
	}
	if connect != nil {
		config = connect(config)
	}
	return &Client{client: fetch.New(config)}, nil
}

func (c *Client) get(ctx context.Context, url string, into any) error {
	page, err := c.client.Get(ctx, url)
	if s, ok := errors.AsType[*fetch.StatusError](err); ok && s.Code == http.StatusForbidden {
		return fault.New("source/credentials", "the SEC refuses the request (403): it wants a real contact, and at most 10 requests a second")
	}
	if err != nil {
		return fetch.Explain(err)
	}
	if err := json.Unmarshal(page.Body, into); err != nil {
		return fault.New("source/refused", "the SEC's answer is not what is known of it: %s", err)
	}
	return nil
}

// Company finds one by its ticker, its CIK, or words of its name. Several are
// source/unknown with their names.
func (c *Client) Company(ctx context.Context, query string) (Company, error) {
	list, err := c.companies(ctx)
	if err != nil {
		return Company{}, err
	}
	query = strings.TrimSpace(query)
	cik, _ := strconv.Atoi(strings.TrimPrefix(strings.ToUpper(query), "CIK"))
	var named []Company
	for _, co := range list {
		if strings.EqualFold(co.Ticker, query) || cik > 0 && co.CIK == cik || strings.EqualFold(co.Name, query) {
			return co, nil
		}
		if query != "" && strings.Contains(strings.ToLower(co.Name), strings.ToLower(query)) && !slices.ContainsFunc(named, func(n Company) bool { return n.CIK == co.CIK }) {
			named = append(named, co)
		}
	}
	switch {
	case len(named) == 1:
		return named[0], nil
	case len(named) == 0 && cik > 0:
		return Company{CIK: cik}, nil // it has no ticker
	case len(named) == 0:
		return Company{}, fault.New("source/unknown", "no company with a ticker has this name").At("company").Got(query)
	}
	var names []string
	for _, n := range named[:min(len(named), 8)] {
		names = append(names, fmt.Sprintf("%s (%s)", n.Name, n.Ticker))
	}
	return Company{}, fault.New("source/unknown", "%d companies have this in their names", len(named)).At("company").Got(query).Want("choose one by its ticker: %s", strings.Join(names, ", "))
}

// companies reads the list of all that have a ticker.
func (c *Client) companies(ctx context.Context) ([]Company, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tickers != nil && time.Since(c.read) < 24*time.Hour {
		return c.tickers, nil
	}
	var answer map[string]struct {
		CIK    int    `json:"cik_str"`
		Ticker string `json:"ticker"`
		Title  string `json:"title"`
	}
	if err := c.get(ctx, "https://www.sec.gov/files/company_tickers.json", &answer); err != nil {
		return nil, err
	}
	list := make([]Company, 0, len(answer))
	for _, a := range answer {
		list = append(list, Company{a.CIK, a.Ticker, a.Title})
	}
	slices.SortFunc(list, func(a, b Company) int { return cmp.Or(a.CIK-b.CIK, strings.Compare(a.Ticker, b.Ticker)) })
	c.tickers, c.read = list, time.Now()
	return list, nil
}

// Filings returns a company's newest filings, of one form if it is given.
func (c *Client) Filings(ctx context.Context, cik int, form string, most int) (name string, list []Filing, err error) {
	var answer struct {
		Name    string `json:"name"`
		Filings struct {
			Recent struct {
				Accession   []string `json:"accessionNumber"`
				Filed       []string `json:"filingDate"`
				Period      []string `json:"reportDate"`
				Form        []string `json:"form"`
				Document    []string `json:"primaryDocument"`
				Description []string `json:"primaryDocDescription"`
			} `json:"recent"`
		} `json:"filings"`
	}
	if err := c.get(ctx, fmt.Sprintf("https://data.sec.gov/submissions/CIK%010d.json", cik), &answer); err != nil {
		return "", nil, err
	}
	r := answer.Filings.Recent
	for _, column := range [][]string{r.Filed, r.Period, r.Form, r.Document, r.Description} {
		if len(column) != len(r.Accession) {
			return "", nil, fault.New("source/refused", "the SEC's answer is not what is known of it: its columns differ in length")
		}
	}
	for i := range r.Accession {
		if form != "" && !strings.EqualFold(r.Form[i], form) {
			continue
		}
		if len(list) == most {
			break
		}
		folder := fmt.Sprintf("https://www.sec.gov/Archives/edgar/data/%d/%s/", cik, strings.ReplaceAll(r.Accession[i], "-", ""))
		list = append(list, Filing{r.Form[i], r.Filed[i], r.Period[i], r.Accession[i], r.Description[i], folder + r.Document[i]})
	}
	return answer.Name, list, nil
}

var conceptPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{1,150}$`)

// Figures returns what a company filed of a concept of US GAAP, such as
// "Revenues" or "Assets", newest period first, of one form if it is given. Of
// a period that was filed several times, the last filing counts.
func (c *Client) Figures(ctx context.Context, cik int, concept, form string, most int) (label string, list []Figure, err error) {
	if !conceptPattern.MatchString(concept) {
		return "", nil, fault.New("tool/arguments", "it is not the name of a concept").At("concept").Got(concept).Want("such as Revenues, NetIncomeLoss or Assets")
	}
	var answer struct {
		Label string `json:"label"`
		Units map[string][]struct {
			Start     string      `json:"start"`
			End       string      `json:"end"`
			Value     json.Number `json:"val"`
			Year      int         `json:"fy"`
			Period    string      `json:"fp"`
			Form      string      `json:"form"`
			Filed     string      `json:"filed"`
			Accession string      `json:"accn"`
		} `json:"units"`
	}
	if err := c.get(ctx, fmt.Sprintf("https://data.sec.gov/api/xbrl/companyconcept/CIK%010d/us-gaap/%s.json", cik, concept), &answer); err != nil {
		return "", nil, err
	}
	newest := map[string]Figure{}
	for unit, values := range answer.Units {
		for _, v := range values {
			key := unit + v.Start + "/" + v.End
			if form != "" && !strings.EqualFold(v.Form, form) || newest[key].Filed > v.Filed {
				continue
			}
			newest[key] = Figure{v.Start, v.End, v.Value.String(), unit, v.Form, v.Filed, v.Accession, v.Year, v.Period}
		}
	}
	for _, f := range newest {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b Figure) int {
		return cmp.Or(strings.Compare(b.End, a.End), strings.Compare(a.Start, b.Start), strings.Compare(a.Unit, b.Unit))
	})
	return answer.Label, list[:min(len(list), most)], nil
}

package opendata

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/loomrun/loom/internal/agents/source/fetch"
	"github.com/loomrun/loom/internal/base/fault"
)

// FRED asks for series of economic data.
type FRED struct {
	service
	key string
}

var (
	fredKey   = regexp.MustCompile(`^[a-z0-9]{32}$`)
	series    = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,50}$`)
	day       = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	countries = regexp.MustCompile(`^[A-Za-z0-9]{2,3}(;[A-Za-z0-9]{2,3}){0,30}$`)
	indicator = regexp.MustCompile(`^[A-Za-z0-9_.]{3,60}$`)
	years     = regexp.MustCompile(`^\d{4}(:\d{4})?$`)
)

// NewFRED returns a client, of one request a second: FRED takes two. The key is needed.
func NewFRED(c Config) (*FRED, error) {
	if !fredKey.MatchString(c.Key) {
		return nil, fault.New("source/credentials", "it is not a key of FRED: 32 lower-case letters and digits").At("FRED_API_KEY")
	}
	return &FRED{c.open("FRED", time.Second, []string{"api_key"}, "api.stlouisfed.org"), c.Key}, nil
}

func (f *FRED) ask(ctx context.Context, path string, q url.Values, into any) error {
	q.Set("api_key", f.key)
	q.Set("file_type", "json")
	page, err := f.client.Get(ctx, "https://api.stlouisfed.org/fred/"+path+"?"+q.Encode())
	if s, ok := errors.AsType[*fetch.StatusError](err); ok && s.Code == 400 {
		return f.wrong(s.Body)
	}
	if err != nil {
		return fetch.Explain(err)
	}
	return f.decode(page.Body, into)
}

// wrong is what FRED says of a request that it refuses.
func (f *FRED) wrong(body []byte) error {
	var said struct {
		Message string `json:"error_message"`
	}
	_ = json.Unmarshal(body, &said)
	if regexp.MustCompile(`(?i)api_key`).MatchString(said.Message) {
		return fault.New("source/credentials", "FRED refuses the key")
	}
	return fault.New("source/unknown", "FRED has nothing of that kind: %s", words(said.Message, 200))
}

// Search returns series whose names have some words.
func (f *FRED) Search(ctx context.Context, question string, most int) (*Answer, error) {
	var got struct {
		Count  int `json:"count"`
		Series []struct {
			ID, Title, Units, Frequency string
			From                        string `json:"observation_start"`
			To                          string `json:"observation_end"`
			Changed                     string `json:"last_updated"`
		} `json:"seriess"`
	}
	if err := f.ask(ctx, "series/search", url.Values{"search_text": {question}, "limit": {strconv.Itoa(most)}}, &got); err != nil {
		return nil, err
	}
	a := &Answer{Title: "series of FRED", Total: got.Count, Columns: []string{"series", "title", "units", "frequency", "from", "to", "updated"}}
	for _, s := range got.Series {
		a.Rows = append(a.Rows, []string{s.ID, words(s.Title, 300), words(s.Units, 100), words(s.Frequency, 60), s.From, s.To, s.Changed})
	}
	return a, nil
}

// Observations returns the values of a series from a day on, which may be empty, the
// newest first. A value that is not there is ".", as FRED gives it.
func (f *FRED) Observations(ctx context.Context, id, from string, most int) (*Answer, error) {
	if !series.MatchString(id) {
		return nil, unfit("series", id, "such as UNRATE or GDPC1")
	}
	q := url.Values{"series_id": {id}, "sort_order": {"desc"}, "limit": {strconv.Itoa(most)}}
	if from != "" {
		if !day.MatchString(from) {
			return nil, unfit("from", from, "YYYY-MM-DD")
		}
		q.Set("observation_start", from)
	}
	var got struct {
		Count        int `json:"count"`
		Observations []struct {
			Date  string `json:"date"`
			Value string `json:"value"`
		} `json:"observations"`
	}
	if err := f.ask(ctx, "series/observations", q, &got); err != nil {
		return nil, err
	}
	a := &Answer{Title: "FRED, series " + id, Total: got.Count, Columns: []string{"date", "value"}}
	for _, o := range got.Observations {
		a.Rows = append(a.Rows, []string{o.Date, o.Value})
	}
	return a, nil
}

// WorldBank asks for the World Bank's indicators.
type WorldBank struct{ service }

// NewWorldBank returns a client, of one request a second.
func NewWorldBank(c Config) *WorldBank {
	return &WorldBank{c.open("the World Bank", time.Second, nil, "api.worldbank.org")}
}

// Indicator returns values of an indicator for countries ("DE" or "DE;FR", "all") and
// years ("2010:2020", empty for all).
func (w *WorldBank) Indicator(ctx context.Context, where, id, when string, most int) (*Answer, error) {
	switch {
	case !countries.MatchString(where):
		return nil, unfit("country", where, "such as DE, DE;FR or all")
	case !indicator.MatchString(id):
		return nil, unfit("indicator", id, "such as NY.GDP.MKTP.CD")
	case when != "" && !years.MatchString(when):
		return nil, unfit("years", when, "such as 2020 or 2010:2020")
	}
	q := url.Values{"format": {"json"}, "per_page": {strconv.Itoa(most)}}
	if when != "" {
		q.Set("date", when)
	}
	var parts []json.RawMessage
	if err := w.get(ctx, "https://api.worldbank.org/v2/country/"+where+"/indicator/"+id+"?"+q.Encode(), &parts); err != nil {
		return nil, err
	}
	if len(parts) < 2 {
		return nil, w.wrong(parts)
	}
	var about struct {
		Total int `json:"total"`
	}
	if err := w.decode(parts[0], &about); err != nil {
		return nil, err
	}
	var rows []struct {
		Indicator struct{ Value string } `json:"indicator"`
		Country   struct{ Value string } `json:"country"`
		Code      string                 `json:"countryiso3code"`
		Date      string                 `json:"date"`
		Value     *json.Number           `json:"value"`
	}
	if err := w.decode(parts[1], &rows); err != nil {
		return nil, err
	}
	a := &Answer{Title: "World Bank, " + id, Total: about.Total, Columns: []string{"country", "code", "date", "value"}}
	for i, r := range rows {
		if i == 0 {
			a.Title += ": " + words(r.Indicator.Value, 200)
		}
		value := ""
		if r.Value != nil {
			value = r.Value.String()
		}
		a.Rows = append(a.Rows, []string{words(r.Country.Value, 100), r.Code, r.Date, value})
	}
	return a, nil
}

// wrong is what the World Bank says of a request that it refuses: with status 200.
func (w *WorldBank) wrong(parts []json.RawMessage) error {
	var said struct {
		Message []struct {
			Key   string `json:"key"`
			Value string `json:"value"`
		} `json:"message"`
	}
	if len(parts) == 1 && json.Unmarshal(parts[0], &said) == nil && len(said.Message) > 0 {
		return fault.New("source/unknown", "the World Bank has nothing of that kind: %s: %s", words(said.Message[0].Key, 60), words(said.Message[0].Value, 200))
	}
	return fault.New("source/refused", "the answer of the World Bank is not what is known of it")
}

// Package alphavantage asks Alpha Vantage for prices and statements of
// companies, with the operator's key.
//
// It promises to keep to 5 requests a minute and 25 a day, the limits of a
// free key, unless it is told others; to tell a refused key, a used-up limit
// and an unknown symbol apart, although the service answers 200 to all; and
// that the key is in no error. Values are as the service gives them.
package alphavantage

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/loomrun/loom/internal/agents/source/fetch"
	"github.com/loomrun/loom/internal/base/fault"
)

const maxAnswer = 8 << 20 // bytes

// Config says how to ask.
type Config struct {
	// Key is the service's API key.
	Key string
	// Minute and Day are how many requests are made in each. Zero means 5 and
	// 25.
	Minute, Day int
	// Connect completes how the network is reached; nil is the one there is.
	Connect func(fetch.Config) fetch.Config
}

// Client asks the service. It may be used by several goroutines.
type Client struct {
	client *fetch.Client
	key    string
}

// New returns a client, or source/credentials for what cannot be a key. The
// limits begin anew with each process.
func New(c Config) (*Client, error) {
	if !keyPattern.MatchString(c.Key) {
		return nil, fault.New("source/credentials", "it is no key of Alpha Vantage").At("alpha vantage key").Want("16 letters and digits, from alphavantage.co/support/#api-key")
	}
	if c.Minute <= 0 {
		c.Minute = 5
	}
	if c.Day <= 0 {
		c.Day = 25
	}
	config := fetch.Config{
		Hosts: []string{"www.alphavantage.co"}, Keys: []string{"apikey"}, Most: maxAnswer,
		Limits: []*rate.Limiter{
			rate.NewLimiter(rate.Every(24*time.Hour/time.Duration(c.Day)), c.Day), rate.NewLimiter(rate.Every(time.Minute/time.Duration(c.Minute)), c.Minute),
		},
	}
	if c.Connect != nil {
		config = c.Connect(config)
	}
	return &Client{fetch.New(config), c.Key}, nil
}

var (
	keyPattern    = regexp.MustCompile(`^[A-Za-z0-9]{8,40}$`)
	symbolPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.^=-]{0,19}$`)
)

// ask gets an answer, and finds out what it is if it is none.
func (c *Client) ask(ctx context.Context, function, symbol string, more url.Values) (map[string]json.RawMessage, error) {
	if !symbolPattern.MatchString(symbol) {
		return nil, fault.New("tool/arguments", "it is not the symbol of a stock").At("symbol").Got(symbol).Want("such as IBM or SHEL.LON")
	}
	q := url.Values{"function": {function}, "symbol": {symbol}, "apikey": {c.key}}
	maps.Copy(q, more)
	page, err := c.client.Get(ctx, "https://www.alphavantage.co/query?"+q.Encode())
	if err != nil {
		return nil, fetch.Explain(err)
	}
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(page.Body, &answer); err != nil {
		return nil, fault.New("source/refused", "Alpha Vantage did not answer in JSON")
	}
	return answer, refusal(answer, symbol)
}

// refusal reads what the service says in the place of an answer.
func refusal(answer map[string]json.RawMessage, symbol string) error {
	for _, name := range []string{"Note", "Information", "Error Message"} {
		var text string
		if raw, ok := answer[name]; !ok || json.Unmarshal(raw, &text) != nil {
			continue
		}
		lower := strings.ToLower(text)
		switch {
		case strings.Contains(lower, "rate limit") || strings.Contains(lower, "call frequency") || strings.Contains(lower, "requests per day"):
			return fault.New("source/rate", "Alpha Vantage takes no more requests of this key now").Want("a free key has 25 a day")
		case strings.Contains(lower, "premium"):
			return fault.New("source/credentials", "Alpha Vantage gives this to premium keys alone")
		case strings.Contains(lower, "apikey") || strings.Contains(lower, "api key"):
			return fault.New("source/credentials", "Alpha Vantage refuses the key")
		}
		return fault.New("source/unknown", "Alpha Vantage has nothing for this").At("symbol").Got(symbol)
	}
	if len(answer) == 0 {
		return fault.New("source/unknown", "Alpha Vantage has nothing for this").At("symbol").Got(symbol)
	}
	return nil
}

// Field is one named value.
type Field struct{ Name, Value string }

// Quote returns the newest price of a stock and what belongs to it.
func (c *Client) Quote(ctx context.Context, symbol string) ([]Field, error) {
	answer, err := c.ask(ctx, "GLOBAL_QUOTE", symbol, nil)
	if err != nil {
		return nil, err
	}
	var quote map[string]string
	if err := json.Unmarshal(answer["Global Quote"], &quote); err != nil || len(quote) == 0 {
		return nil, fault.New("source/unknown", "Alpha Vantage has no price for this").At("symbol").Got(symbol)
	}
	var list []Field
	for _, name := range slices.Sorted(maps.Keys(quote)) { // "05. price"
		_, short, numbered := strings.Cut(name, ". ")
		if !numbered {
			short = name
		}
		list = append(list, Field{short, quote[name]})
	}
	return list, nil
}

// Overview returns what is known of a company: its industry, size and ratios.
func (c *Client) Overview(ctx context.Context, symbol string) ([]Field, error) {
	answer, err := c.ask(ctx, "OVERVIEW", symbol, nil)
	if err != nil {
		return nil, err
	}
	return fields(answer), nil
}

func fields(values map[string]json.RawMessage) (list []Field) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		var text string
		if json.Unmarshal(values[name], &text) == nil && text != "None" && text != "-" {
			list = append(list, Field{name, text})
		}
	}
	return list
}

// Statements that [Client.Statement] knows, and what the service calls them.
var Statements = map[string]string{"income": "INCOME_STATEMENT", "balance": "BALANCE_SHEET", "cash_flow": "CASH_FLOW"}

// Statement returns a company's statements, newest first: of years, or of
// quarters.
func (c *Client) Statement(ctx context.Context, symbol, which string, quarters bool, most int) ([][]Field, error) {
	answer, err := c.ask(ctx, Statements[which], symbol, nil)
	if err != nil {
		return nil, err
	}
	part := "annualReports"
	if quarters {
		part = "quarterlyReports"
	}
	var reports []map[string]json.RawMessage
	if err := json.Unmarshal(answer[part], &reports); err != nil {
		return nil, fault.New("source/refused", "Alpha Vantage's answer is not what is known of it")
	}
	var list [][]Field
	for _, r := range reports[:min(len(reports), most)] {
		list = append(list, fields(r))
	}
	return list, nil
}

// Day is the prices of one.
type Day struct{ Date, Open, High, Low, Close, Volume string }

// Daily returns the newest of the last 100 trading days, newest first.
func (c *Client) Daily(ctx context.Context, symbol string, most int) ([]Day, error) {
	answer, err := c.ask(ctx, "TIME_SERIES_DAILY", symbol, url.Values{"outputsize": {"compact"}})
	if err != nil {
		return nil, err
	}
	var series map[string]map[string]string
	if err := json.Unmarshal(answer["Time Series (Daily)"], &series); err != nil {
		return nil, fault.New("source/refused", "Alpha Vantage's answer is not what is known of it")
	}
	dates := slices.Sorted(maps.Keys(series))
	slices.Reverse(dates)
	var list []Day
	for _, d := range dates[:min(len(dates), most)] {
		v := series[d]
		list = append(list, Day{d, v["1. open"], v["2. high"], v["3. low"], v["4. close"], v["5. volume"]})
	}
	return list, nil
}

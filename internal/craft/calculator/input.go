package calculator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// flow is an amount at a time, in years or periods from the first one.
type flow struct {
	at     decimal.Decimal
	amount decimal.Decimal
}

func unfit(where, format string, args ...any) *fault.Error {
	return fault.New("calculation/input", format, args...).At(where)
}

// read reads the inputs of f and reports all that is wrong with them.
func (f Formula) read(given map[string]json.RawMessage) (inputs, error) {
	in := inputs{map[string]decimal.Decimal{}, map[string][]decimal.Decimal{}, map[string][]flow{}}
	var errs []*fault.Error
	var names []string
	for _, p := range f.Parameters {
		names = append(names, p.Name)
		raw, ok := given[p.Name]
		switch {
		case ok:
			if err := in.take(p, raw); err != nil {
				errs = append(errs, fault.From(err))
			}
		case !p.Optional:
			errs = append(errs, unfit(p.Name, "%s needs it: %s", f.Name, p.Summary))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := f.find(name); !ok {
			errs = append(errs, unfit(name, "%s takes no such input", f.Name).Want("%s", suggest.Among(name, names)))
		}
	}
	return in, fault.Join(errs)
}

func (in inputs) take(p Parameter, raw json.RawMessage) (err error) {
	switch p.Kind {
	case Amount, Whole:
		v, err := readNumber(p.Name, raw)
		if err == nil && p.Kind == Whole && !v.IsInteger() {
			err = unfit(p.Name, "it is not a whole number").Got(v.String())
		}
		in.numbers[p.Name] = v
		return err
	case List:
		in.lists[p.Name], err = readList(p.Name, raw)
	case Dated:
		in.dated[p.Name], err = readFlows(p.Name, raw)
	}
	return err
}

func readNumber(where string, raw json.RawMessage) (decimal.Decimal, error) {
	text := string(bytes.TrimSpace(raw))
	if len(text) > 0 && text[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return zero, unfit(where, "it is not a number")
		}
	}
	v, err := ParseNumber(text)
	if err != nil {
		e := fault.From(err)
		return zero, unfit(where, "%s", e.Message).Got(text)
	}
	return v, nil
}

func readList(where string, raw json.RawMessage) ([]decimal.Decimal, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, unfit(where, "it is not a list of numbers")
	}
	if len(items) == 0 || len(items) > maxFlows {
		return nil, unfit(where, "it has %d numbers, not 1 to %d", len(items), maxFlows)
	}
	list := make([]decimal.Decimal, len(items))
	for i, item := range items {
		v, err := readNumber(fmt.Sprintf("%s[%d]", where, i), item)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

// readFlows reads dated amounts and puts them in order; their times are years
// of 365 days from the earliest.
func readFlows(where string, raw json.RawMessage) ([]flow, error) {
	var items []struct {
		Date   string          `json:"date"`
		Amount json.RawMessage `json:"amount"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&items); err != nil {
		return nil, unfit(where, "it is not a list of {\"date\": \"2026-11-21\", \"amount\": 1}")
	}
	if len(items) < 2 || len(items) > maxFlows {
		return nil, unfit(where, "it has %d flows, not 2 to %d", len(items), maxFlows)
	}
	days := make([]int64, len(items))
	list := make([]flow, len(items))
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", where, i)
		day, err := time.Parse(time.DateOnly, item.Date)
		if err != nil {
			return nil, unfit(at+".date", "it is not a date as 2026-11-21").Got(item.Date)
		}
		days[i] = day.Unix() / 86400
		if list[i].amount, err = readNumber(at+".amount", item.Amount); err != nil {
			return nil, err
		}
	}
	year, first := decimal.NewFromInt(365), slices.Min(days)
	for i := range list {
		list[i].at, _ = quotient(decimal.NewFromInt(days[i]-first), year, guardDigits)
	}
	slices.SortStableFunc(list, func(a, b flow) int { return a.at.Cmp(b.at) })
	return list, nil
}

package provider

import (
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/agents/model/wire"
)

// Terms are what holds for a model behind HTTP.
type Terms struct {
	// Model is its spec, PROVIDER:MODEL.
	Model string `json:"model"`
	// Address is where it is asked; From is the variable that says so, "" for the
	// provider's own address.
	Address string `json:"address"`
	From    string `json:"from,omitempty"`
	// Prices says where its price is from, "" where none is known.
	Prices string `json:"prices,omitempty"`
	// CacheMarks says that marks of what the server is to keep are sent.
	CacheMarks bool `json:"cache_marks"`
	// Window is how many tokens it takes.
	Window int `json:"window"`
	// Limits are the time-outs and the number of tries.
	Limits wire.Limits `json:"-"`
}

// Terms returns what holds for each model of a spec that is asked over HTTP, in
// their order, whether there are keys for them or not. It contacts nobody.
//
// Errors: those of [Config.Open], but for model/no-key.
func (c Config) Terms(spec string) ([]Terms, error) {
	var all []Terms
	for one := range strings.SplitSeq(spec, ",") {
		one = strings.TrimSpace(one)
		kind, _, _ := strings.Cut(one, ":")
		p, remote := protocols[kind]
		if !remote {
			continue
		}
		s, err := c.server(one)
		if err != nil {
			return nil, err
		}
		t := Terms{Model: one, Address: s.Base, CacheMarks: s.CacheMarks, Window: s.Window, Limits: s.Limits.WithDefaults(s.Loopback())}
		if !s.Official {
			t.From = p.prefix + "_BASE_URL"
		}
		if s.Price != nil {
			t.Prices = s.Price.From
		}
		all = append(all, t)
	}
	return all, nil
}

// String says in words what holds.
func (t Terms) String() string {
	at, prices, marks := t.Address, t.Prices, ""
	if t.From != "" {
		at += " (" + t.From + ")"
	}
	if prices == "" {
		prices = "no price is known, provider.prices can say one"
	}
	if t.CacheMarks {
		marks = ", with cache marks"
	}
	l := t.Limits
	return fmt.Sprintf("%s%s; %s; at most %s, %s in all, silence %s", at, marks, prices, tries(l.Tries), l.Total, l.Idle)
}

func tries(n int) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}

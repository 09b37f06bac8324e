package provider_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/agents/model/provider"
	"github.com/loomrun/loom/internal/agents/model/wire"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// marked is a request as far as marks of what is to be kept stand in it.
type marked struct {
	Tools    []markedBlock
	System   []markedBlock
	Messages []struct{ Content []markedBlock }
	Whole    any `json:"cache_control"`
}

type markedBlock struct {
	Mark any `json:"cache_control"`
}

// The end of what a role always begins with and the end of the conversation are
// marked, at any address, and nothing else is.
func TestAGENT02_CacheMarksStandOnBlocksAtAnyAddress(t *testing.T) {
	for _, tt := range []struct {
		name string
		own  bool
		said provider.Marks
		want bool
	}{{"its own address", true, provider.MarksWhereKnown, true}, {"a gateway", false, provider.MarksWhereKnown, true}, {"a gateway that refuses them", false, provider.MarksNever, false}} {
		t.Run("AGENT02 "+tt.name, func(t *testing.T) {
			s := modeltest.Anthropic(t, modeltest.Sequence(modeltest.Reply{Text: "yes"}))
			env := map[string]string{"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": s.URL}
			var p model.Provider
			if tt.own {
				delete(env, "ANTHROPIC_BASE_URL")
				p = openAt(t, s, "anthropic:claude-test", env)
			} else {
				var err error
				if p, err = (provider.Config{Env: func(k string) string { return env[k] }, CacheMarks: tt.said}).Open("anthropic:claude-test"); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := p.Ask(context.Background(), conversation(), nil); err != nil {
				t.Fatal(err)
			}
			var got marked
			if err := json.Unmarshal([]byte(s.Bodies()[0]), &got); err != nil {
				t.Fatal(err)
			}
			if sent := got.System[0].Mark != nil; sent != tt.want || got.Whole != nil || got.Tools[0].Mark != nil {
				t.Errorf("sent %s, want a mark on the system text: %t, and none on the tools or the whole", s.Bodies()[0], tt.want)
			}
			for i, m := range got.Messages {
				for j, b := range m.Content {
					last := i == len(got.Messages)-1 && j == len(m.Content)-1
					if marked := b.Mark != nil; marked != (last && tt.want) {
						t.Errorf("message %d, block %d: marked %t, want %t", i, j, marked, last && tt.want)
					}
				}
			}
		})
	}
}

// What was written to a cache and what was read from it has its own price, also
// that of a table, and bounds a budget.
func TestAGENT02_PricesOfATableHoldBehindAGateway(t *testing.T) {
	table, err := price.Parse("prices.yaml", []byte(`prices: {"anthropic:team-large": {input: 4, cache_write: 5, cache_read: 0.5, output: 20}}`))
	if err != nil {
		t.Fatal(err)
	}
	like, err := price.Like("anthropic:claude-sonnet-4-5")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		prices price.List
		cost   uint64
		from   string
	}{
		{"table", table, 400 + 5_000 + 5_000 + 2_000, "prices.yaml"},
		{"model", like, 300 + 3_750 + 3_000 + 1_500, "list price of " + price.AsOf + " of anthropic:claude-sonnet-4-5"},
	} {
		t.Run("AGENT02 "+tt.name, func(t *testing.T) {
			s := modeltest.Anthropic(t, modeltest.Sequence(modeltest.Reply{Text: "yes", Reported: &modeltest.Reported{Input: 100, CacheWrite: 1_000, CacheRead: 10_000, Output: 100}}))
			env := map[string]string{"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": s.URL}
			c := provider.Config{Env: func(k string) string { return env[k] }, Limits: quick, Prices: tt.prices}
			p, err := c.Open("anthropic:team-large")
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Ask(context.Background(), conversation(), nil)
			if err != nil {
				t.Fatal(err)
			}
			want := &loomv1.Usage{InputTokens: 11_100, CacheReadTokens: 10_000, CacheWriteTokens: 1_000, OutputTokens: 100, CostMicroUsd: tt.cost, CostKnown: true}
			if diff := cmp.Diff(want, got.Usage, protocmp.Transform()); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
			if most := model.MostCost(p, 11_100, 100); most < tt.cost {
				t.Errorf("a budget reserves %d micro-dollars for a call that costs %d", most, tt.cost)
			}
			terms, err := c.Terms("anthropic:team-large")
			if err != nil || terms[0].Prices != tt.from || terms[0].Address != s.URL || terms[0].From != "ANTHROPIC_BASE_URL" || !terms[0].CacheMarks {
				t.Errorf("Terms: %+v, %v; want prices from %q at %s", terms, err, tt.from, s.URL)
			}
		})
	}
}

// What holds is told without a key, for each model of a chain that has an address.
func TestAGENT02_TermsSayWhatHolds(t *testing.T) {
	c := provider.Config{Limits: wire.Limits{Tries: 1, Idle: time.Second}, Env: func(k string) string {
		return map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}[k]
	}}
	terms, err := c.Terms("anthropic:claude-haiku-4-5, openai:llama,scripted:demo")
	if err != nil || len(terms) != 2 {
		t.Fatalf("Terms: %v, %v; want two", terms, err)
	}
	for i, want := range []string{
		"https://api.anthropic.com, with cache marks; list price of " + price.AsOf + "; at most 1 try, 10m0s in all, silence 1s",
		"http://127.0.0.1:9/v1 (OPENAI_BASE_URL); no price is known, provider.prices can say one; at most 1 try, 10m0s in all, silence 1s",
	} {
		if got := terms[i].String(); got != want {
			t.Errorf("%s: %s\nwant %s", terms[i].Model, got, want)
		}
	}
	if _, err := c.Terms("openai:a b"); fault.Code(err) != "model/unknown" || !strings.Contains(err.Error(), "openai:MODEL") {
		t.Errorf("Terms of no model: %v", err)
	}
}

package host_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/agents/source/search"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

const pricesProcess = `name: prices
version: "1.0"
description: Looks prices up.
phase_mode: strict
tools: {required: [web_search, web_fetch, alpha_vantage, calculator]}
phases:
  - {id: look, description: Look them up., deliverables: [out.md]}
`

// A submission whose process requires tools is refused before anything is asked, with
// all that are not set up and what to do.
func TestTOOL07_RequiredToolsAreSetUp(t *testing.T) {
	def, err := processes.Parse("prices.yaml", []byte(pricesProcess), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	submit := func(s host.Sources) error {
		c := config(t, scripted.New("demo", scripted.Demo))
		c.Agents, c.Processes, c.Sources = map[string]int{"analyst": 0}, processes.NewLibrary(def), s
		_, err := connect(t, start(t, c), "operator").Submit(t.Context(), &loomv1.Submission{Project: "shop", Goal: "Prices", Process: "prices"})
		return err
	}
	err = submit(host.Sources{WebHosts: []string{"example.com"}})
	if fault.Code(err) != "process/tool-missing" || len(fault.From(err).More) != 1 {
		t.Fatalf("two of four are not set up: %v", err)
	}
	for i, want := range []string{
		"web_search: web_search is not set up on this host; name a search engine with --source search=",
		"alpha_vantage: alpha_vantage is not set up on this host; give a key in ALPHA_VANTAGE_API_KEY",
	} {
		e := append([]*fault.Error{fault.From(err)}, fault.From(err).More...)[i]
		if !strings.Contains(e.Error(), `process "prices" requires `+want) {
			t.Errorf("%v\nwant %s", e, want)
		}
	}
	if err := submit(host.Sources{WebHosts: []string{"example.com"}, Search: search.Choice{Kind: "http://127.0.0.1:8888"}, AlphaVantageKey: "DEMOKEY123456789"}); err != nil {
		t.Errorf("all are set up: %v", err)
	}
}

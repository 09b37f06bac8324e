package play

import (
	"time"

	"gopkg.in/yaml.v3"

	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

const offer = `name: offer
version: "1.0"
phases:
  - {id: facts, description: Gather facts., deliverables: [facts.md], outcome: {go: bool}}
  - {id: survey, description: Ask customers., depends_on: [facts], deliverables: [survey.csv]}
  - {id: bid, description: Write the bid., depends_on: [facts, survey], gate: {condition: outcome.facts.go, on_failure: replan, max: 1}, deliverables: [bid.md]}
`

// Planned is work by a plan: the first is refused, the second adopted, and a
// gate has a third made, which keeps what is done.
func Planned(s *Shop) {
	def, err := processes.Parse("offer.yaml", []byte(offer), roles.Builtin())
	if err != nil {
		panic(err)
	}
	s.Store(def)
	s.File(&loomv1.Submission{Goal: "an offer", Process: "offer"})
	plan := func(text string) {
		var fields map[string]any
		if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
			panic(err)
		}
		s.Work("lead", Outcome(Success, map[string]any{"plan": fields}))
	}
	plan("{phases: [{id: facts}, {id: bid}]}")
	s.Pass(time.Minute) // a backoff
	plan("{why: nobody to ask, phases: [{id: facts}, {id: bid}], left_out: [{phase: survey, reason: nobody to ask}]}")
	s.Work("analyst", Outcome(Success, map[string]any{"go": false}))
	plan("{why: more is to be known, phases: [{id: more, description: More facts., depends_on: [facts]}, {id: bid, depends_on: [more]}], left_out: [{phase: survey, reason: still nobody}]}")
	s.Work("analyst", Outcome(Success, nil))
	s.Decide(Approve, "write it all the same") // the gate does not hold
	s.Work("analyst", Outcome(Success, nil))
}

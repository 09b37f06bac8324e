package plan

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"

	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/processes"
)

// byRules is a plan as JSON.
type byRules struct {
	Why     string       `json:"why"`
	Phases  []ruledPhase `json:"phases"`
	LeftOut []ruledOut   `json:"left_out,omitempty"`
}

type (
	ruledPhase struct {
		ID string `json:"id"`
	}
	ruledOut struct {
		Phase  string `json:"phase"`
		Reason string `json:"reason"`
	}
)

// Rules makes a plan without a model: the phases as they are, but for those that
// may be left out and that the goal says it does without ("without interviews",
// "skip the survey"), or whose files are in the workspace already where the goal
// says to use what is there ("use the existing ..."). What other phases at the
// end promise stays. The same arguments give the same plan.
func Rules(p *processes.Process, goal string, files fs.FS) string {
	plan := byRules{Why: "made by rules from the words of the goal and the files in the workspace", Phases: []ruledPhase{}}
	for _, ph := range p.Phases {
		why := ""
		if optional(p, ph) {
			why = dispensable(ph, words(goal), files)
		}
		if why == "" {
			plan.Phases = append(plan.Phases, ruledPhase{ph.ID})
		} else {
			plan.LeftOut = append(plan.LeftOut, ruledOut{ph.ID, why})
		}
	}
	data, err := json.Marshal(plan)
	if err != nil {
		panic(err) // texts alone
	}
	return string(data)
}

// optional says whether a process can do without a phase.
func optional(p *processes.Process, ph processes.PhaseSummary) bool {
	last := !slices.ContainsFunc(p.Phases, func(o processes.PhaseSummary) bool { return slices.Contains(o.DependsOn, ph.ID) })
	gated := slices.ContainsFunc(p.Phases, func(o processes.PhaseSummary) bool { return strings.Contains(o.Gate, ph.ID) })
	return !ph.Kept && ph.Gate == "" && !last && !gated
}

var (
	negations = []string{"without", "skip", "no", "omit", "except", "ohne"}
	fillers   = []string{"the", "a", "an", "any", "all", "our", "your", "further", "more"}
	reuses    = []string{"existing", "reuse", "keep"}
)

// dispensable says why a goal does without a phase, or "".
func dispensable(ph processes.PhaseSummary, goal []string, files fs.FS) string {
	for i, w := range goal {
		if slices.Contains(negations, w) && names(ph.ID, after(goal[i+1:])) {
			return fmt.Sprintf("the goal says %q", strings.Join(goal[i:min(i+4, len(goal))], " "))
		}
	}
	if !slices.ContainsFunc(goal, func(w string) bool { return slices.Contains(reuses, w) }) || len(ph.Deliverables) == 0 {
		return ""
	}
	var there []string
	for _, s := range ph.Deliverables {
		d, err := verify.ParseDeliverable(s)
		info, statErr := fs.Stat(files, d.Name)
		if err != nil || statErr != nil || info.Size() == 0 {
			return ""
		}
		there = append(there, d.Name)
	}
	return "the goal says to use what is there, and there is " + strings.Join(there, ", ")
}

// after returns the words that a negation is about.
func after(goal []string) []string {
	for len(goal) > 0 && slices.Contains(fillers, goal[0]) {
		goal = goal[1:]
	}
	return goal[:min(2, len(goal))]
}

// names says whether words name a phase: any word of its id of four letters or
// more, in singular or plural.
func names(id string, said []string) bool {
	for _, part := range words(id) {
		for _, w := range said {
			if len(part) >= 4 && strings.TrimSuffix(w, "s") == strings.TrimSuffix(part, "s") {
				return true
			}
		}
	}
	return false
}

func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

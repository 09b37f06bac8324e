package provenance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/core/sourcelist"
	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Index is what stands beside the files that a run has delivered.
type Index struct {
	Goal      string    `json:"goal"`
	Process   string    `json:"process"`
	Bead      string    `json:"bead"`
	Execution string    `json:"execution"`
	Status    string    `json:"status"`
	Began     time.Time `json:"began,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
	Scripted  bool      `json:"scripted"`
	// Partial says that the journal was cut after the work had begun: what was done before
	// is missing here.
	Partial bool     `json:"partial,omitempty"`
	Files   []File   `json:"files"`
	Gaps    []string `json:"gaps,omitempty"`
	Rules   []Rule   `json:"rules,omitempty"`
	// Attempts are all tries, those that failed among them, and what they cost.
	Attempts []*Attempt         `json:"attempts"`
	Sources  []sourcelist.Entry `json:"sources,omitempty"`
	Calls    int                `json:"model_calls"`
	Tokens   uint64             `json:"tokens"`
	MicroUSD uint64             `json:"cost_micro_usd"`
}

// File is a file that was delivered, and who made it. Phase is empty where no phase
// promised it.
type File struct {
	Path  string `json:"path"`
	About string `json:"about,omitempty"`
	Phase string `json:"phase,omitempty"`
	// Process did the phase, as an execution of its own; else an agent in an attempt.
	Process string   `json:"process,omitempty"`
	Attempt string   `json:"attempt,omitempty"`
	Role    string   `json:"role,omitempty"`
	Agent   string   `json:"agent,omitempty"`
	Models  []string `json:"models,omitempty"`
	// Sources are the numbers of what had been read, before it was done, by what it can
	// rest on.
	Sources []int `json:"sources,omitempty"`
	// Unverified is true where nobody could judge it.
	Unverified bool `json:"unverified,omitempty"`
}

// Rule is what became of a rule or criterion in a phase, and who says so.
type Rule struct {
	Phase    string `json:"phase"`
	Rule     string `json:"rule"`
	State    string `json:"state"`
	By       string `json:"by"`
	Evidence string `json:"evidence,omitempty"`
}

// stateWords are the words for states of rules.
var stateWords = map[loomv1.RuleState]string{
	loomv1.RuleState_RULE_STATE_HELD: "held", loomv1.RuleState_RULE_STATE_BROKEN: "broken", loomv1.RuleState_RULE_STATE_NOT_JUDGED: "not judged",
}

// Rules lists what became of the rules and criteria of an execution's process, phase by
// phase.
func Rules(def *loomv1.Definition, x *loomv1.Execution) (list []Rule) {
	for _, r := range verify.BecameOf(def, x) {
		by := "nobody"
		switch r.Tier {
		case 1:
			by = "the runtime"
		case 2, 3:
			by = r.Node.Id + " (" + r.Node.Role + ")"
		}
		list = append(list, Rule{r.Phase, r.Rule, stateWords[r.State], by, r.Evidence})
	}
	return list
}

// Made says who made a file that was delivered under a name.
func (r *Record) Made(name string, def *loomv1.Definition, x *loomv1.Execution) File {
	f := File{Path: name}
	for _, n := range def.GetNodes() {
		phase, err := verify.InContext(n.Phase, x.GetContext())
		if err != nil || x.GetNodes()[n.Id].GetStatus() != loomv1.NodeStatus_NODE_STATUS_SUCCEEDED {
			continue
		}
		for _, d := range verify.Deliverables(phase) {
			if d.Name != name {
				continue
			}
			f.About, f.Phase, f.Process = d.About, n.Id, n.Process
			if a := r.Maker(x.GetId(), n.Id); a != nil {
				f.Attempt, f.Role, f.Agent, f.Models, f.Sources = a.ID, a.Role, a.Agent, a.Models, r.Before(a, def)
			}
		}
	}
	return f
}

// IndexOf makes the index of an execution that delivered the named files; its goal, status
// and gaps are for the caller to fill in.
func (r *Record) IndexOf(def *loomv1.Definition, x *loomv1.Execution, names []string) *Index {
	i := &Index{
		Process: x.GetDefinition(), Bead: x.GetBead(), Execution: x.GetId(), Scripted: x.GetScripted(), Partial: !r.Whole(),
		Attempts: r.order, Sources: r.Sources(), Rules: Rules(def, x), Files: []File{},
	}
	if x.GetStartedAt() != nil {
		i.Began = x.StartedAt.AsTime().UTC()
	}
	if x.GetEndedAt() != nil {
		i.Ended = x.EndedAt.AsTime().UTC()
	}
	for _, name := range names {
		i.Files = append(i.Files, r.Made(name, def, x))
	}
	for _, a := range r.order {
		i.Calls, i.Tokens, i.MicroUSD = i.Calls+a.Calls, i.Tokens+a.Tokens, i.MicroUSD+a.MicroUSD
	}
	return i
}

// Markdown is the index for people.
func (i *Index) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What was made\n\n%s\n\nProcess %s, execution %s: %s.", text(i.Goal), text(i.Process), i.Execution, text(i.Status))
	if i.Scripted {
		b.WriteString(" A script answered in the place of a language model.")
	}
	b.WriteString(" The runtime made this list from its journal. Evidence and what is missing are told in the words of those who worked and judged, models among them.\n\n")
	if i.Partial {
		b.WriteString("The journal was cut after the work had begun: attempts, sources and costs from before are not listed.\n\n")
	}
	i.filesText(&b)
	if len(i.Gaps) > 0 {
		b.WriteString("\n## What is missing\n\n")
		for _, g := range i.Gaps {
			fmt.Fprintf(&b, "- %s\n", text(g))
		}
	}
	i.rulesText(&b)
	if len(i.Sources) > 0 {
		b.WriteString("\n## Sources\n\nRead outside of the workspace, and so untrusted: what they say may be wrong, or meant to mislead.\n\n")
		b.WriteString(sourcelist.Entries(i.Sources))
	}
	fmt.Fprintf(&b, "\n## What it cost\n\n%d model calls, %d tokens, %.6f USD.\n\n| step | role | agent | model | calls | tokens | USD | ended |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n", i.Calls, i.Tokens, usd(i.MicroUSD))
	for _, a := range i.Attempts {
		end := "well"
		if !a.Succeeded {
			end = "not well"
		}
		row(&b, a.Node, a.Role, a.Agent, strings.Join(a.Models, ", "), fmt.Sprint(a.Calls), fmt.Sprint(a.Tokens), fmt.Sprintf("%.6f", usd(a.MicroUSD)), end)
	}
	return b.String()
}

func (i *Index) filesText(b *strings.Builder) {
	if len(i.Files) == 0 {
		b.WriteString("No file was delivered.\n")
		return
	}
	b.WriteString("| file | what it is | made in | by | sources read before |\n| --- | --- | --- | --- | --- |\n")
	for _, f := range i.Files {
		made := cmp.Or(f.Phase, "no phase of its own")
		if f.Process != "" {
			made += ", process " + f.Process
		}
		if f.Unverified {
			made += ", not verified"
		}
		by := f.Agent
		if len(f.Models) > 0 {
			by += " with " + strings.Join(f.Models, ", ")
		}
		var read []string
		for _, n := range f.Sources {
			read = append(read, fmt.Sprint(n))
		}
		row(b, f.Path, f.About, made, by, strings.Join(read, ", "))
	}
}

func (i *Index) rulesText(b *strings.Builder) {
	if len(i.Rules) == 0 {
		return
	}
	b.WriteString("\n## What was judged\n\n| phase | rule | what became of it | by | evidence |\n| --- | --- | --- | --- | --- |\n")
	list := slices.Clone(i.Rules)
	order := []string{"broken", "not judged", "held"}
	slices.SortStableFunc(list, func(x, y Rule) int { return slices.Index(order, x.State) - slices.Index(order, y.State) })
	for _, r := range list {
		row(b, r.Phase, r.Rule, r.State, r.By, r.Evidence)
	}
}

// row writes a row of a table; what others wrote is no markup in it.
func row(b *strings.Builder, cells ...string) {
	for i, c := range cells {
		cells[i] = text(c)
	}
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

func usd(micro uint64) float64 { return float64(micro) / 1e6 }

// plain keeps words from being markup, or from leaving their cell.
var plain = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "[", "\\[", "]", "\\]", "`", "\\`", "*", "\\*", "!", "\\!")

func text(s string) string { return plain.Replace(strings.Join(strings.Fields(s), " ")) }

// Names are those of an index beside files: README.md and run.json, or, where one of the
// two is taken, both with the execution's id, whatever is in the way.
func Names(execution string, taken func(name string) bool) (readme, data string) {
	readme, data = "README.md", "run.json"
	if !taken(readme) && !taken(data) {
		return readme, data
	}
	return "README-" + execution + ".md", "run-" + execution + ".json"
}

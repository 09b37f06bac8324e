package approval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// whole is a text on one line, all of it: what is signed is never cut, and what would
// not be seen in it is spelt out.
func whole(s string) string { return console.Plainly(strings.TrimSpace(s)) }

// quoteMark begins each line of what somebody has said: no line of Loom's own begins so,
// and [console.Folded] repeats it where a line goes on in the next.
const quoteMark = "    | "

// quoted writes what somebody has said, all of it. Loom's own lines at the second column
// cannot be imitated with it.
func quoted(w io.Writer, text string) {
	for l := range strings.Lines(strings.TrimSpace(text)) {
		fmt.Fprintln(w, strings.TrimRight(quoteMark+spelt(strings.TrimRight(l, "\r\n")), " "))
	}
}

// saidText is what an attempt says: its summary, and what is to be quoted beside it.
func saidText(w io.Writer, head string, o *loomv1.Outcome, rest ...string) {
	parts := slices.DeleteFunc(append([]string{whole(o.GetSummary())}, rest...), func(s string) bool { return strings.TrimSpace(s) == "" })
	said := strings.Join(parts, "\n")
	if said == "" {
		fmt.Fprintf(w, "  %s (%s)\n", head, project.Word(o.GetStatus()))
		return
	}
	fmt.Fprintf(w, "  %s (%s) says:\n", head, project.Word(o.GetStatus()))
	quoted(w, said)
}

// spelt is a text whose line ends and tabs stay, and where everything else that
// steers a terminal, or is not seen, is spelt out.
func spelt(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		cells := strings.Split(l, "\t")
		for j, c := range cells {
			cells[j] = console.Plainly(c)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// reasonText is why a proposal is as it is: what was asked for, the plan, who did
// which part and what they said of it, what was decided and dropped, and the cost.
func reasonText(w io.Writer, p *loomv1.Approval) {
	if p.Intent != "" {
		fmt.Fprintln(w, "  asked for:")
		quoted(w, p.Intent)
	}
	planText(w, p.Plan)
	for _, a := range p.Work {
		workText(w, a)
	}
	if untried(p) {
		fmt.Fprintln(w, "  Loom has run no check on this change yet")
	}
	if makers := p.Change.GetMakers(); len(makers) > 0 {
		fmt.Fprintf(w, "  the change was made by: %s\n", whole(strings.Join(makers, ", ")))
	}
	for _, c := range p.Considered {
		fmt.Fprintf(w, "  %s %s%s (%s):\n", project.Word(c.Type), c.Id, graph.By(c.Author), project.Word(c.Status))
		quoted(w, whole(c.Title)+"\n"+c.Why)
	}
	if u := p.Usage; u != nil {
		fmt.Fprintf(w, "  used so far: %d tokens%s\n", u.InputTokens+u.OutputTokens, cost(u))
	}
}

// untried says whether a person is asked for a change on which no check has run: neither
// where it was made nor on its candidate.
func untried(p *loomv1.Approval) bool {
	if p.Kind != loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL || p.Change == nil {
		return false
	}
	var made string // the patch that stood when an attempt ended
	for _, a := range p.Work {
		if d := cmp.Or(a.Outcome.GetChange().GetPatchDigest(), a.Outcome.GetCandidate().GetPatchDigest()); d != "" {
			made = d
		}
		if made == p.Change.PatchDigest && len(a.Outcome.GetChecks()) > 0 {
			return false
		}
	}
	return true
}

func short(commit string) string { return commit[:min(len(commit), 12)] }

func cost(u *loomv1.Usage) string {
	if !u.CostKnown {
		return ", at a price that is not known"
	}
	return fmt.Sprintf(", $%.4f", float64(u.CostMicroUsd)/1e6)
}

func planText(w io.Writer, p *loomv1.Plan) {
	if p == nil {
		return
	}
	fmt.Fprintf(w, "  plan %d:\n", p.Number)
	quoted(w, whole(p.Why))
	for _, ph := range p.Phases {
		fmt.Fprintf(w, "    %s (%s): %s%s\n", whole(ph.Id), console.Dash(ph.Change), whole(ph.Description), after(ph.DependsOn))
	}
	for _, l := range p.LeftOut {
		fmt.Fprintf(w, "    left out: %s: %s\n", whole(l.Phase), whole(l.Reason))
	}
}

// after says what a phase of a plan waits for.
func after(phases []string) string {
	if len(phases) == 0 {
		return ""
	}
	return ", after " + whole(strings.Join(phases, ", "))
}

// workText is what one agent did at one node: its own words quoted, and apart from them
// what Loom has run on it.
func workText(w io.Writer, a *loomv1.Attempt) {
	saidText(w, fmt.Sprintf("%s by %s", a.Node, console.Dash(cmp.Or(a.Claimant.GetAgent(), a.Role))), a.Outcome, fieldsText(a.Outcome), a.Outcome.GetNotes())
	checksText(w, a)
	documentText(w, a.Outcome.GetDocument())
}

// fieldsText are the declared fields of an outcome, one after the other.
func fieldsText(o *loomv1.Outcome) string {
	var b strings.Builder
	fields := o.GetFields().AsMap()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if text, ok := fields[name].(string); ok && strings.Contains(strings.TrimSpace(text), "\n") {
			fmt.Fprintf(&b, "%s =\n", whole(name))
			for l := range strings.Lines(strings.TrimSpace(text)) {
				fmt.Fprintf(&b, "  %s\n", strings.TrimRight(l, "\r\n"))
			}
			continue
		}
		value, _ := json.Marshal(fields[name]) // a Struct has only what JSON has
		fmt.Fprintf(&b, "%s = %s\n", whole(name), value)
	}
	return strings.TrimRight(b.String(), "\n")
}

// checksText are the checks that Loom itself has run on what an attempt made.
func checksText(w io.Writer, a *loomv1.Attempt) {
	var on string
	for i, c := range a.Outcome.GetChecks() {
		if i == 0 || c.Commit != on {
			on = c.Commit
			where := "on a clean checkout of " + short(on)
			if on == "" { // what an agent has built and left there can make a check pass
				where = fmt.Sprintf("in the work tree of %s, with the files that git ignores", a.Node)
			}
			fmt.Fprintf(w, "  Loom ran %s:\n", where)
		}
		fmt.Fprintf(w, "    %s %s (exit %d)\n", map[bool]string{true: "passed:", false: "failed:"}[c.Passed], whole(c.Command), c.ExitCode)
	}
}

// documentText is the document that was made, as it reads, and what is new in it.
func documentText(w io.Writer, d *loomv1.ShownDocument) {
	if d == nil {
		return
	}
	fmt.Fprintf(w, "  document %s (%s), of the spec %s\n", whole(d.File), whole(d.FileHash), whole(d.SpecHash))
	if len(d.Changes) > 0 {
		fmt.Fprintln(w, "  what is new in the spec:")
	}
	for _, c := range d.Changes {
		quoted(w, whole(c))
	}
	fmt.Fprintln(w, "  it reads:")
	quoted(w, d.Preview)
	if d.Cut {
		fmt.Fprintln(w, "  (there is more of it in the file)")
	}
}

package why

import (
	"fmt"
	"io"
	"strings"

	"github.com/loomrun/loom/internal/cli/approval"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/execution"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (s story) text(w io.Writer) {
	w = console.Prose(w, 11)
	fmt.Fprintf(w, "%s:%d\n  %s\n\n", console.Line(s.GetPath(), 200), s.Line, console.Line(s.GetText(), 200))
	if s.Commit == "" {
		fmt.Fprintf(w, "not committed: %s does not have this line of your checkout\n", console.Line(s.GetRev(), 80))
		return
	}
	row(w, "commit", "%s", s.Commit)
	row(w, "", "%s", console.Line(s.Subject, 200))
	row(w, "", "%s, written by %s, committed by %s", console.Stamp(s.Time), console.Line(s.Author, 80), console.Line(s.Committer, 80))
	switch {
	case s.GetLoom():
		s.origin(w)
	case s.Doubt != "":
		fmt.Fprintf(w, "Loom cannot vouch for it: %s\n", console.Line(s.Doubt, 300))
	default:
		if s.Boundary {
			row(w, "", "history ends here; the line may be older")
		}
		fmt.Fprintf(w, "not made by Loom: commit %.12s by %s\n", s.Commit, console.Line(s.Author, 80))
	}
}

// row writes a line under a head.
func row(w io.Writer, head, format string, args ...any) {
	fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-10s ", head)+fmt.Sprintf(format, args...), " "))
}

// origin tells the story of a commit that the records vouch for.
func (s story) origin(w io.Writer) {
	x, b := s.Execution, s.Bead
	row(w, "asked for", "%s (%s): %s", b.Id, project.Word(b.Type), console.Line(b.Goal, 300))
	row(w, "", "filed %s by %s", console.Stamp(b.CreatedAt), console.Who(b.FiledBy))
	for _, d := range s.Decisions {
		decisionText(w, d)
	}
	if p := s.Approval; p != nil {
		row(w, approval.Answered(p.Decision), "%s by %s, %s", p.Id, console.Who(p.DecidedBy), console.Stamp(p.DecidedAt))
		if p.Comment != "" {
			row(w, "", "%s", console.Line(p.Comment, 300))
		}
	}
	if at := s.verification(); at != nil {
		row(w, "verified", "by %s, %s: %s", console.Dash(at.Claimant.GetAgent()), console.Stamp(at.EndedAt), console.Line(at.Outcome.GetSummary(), 200))
		for _, r := range at.Outcome.Checks {
			row(w, "", "passed on this commit: %s", console.Line(r.Command, 160))
		}
	} else {
		row(w, "verified", "no check is on record for this commit")
	}
	if l := x.Landing; l != nil {
		row(w, "landed", "on %s, token %d", console.Line(l.Ref, 120), l.Token)
		if !workflow.Delivered(x.Status) && x.EndedAt != nil {
			row(w, "", "though its work was ended: %s, %s", console.Stamp(x.EndedAt), console.Line(x.Reason, 200))
		}
	} else {
		row(w, "landed", "not yet")
	}
	for i, at := range s.attempts() {
		row(w, map[bool]string{true: "work"}[i == 0], "%s %s: %s", at.Node, console.Dash(at.Claimant.GetAgent()), console.Line(at.Outcome.GetSummary(), 120))
	}
	row(w, "cost", "%d model calls, tokens %d in and %d out, %s", x.ModelCalls, x.Usage.GetInputTokens(), x.Usage.GetOutputTokens(), execution.Cost(x))
	row(w, "more", "loom execution history %s; loom graph narrative %s", x.Id, b.Id)
}

func decisionText(w io.Writer, made *loomv1.WhyDecision) {
	d := made.Decision
	row(w, "decided", "%s %s (%d%%), %s, %s", d.Id, console.Line(d.Title, 200), d.Confidence, console.Who(d.Author), console.Stamp(d.Time))
	for _, group := range []struct {
		word    string
		options []*loomv1.WhyOption
	}{{"chosen", made.Chosen}, {"rejected", made.Rejected}} {
		for _, o := range group.options {
			because := ""
			if o.Rationale != "" {
				because = ", because " + console.Line(o.Rationale, 200)
			}
			row(w, "", "%s %s: %s%s", group.word, o.Option.Id, console.Line(o.Option.Title, 160), because)
		}
	}
}

// changingText says whose changes of the file have not landed: the line is told as it is
// without them.
func changingText(w io.Writer, changing []*loomv1.FileClaim) {
	for _, c := range changing {
		fmt.Fprintf(console.Prose(w, 0), "\nthis file is changed by %s, which has not landed: that is not in what is told here; loom execution show %s\n", c.Bead, c.Bead)
	}
}

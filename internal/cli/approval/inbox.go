package approval

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/patchscan"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Inbox returns the command of that name.
func (a *Commands) Inbox() *cobra.Command {
	cmd := a.Viewer("inbox [APPROVAL]", "what waits for the CEO", client.Services.Inbox, func(w io.Writer, v *loomv1.View) {
		console.BlocksText(w, v.Blocks)
		if len(v.Approvals) == 0 {
			fmt.Fprintln(w, "nothing waits for you")
		}
		for _, p := range v.Approvals {
			if v.Diff == "" && p.Change != nil {
				approvalShort(w, p)
			} else {
				ApprovalText(w, p, a.PaintDiff(console.Printable(v.Diff)))
			}
		}
	})
	cmd.Long = "Inbox lists what waits for the CEO. With the id of an approval, or of the bead\nthat it is about, it shows the whole proposal, its diff included, and what may\nbe answered."
	cmd.Example = "  loom inbox\n  loom inbox shop-2"
	return cmd
}

// approvalShort is an approval as a list shows it.
func approvalShort(w io.Writer, p *loomv1.Approval) {
	approvalHead(w, p)
	if p.DecidedAt == nil {
		fmt.Fprintf(w, "  to see the diff and what may be answered: loom inbox %s\n", p.Id)
	}
}

// concerning says what an approval is about.
func concerning(p *loomv1.Approval) string {
	about := ""
	for _, part := range []struct{ word, what string }{{"about", p.Bead}, {"at", p.Node}, {"on the vote on", p.Ballot}} {
		if part.what != "" {
			about += " " + part.word + " " + part.what
		}
	}
	return about
}

// ApprovalText is everything that an answer to an approval is about. The diff is
// printable already, and may be in colour.
func ApprovalText(w io.Writer, p *loomv1.Approval, diff string) {
	approvalHead(w, p)
	if diff != "" {
		fmt.Fprintf(w, "\n%s\n\n", strings.TrimSpace(diff))
	}
	if p.DecidedAt != nil {
		return
	}
	lastNotes(w, p.History)
	for _, s := range p.NextSteps {
		fmt.Fprintf(w, "  %s\n", console.Line(s, 500))
	}
	fmt.Fprintf(w, "  digest %s\n", shortDigest(p.Digest))
}

// notesLines is how much is shown of what the newest attempt left behind.
const notesLines = 42

// lastNotes is the end of what the newest attempt says, which of a check that
// failed is the end of its output.
func lastNotes(w io.Writer, history []*loomv1.Attempt) {
	if len(history) == 0 {
		return
	}
	last := history[len(history)-1]
	notes := strings.TrimSpace(console.Printable(last.Outcome.GetNotes()))
	if notes == "" {
		return
	}
	lines := strings.Split(notes, "\n")
	fmt.Fprintf(w, "  what attempt %d of %s left:\n", last.Number, last.Node)
	if more := len(lines) - notesLines; more > 0 {
		fmt.Fprintf(w, "    ... %d lines before\n", more)
		lines = lines[more:]
	}
	for _, l := range lines {
		fmt.Fprintf(w, "    %s\n", l)
	}
	for _, c := range last.Outcome.GetChecks() {
		if !c.Passed && c.Output != nil {
			fmt.Fprintf(w, "  all that %q printed: loom output %.12s\n", console.Line(c.Command, 60), c.Output.Sha256)
		}
	}
}

func approvalHead(w io.Writer, p *loomv1.Approval) {
	fmt.Fprintf(w, "%s  %s%s, asked %s\n  %s\n", p.Id, project.Word(p.Kind), concerning(p), console.Stamp(p.AskedAt), console.Line(p.Question, 300))
	if p.Reason != "" {
		fmt.Fprintf(w, "  because: %s\n", console.Line(p.Reason, 300))
	}
	permissionText(w, p.Permission)
	for _, h := range p.History {
		fmt.Fprintf(w, "  %s attempt %d (%s): %s\n", h.Node, h.Number, project.Word(h.Outcome.GetStatus()), console.Line(h.Outcome.GetSummary(), 160))
	}
	for _, f := range p.Change.GetFiles() {
		fmt.Fprintf(w, "  %s %s +%d -%d\n", f.Status, console.Line(f.Path, 120), f.Added, f.Removed)
	}
	switch shown, total := len(p.Change.GetFiles()), int(p.Change.GetFilesTotal()); {
	case shown == 0 && total > 0: // a list of several leaves them out
		fmt.Fprintf(w, "  files changed: %d\n", total)
	case total > shown:
		fmt.Fprintf(w, "  more files changed: %d\n", total-shown)
	}
	for _, c := range p.Change.GetWarnings() {
		fmt.Fprintf(w, "  %s: %s\n", warningWord(c.Action), console.Line(patchscan.Text(c), 400))
	}
	for _, c := range p.Overlaps {
		c.Waits = false // of these each is before this one
		fmt.Fprintf(w, "  overlap: %s\n", ClaimText(c))
	}
	for _, c := range p.Checks {
		fmt.Fprintf(w, "  verification must see pass: %s\n", console.Line(c, 160))
	}
	if p.DecidedAt != nil {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %s %s %s", Answered(p.Decision), console.Stamp(p.DecidedAt), console.Line(p.Comment, 200)), " "))
	}
}

// warningWord says how grave a finding in a change is.
func warningWord(a loomv1.PatchAction) string {
	if a == patchscan.Gate {
		return "warning, needs your word"
	}
	return "warning"
}

// permissionText is the tool call that a question is about.
func permissionText(w io.Writer, q *loomv1.PermissionQuestion) {
	if q == nil {
		return
	}
	fmt.Fprintf(w, "  %s wants to call %s in %s:\n", q.Role, console.Line(q.Tool, 80), q.Attempt)
	for _, s := range q.Subjects {
		fmt.Fprintf(w, "    %s\n", console.Line(s, 300))
	}
	fmt.Fprintf(w, "  with %s\n", console.Line(q.Arguments, 600))
}

// Answered says what an answer was.
func Answered(d loomv1.ApprovalDecision) string {
	switch d {
	case loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE:
		return "approved"
	case loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT:
		return "rejected"
	case loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES:
		return "changes requested"
	case loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY:
		return "to be tried again"
	case loomv1.ApprovalDecision_APPROVAL_DECISION_ALWAYS:
		return "approved for good"
	case loomv1.ApprovalDecision_APPROVAL_DECISION_SKIP:
		return "to be skipped"
	}
	return project.Word(d)
}

// shownDigest is how much of a digest is shown, and the least that --digest
// takes.
const shownDigest = 16

func shortDigest(d string) string { return d[:min(len(d), shownDigest)] }

// wholeDigest completes a digest that was typed in part, from the one that
// stands; what does not fit is left for the host to refuse, and to record.
func wholeDigest(typed, stands string) string {
	if typed == "" || len(typed) >= shownDigest && strings.HasPrefix(stands, typed) {
		return stands
	}
	return typed
}

// ClaimText is a claim in one line.
func ClaimText(c *loomv1.FileClaim) string {
	by := c.Bead
	if c.Holder != nil {
		by += fmt.Sprintf(" (%s@%s)", c.Holder.Agent, c.Holder.Host)
	}
	if c.Waits {
		return fmt.Sprintf("  and changed by %s since %s, to be made anew after that", by, console.Stamp(c.Since))
	}
	return fmt.Sprintf("%s is held by %s since %s until its change lands or is given up", console.Line(c.Path, 200), by, console.Stamp(c.Since))
}

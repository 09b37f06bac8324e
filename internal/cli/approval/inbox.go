package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/patchscan"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// inbox is what the command of that name is asked for.
type inbox struct {
	*loomv1.Query
	interactive, watch, snoozed bool
	kind, key                   string
}

// Inbox returns the command of that name.
func (a *Commands) Inbox() *cobra.Command {
	in := inbox{Query: &loomv1.Query{}}
	cmd := &cobra.Command{
		Use: "inbox [APPROVAL] [flags]", Short: "what waits for people", Args: console.Takes("[APPROVAL]"),
		Long: `Inbox lists what waits for people in all projects, unless one is named: first
what holds up the most beads, then what has waited longest. With the id of an
approval, or of the bead that it is about, it shows the whole proposal, its diff
included, and what may be answered. What you have snoozed is left out.

With -i it goes through the approvals, one after the other, and asks for a key:
a or y approve, r or n reject, c comment, j on, k back, d the whole, ? help.
Each answer is signed and sent at once; where the CEO's key is not at hand, what
agents ask is answered, as "loom answer" does.`,
		Example: "  loom inbox\n  loom inbox --kind question --watch\n  loom inbox shop-2\n  loom inbox -i\n  loom inbox snooze shop-2 --for 4h",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				in.Id = args[0]
			}
			if err := in.check(cmd); err != nil {
				return err
			}
			in.Project, in.Filter = cmp.Or(in.Project, project.Of(in.Id)), in.kind
			switch {
			case in.interactive:
				return a.review(cmd.Context(), in.Query, in.key)
			case in.watch:
				return a.watch(cmd.Context(), in.Query)
			}
			return a.look(cmd, in)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&in.interactive, "interactive", "i", false, "answer one after the other")
	f.StringVar(&in.kind, "kind", "", "only of this `KIND`: "+strings.Join(project.WaitKinds(), ", "))
	f.BoolVar(&in.Oldest, "oldest", false, "approvals alone, what has waited longest first")
	f.BoolVar(&in.Newest, "newest", false, "approvals alone, the newest first")
	f.Uint32Var(&in.Limit, "limit", 100, "at most `N`, up to 1000")
	f.StringVar(&in.After, "after", "", "with --oldest or --newest: on after this `APPROVAL`")
	f.BoolVar(&in.watch, "watch", false, "go on with what comes and what is answered")
	f.BoolVar(&in.snoozed, "snoozed", false, "also what is snoozed")
	f.StringVar(&in.key, "key", "", "with -i: the CEO's key `FILE` (default: in your configuration directory)")
	f.BoolVar(&a.NoPager, "no-pager", false, "print a proposal at a terminal, too, without $PAGER")
	console.ProjectFlag(cmd, &in.Project)
	cmd.AddCommand(a.snooze(), a.wake())
	return cmd
}

// look shows a list, or one proposal whole, which is read in a pager.
func (a *Commands) look(cmd *cobra.Command, in inbox) (err error) {
	var text strings.Builder
	bad := a.With(cmd.Context(), func(c *client.Client) error {
		v, err := c.Inbox(cmd.Context(), in.Query)
		if err != nil {
			return err
		}
		asleep := snoozes{}
		if in.Id == "" && !in.snoozed {
			if asleep, err = a.asleep(cmd.Context(), c); err != nil {
				return err
			}
		}
		return a.Print(v, func(w io.Writer) {
			if in.Id == "" {
				listText(w, a.Width(), v, asleep)
				return
			}
			if err = a.lapsed(cmd.Context(), v.Approvals); err == nil {
				inboxText(&text, a.Width(), v, a.PaintDiff)
			}
		})
	})
	if err = cmp.Or(bad, err); err != nil || in.Id == "" {
		return err
	}
	return a.Page(cmd.Context(), text.String())
}

// over are the statuses of a bead that has ended.
var over = []loomv1.BeadStatus{loomv1.BeadStatus_BEAD_STATUS_CLOSED, loomv1.BeadStatus_BEAD_STATUS_FAILED, loomv1.BeadStatus_BEAD_STATUS_ABORTED}

// lapsed has an approval that nobody can answer any more say so, and offer no answer.
func (a *Commands) lapsed(ctx context.Context, list []*loomv1.Approval) error {
	if len(list) != 1 || list[0].DecidedAt != nil {
		return nil
	}
	p := list[0]
	return a.With(ctx, func(c *client.Client) error {
		v, err := c.Bead(ctx, &loomv1.Query{Project: project.Of(p.Id), Id: p.Id})
		if err != nil || len(v.Beads) != 1 || !slices.Contains(over, v.Beads[0].Status) {
			return err
		}
		p.NextSteps, p.Digest = []string{"it lapsed and takes no answer: " + v.Beads[0].Reason}, ""
		return nil
	})
}

// check refuses what no inbox can show.
func (in inbox) check(cmd *cobra.Command) error {
	for _, id := range [][2]string{{"APPROVAL", in.Id}, {"--after", in.After}} {
		if id[1] != "" || id[0] == "APPROVAL" && cmd.Flags().NArg() == 1 {
			if err := console.CheckID(id[0], id[1]); err != nil {
				return err
			}
		}
	}
	pages := in.Oldest || in.Newest
	switch {
	case in.Limit < 1 || in.Limit > project.MaxListed:
		return fault.New("usage/argument", "not a number of approvals that a list can have").At("--limit").Got(strconv.Itoa(int(in.Limit))).Want("1 to %d", project.MaxListed)
	case in.Id != "" && (pages || in.After != "" || in.kind != "" || in.watch):
		return fault.New("usage/argument", "--oldest, --newest, --after, --kind and --watch are for lists, and an id was given").Got(in.Id)
	case in.Oldest && in.Newest:
		return fault.New("usage/argument", "a list has one order").At("--newest").Want("--oldest or --newest")
	case in.After != "" && !pages:
		return fault.New("usage/argument", "a list by what is held up has no pages").At("--after").Want("--oldest or --newest")
	case in.kind != "" && !slices.Contains(project.WaitKinds(), in.kind):
		return fault.New("usage/argument", "no such kind of what waits").At("--kind").Got(in.kind).Want("%s", suggest.Among(in.kind, project.WaitKinds()))
	case in.kind != "" && pages:
		return fault.New("usage/argument", "--kind is for the list by what is held up").At("--kind").Got(in.kind)
	case in.watch && (pages || in.interactive):
		return fault.New("usage/argument", "--watch is for the list by what is held up").At("--watch")
	case cmd.Flags().Changed("key") && !in.interactive:
		return fault.New("usage/argument", "a key is for answers").At("--key").Want("-i")
	}
	return console.CheckName("--project", in.Project)
}

// inboxText is what there is of an id: the approval whole, or those about a bead.
func inboxText(w io.Writer, width int, v *loomv1.View, paint func(string) string) {
	for _, p := range v.Approvals {
		if v.Diff == "" && p.Change != nil || len(v.Approvals) > 1 {
			approvalShort(console.Folded(w, width, 2), p)
		} else {
			ApprovalText(w, width, p, v.Diff, paint)
		}
	}
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

// hang is the column where a line of a proposal goes on in the next: further in than any
// line of Loom's own begins, so that where a long text is broken imitates none.
const hang = 6

// ApprovalText is everything that an answer to an approval is about, on a screen of so
// many columns, or 0 for any. Paint has the diff in colour, where there is some.
func ApprovalText(screen io.Writer, width int, p *loomv1.Approval, diff string, paint func(string) string) {
	w := console.Folded(screen, width, hang)
	approvalHead(w, p)
	reasonText(w, p)
	if diff != "" {
		fmt.Fprintf(screen, "\n%s\n\n", paint(brief(strings.Trim(spelt(diff), "\n"), width)))
	}
	if err := workflow.CheckShown(p, diff); err != nil {
		fmt.Fprintf(w, "  WARNING: %s\n", err)
	}
	if p.DecidedAt != nil {
		return
	}
	lastNotes(w, p.History)
	for _, s := range p.NextSteps {
		fmt.Fprintf(w, "  %s\n", whole(s))
	}
	if p.Digest != "" {
		fmt.Fprintf(w, "  digest %s\n", shortDigest(p.Digest))
	}
}

// indexLine is where a diff names the contents before and after.
var indexLine = regexp.MustCompile(`(?m)^index ([0-9a-f]{12})[0-9a-f]{28,}\.\.([0-9a-f]{12})[0-9a-f]{28,}( [0-7]{6})?$`)

// brief is a diff whose names of contents fit a screen of so many columns. Where the
// contents themselves are not shown, they stay as they are.
func brief(diff string, width int) string {
	if width == 0 || strings.Contains(diff, "\nBinary files ") || strings.Contains(diff, "\nGIT binary patch") {
		return diff
	}
	return indexLine.ReplaceAllStringFunc(diff, func(line string) string {
		if len(line) <= width {
			return line
		}
		return indexLine.ReplaceAllString(line, "index $1..$2$3")
	})
}

// lastNotes is all that the approval has of what the newest attempt says, which of a
// check that failed is the end of its output.
func lastNotes(w io.Writer, history []*loomv1.Attempt) {
	if len(history) == 0 {
		return
	}
	last := history[len(history)-1]
	if strings.TrimSpace(last.Outcome.GetNotes()) == "" {
		return
	}
	fmt.Fprintf(w, "  what attempt %d of %s left:\n", last.Number, last.Node)
	quoted(w, last.Outcome.Notes)
	for _, c := range last.Outcome.GetChecks() {
		if !c.Passed && c.Output != nil {
			fmt.Fprintf(w, "  all that %q printed: loom output %.12s\n", console.Line(c.Command, 60), c.Output.Sha256)
		}
	}
}

func approvalHead(w io.Writer, p *loomv1.Approval) {
	fmt.Fprintf(w, "%s  %s%s, asked %s\n  %s\n", p.Id, project.Word(p.Kind), concerning(p), console.Stamp(p.AskedAt), whole(p.Question))
	if p.Reason != "" {
		fmt.Fprintf(w, "  because: %s\n", whole(p.Reason))
	}
	permissionText(w, p)
	for _, h := range p.History {
		saidText(w, fmt.Sprintf("%s attempt %d", h.Node, h.Number), h.Outcome)
	}
	for _, f := range p.Change.GetFiles() {
		fmt.Fprintf(w, "  %s %s +%d -%d\n", f.Status, whole(f.Path), f.Added, f.Removed)
	}
	switch shown, total := len(p.Change.GetFiles()), int(p.Change.GetFilesTotal()); {
	case shown == 0 && total > 0: // a list of several leaves them out
		fmt.Fprintf(w, "  files changed: %d\n", total)
	case total > shown:
		fmt.Fprintf(w, "  more files changed: %d\n", total-shown)
	}
	for _, c := range p.Change.GetWarnings() {
		fmt.Fprintf(w, "  %s: %s\n", warningWord(c.Action), whole(patchscan.Text(c)))
	}
	for _, c := range p.Overlaps {
		c.Waits = false // of these each is before this one
		fmt.Fprintf(w, "  overlap: %s\n", ClaimText(c))
	}
	for _, c := range p.Checks {
		fmt.Fprintf(w, "  verification must see pass: %s\n", whole(c))
	}
	if p.Keys > 1 {
		fmt.Fprintf(w, "  takes the signatures of %d different keys to go on; signed by %d\n", p.Keys, len(p.Signed))
	}
	for _, s := range p.Signed {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("    %s by %s %s %s", answeredTo(p, s.Decision), s.Key, console.Stamp(s.At), whole(s.Comment)), " "))
	}
	if p.DecidedAt != nil {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %s by %s %s %s", answeredTo(p, p.Decision), console.Who(p.DecidedBy), console.Stamp(p.DecidedAt), whole(p.Comment)), " "))
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
func permissionText(w io.Writer, p *loomv1.Approval) {
	q := p.Permission
	if q == nil {
		return
	}
	wants := "wants to call " + whole(q.Tool)
	if q.Tool == project.AskUserTool {
		if asksAll(p) {
			fmt.Fprintf(w, "  %s asks in %s\n", q.Role, q.Attempt)
			return
		}
		wants = "asks"
	}
	fmt.Fprintf(w, "  %s %s in %s:\n", q.Role, wants, q.Attempt)
	for _, s := range q.Subjects {
		quoted(w, whole(s))
	}
	fmt.Fprintf(w, "  with %s\n", whole(q.Arguments))
}

// asksAll says whether the question of an approval has all the words that were asked.
func asksAll(p *loomv1.Approval) bool {
	var asked struct {
		Question string `json:"question"`
	}
	err := json.Unmarshal([]byte(p.Permission.Arguments), &asked)
	return err == nil && strings.HasSuffix(p.Question, ": "+strings.Join(strings.Fields(asked.Question), " "))
}

// answeredTo says what an answer to an approval was: one to a question in words approves
// nothing.
func answeredTo(p *loomv1.Approval, d loomv1.ApprovalDecision) string {
	if p.GetPermission().GetTool() != project.AskUserTool {
		return Answered(d)
	}
	if d == loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT {
		return "left without an answer"
	}
	return "answered"
}

// ownWords says of an answer in words that is none of those which the agent offers that
// it is told as it stands: a slip of the hand is seen.
func ownWords(p *loomv1.Approval, d *loomv1.DecideApproval) string {
	said := strings.TrimSpace(d.GetComment())
	if p.GetPermission().GetTool() != project.AskUserTool || d.GetDecision() != loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE || said == "" {
		return ""
	}
	var asked struct {
		Answers []string `json:"answers"`
	}
	if json.Unmarshal([]byte(p.Permission.Arguments), &asked) != nil || len(asked.Answers) == 0 {
		return ""
	}
	if slices.ContainsFunc(asked.Answers, func(a string) bool { return strings.EqualFold(strings.TrimSpace(a), said) }) {
		return ""
	}
	return fmt.Sprintf(" in words of your own: %q is none of what it offers (%s), and the agent is told it as it stands",
		console.Line(said, 60), console.Line(strings.Join(asked.Answers, " | "), 200))
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

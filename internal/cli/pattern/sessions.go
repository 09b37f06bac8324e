package pattern

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *Commands) listSessions() *cobra.Command {
	q := &loomv1.Query{}
	cmd := &cobra.Command{
		Use: "sessions [flags]", Short: "sessions of patterns, newest first", Args: console.Takes(),
		Long: `Sessions lists the sessions of a project: those that go on, and the newest that
have ended. Older ones are in "loom events --kind session-advanced".`,
		Example: "  loom pattern sessions --status open",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := console.CheckName("--project", q.Project); err != nil {
				return err
			}
			return a.Look(cmd, client.Services.Session, q, func(w io.Writer, v *loomv1.View) {
				if sessionTable(w, v.Sessions); v.Next != "" {
					fmt.Fprintf(w, "there are more: --after %s\n", v.Next)
				}
			})
		},
	}
	cmd.Flags().StringVar(&q.Filter, "status", "", "only those of this `STATUS`: open or ended")
	cmd.Flags().Uint32Var(&q.Limit, "limit", 100, "at most `N`")
	cmd.Flags().StringVar(&q.After, "after", "", "list on after this `SESSION`")
	console.AnyProjectFlag(cmd, &q.Project)
	return cmd
}

func sessionTable(w io.Writer, list []*loomv1.PatternSession) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no sessions")
		return
	}
	rows := make([][]string, 0, len(list))
	for _, s := range list {
		rows = append(rows, []string{s.Project, s.Id, s.Pattern, intent.PhaseName(s.Phase), intent.WaitsFor(s), s.GetOpenedBy().GetName(), console.Stamp(s.ChangedAt), console.Line(s.Request, 80)})
	}
	console.ProjectTable(w, []string{"session", "pattern", "phase", "waits for", "by", "last", "request"}, rows)
}

func (a *Commands) showSession() *cobra.Command {
	q := &loomv1.Query{}
	cmd := &cobra.Command{
		Use: "session SESSION [flags]", Short: "one session: what was said, sealed and done", Args: console.Takes("SESSION"),
		Long: `Session tells of a session the phases that it has entered, with their times,
what was answered, its envelope with the seal, and what it waits for.`,
		Example: "  loom pattern session s1",
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Id = args[0]; console.CheckToken("SESSION", q.Id) != nil {
				return console.CheckToken("SESSION", q.Id)
			}
			return a.Look(cmd, client.Services.Session, q, func(w io.Writer, v *loomv1.View) {
				for _, s := range v.Sessions {
					sessionText(w, s)
				}
			})
		},
	}
	console.AnyProjectFlag(cmd, &q.Project)
	return cmd
}

func sessionText(w io.Writer, s *loomv1.PatternSession) {
	fmt.Fprintf(w, "%s\n", intent.Standing(s))
	fmt.Fprintf(w, "  pattern  %s\n  request  %s\n  opened   %s by %s\n", s.Pattern, console.Line(s.Request, 300), console.Stamp(s.OpenedAt), s.GetOpenedBy().GetName())
	if s.Tempo != loomv1.Tempo_TEMPO_UNSPECIFIED {
		fmt.Fprintf(w, "  tempo    %s, as the operator says\n", processes.TempoName(s.Tempo))
	}
	for _, in := range s.Inputs {
		fmt.Fprintf(w, "  input    %s, a %s of %d bytes, %s\n", in.Name, in.Type, in.GetContent().GetSize(), in.GetContent().GetSha256())
	}
	fmt.Fprintln(w, "\nphases:")
	for _, f := range s.Facts {
		if e := f.GetEntered(); e != nil {
			step := ""
			if e.Step > 0 {
				step = fmt.Sprintf(", step %d%s", e.Step, withinText(s.Definition, e.Step))
			}
			fmt.Fprintf(w, "  %s  %s%s\n", console.Stamp(f.At), intent.PhaseName(e.Phase), step)
		}
	}
	understood(w, s)
	if e := cmp.Or(s.Envelope, s.GetShown().GetEnvelope()); e != nil {
		fmt.Fprintln(w)
		envelopeText(w, e)
		if s.Seal != nil {
			fmt.Fprintf(w, "sealed by %s at %s, digest %s\n", s.Seal.GetBy().GetName(), console.Stamp(s.Seal.Time), s.Seal.Digest)
		} else {
			for _, p := range cropped(e) {
				fmt.Fprintf(w, "!  %s\n", console.Printable(p))
			}
			fmt.Fprintf(w, "not sealed, digest %s\n", s.Shown.Digest)
		}
	}
	findingsText(w, s)
	workText(w, s)
	if s.Question != nil {
		fmt.Fprintf(w, "\nit asks about %s: %s\n", intent.FieldName(s.Question.About), console.Printable(s.Question.Text))
	}
	nextText(w, s)
}

func findingsText(w io.Writer, s *loomv1.PatternSession) {
	for _, f := range s.Findings {
		fmt.Fprintf(w, "%s: %s\n", f.Rule, console.Line(f.Text, 300))
	}
}

// workText tells what became of the steps, and of what is judged and delivered.
func workText(w io.Writer, s *loomv1.PatternSession) {
	if s.Bead != "" {
		fmt.Fprintf(w, "its steps are the work of bead %s\n", s.Bead)
	}
	for _, fact := range s.Facts {
		factText(w, s, fact)
	}
}

// factText tells what a fact is to whoever follows the work.
func factText(w io.Writer, s *loomv1.PatternSession, fact *loomv1.IntentFact) {
	switch f := fact.Fact.(type) {
	case *loomv1.IntentFact_StepEnded:
		stepText(w, s.Definition, f.StepEnded)
	case *loomv1.IntentFact_Steered:
		fmt.Fprintf(w, "said %d, to the steps that begin from here on: %s\n", f.Steered.Number, console.Line(f.Steered.Text, 300))
	case *loomv1.IntentFact_TakenBack:
		fmt.Fprintf(w, "said %d was taken back\n", f.TakenBack.Number)
	case *loomv1.IntentFact_Revised:
		fmt.Fprintf(w, "revised%s; what was said for steps before ends with that envelope\n", since(f.Revised.Reason))
	case *loomv1.IntentFact_Aborted:
		fmt.Fprintf(w, "aborted at step %d%s, %s\n", f.Aborted.GetRecord().GetAbortedAtStep(), since(f.Aborted.GetRecord().GetReason()), draftText(f.Aborted))
	case *loomv1.IntentFact_Resumed:
		fmt.Fprintf(w, "taken up again at %s\n", intent.TakenUpAt(f.Resumed))
	case *loomv1.IntentFact_AbortAsked:
		fmt.Fprintf(w, "an abort was asked for%s; it waits for the end of the step that runs\n", since(f.AbortAsked.Reason))
	case *loomv1.IntentFact_Judged:
		verdictsText(w, s, f.Judged)
	case *loomv1.IntentFact_DeliveryFailed:
		fmt.Fprintf(w, "not delivered%s\n", since(f.DeliveryFailed.Reason))
	case *loomv1.IntentFact_Delivered:
		for _, o := range f.Delivered.Outputs {
			fmt.Fprintf(w, "delivered %s: %s\n", o.Name, o.Place)
		}
	case *loomv1.IntentFact_Reintegrated:
		for _, l := range f.Reintegrated.Lines {
			fmt.Fprintln(w, l)
		}
	}
}

// stepText tells how a run of a step ended: what it said, also in its notes, and what it left.
func stepText(w io.Writer, p *loomv1.Pattern, e *loomv1.StepEnded) {
	fmt.Fprintf(w, "step %d%s %s: %s\n", e.Step, withinText(p, e.Step), strings.ToLower(strings.TrimPrefix(e.Status.String(), "STEP_STATUS_")), console.Line(e.Summary, 300))
	if notes := strings.TrimSpace(e.Notes); notes != "" {
		for l := range strings.Lines(console.Printable(notes)) {
			fmt.Fprintf(w, "  | %s\n", strings.TrimRight(l, "\n"))
		}
	}
	for _, o := range e.Outputs {
		fmt.Fprintf(w, "  left %s, %d bytes: loom output %.12s\n", o.Name, o.GetContent().GetSize(), o.GetContent().GetSha256())
	}
}

// withinText names a step that another pattern brought, in brackets; other steps have their
// number alone.
func withinText(p *loomv1.Pattern, order uint32) string {
	if order == 0 || int(order) > len(p.GetSteps()) || len(p.Steps[order-1].Within) == 0 {
		return ""
	}
	return " (" + console.Line(intent.StepName(p.Steps[order-1]), 200) + ")"
}

// verdictsText tells what was judged: each criterion in its words, and what shows that it is
// met, or why it is not.
func verdictsText(w io.Writer, s *loomv1.PatternSession, j *loomv1.JudgeCompletion) {
	for _, v := range j.Verdicts {
		name := v.Item
		if words := intent.Criterion(cmp.Or(s.Envelope, s.GetShown().GetEnvelope()), v.Item); words != "" {
			name += " " + strconv.Quote(console.Line(words, 120))
		}
		fmt.Fprintf(w, "  %s\n    %s\n", name, console.Line(map[bool]string{true: "met: ", false: "not met: "}[v.Met]+cmp.Or(v.Evidence, "nobody says why"), 600))
	}
}

// nextText says what a person can do in a session that waits for one.
func nextText(w io.Writer, s *loomv1.PatternSession) {
	say := func(command, what string) { fmt.Fprintf(w, "  %-40s %s\n", command, what) }
	verb := func(name string) string { return "loom pattern " + name + " " + s.Id }
	for _, id := range s.Asked {
		say("loom inbox "+id, "shows what is asked, and what may be answered")
	}
	switch {
	case s.Ended || s.Aborted != nil || s.Running != nil:
	case s.Question != nil || s.Phase == intent.Capture:
		say(verb("resume"), "answers, and seals")
	case s.Phase == intent.Meta && intent.Blocks(s.Findings):
		say(verb("revise")+" REASON", "goes back to the questions")
	case len(s.Unmet) > 0:
		say(verb("choose"), "accepts what is not met")
		say(verb("choose")+" --step N", "does a step again")
	case s.Stopped:
		say(verb("proceed"), "goes on with the next step")
		say(verb("proceed")+" --step N", "does a step again")
		say(verb("steer")+" TEXT", "says something for the steps that begin then")
	}
}

func since(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + console.Line(reason, 300)
}

func draftText(a *loomv1.PatternAborted) string {
	if !a.Record.PartialOutputSaved {
		return "without a draft"
	}
	var names []string
	for _, o := range a.Draft {
		names = append(names, o.Name)
	}
	return "with a draft of " + console.Dash(strings.Join(names, ", "))
}

// act is a verb that says one thing in a session and prints how it stands.
func (a *Commands) act(cmd *cobra.Command, project *string, id string, r *loomv1.IntentRequest) error {
	if err := console.CheckToken("SESSION", id); err != nil {
		return err
	}
	if err := console.CheckName("--project", *project); err != nil {
		return err
	}
	r.Session, r.Request = id, rand.Text()
	return a.With(cmd.Context(), func(c *client.Client) error {
		r.Project = *project
		answer, err := c.Intent(cmd.Context(), r)
		if err != nil {
			return err
		}
		return a.Print(answer.GetSession(), func(w io.Writer) { fmt.Fprintln(w, intent.Standing(answer.GetSession())) })
	})
}

func (a *Commands) answerSession() *cobra.Command {
	var project, about string
	cmd := &cobra.Command{
		Use: "answer SESSION TEXT [flags]", Short: "answer the question that a session asks, or say something unasked", Args: console.Takes("SESSION", "TEXT"),
		Long: `Answer gives an answer to the question that waits, or with --about says what was
not asked; then an envelope that is shown is made anew. An empty TEXT leaves the
question as it is: what was said about its field stands.`,
		Example: "  loom pattern answer s1 \"No puns\" --about constraints",
		RunE: func(cmd *cobra.Command, args []string) error {
			say := &loomv1.AnswerQuestion{Text: args[1]}
			if about != "" {
				for _, f := range intent.Fields {
					if intent.FieldName(f) == about {
						say.About = f
					}
				}
				if say.About == 0 {
					return fault.New("usage/argument", "no field of an envelope").At("--about").Got(about).Want("goal, constraints, audience, scope or success")
				}
				return a.act(cmd, &project, args[0], &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Answer{Answer: say}})
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				t := a.talk(c, project, nil)
				if err := t.look(cmd.Context(), args[0]); err != nil {
					return err
				}
				if say.Question = t.s.GetQuestion().GetNumber(); say.Question == 0 {
					return fault.New("intent/phase", "session %q asks nothing now", t.s.Id).Want("--about FIELD says something unasked")
				}
				say.Pass = say.Text == ""
				return a.act(cmd, &t.project, args[0], &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Answer{Answer: say}})
			})
		},
	}
	cmd.Flags().StringVar(&about, "about", "", "say it unasked, about this `FIELD`")
	console.ProjectFlag(cmd, &project)
	return cmd
}

func (a *Commands) strikeAnswer() *cobra.Command {
	var project string
	strike := &loomv1.StrikeAnswer{}
	cmd := &cobra.Command{
		Use: "strike SESSION NUMBER [flags]", Short: "take an answer out of what holds, before the seal", Args: console.Takes("SESSION", "NUMBER"),
		Long: `Strike takes an answer, by its number, out of the envelope: nothing quotes it,
and who works for the session does not read it. With --undo it holds again,
whole. The record of the session keeps it. After the seal it takes a revision.`,
		Example: "  loom pattern strike s1 4\n  loom pattern strike s1 4 --undo",
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseUint(args[1], 10, 32)
			if err != nil || n == 0 {
				return fault.New("usage/argument", "no number of an answer").At("NUMBER").Got(args[1]).Want("one that \"loom pattern session %s\" shows", args[0])
			}
			strike.Number = uint32(n)
			return a.act(cmd, &project, args[0], &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Strike{Strike: strike}})
		},
	}
	cmd.Flags().BoolVar(&strike.Restore, "undo", false, "have it hold again")
	console.ProjectFlag(cmd, &project)
	return cmd
}

func (a *Commands) sealSession() *cobra.Command {
	var project string
	var by signer
	cmd := &cobra.Command{
		Use: "seal SESSION DIGEST [flags]", Short: "seal the envelope of a session, by the digest that was shown", Args: console.Takes("SESSION", "DIGEST"),
		Long: `Seal says that the envelope is what you want: work is for it, and for nothing
else. If something was added since it was shown, the digest is another one.
With --sign the seal is the CEO's, signed with her key.`,
		Example: "  loom pattern seal s1 $DIGEST\n  loom pattern seal s1 $DIGEST --sign",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := by.open(); err != nil {
				return err
			}
			if by.signs() {
				return a.sealAsCEO(cmd, project, args[0], args[1], &by)
			}
			return a.act(cmd, &project, args[0], &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Seal{Seal: &loomv1.SealIntent{Digest: args[1]}}})
		},
	}
	by.add(cmd)
	console.ProjectFlag(cmd, &project)
	return cmd
}

func (a *Commands) reviseSession() *cobra.Command {
	var project string
	cmd := &cobra.Command{
		Use: "revise SESSION REASON [flags]", Short: "go back to primacy for another envelope", Args: console.Takes("SESSION", "REASON"),
		Long: `Revise takes the seal back: the questions are asked again, and the new envelope
names the one whose place it takes. What was said before holds, but for what you
strike, and for answers to a question that you answer anew.`,
		Example: "  loom pattern revise s1 \"the audience is another one\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.act(cmd, &project, args[0], &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Revise{Revise: &loomv1.ReviseIntent{Reason: args[1]}}})
		},
	}
	console.ProjectFlag(cmd, &project)
	return cmd
}

func (a *Commands) abortSession() *cobra.Command {
	var project string
	abort := &loomv1.AbortPattern{}
	cmd := &cobra.Command{
		Use: "abort SESSION [flags]", Short: "end a session at the next boundary", Args: console.Takes("SESSION"),
		Long: `Abort ends a session when the step that runs has ended; asked a second time it
cancels that step. With --draft what finished steps have left is kept, and
"loom pattern resume" takes it up.`,
		Example: "  loom pattern abort s1 --reason \"the deadline moved\" --draft",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.act(cmd, &project, args[0], &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Abort{Abort: abort}})
		},
	}
	cmd.Flags().StringVar(&abort.Reason, "reason", "", "`WHY`")
	cmd.Flags().BoolVar(&abort.SaveDraft, "draft", false, "keep what finished steps have left")
	console.ProjectFlag(cmd, &project)
	return cmd
}

package pattern

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *Commands) exportSession() *cobra.Command {
	q := &loomv1.Query{}
	output := ""
	cmd := &cobra.Command{
		Use: "export SESSION [flags]", Short: "write a session as Markdown: asked, sealed, done, judged", Args: console.Takes("SESSION"),
		Long: `Export writes what happened in a session, in its order, for people who were not
there: questions and answers, the sealed envelope, steps and what was said
between them, the judgment on each criterion with its evidence, and where the
results are. --json writes the session itself, with every fact.`,
		Example: "  loom pattern export s1 -o naming.md",
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Id = args[0]; console.CheckToken("SESSION", q.Id) != nil {
				return console.CheckToken("SESSION", q.Id)
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				v, err := c.Session(cmd.Context(), q)
				if err != nil {
					return err
				}
				if len(v.Sessions) != 1 {
					return fault.New("intent/unknown", "%d sessions have this id", len(v.Sessions)).At("SESSION").Got(q.Id).Want("--project, too")
				}
				if a.JSON {
					return a.WriteTo(output, string(console.JSONOf(v.Sessions[0]))+"\n")
				}
				return a.WriteTo(output, sessionMarkdown(v.Sessions[0]))
			})
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this `FILE`, also -o (default: standard output)")
	console.AnyProjectFlag(cmd, &q.Project)
	return cmd
}

// minutes is a session being written as Markdown.
type minutes struct {
	strings.Builder
	pattern *loomv1.Pattern
}

// sessionMarkdown writes a session with its facts. What people and models said stands in
// quotations, so that nothing in it is taken for a heading or a mark of this document.
func sessionMarkdown(s *loomv1.PatternSession) string {
	m := &minutes{pattern: s.Definition}
	m.line("# Session %s of pattern %s", s.Id, s.Pattern)
	m.line("Project %s, opened %s by %s. It is in %s and waits for %s.", s.Project, console.Stamp(s.OpenedAt), s.GetOpenedBy().GetName(), intent.PhaseName(s.Phase), intent.WaitsFor(s))
	m.quote(s.Request)
	for _, in := range s.Inputs {
		m.line("- input %s, a %s of %d bytes, SHA-256 %s", in.Name, in.Type, in.GetContent().GetSize(), in.GetContent().GetSha256())
	}
	for _, f := range s.Facts {
		m.fact(f)
	}
	if len(s.Gaps) > 0 {
		m.line("Accepted as it is: %s.", strings.Join(s.Gaps, ", "))
	}
	return m.String()
}

// line writes a paragraph of one line, made of words of Loom.
func (m *minutes) line(format string, args ...any) {
	fmt.Fprintf(m, "%s\n\n", console.Line(fmt.Sprintf(format, args...), 2000))
}

// unmarked keeps what somebody said from being markup that leaves its quotation.
var unmarked = strings.NewReplacer("&", "&amp;", "<", "&lt;")

// quote writes what somebody said, line by line.
func (m *minutes) quote(said string) {
	if said == "" {
		return
	}
	for l := range strings.Lines(console.Printable(strings.TrimSpace(said)) + "\n") {
		fmt.Fprintf(m, "> %s\n", unmarked.Replace(strings.TrimRight(l, "\n")))
	}
	m.WriteByte('\n')
}

func (m *minutes) fact(fact *loomv1.IntentFact) {
	who := fact.GetBy().GetName()
	switch f := fact.Fact.(type) {
	case *loomv1.IntentFact_Entered:
		heading := intent.PhaseName(f.Entered.Phase)
		if n := int(f.Entered.Step); n > 0 && n <= len(m.pattern.GetSteps()) {
			heading += fmt.Sprintf(", step %d: %s", n, intent.StepName(m.pattern.Steps[n-1]))
		}
		m.line("## %s", heading)
		m.line("%s", console.Stamp(fact.At))
	case *loomv1.IntentFact_Asked:
		m.line("Question %d, about %s, of %s:", f.Asked.Number, intent.FieldName(f.Asked.About), map[bool]string{true: "the pattern", false: "a model"}[f.Asked.OfPattern])
		m.quote(f.Asked.Text)
	case *loomv1.IntentFact_Refused:
		m.line("A question of a model was held back: %s (%s).", f.Refused.Reason, f.Refused.Rule)
	case *loomv1.IntentFact_PatternAsks:
		m.line("From here on the pattern asks: %s.", f.PatternAsks.Reason)
	case *loomv1.IntentFact_Answered:
		m.line("Answer %d, about %s, of %s:", f.Answered.Number, intent.FieldName(f.Answered.About), f.Answered.GetBy().GetName())
		m.quote(f.Answered.Text)
	case *loomv1.IntentFact_Passed:
		m.line("%s has nothing to add to question %d.", who, f.Passed.Number)
	case *loomv1.IntentFact_Struck:
		m.line("%s %s answer %d.", who, map[bool]string{true: "takes back the striking of", false: "strikes"}[f.Struck.Restore], f.Struck.Number)
	case *loomv1.IntentFact_Sealed:
		m.line("Sealed by %s, digest %s.", who, f.Sealed.Digest)
	case *loomv1.IntentFact_Drafted:
		m.envelope(f.Drafted)
	case *loomv1.IntentFact_Revised:
		m.line("%s asks for another envelope:", who)
		m.quote(f.Revised.Reason)
	case *loomv1.IntentFact_Validated:
		for _, found := range f.Validated.Findings {
			m.line("- %s: %s", found.Rule, found.Text)
		}
	default:
		m.work(fact, who)
	}
}

func (m *minutes) envelope(d *loomv1.IntentDrafted) {
	m.line("Envelope %s, digest %s:", d.GetEnvelope().GetId(), d.GetDigest())
	for _, field := range intent.Fields {
		for _, q := range intent.Quotations(d.Envelope, field) {
			m.line("- %s, from answer %d:", intent.FieldName(field), q.Answer)
			m.quote(q.Text)
		}
	}
}

// work writes what happened after the seal.
func (m *minutes) work(fact *loomv1.IntentFact, who string) {
	switch f := fact.Fact.(type) {
	case *loomv1.IntentFact_StepEnded:
		m.line("Step %d%s ended: %s.", f.StepEnded.Step, withinText(m.pattern, f.StepEnded.Step), strings.ToLower(strings.TrimPrefix(f.StepEnded.Status.String(), "STEP_STATUS_")))
		m.quote(f.StepEnded.Summary)
		m.quote(f.StepEnded.Notes)
		for _, o := range f.StepEnded.Outputs {
			m.line("- left `%s`, %d bytes, SHA-256 %s", o.Name, o.GetContent().GetSize(), o.GetContent().GetSha256())
		}
	case *loomv1.IntentFact_Steered:
		m.line("%d. %s %s, to the steps that begin from here on:", f.Steered.Number, who, map[bool]string{true: "redirects", false: "says"}[f.Steered.Redirect])
		m.quote(f.Steered.Text)
	case *loomv1.IntentFact_TakenBack:
		m.line("%s takes back what was said as number %d.", who, f.TakenBack.Number)
	case *loomv1.IntentFact_TempoSet:
		if f.TempoSet.Tempo == loomv1.Tempo_TEMPO_UNSPECIFIED {
			m.line("%s sets the tempo of steps and pattern again.", who)
		} else {
			m.line("%s sets the tempo %s.", who, processes.TempoName(f.TempoSet.Tempo))
		}
	case *loomv1.IntentFact_Judged:
		for _, v := range f.Judged.Verdicts {
			m.line("- %s: %s", v.Item, map[bool]string{true: "met", false: "not met"}[v.Met])
			m.quote(v.Evidence)
		}
	case *loomv1.IntentFact_Chosen:
		m.line("%s chooses: %s.", who, strings.ToLower(strings.TrimPrefix(f.Chosen.Choice.String(), "COMPLETION_CHOICE_")))
	case *loomv1.IntentFact_DeliveryFailed:
		m.line("The results did not come to their place: %s.", strings.TrimSuffix(f.DeliveryFailed.Reason, "."))
	case *loomv1.IntentFact_Delivered:
		for _, o := range f.Delivered.Outputs {
			m.line("- `%s`: %s", o.Name, o.Place)
		}
	case *loomv1.IntentFact_Aborted:
		r := f.Aborted.GetRecord()
		m.line("Aborted at step %d, %s:", r.GetAbortedAtStep(), draftText(f.Aborted))
		m.quote(r.GetReason())
	case *loomv1.IntentFact_Resumed:
		m.line("Taken up again by %s.", who)
	case *loomv1.IntentFact_Reintegrated:
		m.quote(strings.Join(f.Reintegrated.Lines, "\n"))
	}
}

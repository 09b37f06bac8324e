package pattern

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/rehearsal"
	"github.com/loomrun/loom/processes"
)

// played is what became of an example session, as it is printed.
type played struct {
	Session  string   `json:"session"`
	Passed   bool     `json:"passed"`
	Problems []string `json:"problems,omitempty"`
	Phases   []string `json:"phases"`
	Asked    []string `json:"asked"`
	HeldBack []string `json:"held_back,omitempty"`
	Withheld int      `json:"withheld,omitempty"`
	Digest   string   `json:"digest,omitempty"`
	Findings []string `json:"findings,omitempty"`
	Runs     int      `json:"runs"`
	Stops    int      `json:"stops"`
	Gaps     []string `json:"gaps,omitempty"`
}

func (a *Commands) testPattern() *cobra.Command {
	var only string
	var talk bool
	cmd := &cobra.Command{
		Use: "test NAME|FILE [flags]", Short: "play the example sessions of a pattern", Args: console.Takes("NAME|FILE"),
		Long: `Test plays the example sessions of a pattern package, test/*.yaml, offline:
what the person and the model say stands in the file; what may be asked, what is
sealed, which phases are entered and whether the evidence holds is decided as in
a session with people. With --talk it prints what a person would have read.`,
		Example: "  loom pattern test option-burst --talk\n  loom pattern test ./loom-processes/patterns/ours --only example",
		RunE: func(_ *cobra.Command, args []string) error {
			e, err := a.pickPattern(args[0])
			if err != nil {
				return err
			}
			return a.playAll(e, only, talk)
		},
	}
	cmd.Flags().StringVar(&only, "only", "", "only the session of this `NAME`")
	cmd.Flags().BoolVar(&talk, "talk", false, "print the conversation, the envelope and the steps as well")
	return cmd
}

// session reads an example session of a pattern.
func (a *Commands) session(e *processes.PatternEntry, file string) (*processes.ExampleSession, error) {
	shown := file
	if base, ok := strings.CutSuffix(e.File, path.Base(e.Path)); ok && path.Dir(e.Path) == "." {
		shown = base + file
	} else if base, ok := strings.CutSuffix(e.File, e.Path); ok {
		shown = base + file
	}
	data, err := fs.ReadFile(e.Dir, file)
	if err != nil {
		return nil, fault.New("pattern/session", "the session cannot be read").At(shown)
	}
	return processes.ParseExampleSession(shown, data)
}

func (a *Commands) playAll(e *processes.PatternEntry, only string, talk bool) error {
	failed, all := 0, 0
	for _, file := range e.Sessions() {
		name := strings.TrimSuffix(path.Base(file), ".yaml")
		if only != "" && name != only {
			continue
		}
		s, err := a.session(e, file)
		if err != nil {
			return a.Problems(err)
		}
		r := rehearsal.Play(e.Pattern, s)
		all++
		p := played{name, len(r.Problems) == 0, r.Problems, r.Phases, r.Asked, r.HeldBack, r.Withheld, r.Digest, r.Findings, r.Runs, r.Stops, r.Gaps}
		if !p.Passed {
			failed++
		}
		if err := a.PrintAny(p, func(w io.Writer) {
			if talk {
				talkText(w, s, r)
			}
			playedText(w, e.Name, p)
		}); err != nil {
			return err
		}
	}
	switch {
	case all == 0 && only != "":
		return fault.New("pattern/unknown", "pattern %q has no such session", e.Name).At("--only").Got(only)
	case all == 0:
		return fault.New("pattern/unknown", "pattern %q has no example sessions", e.Name).At("NAME|FILE").Want("a package has them in test/*.yaml")
	case failed > 0:
		return fault.New("pattern/test", "%d of %s did not go as it should", failed, console.Count(all, "session")).At(e.Name)
	}
	return nil
}

func playedText(w io.Writer, name string, p played) {
	word := "passed"
	if !p.Passed {
		word = "failed"
	}
	fmt.Fprintf(w, "%s %s: %s\n", name, p.Session, word)
	for _, problem := range p.Problems {
		fmt.Fprintf(w, "  %s\n", console.Line(problem, 300))
	}
	fmt.Fprintf(w, "  %s asked, %d held back, %s, %s, %s\n",
		console.Count(len(p.Asked), "question"), len(p.HeldBack), console.Count(p.Runs, "run")+" of steps", console.Count(p.Stops, "stop"), console.Count(len(p.Gaps), "gap"))
}

// talkText prints what a person would have read of a session: the facts, and of
// what was held back only the rule.
func talkText(w io.Writer, s *processes.ExampleSession, r *rehearsal.Report) {
	fmt.Fprintf(w, "%s\n\n> %s\n", console.Line(s.About, 300), console.Line(s.Request, 500))
	for _, f := range r.Facts {
		switch {
		case f.GetEntered() != nil && f.GetEntered().Step == 0:
			fmt.Fprintf(w, "\n[%s]\n", intent.PhaseName(f.GetEntered().Phase))
		case f.GetAsked() != nil:
			fmt.Fprintf(w, "  %s\n", console.Line(f.GetAsked().Text, 300))
		case f.GetRefused() != nil:
			fmt.Fprintf(w, "  (a question was held back: %s)\n", f.GetRefused().Reason)
		case f.GetWithheld() != nil:
			fmt.Fprintf(w, "  (text of the model was withheld)\n")
		case f.GetAnswered() != nil:
			fmt.Fprintf(w, "  > %s\n", console.Line(f.GetAnswered().Text, 500))
		case f.GetDrafted() != nil:
			for _, field := range intent.Fields {
				for _, q := range intent.Quotations(f.GetDrafted().Envelope, field) {
					fmt.Fprintf(w, "  %-11s  %q\n", intent.FieldName(field), console.Line(q.Text, 300))
				}
			}
		case f.GetSealed() != nil:
			fmt.Fprintf(w, "  sealed by %s: %s\n", f.GetSealed().By.GetName(), f.GetSealed().Digest)
		case f.GetValidated() != nil:
			for _, found := range f.GetValidated().Findings {
				fmt.Fprintf(w, "  %s: %s\n", found.Rule, console.Line(found.Text, 300))
			}
		case f.GetStepStarted() != nil:
			l := f.GetStepStarted().Limits
			fmt.Fprintf(w, "\n[step %d, %s: %s]\n", f.GetStepStarted().Step, processes.TempoName(l.Tempo), limitsText(l))
		case f.GetWritten() != nil:
			fmt.Fprintf(w, "  writes %s to %s\n", console.Line(f.GetWritten().Name, 100), intent.LayerName(f.GetWritten().Layer))
		case f.GetSteered() != nil:
			fmt.Fprintf(w, "  > %s\n", console.Line(f.GetSteered().Text, 500))
		case f.GetTempoSet() != nil:
			fmt.Fprintf(w, "  > %s\n", processes.TempoName(f.GetTempoSet().Tempo))
		case f.GetJudged() != nil:
			for _, v := range f.GetJudged().Verdicts {
				verdict := "not met"
				if v.Met {
					verdict = fmt.Sprintf("met: %q", console.Line(v.Evidence, 200))
				}
				fmt.Fprintf(w, "  %s %s\n", console.Line(v.Item, 100), verdict)
			}
		case f.GetReintegrated() != nil:
			for _, l := range f.GetReintegrated().Lines {
				fmt.Fprintf(w, "  %s\n", console.Line(l, 200))
			}
		}
	}
	fmt.Fprintln(w)
}

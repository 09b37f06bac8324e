package pattern

import (
	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *Commands) proceedSession() *cobra.Command {
	var project string
	on := &loomv1.Proceed{}
	cmd := &cobra.Command{
		Use: "proceed SESSION [flags]", Short: "go on after a stop between steps", Args: console.Takes("SESSION"),
		Long: `Proceed has a session that waits between steps go on with the next one, or with
--step do one again: the step that failed, or one before it.`,
		Example: "  loom pattern proceed s1\n  loom pattern proceed s1 --step 2",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.act(cmd, &project, args[0], &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Proceed{Proceed: on}})
		},
	}
	cmd.Flags().Uint32Var(&on.Step, "step", 0, "do step `N`; 0 is the next one")
	console.ProjectFlag(cmd, &project)
	return cmd
}

func (a *Commands) steerSession() *cobra.Command {
	var project string
	steer, back := &loomv1.Steer{}, &loomv1.TakeBack{}
	cmd := &cobra.Command{
		Use: "steer SESSION [TEXT] [flags]", Short: "say something for the steps to come, or take it back", Args: console.Takes("SESSION", "[TEXT]"),
		Long: `Steer gives a comment to the steps to come, or with --redirect a constraint. A
constraint that goes against the sealed intent is refused: that takes
"loom pattern revise". What was said has a number in "loom pattern session";
--take-back takes it back for the steps that begin after that.`,
		Example: "  loom pattern steer s1 \"the second list is the better one\"\n  loom pattern steer s1 --redirect \"at most nine options\"\n  loom pattern steer s1 --take-back 2",
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 2) == (back.Number > 0) {
				return fault.New("usage/argument", "say something, or take something back").At("TEXT").Want("%s", console.SeeHelp(cmd))
			}
			if back.Number > 0 {
				return a.act(cmd, &project, args[0], &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_TakeBack{TakeBack: back}})
			}
			steer.Text = args[1]
			return a.act(cmd, &project, args[0], &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Steer{Steer: steer}})
		},
	}
	cmd.Flags().BoolVar(&steer.Redirect, "redirect", false, "it is a constraint, and not a comment")
	cmd.Flags().Uint32Var(&back.Number, "take-back", 0, "take back what was said as number `N`")
	console.ProjectFlag(cmd, &project)
	return cmd
}

func (a *Commands) setTempo() *cobra.Command {
	var project string
	cmd := &cobra.Command{
		Use: "tempo SESSION TEMPO [flags]", Short: "change the tempo from the next step on", Args: console.Takes("SESSION", "TEMPO"),
		Long: `Tempo sets the tempo of a session: allegro, andante or adagio, over what its
steps and its pattern say; or pattern, for what they say.`,
		Example: "  loom pattern tempo s1 adagio",
		RunE: func(cmd *cobra.Command, args []string) error {
			t := processes.TempoNamed(args[1])
			if t == loomv1.Tempo_TEMPO_UNSPECIFIED && args[1] != "pattern" {
				return fault.New("usage/argument", "no tempo").At("TEMPO").Got(args[1]).Want("allegro, andante, adagio or pattern")
			}
			return a.act(cmd, &project, args[0], &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Tempo{Tempo: &loomv1.SetTempo{Tempo: t}}})
		},
	}
	console.ProjectFlag(cmd, &project)
	return cmd
}

func (a *Commands) chooseCompletion() *cobra.Command {
	var project string
	var step uint32
	cmd := &cobra.Command{
		Use: "choose SESSION [flags]", Short: "say what is done about what is not met", Args: console.Takes("SESSION"),
		Long: `Choose takes what the completion check has found missing as it is, with the gap,
or with --step has a step done again. What is accepted becomes a bead,
whose work is paused.`,
		Example: "  loom pattern choose s1\n  loom pattern choose s1 --step 2",
		RunE: func(cmd *cobra.Command, args []string) error {
			c := &loomv1.ChooseCompletion{Choice: loomv1.CompletionChoice_COMPLETION_CHOICE_GAP}
			if step > 0 {
				c = &loomv1.ChooseCompletion{Choice: loomv1.CompletionChoice_COMPLETION_CHOICE_STEP, Step: step}
			}
			return a.act(cmd, &project, args[0], &loomv1.IntentRequest{Verb: &loomv1.IntentRequest_Choose{Choose: c}})
		},
	}
	cmd.Flags().Uint32Var(&step, "step", 0, "do step `N` again")
	console.ProjectFlag(cmd, &project)
	return cmd
}

package stats

import (
	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/cli/console"
)

// ProcessStats returns the command of that name.
func (a *Commands) ProcessStats() *cobra.Command {
	cmd := a.Stats()
	cmd.Use, cmd.Short, cmd.Args = "stats NAME [flags]", "how a process fares, phase by phase", console.Takes("NAME")
	cmd.Long = `Stats prints how executions of a process ended and what they used, and of each
phase how often it was visited, how often it ended well, in how many attempts,
how many of these failed or were made again, and the tokens it took: NAME-check
and NAME-vote are the verification of phase NAME. Then which rules were broken,
by phase, and who found it: the runtime, the verifier or the reviewers; what the
last executions used beside the median of all that ended; and the phases that a
stronger model may be worth: in four visits or more, one attempt in four failed,
or one visit in four was sent back by who judged it.`
	cmd.Example = "  loom process stats investment-analysis\n  loom process stats investment-analysis --since 24h --json"
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := console.CheckToken("NAME", args[0]); err != nil {
			return err
		}
		if err := cmd.Flags().Set("process", args[0]); err != nil {
			return err
		}
		return run(cmd, args)
	}
	cmd.Flags().Lookup("process").Hidden = true
	return cmd
}

package graph

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *Commands) graphVote() *cobra.Command {
	return console.Group("vote", "votes on the options of a decision",
		"  loom graph vote open d5 --option d3 --option d4 --voter lead --voter architect\n  loom graph vote cast d5 d3 --role architect --confidence 80\n  loom graph vote show d5",
		a.voteOpen(), a.voteCast(), a.voteShow())
}

func (a *Commands) voteOpen() *cobra.Command {
	b := &loomv1.Ballot{}
	r := &loomv1.DecisionRequest{Verb: &loomv1.DecisionRequest_Open{Open: &loomv1.OpenBallot{Ballot: b}}}
	var rule string
	var within time.Duration
	cmd := &cobra.Command{
		Use: "open DECISION [flags]", Short: "open a vote", Args: console.Takes("DECISION"),
		Long: `Open asks roles for their votes on the options of a decision, each for one. Once
all have voted, no vote that is missing can change the result, or their time is
over, the rule decides: majority (over half of the votes), weighted (the largest
sum of confidence), unanimous, or lead (the lead's vote alone). What it does not
decide goes to the lead, then to the CEO.`,
		Example: "  loom graph vote open d5 --option d3 --option d4 --voter lead --voter architect",
		RunE: func(cmd *cobra.Command, args []string) error {
			b.Decision = args[0]
			if err := checkDecision("DECISION", b.Decision); err != nil {
				return err
			}
			for _, o := range b.Options {
				if err := checkDecision("--option", o); err != nil {
					return err
				}
			}
			if within < time.Second {
				return fault.New("usage/argument", "less than a second to vote").At("--within").Got(within.String())
			}
			b.Seconds = uint32(within / time.Second)
			var err error
			if b.Rule, err = enumWord[loomv1.VoteRule]("--rule", rule, loomv1.VoteRule_name, "VOTE_RULE_"); err != nil {
				return err
			}
			return a.writeGraph(cmd, r, func(w io.Writer, _ *loomv1.Answer) {
				fmt.Fprintf(w, "%s: %s may vote for %s\n", b.Decision, strings.Join(b.Voters, ", "), within)
			})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&b.Options, "option", nil, "an option's `DECISION`; give two or more")
	f.StringArrayVar(&b.Voters, "voter", nil, "a `ROLE` that votes; may be given again")
	f.StringVar(&rule, "rule", "majority", "`RULE`: majority, weighted, unanimous or lead")
	f.Uint32Var(&b.Quorum, "quorum", 0, "votes that must be cast (default: more than half of the voters)")
	f.DurationVar(&within, "within", 10*time.Minute, "`TIME` to vote, and then for the lead to decide")
	console.ProjectFlag(cmd, &r.Project)
	return cmd
}

func (a *Commands) voteCast() *cobra.Command {
	v := &loomv1.Vote{}
	cast := &loomv1.CastVote{Vote: v}
	r := &loomv1.DecisionRequest{Verb: &loomv1.DecisionRequest_Vote{Vote: cast}}
	cmd := &cobra.Command{
		Use: "cast DECISION OPTION [flags]", Short: "cast, or change, the vote of a role", Args: console.Takes("DECISION", "OPTION"),
		Example: "  loom graph vote cast d5 d3 --role architect --rationale \"fewer surprises\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(checkDecision("DECISION", args[0]), checkDecision("OPTION", args[1]), console.CheckToken("--role", v.Role)); err != nil {
				return err
			}
			cast.Decision, cast.Request, v.Option = args[0], rand.Text(), args[1]
			return a.writeGraph(cmd, r, func(w io.Writer, _ *loomv1.Answer) {
				fmt.Fprintf(w, "%s: %s votes for %s\n", cast.Decision, v.Role, v.Option)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&v.Role, "role", "", "the `ROLE` that votes")
	f.Uint32Var(&v.Confidence, "confidence", 100, "how `SURE` it is, 0 to 100")
	f.StringVar(&v.Rationale, "rationale", "", "`TEXT` that says why")
	console.ProjectFlag(cmd, &r.Project)
	return cmd
}

func (a *Commands) voteShow() *cobra.Command {
	q := &loomv1.GraphRequest{Question: loomv1.GraphQuestion_GRAPH_QUESTION_BALLOTS}
	var at string
	cmd := &cobra.Command{
		Use: "show [DECISION] [flags]", Short: "votes, and what came of them", Args: console.Takes("[DECISION]"),
		Example: "  loom graph vote show d5",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if err := checkDecision("DECISION", args[0]); err != nil {
					return err
				}
				q.Id = args[0]
			}
			return a.ask(cmd, q, at, func(r *loomv1.GraphReply) error {
				return a.Print(&loomv1.DecisionGraph{Ballots: r.Ballots}, func(w io.Writer) {
					for _, b := range r.Ballots {
						ballotText(w, b)
					}
					if len(r.Ballots) == 0 {
						fmt.Fprintln(w, "no votes")
					}
				})
			})
		},
	}
	askFlags(cmd, q, &at)
	return cmd
}

func ballotText(w io.Writer, b *loomv1.Ballot) {
	rule := strings.ToLower(strings.TrimPrefix(b.Rule.String(), "VOTE_RULE_"))
	fmt.Fprintf(w, "%s: %s of %s, quorum %d\n", b.Decision, rule, console.Line(strings.Join(b.Voters, ", "), 400), b.Quorum)
	for _, v := range b.Votes {
		fmt.Fprintf(w, "  %-20s %s (%d%%) %s\n", console.Line(v.Role, 64), v.Option, v.Confidence, console.Line(v.Rationale, 100))
	}
	switch b.Status {
	case loomv1.BallotStatus_BALLOT_STATUS_CLOSED:
		if b.Result == "" {
			fmt.Fprintf(w, "  void: %s\n", console.Line(b.Reason, 200))
			return
		}
		fmt.Fprintf(w, "  decided for %s: %s\n", b.Result, console.Line(b.Reason, 200))
	case loomv1.BallotStatus_BALLOT_STATUS_LEAD:
		fmt.Fprintf(w, "  waits for the lead until %s: %s\n", console.Stamp(b.Until), console.Line(b.Reason, 200))
	case loomv1.BallotStatus_BALLOT_STATUS_CEO:
		fmt.Fprintf(w, "  waits for the CEO: %s\n", console.Line(b.Reason, 200))
	default:
		fmt.Fprintf(w, "  open until %s\n", console.Stamp(b.Until))
	}
}

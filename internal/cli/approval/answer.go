package approval

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Answer returns the command of that name.
func (a *Commands) Answer() *cobra.Command {
	var no bool
	v := &loomv1.DecideApproval{}
	cmd := &cobra.Command{
		Use: "answer APPROVAL [flags]", Short: "answer an agent's question, as an operator", Args: console.Takes("APPROVAL"),
		Long: `Answer tells an agent what it asked, or allows the one call that it asked about,
without the CEO's signature, where the project leaves that to operators. Other
approvals are signed: "loom approve" and "loom reject".`,
		Example: "  loom inbox shop-4\n  loom answer shop-4 --comment \"blue\"\n  loom answer shop-5 --no --comment \"not on this machine\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := console.CheckID("APPROVAL", args[0]); err != nil {
				return err
			}
			v.Approval, v.Decision = args[0], loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
			if no {
				v.Decision = loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				view, err := c.Inbox(cmd.Context(), &loomv1.Query{Project: project.Of(v.Approval), Id: v.Approval})
				if err != nil {
					return err
				}
				asked := view.Approvals[0]
				if len(view.Approvals) > 1 || asked.Id != v.Approval {
					return whichOne(v.Approval, view.Approvals)
				}
				if asked.DecidedAt == nil { // else the host says who answered
					if err := cmp.Or(project.CheckAnswer(asked, v), workflow.CheckShown(asked, view.Diff)); err != nil {
						return err
					}
				}
				v.Digest = asked.Digest
				if _, err := c.Respond(cmd.Context(), v); err != nil {
					return err
				}
				return a.Print(v, func(w io.Writer) { fmt.Fprintf(w, "%s: %s\n", v.Approval, Answered(v.Decision)) })
			})
		},
	}
	cmd.Flags().StringVar(&v.Comment, "comment", "", "`TEXT` of the answer, which the agent is told")
	cmd.Flags().BoolVar(&no, "no", false, "there is no answer, or the call may not be made")
	return cmd
}

package approval

import (
	"cmp"
	"context"
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
				asked, err := a.respond(cmd.Context(), c, v)
				if err != nil {
					return err
				}
				return a.Print(v, func(w io.Writer) {
					fmt.Fprintf(w, "%s: %s\n", v.Approval, answeredTo(asked, v.Decision)+ownWords(asked, v))
				})
			})
		},
	}
	cmd.Flags().StringVar(&v.Comment, "comment", "", "`TEXT` of the answer, which the agent is told")
	cmd.Flags().BoolVar(&no, "no", false, "there is no answer, or the call may not be made")
	return cmd
}

// respond gives an answer as an operator, to a question as it stands or as v's digest says
// that it was shown, and returns the question.
func (a *Commands) respond(ctx context.Context, c *client.Client, v *loomv1.DecideApproval) (*loomv1.Approval, error) {
	asked, err := a.asked(ctx, c, project.Of(v.Approval), v)
	if err != nil {
		return nil, err
	}
	v.Digest = wholeDigest(v.Digest, asked.Digest)
	_, err = c.Respond(ctx, v)
	return asked, err
}

// asked returns the approval that an answer is to. It refuses a bead's id, which may
// stand for several questions, an answer that is not offered, and what is not what the
// digest covers.
func (a *Commands) asked(ctx context.Context, c *client.Client, name string, d *loomv1.DecideApproval) (*loomv1.Approval, error) {
	v, err := c.Inbox(ctx, &loomv1.Query{Project: name, Id: d.Approval})
	if err != nil {
		return nil, err
	}
	asked := v.Approvals[0]
	if len(v.Approvals) > 1 || asked.Id != d.Approval {
		return nil, whichOne(d.Approval, v.Approvals)
	}
	if asked.DecidedAt != nil { // the host says who answered, and when
		return asked, nil
	}
	return asked, cmp.Or(project.CheckAnswer(asked, d), workflow.CheckShown(asked, v.Diff))
}

package approval

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/bead"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Approve returns the command of that name.
func (a *Commands) Approve() *cobra.Command {
	var retry, skip, always bool
	var choice, pattern string
	cmd := a.decider("approve", "let work go on", func(d *loomv1.DecideApproval) error {
		d.Decision, d.Choice = loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, choice
		switch {
		case retry && skip:
			return fault.New("usage/argument", "--retry and --skip exclude each other")
		case always && (retry || skip || choice != ""):
			return fault.New("usage/argument", "--always excludes --retry, --skip and --choice")
		case pattern != "" && !always:
			return fault.New("usage/argument", "a pattern is for what is allowed for good").At("--pattern").Want("--always")
		case always:
			d.Decision, d.Choice = loomv1.ApprovalDecision_APPROVAL_DECISION_ALWAYS, pattern
		case retry:
			d.Decision = loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY
		case skip:
			d.Decision = loomv1.ApprovalDecision_APPROVAL_DECISION_SKIP
		}
		return nil
	})
	cmd.Long = `Approve signs an approval with the CEO's key and sends it to the host. The
signature covers the digest of exactly what was shown: give it with --digest, or
the approval as it stands now is what you approve. "loom inbox ID" shows it.`
	cmd.Example = "  loom inbox shop-2\n  loom approve shop-2 --digest 20382bb731739c46 --wait\n  loom approve shop-5 --retry --comment \"the network was down\""
	cmd.Flags().StringVar(&choice, "choice", "", "for a vote that was not decided: the `OPTION` that is chosen")
	cmd.Flags().BoolVar(&always, "always", false, "for a tool call: and never ask about the same again")
	cmd.Flags().StringVar(&pattern, "pattern", "", "with --always: about all that matches this `GLOB`")
	cmd.Flags().BoolVar(&retry, "retry", false, "for an escalation: grant more attempts")
	cmd.Flags().BoolVar(&skip, "skip", false, "for an escalation: go on without that node")
	return cmd
}

// Reject returns the command of that name.
func (a *Commands) Reject() *cobra.Command {
	var changes bool
	cmd := a.decider("reject", "close a workflow and its bead, or ask for changes", func(d *loomv1.DecideApproval) error {
		d.Decision = loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
		if changes {
			if strings.TrimSpace(d.Comment) == "" {
				return fault.New("usage/argument", "nobody is told what to change").At("--request-changes").Want("--comment TEXT")
			}
			d.Decision = loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES
		}
		return nil
	})
	cmd.Long = "Reject signs a refusal with the CEO's key: workflow and bead are closed. With\n--request-changes the work goes back to whoever did it, with your comment."
	cmd.Example = "  loom reject shop-2 --comment \"not worth it\"\n  loom reject shop-2 --request-changes --comment \"keep the old constant\""
	cmd.Flags().BoolVar(&changes, "request-changes", false, "send the work back with the comment")
	return cmd
}

// decider is a verb that answers an approval with the CEO's signature.
func (a *Commands) decider(verb, short string, answer func(*loomv1.DecideApproval) error) *cobra.Command {
	var keyPath, name string
	var wait bead.Waiting
	d := &loomv1.DecideApproval{}
	cmd := &cobra.Command{
		Use: verb + " APPROVAL [flags]", Short: short, Args: console.Takes("APPROVAL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := cmp.Or(console.CheckID("APPROVAL", args[0]), console.CheckName("--project", name))
			if err != nil {
				return err
			}
			d.Approval = args[0]
			if err := answer(d); err != nil {
				return err
			}
			key, err := OpenKey(keyPath)
			if err != nil {
				return err
			}
			return a.decide(cmd.Context(), key, cmp.Or(name, project.Of(args[0])), d, wait)
		},
	}
	cmd.Flags().StringVar(&d.Comment, "comment", "", "`TEXT` that says why, for the record and for whoever goes on")
	cmd.Flags().StringVar(&d.Digest, "digest", "", "`DIGEST` of what you were shown (default: as it stands now)")
	cmd.Flags().StringVar(&keyPath, "key", "", "the CEO's key `FILE` (default: in your configuration directory)")
	wait.Flags(cmd.Flags())
	console.ProjectFlag(cmd, &name)
	return cmd
}

// OpenKey opens the CEO's key, by default the one in the user's configuration directory.
func OpenKey(path string) (*ceokey.Key, error) {
	if path == "" {
		var err error
		if path, err = ceokey.DefaultPath(); err != nil {
			return nil, err
		}
	}
	return ceokey.Open(path)
}

// decide signs d and presents it over the CEO's own connection.
func (a *Commands) decide(ctx context.Context, key *ceokey.Key, name string, d *loomv1.DecideApproval, wait bead.Waiting) error {
	return a.With(ctx, func(c *client.Client) error {
		about, err := c.Host(ctx, &loomv1.HostRequest{})
		if err != nil {
			return err
		}
		asked, err := a.sign(ctx, c, key, about.Deployment, name, d)
		if err != nil {
			return err
		}
		words, waits, err := a.became(ctx, c, name, asked, d)
		if err != nil {
			return err
		}
		err = a.Print(d, func(w io.Writer) { fmt.Fprintf(w, "%s: %s\n", d.Approval, words+ownWords(asked, d)) })
		if err != nil || waits || !wait.Wait {
			return err
		}
		return bead.New(a.Console).Wait(ctx, c, asked.Bead, d.Approval, wait.AllowGaps)
	})
}

// sign signs an answer to an approval as it stands and presents it, and returns the
// approval. What cannot be answered so is refused before it is signed.
func (a *Commands) sign(ctx context.Context, c *client.Client, key *ceokey.Key, deployment, name string, d *loomv1.DecideApproval) (*loomv1.Approval, error) {
	asked, err := a.asked(ctx, c, name, d)
	if err != nil {
		return nil, err
	}
	d.Digest = wholeDigest(d.Digest, asked.Digest)
	cmd, err := key.Decide(deployment, name, d)
	if err != nil {
		return nil, err
	}
	return asked, a.present(ctx, cmd)
}

// became says what became of an answer that was accepted: where it takes several keys, it
// may wait for another's.
func (a *Commands) became(ctx context.Context, c *client.Client, name string, asked *loomv1.Approval, d *loomv1.DecideApproval) (words string, waits bool, err error) {
	if asked.Keys < 2 {
		return answeredTo(asked, d.Decision), false, nil
	}
	v, err := c.Inbox(ctx, &loomv1.Query{Project: name, Id: asked.Id})
	if err != nil {
		return "", false, err
	}
	if now := v.Approvals[0]; now.DecidedAt == nil {
		return fmt.Sprintf("signed; it takes %d different keys, and another has to sign the same", now.Keys), true, nil
	}
	return answeredTo(asked, d.Decision), false, nil
}

// whichOne asks for the very question that an answer is to.
func whichOne(bead string, open []*loomv1.Approval) error {
	var questions []string
	for _, p := range open {
		questions = append(questions, fmt.Sprintf("%s (%s)", p.Id, console.Line(p.Question, 100)))
	}
	return fault.New("approval/which", "%s is no approval, but a bead about which %s open", bead, map[bool]string{true: "a question is", false: "questions are"}[len(open) == 1]).
		At("APPROVAL").Want("look at it with \"loom inbox ID\" and name it: %s", strings.Join(questions, ", "))
}

func (a *Commands) present(ctx context.Context, cmd *loomv1.SignedCommand) error {
	ceo, err := client.OpenCEO(a.Target())
	if err != nil {
		return err
	}
	defer ceo.Close()
	return ceo.Present(ctx, "decide", cmd)
}

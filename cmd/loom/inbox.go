package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/ceokey"
	"github.com/loomrun/loom/internal/client"
	"github.com/loomrun/loom/internal/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *app) inbox() *cobra.Command {
	cmd := a.viewer("inbox [APPROVAL]", "what waits for the CEO", "inbox", func(w io.Writer, v *loomv1.View) {
		if len(v.Approvals) == 0 {
			fmt.Fprintln(w, "nothing waits for you")
		}
		for _, p := range v.Approvals {
			approvalText(w, p, v.Diff)
		}
	})
	cmd.Long = "Inbox lists what waits for the CEO. With an approval's id it shows the whole\nproposal, its diff included, and what may be answered."
	cmd.Example = "  loom inbox\n  loom inbox shop-2"
	return cmd
}

func approvalText(w io.Writer, p *loomv1.Approval, diff string) {
	fmt.Fprintf(w, "%s  %s about %s at %s, asked %s\n  %s\n", p.Id, project.Word(p.Kind), p.Bead, p.Node, stamp(p.AskedAt), line(p.Question, 300))
	if p.Reason != "" {
		fmt.Fprintf(w, "  because: %s\n", line(p.Reason, 300))
	}
	for _, h := range p.History {
		fmt.Fprintf(w, "  %s attempt %d (%s): %s\n", h.Node, h.Number, project.Word(h.Outcome.GetStatus()), line(h.Outcome.GetSummary(), 160))
	}
	for _, f := range p.Change.GetFiles() {
		fmt.Fprintf(w, "  %s %s +%d -%d\n", f.Status, line(f.Path, 120), f.Added, f.Removed)
	}
	if diff != "" {
		fmt.Fprintf(w, "\n%s\n", printable(diff))
	}
	for _, s := range p.NextSteps {
		fmt.Fprintf(w, "  next: %s\n", line(s, 200))
	}
	var options []string
	for _, o := range p.Options {
		options = append(options, project.Word(o))
	}
	fmt.Fprintf(w, "  digest %s\n  answers: %s\n", p.Digest, strings.Join(options, ", "))
	if p.DecidedAt != nil {
		fmt.Fprintf(w, "  answered %s: %s %s\n", stamp(p.DecidedAt), project.Word(p.Decision), line(p.Comment, 200))
	}
}

func (a *app) approve() *cobra.Command {
	var retry, skip bool
	cmd := a.decider("approve", "let work go on", &loomv1.DecideApproval{}, func() loomv1.ApprovalDecision {
		switch {
		case retry:
			return loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY
		case skip:
			return loomv1.ApprovalDecision_APPROVAL_DECISION_SKIP
		}
		return loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
	})
	cmd.Long = `Approve signs an approval with the CEO's key and sends it to the host. The
signature covers the digest of exactly what was shown: give it with --digest, or
the approval as it stands now is what you approve. "loom inbox ID" shows it.`
	cmd.Example = "  loom inbox shop-2\n  loom approve shop-2 --digest 4be1c9...\n  loom approve shop-5 --retry --comment \"the network was down\""
	cmd.Flags().BoolVar(&retry, "retry", false, "for an escalation: grant more attempts")
	cmd.Flags().BoolVar(&skip, "skip", false, "for an escalation: go on without that node")
	cmd.MarkFlagsMutuallyExclusive("retry", "skip")
	return cmd
}

func (a *app) reject() *cobra.Command {
	var changes bool
	cmd := a.decider("reject", "close a workflow and its bead, or ask for changes", &loomv1.DecideApproval{}, func() loomv1.ApprovalDecision {
		if changes {
			return loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES
		}
		return loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
	})
	cmd.Long = "Reject signs a refusal with the CEO's key: workflow and bead are closed. With\n--request-changes the work goes back to whoever did it, with your comment."
	cmd.Example = "  loom reject shop-2 --comment \"not worth it\"\n  loom reject shop-2 --request-changes --comment \"keep the old constant\""
	cmd.Flags().BoolVar(&changes, "request-changes", false, "send the work back with the comment")
	return cmd
}

func (a *app) decider(verb, short string, d *loomv1.DecideApproval, decision func() loomv1.ApprovalDecision) *cobra.Command {
	var keyPath, name string
	cmd := &cobra.Command{
		Use: verb + " APPROVAL", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.Approval, d.Decision = args[0], decision()
			key, err := openKey(keyPath)
			if err != nil {
				return err
			}
			return a.decide(cmd.Context(), key, cmp.Or(name, project.Of(args[0])), d)
		},
	}
	cmd.Flags().StringVar(&d.Comment, "comment", "", "why, for the record and for whoever goes on")
	cmd.Flags().StringVar(&d.Digest, "digest", "", "digest of what you were shown (default: as it stands now)")
	cmd.Flags().StringVar(&keyPath, "key", "", "the CEO's key file (default: in your configuration directory)")
	cmd.Flags().StringVar(&name, "project", "", "project (default: the id's)")
	return cmd
}

func openKey(path string) (*ceokey.Key, error) {
	if path == "" {
		var err error
		if path, err = ceokey.DefaultPath(); err != nil {
			return nil, err
		}
	}
	return ceokey.Open(path)
}

// decide signs d and presents it over the CEO's own connection.
func (a *app) decide(ctx context.Context, key *ceokey.Key, name string, d *loomv1.DecideApproval) error {
	return a.with(ctx, func(c *client.Client) error {
		about, err := c.Host(ctx)
		if err != nil {
			return err
		}
		v, err := c.Look(ctx, "inbox", &loomv1.Query{Project: name, Id: d.Approval})
		if err != nil {
			return err
		}
		if d.Digest == "" && len(v.Approvals) == 1 {
			d.Digest = v.Approvals[0].Digest
		}
		cmd, err := key.Decide(about.Deployment, name, d)
		if err != nil {
			return err
		}
		ceo, err := client.DialCEO(a.data)
		if err != nil {
			return err
		}
		defer ceo.Close()
		if err := ceo.Decide(ctx, cmd); err != nil {
			return err
		}
		return a.print(d, func(w io.Writer) { fmt.Fprintf(w, "%s: %s\n", d.Approval, project.Word(d.Decision)) })
	})
}

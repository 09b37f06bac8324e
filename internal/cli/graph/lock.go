package graph

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/approval"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Lock returns the command of that name.
func (a *Commands) Lock() *cobra.Command {
	status := a.Viewer("status", "who holds the commit lock, and who waits", client.Services.Lock, func(w io.Writer, v *loomv1.View) {
		locksText(w, v, lockText)
	})
	status.Example = "  loom lock status --project shop"
	queue := a.Viewer("queue", "who waits for the commit lock", client.Services.Lock, func(w io.Writer, v *loomv1.View) {
		locksText(w, v, queueText)
	})
	queue.Example = "  loom lock queue --project shop"
	files := a.lockFiles()
	return console.Group("lock", "the commit lock, and the files that changes claim", "  loom lock status\n  loom lock release --reason \"the host is gone\"", status, queue, files, a.lockRelease())
}

func locksText(w io.Writer, v *loomv1.View, show func(io.Writer, *loomv1.CommitLock)) {
	for _, l := range v.Locks {
		fmt.Fprintf(w, "%s  %s\n", l.Project, console.Printable(l.Repository))
		show(w, l)
	}
	if len(v.Locks) == 0 {
		fmt.Fprintln(w, "free; nobody ever asked for it")
	}
}

func (a *Commands) lockFiles() *cobra.Command {
	q := &loomv1.Query{Filter: project.OfFiles}
	cmd := &cobra.Command{
		Use: "files [flags]", Short: "the files that changes under way touch, and whose they are", Args: console.Takes(),
		Long: `Files lists the files of every change that is proposed and has neither landed
nor been given up. A file is held by the change that was proposed first; when
that has landed, later changes of it are made anew on the newest target.`,
		Example: "  loom lock files --project shop",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := console.CheckName("--project", q.Project); err != nil {
				return err
			}
			return a.Look(cmd, client.Services.Lock, q, func(w io.Writer, v *loomv1.View) { claimsText(w, v.Claims) })
		},
	}
	console.AnyProjectFlag(cmd, &q.Project)
	return cmd
}

// claimsText tells which files are held, and who else has changed them.
func claimsText(w io.Writer, claims []*loomv1.FileClaim) {
	for _, c := range claims {
		fmt.Fprintln(w, approval.ClaimText(c))
	}
	if len(claims) == 0 {
		fmt.Fprintln(w, "no change is under way")
	}
}

func lockText(w io.Writer, l *loomv1.CommitLock) {
	if h := l.Holder; h != nil {
		fmt.Fprintf(w, "  held by %s@%s for %s since %s until %s (token %d)\n", h.Holder.GetAgent(), h.Holder.GetHost(), h.Request, console.Stamp(h.GrantedAt), console.Stamp(h.Until), h.Token)
	} else {
		fmt.Fprintf(w, "  free (last token %d)\n", l.LastToken)
	}
	if len(l.Queue) > 0 {
		queueText(w, l)
	}
}

func queueText(w io.Writer, l *loomv1.CommitLock) {
	for i, q := range l.Queue {
		fmt.Fprintf(w, "  %d. %s for %s, since %s\n", i+1, q.Holder.GetAgent(), q.Request, console.Stamp(q.AskedAt))
	}
	if len(l.Queue) == 0 {
		fmt.Fprintln(w, "  nobody waits")
	}
}

// lockRelease takes the lock from its holder, in the CEO's name.
func (a *Commands) lockRelease() *cobra.Command {
	var by approval.OrderFlags
	var name string
	var token uint64
	cmd := &cobra.Command{
		Use: "release [flags]", Short: "take the commit lock from its holder", Args: console.Takes(),
		Long: `Release takes the commit lock from whoever holds it, signed with the CEO's key.
The next in the queue is granted it; the old holder is refused by the repository
from the moment that one begins, and may ask again. A lock that is not renewed
is taken by itself when its lease is over: release is for when you know better.`,
		Example: "  loom lock status\n  loom lock release --reason \"the host is gone\"",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(console.CheckName("--project", name), by.Check(cmd)); err != nil {
				return err
			}
			return approval.New(a.Console).OrderAll(cmd.Context(), &by, "released", func(ctx context.Context, c *client.Client, about *loomv1.HostReply) ([]approval.Ordered, error) {
				return releaseOrder(ctx, c, about, name, token, by.Reason)
			})
		},
	}
	cmd.Flags().Uint64Var(&token, "token", 0, "only if this `TOKEN` holds it (default: whichever does now)")
	console.ProjectFlag(cmd, &name)
	by.Add(cmd)
	return cmd
}

func releaseOrder(ctx context.Context, c *client.Client, about *loomv1.HostReply, name string, token uint64, reason string) ([]approval.Ordered, error) {
	name, err := approval.TheProject(about, name)
	if err != nil {
		return nil, err
	}
	if token == 0 {
		v, err := c.Lock(ctx, &loomv1.Query{Project: name})
		if err != nil {
			return nil, err
		}
		for _, l := range v.Locks {
			token = max(token, l.Holder.GetToken())
		}
	}
	if token == 0 {
		return nil, fault.New("lock/stale", "nobody holds the commit lock of %q", name)
	}
	release := &loomv1.ReleaseCommitLock{Token: token, Reason: reason}
	return []approval.Ordered{{Project: name, About: fmt.Sprintf("commit lock of %s, token %d", name, token), Cmd: &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Release{Release: release}}}}, nil
}

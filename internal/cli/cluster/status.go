package cluster

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *Commands) clusterStatus() *cobra.Command {
	var wait string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "status [flags]", Short: "which hosts are there, who leads each stream, who is behind", Args: console.Takes(),
		Long: `Status prints the hosts that keep the deployment's streams, and for each stream
its leader and the hosts that follow it, as the host that answers sees them. It
ends with status 6 when the cluster takes no writes.

--wait whole ends when all hosts are there and every stream has all replicas;
--wait synced when all streams have, whatever hosts are still to come or away.
That is for scripts that stop one host after the other. With --timeout it ends
with status 6 when it takes longer.`,
		Example: "  loom cluster status\n  loom cluster status --json\n  loom cluster status --wait whole --timeout 10m",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wait != "" && wait != "whole" && wait != "synced" {
				return fault.New("usage/argument", "nothing is waited for by that name").At("--wait").Got(wait).Want("whole or synced")
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				s, err := clusterWhen(cmd.Context(), c, wait, timeout)
				if err != nil {
					return err
				}
				if err := a.Print(s, func(w io.Writer) { clusterText(w, s) }); err != nil || s.Quorum && reached(s, wait) {
					return err
				}
				return console.ExitError{Status: fault.Unavailable}
			})
		},
	}
	cmd.Flags().StringVar(&wait, "wait", "", "wait until it is `STATE`: whole or synced")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "wait no longer than `TIME`; 0 waits for good")
	return cmd
}

// lookAgain is how often a wait asks.
const lookAgain = time.Second

// clusterWhen returns the status when it is what is waited for, or when that
// takes too long. While nobody answers, it asks again.
func clusterWhen(ctx context.Context, c *client.Client, wait string, timeout time.Duration) (*loomv1.ClusterStatus, error) {
	var late <-chan time.Time
	if timeout > 0 {
		late = time.After(timeout)
	}
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		reply, err := c.Cluster(ctx, &loomv1.ClusterRequest{})
		s := reply.Status
		if wait == "" || err == nil && reached(s, wait) || err != nil && fault.Status(err) != fault.Unavailable {
			return s, err
		}
		select {
		case <-look.C:
		case <-late:
			return s, err
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// reached says whether a status is what is waited for.
func reached(s *loomv1.ClusterStatus, wait string) bool {
	switch wait {
	case "whole":
		return s.Whole
	case "synced":
		return s.Quorum && !slices.ContainsFunc(s.Streams, func(t *loomv1.ClusterStream) bool {
			short := s.Cluster != "" && !strings.HasPrefix(t.Name, "LOOM_PROOF") && len(t.Replicas)+1 != int(s.Replicas)
			return t.Problem != "" || t.Leader == "" || short ||
				slices.ContainsFunc(t.Replicas, func(r *loomv1.ClusterReplica) bool { return !r.Current || r.Offline })
		})
	}
	return true
}

func clusterText(w io.Writer, s *loomv1.ClusterStatus) {
	if s.Cluster == "" {
		fmt.Fprintf(w, "deployment %s: one host that is alone, %s\n", s.Deployment, s.By)
	} else {
		fmt.Fprintf(w, "deployment %s, cluster %s of %d hosts, %d replicas, as %s sees it\n", s.Deployment, s.Cluster, s.HostsWanted, s.Replicas, s.By)
	}
	if s.Quorum {
		fmt.Fprintln(w, "it takes writes"+lacking(s))
	} else {
		fmt.Fprintf(w, "it takes NO writes: %s\n", console.Printable(s.Missing))
	}
	if s.Format > 0 { // else the host is of an older build
		fmt.Fprintln(w, formatText(s.Format, s.FormatRead, s.FormatHeldBy))
	}
	fmt.Fprintln(w)
	for _, h := range s.Hosts {
		fmt.Fprintf(w, "  %-20s %-10s leads %-3d behind in %-3d %s\n", console.Printable(h.Host), presence(h), h.Leads, h.Behind, console.Printable(h.Address))
	}
	for _, r := range s.Removed {
		fmt.Fprintf(w, "  %-20s removed on %s by %s: %s\n", console.Printable(r.Host), console.Stamp(r.At), console.Printable(r.By), console.Printable(cmp.Or(r.Reason, "no reason given")))
	}
	fmt.Fprintln(w)
	for _, t := range s.Streams {
		fmt.Fprintf(w, "  %-26s %9d  %s\n", console.Printable(t.Name), t.Messages, streamText(t))
	}
}

// formatText says in which format events are written, and who keeps others from
// a newer one.
func formatText(written, read uint32, by string) string {
	if read > written {
		return fmt.Sprintf("events are written in format %d, and not %d, until host %s runs a build that reads that", written, read, console.Printable(by))
	}
	return fmt.Sprintf("events are written in format %d", written)
}

// lacking says what keeps the deployment from being whole.
func lacking(s *loomv1.ClusterStatus) string {
	if s.Whole {
		return ", and is whole"
	}
	const most = 3
	shown := s.Waiting[:min(most, len(s.Waiting))]
	text := ", and is not whole: " + console.Printable(strings.Join(shown, "; "))
	if more := len(s.Waiting) - len(shown); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func presence(h *loomv1.ClusterHost) string {
	switch {
	case h.Connected:
		return "here"
	case h.LastSeen != nil:
		return "GONE since " + console.Stamp(h.LastSeen)
	}
	return "GONE"
}

// streamText says who leads a stream and who follows.
func streamText(t *loomv1.ClusterStream) string {
	switch {
	case t.Problem != "":
		return "unknown: " + console.Printable(t.Problem)
	case t.Leader == "":
		return "NO LEADER"
	}
	text := "led by " + console.Printable(t.Leader)
	for _, r := range t.Replicas {
		text += ", " + console.Printable(r.Host) + replicaText(r)
	}
	return strings.TrimSpace(text)
}

func replicaText(r *loomv1.ClusterReplica) string {
	switch {
	case r.Offline:
		return " gone"
	case !r.Current:
		return fmt.Sprintf(" behind by %d", r.Lag)
	}
	return ""
}

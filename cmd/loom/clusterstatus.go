package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/client"
	"github.com/loomrun/loom/internal/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *app) clusterStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "which hosts are there, who leads each stream, who is behind", Args: takes(),
		Long: `Status prints the hosts that keep the deployment's streams, and for each stream
its leader and the hosts that follow it, as the host that answers sees them. It
ends with status 6 when the cluster takes no writes.`,
		Example: "  loom cluster status\n  loom cluster status --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(c *client.Client) error {
				s, err := c.Cluster(cmd.Context())
				if err != nil {
					return err
				}
				if err := a.print(s, func(w io.Writer) { clusterText(w, s) }); err != nil || s.Quorum {
					return err
				}
				return exitError{fault.Unavailable}
			})
		},
	}
}

func clusterText(w io.Writer, s *loomv1.ClusterStatus) {
	if s.Cluster == "" {
		fmt.Fprintf(w, "deployment %s: one host that is alone, %s\n", s.Deployment, s.By)
	} else {
		fmt.Fprintf(w, "deployment %s, cluster %s of %d hosts, %d replicas, as %s sees it\n", s.Deployment, s.Cluster, s.HostsWanted, s.Replicas, s.By)
	}
	if s.Quorum {
		fmt.Fprintln(w, "it takes writes")
	} else {
		fmt.Fprintf(w, "it takes NO writes: %s\n", printable(s.Missing))
	}
	fmt.Fprintln(w)
	for _, h := range s.Hosts {
		fmt.Fprintf(w, "  %-20s %-10s leads %-3d behind in %d\n", printable(h.Host), presence(h), h.Leads, h.Behind)
	}
	fmt.Fprintln(w)
	for _, t := range s.Streams {
		fmt.Fprintf(w, "  %-26s %9d  %s\n", printable(t.Name), t.Messages, streamText(t))
	}
}

func presence(h *loomv1.ClusterHost) string {
	if h.Connected {
		return "here"
	}
	return "GONE"
}

// streamText says who leads a stream and who follows.
func streamText(t *loomv1.ClusterStream) string {
	switch {
	case t.Problem != "":
		return "unknown: " + printable(t.Problem)
	case t.Leader == "":
		return "NO LEADER"
	}
	text := "led by " + printable(t.Leader)
	for _, r := range t.Replicas {
		text += ", " + printable(r.Host) + replicaText(r)
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

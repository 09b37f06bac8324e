package cluster

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/membership"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// members are the verbs that change which hosts belong to a deployment.
func (a *Commands) members() []*cobra.Command {
	return []*cobra.Command{a.clusterRemove(), a.clusterReplace(), a.clusterInvite(), a.clusterGrow(), a.clusterShrink(), a.clusterRepair()}
}

func (a *Commands) clusterRemove() *cobra.Command {
	q := &loomv1.MembersRequest{}
	cmd := &cobra.Command{
		Use: "remove HOST [flags]", Short: "take a host out of the deployment for good", Args: console.Takes("HOST"),
		Long: `Remove takes a host that does not run out of the deployment. Its certificate is
refused from then on, and what it kept is kept by the others. It never comes
back: a machine comes as a new host, with an empty data directory and a join
file. Removing it again changes nothing. It is refused while the host runs, and
while the others are no majority or lack something.`,
		Example: "  loom cluster remove h-4k2mzq3v5n7ptx6a --reason \"its disk is gone\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Remove = args[0]
			return a.changeMembers(cmd, q, "")
		},
	}
	because(cmd, q)
	return cmd
}

func (a *Commands) clusterReplace() *cobra.Command {
	q, out := &loomv1.MembersRequest{}, ""
	cmd := &cobra.Command{
		Use: "replace HOST --out FILE [flags]", Short: "take a lost host out, and make a join file for another", Args: console.Takes("HOST"),
		Long: `Replace is "loom cluster remove" and "loom cluster invite" at once, for a host
that is lost with its disk. Run it on the machine of a host that lives. Then
start the newcomer with the join file; "loom cluster status --wait whole" ends
when it has all streams.`,
		Example: "  loom cluster replace h-4k2mzq3v5n7ptx6a --out new.join\n  loom up --join new.join --cluster-listen d:6222   # on the new machine\n  loom cluster status --wait whole",
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Remove = args[0]
			return a.inviting(cmd, q, out)
		},
	}
	because(cmd, q)
	joinFile(cmd, &out)
	return cmd
}

func (a *Commands) clusterInvite() *cobra.Command {
	q, out := &loomv1.MembersRequest{}, ""
	cmd := &cobra.Command{
		Use: "invite --out FILE [flags]", Short: "make a join file for the places that are free", Args: console.Takes(),
		Long: `Invite makes a join file for hosts that come into the places which are free in
the deployment. Join files that were made before let nobody in any more; hosts
that have joined are not concerned. Run it on the machine of a host that lives.`,
		Example: "  loom cluster invite --out new.join",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.inviting(cmd, q, out) },
	}
	because(cmd, q)
	joinFile(cmd, &out)
	return cmd
}

func (a *Commands) clusterGrow() *cobra.Command {
	q, out := &loomv1.MembersRequest{}, ""
	cmd := &cobra.Command{
		Use: "grow --out FILE [flags]", Short: "have five hosts, and make a join file for the new ones", Args: console.Takes(),
		Long: `Grow has a deployment of three hosts want five, and makes the join file of the
two that come. Each stream is still kept by as many hosts as before. A host that
is alone becomes a cluster with "loom cluster init --from".`,
		Example: "  loom cluster grow --out more.join",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.Hosts = 5
			return a.inviting(cmd, q, out)
		},
	}
	because(cmd, q)
	joinFile(cmd, &out)
	return cmd
}

func (a *Commands) clusterShrink() *cobra.Command {
	q := &loomv1.MembersRequest{Hosts: 3}
	cmd := &cobra.Command{
		Use: "shrink [flags]", Short: "have three hosts, once two of five are removed", Args: console.Takes(),
		Long: `Shrink has a deployment of five hosts want three. Stop and remove two first, one
after the other, each when "loom cluster status --wait synced" has ended.`,
		Example: "  loom cluster remove h-4k2mzq3v5n7ptx6a\n  loom cluster status --wait synced\n  loom cluster remove h-7w6d2c5xk3v4qtza\n  loom cluster shrink",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.changeMembers(cmd, q, "") },
	}
	because(cmd, q)
	return cmd
}

func because(cmd *cobra.Command, q *loomv1.MembersRequest) {
	cmd.Flags().StringVar(&q.Reason, "reason", "", "`TEXT`: why, for the record")
}

func joinFile(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVar(out, "out", "", "the join `FILE` to write; it must not be there yet")
}

// inviting changes the deployment's hosts and writes the join file of those who
// come. What can be refused is before anything is changed.
func (a *Commands) inviting(cmd *cobra.Command, q *loomv1.MembersRequest, out string) error {
	if out == "" {
		return fault.New("usage/argument", "no file is named").At("--out").Want("for example --out new.join")
	}
	if err := datadir.FreeForJoin(out); err != nil {
		return err
	}
	return a.changeMembers(cmd, q, out)
}

func (a *Commands) changeMembers(cmd *cobra.Command, q *loomv1.MembersRequest, out string) error {
	var invitation datadir.Invitation
	if out != "" {
		var err error
		if invitation, err = datadir.NewInvitation(a.Data); err != nil {
			return err
		}
		q.Authority = invitation.Authority()
	}
	return a.With(cmd.Context(), func(c *client.Client) error {
		reply, err := c.Members(cmd.Context(), q)
		if err != nil {
			return err
		}
		if out != "" {
			if err := writeJoin(invitation, reply, out); err != nil {
				return err
			}
		}
		reply.List = nil
		return a.Print(reply, func(w io.Writer) { membersText(w, q, reply, out) })
	})
}

// writeJoin writes the join file of an invitation.
func writeJoin(i datadir.Invitation, r *loomv1.MembersReply, out string) error {
	list, err := membership.Decode(r.List)
	if err != nil {
		return err
	}
	join, err := i.Join(datadir.Join{
		Deployment: r.Deployment, Cluster: r.Cluster, Hosts: int(r.Hosts), Replicas: int(r.Replicas), Partitions: int(r.Partitions),
		Epoch: r.Epoch, CEO: r.Ceo, Routes: r.Routes, List: &list,
	})
	if err != nil {
		return err
	}
	return join.Write(out)
}

func membersText(w io.Writer, q *loomv1.MembersRequest, r *loomv1.MembersReply, out string) {
	if q.Remove != "" {
		fmt.Fprintf(w, "host %s is none of the deployment's any more\n", console.Printable(q.Remove))
	}
	fmt.Fprintf(w, "deployment %s, cluster %s: %d hosts wanted, %d to join, list %d\n", r.Deployment, r.Cluster, r.Hosts, r.Places, r.Generation)
	if out != "" {
		fmt.Fprintf(w, "on each new host: loom up --join %s --cluster-listen HOST:PORT\n", suggest.Arg(out))
		fmt.Fprintf(w, "whoever has %s can join while there is a place; earlier join files let nobody in\n", out)
	}
}

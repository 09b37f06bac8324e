package client

import (
	"context"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Cluster asks how the hosts that keep the deployment's streams are.
func (c *Client) Cluster(ctx context.Context) (*loomv1.ClusterStatus, error) {
	reply := &loomv1.ClusterReply{}
	err := c.call(ctx, "cluster", &loomv1.ClusterRequest{}, reply)
	return reply.Status, err
}

// ChangeMembers changes which hosts belong to the deployment, and returns what
// a newcomer must know of it.
func (c *Client) ChangeMembers(ctx context.Context, q *loomv1.MembersRequest) (*loomv1.MembersReply, error) {
	reply := &loomv1.MembersReply{}
	err := c.call(ctx, "members", q, reply)
	return reply, err
}

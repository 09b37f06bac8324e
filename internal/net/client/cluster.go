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

// KeepToolkit has the deployment keep a part of a package's tools, at most 192 KiB,
// so that a trust in them can name it. It is safe to repeat.
func (c *Client) KeepToolkit(ctx context.Context, part []byte) (*loomv1.BlobRef, error) {
	reply := &loomv1.ToolkitReply{}
	err := c.call(ctx, "toolkit", &loomv1.ToolkitPart{Data: part}, reply)
	return reply.Blob, err
}

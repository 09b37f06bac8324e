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

package client

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Update changes a bead, closes it or opens it again, and returns once that is
// durable.
func (c *Client) Update(ctx context.Context, q *loomv1.BeadRequest) (*loomv1.SubmitReply, error) {
	reply := &loomv1.SubmitReply{}
	return reply, c.call(ctx, "update", q, reply)
}

// List asks for a view as often as it takes to have as many as q's limit says:
// a host looks at a part of a large project at a time. The view's next is where
// to go on.
func (c *Client) List(ctx context.Context, view string, q *loomv1.Query) (*loomv1.View, error) {
	q = proto.CloneOf(q)
	all := &loomv1.View{}
	for left := cmp.Or(q.Limit, 100); ; {
		q.Limit = left - uint32(len(all.Beads)+len(all.Executions)+len(all.Approvals))
		page, err := c.Look(ctx, view, q)
		if err != nil {
			return nil, err
		}
		all.Beads = append(all.Beads, page.Beads...)
		all.Executions = append(all.Executions, page.Executions...)
		all.Approvals = append(all.Approvals, page.Approvals...)
		all.Next = page.Next
		if page.Next == "" || uint32(len(all.Beads)+len(all.Executions)+len(all.Approvals)) >= left {
			return all, nil
		}
		q.After = page.Next
	}
}

// Hosts asks which hosts the deployment has, and what is wanted of them.
func (c *Client) Hosts(ctx context.Context) (*loomv1.HostsReply, error) {
	reply := &loomv1.HostsReply{}
	return reply, c.call(ctx, "hosts", &loomv1.HostsRequest{}, reply)
}

// Scale changes how many agents of a role are wanted, or where; the same again
// changes nothing.
func (c *Client) Scale(ctx context.Context, q *loomv1.ScaleRole) (*loomv1.Staffing, error) {
	reply := &loomv1.StaffingReply{}
	err := c.call(ctx, "scale", q, reply)
	return reply.Staffing, err
}

// Retain has a host cut the beginnings of journals into archives, or say what it
// would cut, and returns when that is done. It is safe to repeat.
func (c *Client) Retain(ctx context.Context, q *loomv1.RetentionRequest) (*loomv1.RetentionReply, error) {
	ctx, cancel := context.WithTimeout(ctx, retainWithin)
	defer cancel()
	reply := &loomv1.RetentionReply{}
	return reply, c.call(ctx, "retention", q, reply)
}

// retainWithin is longer than a host takes for an answer, if only that it goes on.
const retainWithin = 100 * time.Second

// Drain has a host take no new work, or take some again; the same again
// changes nothing.
func (c *Client) Drain(ctx context.Context, q *loomv1.DrainHost) (*loomv1.Staffing, error) {
	reply := &loomv1.StaffingReply{}
	err := c.call(ctx, "drain", q, reply)
	return reply.Staffing, err
}

package client

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// List asks for a view with the method view of c as often as it takes to have as many as q's limit says:
// a host looks at a part of a large project at a time. The view's next is where
// to go on.
func (c *Client) List(ctx context.Context, view func(context.Context, *loomv1.Query) (*loomv1.View, error), q *loomv1.Query) (*loomv1.View, error) {
	q = proto.CloneOf(q)
	all := &loomv1.View{}
	for left := cmp.Or(q.Limit, 100); ; {
		q.Limit = left - uint32(len(all.Beads)+len(all.Executions)+len(all.Approvals))
		page, err := view(ctx, q)
		if err != nil {
			return nil, err
		}
		all.Beads = append(all.Beads, page.Beads...)
		all.Executions = append(all.Executions, page.Executions...)
		all.Approvals = append(all.Approvals, page.Approvals...)
		all.Quarantined = append(all.Quarantined, page.Quarantined...)
		all.Next = page.Next
		if page.Next == "" || uint32(len(all.Beads)+len(all.Executions)+len(all.Approvals)) >= left {
			return all, nil
		}
		q.After = page.Next
	}
}

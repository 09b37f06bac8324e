package console

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	// completeWithin is how long somebody who pressed a key waits.
	completeWithin = 2 * time.Second
	// completions is how many ids are offered at most: the newest.
	completions = 100
)

// Offered asks the host. One that does not answer offers nothing: a message
// would stand in the middle of what is typed.
func (a *Console) Offered(cmd *cobra.Command, ask func(ctx context.Context, c *client.Client, q *loomv1.Query) []string) (list []string) {
	if a.Configure(cmd) != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	q := &loomv1.Query{Limit: completions}
	if f := cmd.Flags().Lookup("project"); f != nil && f.Value.Type() == "string" {
		q.Project = f.Value.String()
	}
	a.Quiet = true
	_ = a.With(ctx, func(c *client.Client) error {
		list = ask(ctx, c, q)
		return nil
	})
	return list
}

package main

import (
	"context"

	"github.com/loomrun/loom/internal/client"
)

// with calls f with a connection to the host of the data directory, as its
// operator.
func (a *app) with(_ context.Context, f func(c *client.Client) error) error {
	c, err := client.Dial(a.data)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

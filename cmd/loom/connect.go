package main

import (
	"context"

	"github.com/loomrun/loom/internal/net/client"
)

// target is the host to talk to, and as whom: as the operator of the data
// directory, or as who the credentials are of.
func (a *app) target() client.Place {
	return client.Place{Data: a.data, Credentials: a.creds, URL: a.url}
}

// with calls f with a connection to the host.
func (a *app) with(_ context.Context, f func(c *client.Client) error) error {
	c, err := client.Open(a.target())
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

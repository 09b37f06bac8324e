package console

import (
	"context"

	"github.com/loomrun/loom/internal/net/client"
)

// Target is the host to talk to, and as whom: as the operator of the data
// directory, or as who the credentials are of.
func (a *Console) Target() client.Place {
	return client.Place{Data: a.Data, Credentials: a.Creds, URL: a.URL}
}

// With calls f with a connection to the host.
func (a *Console) With(_ context.Context, f func(c *client.Client) error) error {
	c, err := client.Open(a.Target())
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

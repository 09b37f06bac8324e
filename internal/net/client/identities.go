package client

import (
	"context"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/identity"
)

// Identities returns the identities of the cluster whose host runs on a data
// directory, and what ends the connection to it.
func Identities(data string) (identity.Store, func(), error) { return broker.DialIdentities(data) }

// Address returns where the host of a data directory listens, or "".
func Address(data string) string {
	running, err := broker.Find(data)
	if err != nil {
		return ""
	}
	return running.URL
}

// Await returns when the host of a data directory lets credentials in, or ctx
// ends. A host takes note of a new identity within two seconds.
func Await(ctx context.Context, data string, c identity.Credentials) error {
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		nc, err := broker.DialAs(c, Address(data), false)
		if err == nil {
			nc.Close()
			return nil
		}
		if fault.Code(err) != "request/denied" {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return err
		}
	}
}

// Inbox returns the prefix of the inboxes of an identity, which its clients
// must use: other inboxes it cannot read.
func Inbox(u identity.User) string { return broker.Inbox(string(u.Kind), u.Name) }

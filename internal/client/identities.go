package client

import (
	"github.com/loomrun/loom/internal/broker"
	"github.com/loomrun/loom/internal/identity"
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

// Inbox returns the prefix of the inboxes of an identity, which its clients
// must use: other inboxes it cannot read.
func Inbox(u identity.User) string { return broker.Inbox(string(u.Kind), u.Name) }

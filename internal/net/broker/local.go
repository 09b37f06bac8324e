package broker

import (
	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/internal/base/fault"
)

// Anonymous reports whether a client without credentials may connect.
func (b *Broker) Anonymous() bool { return b.config.anonymous() }

// Local connects a client of this process as the named user, with that user's
// rights and no more: "anonymous", "operator" or "ceo". It needs no listener.
// It returns request/denied when the broker has no such user.
func (b *Broker) Local(name string) (*nats.Conn, error) {
	for _, u := range b.users {
		if string(u.kind) != name || u.kind == host {
			continue
		}
		return b.reach(u, nats.Name("loom "+name))
	}
	return nil, fault.New("request/denied", "this broker has no user %q", name)
}

package broker

import "github.com/nats-io/nats-server/v2/server"

// Traffic is what one connection has said and heard so far.
type Traffic struct {
	Account, Connection        string // names
	In, Out, InBytes, OutBytes int64  // messages and bytes, from and to the connection
}

// Traffic lists the connections that are open at the host's own server, or nil
// where the servers are somebody else's.
func (b *Broker) Traffic() ([]Traffic, error) {
	if b.server == nil {
		return nil, nil
	}
	open, err := b.server.Connz(&server.ConnzOptions{Username: true, Limit: b.server.NumClients() + 64})
	if err != nil {
		return nil, err
	}
	list := make([]Traffic, len(open.Conns))
	for i, c := range open.Conns {
		list[i] = Traffic{c.Account, c.Name, c.InMsgs, c.OutMsgs, c.InBytes, c.OutBytes}
	}
	return list, nil
}

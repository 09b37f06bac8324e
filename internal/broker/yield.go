package broker

import (
	"context"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	yieldSubject = "$JS.API.META.LEADER.STEPDOWN"
	// yieldWithin bounds the request that the lead over all streams is given up.
	yieldWithin = time.Second
)

// Yield has this host's server give up whatever it leads, in favour of another
// that follows it: streams, their consumers, and the configuration of all. Who
// is elected may be this host again; so it is called again while another should
// lead. It never loses anything, and costs writes a moment. It does nothing on a
// host that is alone, or on servers that somebody else runs.
func (b *Broker) Yield(ctx context.Context) {
	if !b.Clustered() || b.server == nil {
		return
	}
	info, err := b.server.Jsz(&server.JSzOptions{Accounts: true, Streams: true, Consumer: true})
	if err != nil {
		return // it is being stopped
	}
	for _, account := range info.AccountDetails {
		for _, s := range account.Streams {
			b.yieldStream(account.Name, s)
		}
	}
	if b.server.JetStreamIsLeader() {
		ctx, cancel := context.WithTimeout(ctx, yieldWithin)
		defer cancel()
		_, _ = b.conns[system].RequestWithContext(ctx, yieldSubject, nil) // again in a moment
	}
}

// yieldStream gives up the lead of a stream and of its consumers.
func (b *Broker) yieldStream(account string, s server.StreamDetail) {
	for _, c := range s.Consumer {
		if b.leads(c.Cluster) {
			_ = b.server.JetStreamStepdownConsumer(account, s.Name, c.Name) // it may be gone
		}
	}
	if b.leads(s.Cluster) {
		_ = b.server.JetStreamStepdownStream(account, s.Name)
	}
}

// leads says whether this host leads others.
func (b *Broker) leads(c *server.ClusterInfo) bool {
	return c != nil && c.Leader == b.server.Name() && len(c.Replicas) > 0
}

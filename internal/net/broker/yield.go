package broker

import (
	"context"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	yieldSubject = "$JS.API.META.LEADER.STEPDOWN"
	// yieldWithin bounds the request that the lead over all streams is given up.
	yieldWithin = time.Second
)

// Yield has this host's server give up what it leads and one of to can lead:
// streams, their consumers, and the configuration of all. What none of them keeps,
// or has all of, it goes on to lead: somebody has to. Who is elected may be this
// host again, or a third; so all who should lead nothing call it again as long as
// that is so. It never loses anything, and costs writes a moment. It does nothing
// on a host that is alone, or on servers that somebody else runs.
func (b *Broker) Yield(ctx context.Context, to []string) {
	if !b.Clustered() || b.server == nil {
		return
	}
	info, err := b.server.Jsz(&server.JSzOptions{Accounts: true, Streams: true, Consumer: true})
	if err != nil {
		return // it is being stopped
	}
	for _, account := range info.AccountDetails {
		for _, s := range account.Streams {
			b.yieldStream(account.Name, s, to)
		}
	}
	if b.server.JetStreamIsLeader() {
		ctx, cancel := context.WithTimeout(ctx, yieldWithin)
		defer cancel()
		_, _ = b.conns[system].RequestWithContext(ctx, yieldSubject, nil) // again in a moment
	}
}

// yieldStream gives up the lead of a stream and of its consumers.
func (b *Broker) yieldStream(account string, s server.StreamDetail, to []string) {
	for _, c := range s.Consumer {
		if yields(c.Cluster, b.server.Name(), to) {
			_ = b.server.JetStreamStepdownConsumer(account, s.Name, c.Name) // it may be gone
		}
	}
	if yields(s.Cluster, b.server.Name(), to) {
		_ = b.server.JetStreamStepdownStream(account, s.Name)
	}
}

// yields says whether self leads what one of to could lead at once: it keeps it,
// and lags behind in nothing.
func yields(c *server.ClusterInfo, self string, to []string) bool {
	return c != nil && c.Leader == self && slices.ContainsFunc(c.Replicas, func(p *server.PeerInfo) bool {
		return p.Current && !p.Offline && slices.Contains(to, p.Name)
	})
}

package broker

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	// seenPrefix and a host's name are where the deployment keeps what that host
	// said of itself last.
	seenPrefix = "seen."
	// signEvery is how often a host says it again.
	signEvery = time.Minute
)

// Sign has the host say in the deployment what it is, now and every minute, so
// that it is known of after it is gone. It is called once, and does nothing on a
// host that is alone.
func (b *Broker) Sign(ctx context.Context, about func() *loomv1.HostPresence) {
	if !b.Clustered() {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.unsign = cancel
	b.running.Go(func() {
		again := time.NewTicker(signEvery)
		defer again.Stop()
		for {
			b.signNow(ctx, about())
			select {
			case <-again.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

func (b *Broker) signNow(ctx context.Context, p *loomv1.HostPresence) {
	p.LastSeen = timestamppb.Now()
	data, err := proto.Marshal(p)
	if err != nil {
		b.log.Error("this host cannot say what it is", "error", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if _, err := b.deployment.Put(ctx, seenPrefix+p.Host, data); err != nil && ctx.Err() == nil {
		b.log.Warn("this host cannot say that it lives", "error", err)
	}
}

// Register returns what each host of the deployment's list said of itself last,
// with since when it belongs to it; a host that never said anything is there
// with its name alone, and what cannot be read just now is left out. It returns
// nil on a host that is alone.
func (b *Broker) Register(ctx context.Context) (list []*loomv1.HostPresence) {
	if b.trust == nil {
		return nil
	}
	for _, m := range b.Members().Members {
		p := &loomv1.HostPresence{}
		if entry, err := b.deployment.Get(ctx, seenPrefix+m.Host); err == nil && proto.Unmarshal(entry.Value(), p) != nil {
			p = &loomv1.HostPresence{}
		}
		p.Host, p.Address, p.Since, p.Alive = m.Host, m.Address, timestamppb.New(m.Since), false
		list = append(list, p)
	}
	return list
}

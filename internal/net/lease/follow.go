package lease

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
)

// follow takes in all leases, and keeps doing so until Close.
func (b *Bucket) follow(ctx context.Context) error {
	conn := b.store.js.Conn()
	sub, err := b.store.listen(b.heard)
	if err != nil {
		return err
	}
	b.sub = sub
	back := conn.StatusChanged(nats.CONNECTED)
	for err = b.lookAll(ctx); err != nil; err = b.lookAll(ctx) {
		if !pause(ctx, b.config.Renew) {
			conn.RemoveStatusListener(back)
			_ = sub.Unsubscribe() // the first error tells more
			return err
		}
	}
	b.running.Go(func() {
		defer conn.RemoveStatusListener(back)
		b.look(back)
	})
	return nil
}

// heard takes in a record that was just stored.
func (b *Bucket) heard(key string, r record) {
	b.fold.see(key, r)
	select { // it may be the first to lapse
	case b.lapses <- struct{}{}:
	default:
	}
}

// look looks at what has lapsed when it has, and at everything after each
// reconnect and each TTL: messages of a partition are lost without a word.
func (b *Bucket) look(back <-chan nats.Status) {
	all := time.NewTicker(b.config.TTL)
	defer all.Stop()
	lapse := time.NewTimer(0)
	defer lapse.Stop()
	away, everything := false, false
	for {
		select {
		case <-b.over.Done():
			return
		case _, open := <-back:
			if everything = true; !open {
				back = nil // the connection is closed for good
			}
		case <-all.C:
			everything = true
		case <-b.lapses:
		case <-lapse.C:
		}
		keys, next := b.fold.lapsing(b.config.TTL)
		if everything || len(keys) > 0 {
			err := b.lookAt(everything, keys, away)
			away = err != nil
			everything = everything && away
			if _, next = b.fold.lapsing(b.config.TTL); away {
				next = b.config.Renew
				b.log.Warn("the leases cannot be looked at", "reason", err)
				pause(b.over, next)
			}
		}
		lapse.Reset(next)
	}
}

// lookAt asks the bucket about keys, or everything. After it was away, its
// holders get grace first.
func (b *Bucket) lookAt(everything bool, keys []string, away bool) error {
	if away {
		if _, err := b.store.keys(b.over); err != nil {
			return err
		}
		b.fold.doubt(b.config.grace())
	}
	if everything {
		return b.lookAll(b.over)
	}
	for _, key := range keys {
		if _, err := b.lookKey(b.over, key); err != nil {
			return err
		}
	}
	return nil
}

// lookAll asks about what the bucket has, and what it is believed to have: one
// that was made anew lacks that.
func (b *Bucket) lookAll(ctx context.Context) error {
	keys, err := b.store.keys(ctx)
	if err != nil {
		return err
	}
	for _, key := range b.fold.with(keys) {
		if _, err := b.lookKey(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// lookKey asks the bucket's leader for the newest record of key, takes it in
// and returns it.
func (b *Bucket) lookKey(ctx context.Context, key string) (record, error) {
	asked := b.now()
	r, err := b.store.read(ctx, key)
	if err == nil {
		b.fold.confirm(key, asked, r)
	}
	return r, err
}

package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/identity"
)

const (
	// identityBucket is where hosts that are several keep who may connect. Only
	// hosts and the registrar can write in their account.
	identityBucket = "LOOM_IDENTITIES"
	identityKey    = "identities"
	// lookEvery is how often a host looks whether they have changed.
	lookEvery = time.Second
	// changeWithin bounds a change.
	changeWithin = 30 * time.Second
)

// registrar changes identities, for the command line on a host of a cluster.
// Its key is in the data directory, as the operator's is.
const registrar kind = "registrar"

// identities returns the row of the table of streams.
func (c Config) identities() stream {
	return stream{core, true, bucketOf(identityBucket, c.replicas())}
}

// registering returns what the registrar may do: read and write that bucket.
func registering(user) rights {
	s := "KV_" + identityBucket
	return rights{account: core, publish: []string{
		"$KV." + identityBucket + "." + identityKey, "$JS.API.STREAM.INFO." + s, "$JS.API.STREAM.MSG.GET." + s,
	}}
}

// shared is an identity.Store in the deployment's bucket.
type shared struct{ js jetstream.JetStream }

// Identities returns where the deployment's identities are kept.
func (b *Broker) Identities() identity.Store {
	switch {
	case b.config.Identities != nil:
		return b.config.Identities
	case b.Clustered():
		return shared{b.js[core]}
	}
	return identity.NewFile(b.config.Dir.Path())
}

// DialIdentities returns the store of the deployment whose host runs on a data
// directory of a cluster, and what ends the connection to it.
func DialIdentities(dir string) (identity.Store, func(), error) {
	nc, err := dial(dir, user{kind: registrar, name: string(registrar), inbox: "_INBOX_registrar"})
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("broker: %w", err)
	}
	return shared{js}, nc.Close, nil
}

// List implements identity.Store.
func (s shared) List(ctx context.Context) ([]identity.User, error) {
	all, _, err := s.read(ctx)
	return all, err
}

// read returns the list and its revision, 0 when there is none yet.
func (s shared) read(ctx context.Context) ([]identity.User, uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	kv, err := s.js.KeyValue(ctx, identityBucket)
	if err != nil {
		return nil, 0, unanswered(err)
	}
	entry, err := kv.Get(ctx, identityKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, unanswered(err)
	}
	var all []identity.User
	if err := json.Unmarshal(entry.Value(), &all); err != nil {
		return nil, 0, fault.New("identity/file", "the identities cannot be read").At(identityBucket).Because(err)
	}
	return all, entry.Revision(), identity.Check(all)
}

func unanswered(err error) error {
	return fault.New("host/unavailable", "the identities do not answer").At(identityBucket).Because(err)
}

// Change implements identity.Store.
func (s shared) Change(ctx context.Context, f func([]identity.User) ([]identity.User, error)) error {
	ctx, cancel := context.WithTimeout(ctx, changeWithin)
	defer cancel()
	for {
		err := s.change(ctx, f)
		if !errors.Is(err, errFaster) {
			return err
		}
		select {
		case <-time.After(5*time.Millisecond + rand.N(50*time.Millisecond)): // somebody's write is not settled yet
		case <-ctx.Done():
			return fault.New("host/unavailable", "the identities are being changed by others; try again").At(identityBucket)
		}
	}
}

func (s shared) change(ctx context.Context, f func([]identity.User) ([]identity.User, error)) error {
	all, revision, err := s.read(ctx)
	if err != nil {
		return err
	}
	if all, err = f(all); err != nil {
		return err
	}
	data, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("broker: identities: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	kv, err := s.js.KeyValue(ctx, identityBucket)
	if err == nil {
		_, err = kv.Update(ctx, identityKey, data, revision) // revision 0: only if there is none
	}
	if err = faster(err); err != nil && !errors.Is(err, errFaster) {
		return unanswered(err)
	}
	return err
}

// Watch implements identity.Store. A deployment that does not answer is not one
// that cannot be trusted: what was known stays until it is heard again.
func (s shared) Watch(ctx context.Context, f func([]identity.User, error)) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var seen uint64
	for {
		all, revision, err := s.read(ctx)
		if ctx.Err() == nil && (err == nil && (revision != seen || seen == 0) || fault.Code(err) == "identity/file") {
			f(all, err)
			seen = revision
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

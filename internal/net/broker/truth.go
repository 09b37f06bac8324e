package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/transient"
)

// A deployment of several hosts keeps its list of truth streams in itself,
// beside the one in each manifest: a host that joins later knows from it what
// must be there. Its keys are truthPrefix and the stream's name.
const (
	truthPrefix = "truth."
	intended    = "intended" // about to be created
	created     = "created"  // there, and from now on it must be
)

// ensureTogether makes, with the other hosts, what is missing for good reason,
// and refuses the rest. A stream is intended in the deployment's list before
// any host creates it, and created there before any host writes to it.
func (b *Broker) ensureTogether(ctx context.Context) error {
	all := b.config.streams()
	errs := make([]error, len(all))
	var group errgroup.Group
	group.SetLimit(8)
	for i, s := range all {
		group.Go(func() error {
			errs[i] = b.ensureListed(ctx, s)
			return nil
		})
	}
	_ = group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var names []string
	for _, s := range all {
		if s.truth {
			names = append(names, s.config.Name)
		}
	}
	return b.config.Dir.Created(names...)
}

// ensureListed checks or makes one stream and its entry in the list.
func (b *Broker) ensureListed(ctx context.Context, s stream) error {
	if !s.truth {
		return b.ensureStream(ctx, s, false)
	}
	known := slices.Contains(b.config.Dir.Manifest().Truth, s.config.Name)
	if !known {
		var err error
		if known, err = b.listed(ctx, s); err != nil {
			return err
		}
	}
	if err := b.ensureStream(ctx, s, known); err != nil {
		return err
	}
	return b.patiently(ctx, "stream "+s.config.Name+" cannot be listed", func(ctx context.Context) error {
		entry, err := b.deployment.Get(ctx, truthPrefix+s.config.Name)
		if err == nil && string(entry.Value()) == created {
			return nil
		}
		_, err = b.deployment.PutString(ctx, truthPrefix+s.config.Name, created)
		return err
	})
}

// listed says whether the list has a truth stream as created, and has it as
// intended otherwise. It returns data/manifest when the stream is there and
// nobody intended it.
func (b *Broker) listed(ctx context.Context, s stream) (known bool, err error) {
	what := "the list of streams cannot be read"
	err = b.patiently(ctx, what, func(ctx context.Context) error {
		there, err := b.exists(ctx, s)
		if err != nil {
			return err
		}
		entry, err := b.deployment.Get(ctx, truthPrefix+s.config.Name)
		switch {
		case err == nil:
			known = string(entry.Value()) == created
			return nil
		case !errors.Is(err, jetstream.ErrKeyNotFound):
			return err
		case there: // it was there before the list was read, and is not in it
			return b.foreign(s)
		}
		if _, err = b.deployment.Create(ctx, truthPrefix+s.config.Name, []byte(intended)); errors.Is(err, jetstream.ErrKeyExists) {
			return errFaster
		}
		return err
	})
	return known, err
}

func (b *Broker) exists(ctx context.Context, s stream) (bool, error) {
	_, err := b.js[s.account].Stream(ctx, s.config.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return false, nil
	}
	return err == nil, err
}

// foreign is the refusal of a stream that nobody here has made.
func (b *Broker) foreign(s stream) error {
	return fault.New("data/manifest", "stream %s exists and the manifest does not know it: it is not this directory's", s.config.Name).
		At(b.config.Dir.Path()).Want("put the right manifest back")
}

// find returns a stream's configuration. The error is ErrStreamNotFound when
// it is missing; in a cluster, one that must be there is looked for a while.
func (b *Broker) find(ctx context.Context, s stream, must bool) (have jetstream.StreamConfig, err error) {
	began := time.Now()
	var missing error
	err = b.patiently(ctx, "stream "+s.config.Name+" has no leader", func(ctx context.Context) error {
		found, err := b.js[s.account].Stream(ctx, s.config.Name)
		switch {
		case err == nil:
			missing, have = nil, found.CachedInfo().Config
			return nil
		case !errors.Is(err, jetstream.ErrStreamNotFound):
			return err
		}
		missing = err
		if b.Clustered() && must && time.Since(began) < transient.Missing {
			return errSought
		}
		return nil
	})
	return have, errors.Join(err, missing)
}

// errSought says that a stream is not found yet.
var errSought = fmt.Errorf("it is not found yet: %w", transient.ErrAgain)

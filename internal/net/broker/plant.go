package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/transient"
	"github.com/loomrun/loom/internal/net/identity"
	"github.com/loomrun/loom/internal/store/datadir"
)

// planterKey is where the host stands that puts in what the deployment begins
// with.
const planterKey = "planter"

// plant has the backup that the deployment begins with put into its streams,
// once: by the first host that has it, which goes on after a crash; the others
// wait. Nobody serves before that.
func (b *Broker) plant(ctx context.Context) error {
	seed := b.config.Dir.Manifest().Seed
	if !b.Clustered() || seed == "" {
		return nil
	}
	ours := false
	err := b.patiently(ctx, "the host that has the backup has to put it in (loom up --seed FILE)", func(ctx context.Context) (err error) {
		ours, err = b.planting(ctx, seed)
		return err
	})
	if err != nil || !ours {
		return err
	}
	if err := b.config.Plant(ctx, b); err != nil {
		return err
	}
	return b.patiently(ctx, "that the backup is in cannot be noted", func(ctx context.Context) error {
		return b.amend(ctx, func(r *record) { r.Seeded = seed })
	})
}

// planting says whether this host is the one to put the backup in. It is an
// error that passes while another is.
func (b *Broker) planting(ctx context.Context, seed string) (bool, error) {
	r, err := b.record(ctx)
	switch {
	case err != nil:
		return false, err
	case r.Seeded == seed:
		return false, nil
	case r.Seeded != "":
		return false, fault.New("cluster/deployment", "the deployment began with another backup").At(b.config.Dir.Path())
	case b.config.Plant == nil:
		return false, fmt.Errorf("it is not in: %w", transient.ErrAgain)
	}
	me := b.config.Dir.Manifest().Host
	if _, err := b.deployment.Create(ctx, planterKey, []byte(me)); err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return false, err
	}
	entry, err := b.deployment.Get(ctx, planterKey)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return false, errFaster
	case err != nil:
		return false, err
	case string(entry.Value()) != me:
		return false, fmt.Errorf("host %s puts it in: %w", entry.Value(), transient.ErrAgain)
	}
	return true, nil
}

// AdoptIdentities gives the deployment the identities in the file of the data
// directory, as a host that is alone keeps them, if it has none yet.
func (b *Broker) AdoptIdentities(ctx context.Context) error {
	list, err := identity.NewFile(b.config.Dir.Path()).List(ctx)
	if err != nil || len(list) == 0 || !b.Clustered() {
		return err
	}
	return b.Identities().Change(ctx, func(all []identity.User) ([]identity.User, error) {
		if len(all) > 0 {
			return all, nil
		}
		return list, nil
	})
}

// Dir returns the data directory that the broker runs on.
func (b *Broker) Dir() *datadir.Dir { return b.config.Dir }

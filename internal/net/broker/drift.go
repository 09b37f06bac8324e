package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/natsjournal"
)

// ensureStreams makes what is missing for good reason, and refuses the rest.
// What is about to be created is in the manifest before it is, and what was
// created is in it before anything is written to it; so a crash in between is
// told from damage, and a manifest from one that belongs elsewhere.
func (b *Broker) ensureStreams(ctx context.Context) error {
	if b.Clustered() {
		return b.ensureTogether(ctx)
	}
	dir, all := b.config.Dir, b.config.streams()
	before := dir.Manifest()
	created := func(name string) bool { return slices.Contains(before.Truth, name) }
	var missing, unknown []string
	for _, s := range all {
		if !s.truth || created(s.config.Name) {
			continue
		}
		missing = append(missing, s.config.Name)
		if slices.Contains(before.Intended, s.config.Name) {
			continue
		}
		if err := b.refuseFound(ctx, s); err != nil {
			return err
		}
		unknown = append(unknown, s.config.Name)
	}
	if len(unknown) > 0 {
		if err := dir.Intend(unknown...); err != nil {
			return err
		}
	}
	if err := b.ensure(ctx, all, created); err != nil || len(missing) == 0 {
		return err
	}
	return dir.Created(missing...)
}

// refuseFound returns data/manifest if a stream exists that the manifest never
// spoke of.
func (b *Broker) refuseFound(ctx context.Context, s stream) error {
	var there bool
	err := b.slowly(ctx, "stream "+s.config.Name+" is sought", func(ctx context.Context) (err error) {
		there, err = b.exists(ctx, s)
		return err
	})
	if err != nil {
		return fault.New("host/unavailable", "stream %s does not answer", s.config.Name).Because(err)
	}
	if there {
		return b.foreign(s)
	}
	return nil
}

// ensure checks or makes all streams at once.
func (b *Broker) ensure(ctx context.Context, all []stream, created func(string) bool) error {
	errs := make([]error, len(all))
	var group errgroup.Group
	group.SetLimit(8)
	for i, s := range all {
		group.Go(func() error {
			errs[i] = b.ensureStream(ctx, s, created(s.config.Name))
			return nil
		})
	}
	_ = group.Wait()
	return errors.Join(errs...)
}

// ensureStream checks a stream, or makes it. One that was created before and
// holds truth is damage when it is missing.
func (b *Broker) ensureStream(ctx context.Context, s stream, created bool) error {
	have, err := b.find(ctx, s, s.truth && created)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound) && s.truth && created:
		return fault.New("data/stream-missing", "stream %s is missing, and nothing else holds what was in it", s.config.Name).
			At(b.config.Dir.Path()).Want("restore the directory from a backup")
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return b.create(ctx, s)
	case fault.Code(err) != "":
		return err
	case err != nil:
		return fault.New("host/unavailable", "stream %s does not answer", s.config.Name).Because(err)
	}
	return b.compare(ctx, s, have)
}

// create makes a stream. In a cluster all hosts may do so at once, and it waits
// until there are as many hosts as the stream has replicas.
func (b *Broker) create(ctx context.Context, s stream) error {
	what := fmt.Sprintf("stream %s is made when %d hosts are here", s.config.Name, s.config.Replicas)
	err := b.patiently(ctx, what, func(ctx context.Context) error {
		_, err := b.js[s.account].CreateStream(ctx, s.config)
		return err
	})
	if err != nil && fault.Code(err) == "" {
		return fault.New("host/unavailable", "stream %s cannot be created", s.config.Name).Because(err)
	}
	return err
}

// RenewJournal makes the stream of a partition's journal anew, in which nothing was ever
// written. It is safe to repeat after a crash at any moment.
func (b *Broker) RenewJournal(ctx context.Context, partition int) error {
	s := b.config.row(natsjournal.Stream(partition))
	if err := b.config.Dir.Renewing(s.config.Name); err != nil {
		return err
	}
	err := b.js[s.account].DeleteStream(ctx, s.config.Name)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fault.New("host/unavailable", "stream %s cannot be made anew", s.config.Name).Because(err)
	}
	if err := b.create(ctx, s); err != nil {
		return err
	}
	return b.config.Dir.Created(s.config.Name)
}

// compare makes a derived stream anew when it differs from the table, and
// refuses a truth stream that does. How much a stream may hold is a matter of
// configuration, and adjusted.
func (b *Broker) compare(ctx context.Context, s stream, have jetstream.StreamConfig) error {
	if strings.HasPrefix(s.config.Name, natsjournal.StreamPrefix) && have.DenyPurge {
		s.config.DenyPurge = true // of an earlier release: a server never takes that back
	}
	if strings.HasPrefix(s.config.Name, natsjournal.StreamPrefix) && !b.Clustered() {
		s.config.Compression = have.Compression // it is chosen when the journal is made
	}
	fields := differences(s.config, have)
	switch {
	case len(fields) == 0:
		return nil
	case !slices.ContainsFunc(fields, func(f string) bool { return !adjustable[f] }):
		b.log.Info("stream limits change", "stream", s.config.Name, "fields", fields)
		if _, err := b.js[s.account].UpdateStream(ctx, s.config); err != nil {
			return fault.New("data/stream-drift", "stream %s cannot take its new limits", s.config.Name).Because(err)
		}
		return nil
	case s.truth:
		return fault.New("data/stream-drift", "stream %s was changed by somebody else: %s", s.config.Name, strings.Join(fields, ", ")).
			At(b.config.Dir.Path()).Want("set %s back", fields[0])
	}
	b.log.Warn("derived stream is made anew", "stream", s.config.Name, "fields", fields)
	if err := b.js[s.account].DeleteStream(ctx, s.config.Name); err != nil {
		return fmt.Errorf("broker: stream %s: %w", s.config.Name, err)
	}
	return b.create(ctx, s)
}

var adjustable = map[string]bool{"max_bytes": true, "max_age": true, "compression": true}

// differences returns the fields of a stream's configuration that differ,
// sorted, by their names on the wire.
func differences(want, have jetstream.StreamConfig) []string {
	w, h := fields(want), fields(have)
	all := maps.Clone(w)
	maps.Copy(all, h)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(f string) bool {
		return reflect.DeepEqual(w[f], h[f])
	})
}

// fields returns a configuration as JSON values, without what the server
// itself notes and without absent values.
func fields(c jetstream.StreamConfig) map[string]any {
	c.Metadata = nil
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // a configuration is plain data
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		panic(err)
	}
	return m
}

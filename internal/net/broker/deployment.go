package broker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/transient"
)

const (
	// deploymentBucket is where the hosts of a deployment keep what they must
	// agree on.
	deploymentBucket = "LOOM_DEPLOYMENT"
	recordKey        = "deployment"
)

// record is what a deployment of several hosts is, in its own words.
type record struct {
	Format     int    `json:"format"`
	Deployment string `json:"deployment"`
	// Lineage is made by whoever writes the record: a deployment that was made
	// anew under the same name has another.
	Lineage    string `json:"lineage"`
	Partitions int    `json:"partitions"`
	Replicas   int    `json:"replicas"`
	Epoch      uint64 `json:"epoch"`
	CEO        string `json:"ceo,omitempty"`
	// Seeded names the backup that was put in at the beginning.
	Seeded string `json:"seeded,omitempty"`
}

// bucketOf returns the stream that a key-value bucket of the client library
// keeps. What is read from it decides, so its leader is asked.
func bucketOf(bucket string, replicas int) jetstream.StreamConfig {
	c := base("KV_"+bucket, "$KV."+bucket+".>")
	c.Storage, c.MaxMsgsPerSubject, c.MaxBytes = jetstream.FileStorage, 1, 16<<20
	c.AllowRollup, c.DenyDelete, c.Replicas = true, true, replicas
	return c
}

// deployment returns the bucket's row in the table of streams.
func (c Config) deployment() stream {
	return stream{core, true, bucketOf(deploymentBucket, c.replicas())}
}

// agree joins the hosts that are there already, or begins the deployment: the
// manifest and the deployment's own record say the same afterwards.
func (b *Broker) agree(ctx context.Context) error {
	if !b.Clustered() {
		return nil
	}
	bucket := b.config.deployment()
	m := b.config.Dir.Manifest()
	known := slices.Contains(m.Truth, bucket.config.Name) || m.Lineage != ""
	if err := b.ensureStream(ctx, bucket, known); err != nil {
		return err
	}
	return b.patiently(ctx, "what the hosts agreed on cannot be read", func(ctx context.Context) error {
		kv, err := b.js[core].KeyValue(ctx, deploymentBucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			return fmt.Errorf("%w: %w", err, transient.ErrAgain) // it was there a moment ago
		}
		if err != nil {
			return err
		}
		b.deployment = kv
		theirs, err := b.record(ctx)
		if err != nil {
			return err
		}
		if err := b.take(theirs); err != nil {
			return err
		}
		return b.config.Dir.Created(bucket.config.Name)
	})
}

// record returns the deployment's record. Whoever is first writes it.
func (b *Broker) record(ctx context.Context) (record, error) {
	m := b.config.Dir.Manifest()
	entry, err := b.deployment.Get(ctx, recordKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		if m.Lineage != "" {
			return record{}, fault.New("data/stream-missing", "the record of deployment %s is missing, and it was there", m.Deployment).
				At("KV_" + deploymentBucket).Want("restore the deployment from a backup")
		}
		ours := record{
			Format: 1, Deployment: m.Deployment, Lineage: rand.Text(), Partitions: m.Partitions,
			Replicas: b.Replicas(), Epoch: m.Epoch, CEO: m.CEO,
		}
		return b.write(ctx, ours)
	}
	if err != nil {
		return record{}, err
	}
	return decodeRecord(entry.Value())
}

// write makes the record, unless another host has just done so: then that is
// returned.
func (b *Broker) write(ctx context.Context, ours record) (record, error) {
	data, err := json.Marshal(ours)
	if err != nil {
		return record{}, fmt.Errorf("broker: record: %w", err)
	}
	_, err = b.deployment.Create(ctx, recordKey, data)
	if err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return record{}, err
	}
	entry, err := b.deployment.Get(ctx, recordKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) { // it was refused for another host's, which is on its way
		return record{}, errFaster
	}
	if err != nil {
		return record{}, err
	}
	return decodeRecord(entry.Value())
}

func decodeRecord(data []byte) (record, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil || r.Format != 1 {
		return r, fault.New("data/manifest", "the deployment's record is of format %d and cannot be read", r.Format).
			At("KV_" + deploymentBucket).Because(err)
	}
	return r, nil
}

// take compares the deployment's record with the manifest, and records in this
// what the host did not know.
func (b *Broker) take(r record) error {
	m := b.config.Dir.Manifest()
	switch {
	case r.Deployment != m.Deployment:
		return fault.New("cluster/deployment", "the other hosts are of deployment %s and this data directory is of %s", r.Deployment, m.Deployment).
			At(b.config.Dir.Path())
	case m.Lineage != "" && r.Lineage != m.Lineage:
		return fault.New("data/manifest", "deployment %s was made anew: this data directory knows another beginning of it", m.Deployment).
			At(b.config.Dir.Path()).Want("restore the deployment from a backup, or join it with an empty directory")
	case r.Partitions != m.Partitions || r.Replicas != b.Replicas():
		return fault.New("data/manifest", "the deployment has %d partitions and %d replicas, the manifest says %d and %d",
			r.Partitions, r.Replicas, m.Partitions, b.Replicas()).At(b.config.Dir.Path())
	}
	ceo := r.CEO
	if ceo == "" {
		ceo = m.CEO
	}
	return b.config.Dir.Agree(r.Lineage, max(r.Epoch, m.Epoch), ceo)
}

// errFaster says that another host wrote first: read again.
var errFaster = fmt.Errorf("another host was faster: %w", transient.ErrAgain)

// amend changes the deployment's record, if nobody else does meanwhile.
func (b *Broker) amend(ctx context.Context, change func(*record)) error {
	entry, err := b.deployment.Get(ctx, recordKey)
	if err != nil {
		return err
	}
	r, err := decodeRecord(entry.Value())
	if err != nil {
		return err
	}
	change(&r)
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("broker: record: %w", err)
	}
	_, err = b.deployment.Update(ctx, recordKey, data, entry.Revision())
	return faster(err)
}

// faster returns errFaster for a write that came too late.
func faster(err error) error {
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) || errors.Is(err, jetstream.ErrKeyExists) {
		return errFaster
	}
	return err
}

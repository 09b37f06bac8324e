package vault

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/headmark"
	"github.com/loomrun/loom/internal/store/natsjournal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Report is what verifying a data directory found.
type Report struct {
	Deployment string    `json:"deployment"`
	Epoch      uint64    `json:"epoch"`
	Sound      bool      `json:"sound"`
	Journals   []Journal `json:"journals"`
	// Snapshots counts those that the journals have the anchor of.
	Snapshots int `json:"snapshots"`
	// Blobs counts those that events name, and BlobBytes their bytes.
	Blobs     int   `json:"blobs"`
	BlobBytes int64 `json:"blob_bytes"`
	// Notes tell what is odd and harms nothing.
	Notes []string `json:"notes,omitempty"`
	// Damage lists what is not sound.
	Damage []*fault.Error `json:"-"`
}

// Err returns all damage as one error, or nil.
func (r *Report) Err() error { return fault.Join(r.Damage) }

func (r *Report) damage(err error) { r.Damage = append(r.Damage, fault.From(err)) }

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// check is one verification.
type check struct {
	*Store
	report *Report
	named  map[string]naming // blobs, by name
	parts  parts             // of what journals that were cut begin with
	// anchors are the positions that snapshots say they are as of, by
	// partition and sequence.
	anchors []map[uint64][]anchor
}

// naming is the first event that names a blob.
type naming struct {
	size     uint64
	stream   string
	sequence uint64
}

// anchor is what a snapshot says of the journal.
type anchor struct {
	object string
	hash   []byte
}

// Verify reads everything and reports what it found. The error is ctx's; what
// is damaged is in the report.
func (s *Store) Verify(ctx context.Context) (*Report, error) {
	c := &check{
		Store: s, report: &Report{Deployment: s.Manifest.Deployment, Epoch: s.Manifest.Epoch}, named: map[string]naming{},
		anchors: make([]map[uint64][]anchor, s.Manifest.Partitions),
	}
	if s.unsound > 0 {
		c.report.note("%s: %d lines are damaged, or the last was not written to its end; the others count", headmark.Name, s.unsound)
	}
	c.snapshots()
	for p := range s.Manifest.Partitions {
		if err := c.journal(ctx, p); err != nil {
			return nil, err
		}
	}
	if err := c.blobs(ctx); err != nil {
		return nil, err
	}
	if err := c.others(ctx); err != nil {
		return nil, err
	}
	c.report.Sound = len(c.report.Damage) == 0
	return c.report, nil
}

// created says whether the manifest promises that a stream exists.
func (s *Store) created(stream string) bool { return slices.Contains(s.Manifest.Truth, stream) }

// journal walks a partition's journal.
func (c *check) journal(ctx context.Context, partition int) error {
	name := natsjournal.Stream(partition)
	if !c.created(name) {
		c.report.note("%s is not made yet", name)
		return nil
	}
	c.say("reading " + name)
	var newest *loomv1.Batch
	found, err := c.walk(ctx, partition, func(seq uint64, b *loomv1.Batch) error {
		for _, e := range b.Events {
			blob.Refs(e, func(ref *loomv1.BlobRef) { c.name(ref, name, seq) })
		}
		c.anchored(partition, seq, b.Hash)
		newest = b
		return nil
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.report.Journals = append(c.report.Journals, found)
	if found.cut != nil {
		c.report.note("%s was cut at %d: what was before is in archive %s of host %s (loom verify --archive)", name, found.Cut, found.Archive, found.cut.Host)
		c.parts.want(found.cut)
	}
	if found.Torn != "" {
		c.report.note("%s: %s: a write that was cut off and never acknowledged", name, found.Torn)
	}
	if err != nil {
		c.report.damage(err)
		return nil
	}
	c.beyond(name, found)
	if err := c.Manifest.Older(newest); err != nil {
		c.report.damage(fault.From(err).At(name))
	}
	return nil
}

// name remembers that an event names a blob.
func (c *check) name(ref *loomv1.BlobRef, stream string, seq uint64) {
	if _, ok := c.named[ref.Sha256]; !ok {
		c.named[ref.Sha256] = naming{ref.Size, stream, seq}
	}
}

// anchored compares the snapshots that are as of a batch with it.
func (c *check) anchored(partition int, seq uint64, hash []byte) {
	for _, a := range c.anchors[partition][seq] {
		if equal(a.hash, hash) {
			c.report.Snapshots++
			continue
		}
		c.report.damage(fault.New("journal/chain", "snapshot %q is as of another batch at sequence %d than the journal has", a.object, seq).
			At(natsjournal.Stream(partition)))
	}
	delete(c.anchors[partition], seq)
}

// beyond names snapshots that are as of batches that the journal does not have:
// it has lost them.
func (c *check) beyond(stream string, found Journal) {
	for _, seq := range slices.Sorted(maps.Keys(c.anchors[found.Partition])) {
		for _, a := range c.anchors[found.Partition][seq] {
			switch {
			case seq > found.Last:
				c.report.damage(fault.New("journal/behind", "stream %s ends at %d, but snapshot %q is as of %d: acknowledged events are gone from sequence %d on",
					stream, found.Last, a.object, seq, found.Last+1).At(stream))
			case seq == found.Cut:
				c.report.Snapshots++
			}
		}
	}
}

// snapshots reads where the snapshots say they are. They are derived: what is
// wrong with their store costs time, and is noted.
func (c *check) snapshots() {
	for p := range c.anchors {
		c.anchors[p] = map[uint64][]anchor{}
	}
	stream, err := c.stream("OBJ_" + natsjournal.SnapshotBucket)
	if err != nil {
		c.report.note("no snapshots can be read, which costs time at the next start: %s", err)
		return
	}
	c.say("reading " + stream.Name())
	newest := map[string]*loomv1.Snapshot{}
	scan, err := readObjects(stream, natsjournal.SnapshotBucket, func(name string, data []byte) error {
		delete(newest, name)
		if s := new(loomv1.Snapshot); len(data) > 0 && isSnapshot(name) && proto.Unmarshal(data, s) == nil {
			newest[name] = &loomv1.Snapshot{Partition: s.Partition, Sequence: s.Sequence, Hash: s.Hash}
		}
		return nil
	})
	if err == nil {
		err = scan.Err()
	}
	if err != nil {
		c.report.note("snapshots are damaged and will be made anew: %s", err)
	}
	for name, s := range newest {
		if int(s.Partition) < len(c.anchors) {
			c.anchors[s.Partition][s.Sequence] = append(c.anchors[s.Partition][s.Sequence], anchor{name, s.Hash})
		}
	}
}

func isSnapshot(name string) bool {
	return filepath.Dir(filepath.Dir(filepath.Dir(name))) == "snapshot"
}

// blobs compares what the blobs' store holds with what events name.
func (c *check) blobs(ctx context.Context) error {
	name := "OBJ_" + blob.Bucket
	if !c.created(name) {
		return nil
	}
	have, errs, err := c.Store.blobs(ctx, c.parts.see)
	if err != nil {
		return err
	}
	for _, err := range errs {
		c.report.damage(err)
	}
	if have == nil {
		return nil
	}
	err = c.parts.bases(func(cut *loomv1.JournalCut, base *loomv1.JournalBase) {
		blob.Refs(base, func(ref *loomv1.BlobRef) {
			c.name(ref, natsjournal.Stream(int(cut.Partition))+", in the base of its cut,", cut.Sequence)
		})
	})
	if err != nil {
		c.report.damage(err)
	}
	c.compare(have)
	return nil
}

// size returns how long a blob is, or -1 when it is not what its name says.
func size(name string, data []byte) int64 {
	sum := sha256.Sum256(data)
	if hex.EncodeToString(sum[:]) != name {
		return -1
	}
	return int64(len(data))
}

// compare names the blobs that are named and not there, or not themselves.
func (c *check) compare(have map[string]int64) {
	c.report.Blobs = len(c.named)
	for _, name := range slices.Sorted(maps.Keys(c.named)) {
		by := c.named[name]
		got, ok := have[name]
		switch {
		case !ok:
			c.report.damage(fault.New("blob/missing", "blob %.12s is missing; %s sequence %d names it", name, by.stream, by.sequence).At(by.stream))
		case got != int64(by.size):
			c.report.damage(fault.New("blob/corrupt", "blob %.12s is not the bytes that %s sequence %d names", name, by.stream, by.sequence).At(by.stream))
		default:
			c.report.BlobBytes += got
		}
	}
}

// others reads the streams of truth that are neither journals nor blobs.
func (c *check) others(ctx context.Context) error {
	for _, name := range c.Manifest.Truth {
		if _, isJournal := c.partitionOf(name); isJournal || name == "OBJ_"+blob.Bucket {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.say("reading " + name)
		if err := c.records(name, nil); err != nil {
			c.report.damage(err)
		}
	}
	return nil
}

// Package atrest reads the journals, snapshots and blobs of a data directory from the
// files that a server has left, without a server.
//
// It promises to change nothing, to pass on no batch that was altered, and no bytes of
// a blob that are not what its name says. It is for directories that no host runs on:
// what is written meanwhile may be read or not.
package atrest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/internal/store/streamfile"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// stream opens the files of a stream of the core account of the data directory at dir.
func stream(dir, name string) (*streamfile.Stream, error) {
	return streamfile.Open(filepath.Join(dir, "jetstream", "CORE", "streams", name))
}

// readOnly refuses to write.
func readOnly() error {
	return fault.New("host/not-running", "nothing is written while no host runs").Want("start one with: loom up")
}

// Blobs reads blobs; it implements [blob.Store].
type Blobs struct{ objects *objects }

var _ blob.Store = Blobs{}

// OpenBlobs opens the blobs of the data directory at dir.
func OpenBlobs(dir string) (Blobs, error) {
	o, err := openObjects(dir, blob.Bucket)
	return Blobs{o}, err
}

// Put refuses.
func (Blobs) Put(context.Context, []byte, string) (*loomv1.BlobRef, error) { return nil, readOnly() }

// Get is that of [blob.Store].
func (b Blobs) Get(_ context.Context, ref *loomv1.BlobRef) ([]byte, error) {
	data, there, err := b.objects.get(ref.GetSha256())
	switch sum := sha256.Sum256(data); {
	case err != nil:
		return nil, err
	case !there:
		return nil, fault.New("blob/missing", "blob %.12s is missing", ref.GetSha256())
	case hex.EncodeToString(sum[:]) != ref.GetSha256():
		return nil, fault.New("blob/corrupt", "blob %.12s holds %d bytes with another hash", ref.GetSha256(), len(data))
	}
	return data, nil
}

// Snapshots reads snapshots; it implements [journal.Snapshots].
type Snapshots struct{ objects *objects }

var _ journal.Snapshots = Snapshots{}

// OpenSnapshots opens the snapshots of the data directory at dir.
func OpenSnapshots(dir string) (Snapshots, error) {
	o, err := openObjects(dir, natsjournal.SnapshotBucket)
	return Snapshots{o}, err
}

// Save refuses, and so do the other methods that write.
func (Snapshots) Save(context.Context, *loomv1.Snapshot) (*loomv1.SnapshotRef, error) {
	return nil, readOnly()
}

// SaveIndex refuses.
func (Snapshots) SaveIndex(context.Context, *loomv1.SnapshotIndex) error { return readOnly() }

// SaveSegment refuses.
func (Snapshots) SaveSegment(context.Context, journal.Segment) error { return readOnly() }

// Load is that of [journal.Snapshots].
func (s Snapshots) Load(_ context.Context, ref *loomv1.SnapshotRef) (*loomv1.Snapshot, error) {
	snapshot := new(loomv1.Snapshot)
	if !s.decoded(ref.GetObject(), snapshot) || !journal.Matches(ref, snapshot) {
		return nil, nil
	}
	return snapshot, nil
}

// Index is that of [journal.Snapshots].
func (s Snapshots) Index(_ context.Context, partition int) (*loomv1.SnapshotIndex, error) {
	index := new(loomv1.SnapshotIndex)
	if !s.decoded(natsjournal.IndexObject(partition), index) {
		return nil, nil
	}
	return index, nil
}

// LoadSegment is that of [journal.Snapshots].
func (s Snapshots) LoadSegment(_ context.Context, name string, records bool) ([]byte, error) {
	data, there, err := s.objects.get(journal.SegmentObject(name, records))
	if err == nil && !there {
		err = fault.New("data/damaged", "segment %q is missing", name)
	}
	return data, err
}

// decoded reads an object into m, and says whether there is one that can be read:
// snapshots are derived.
func (s Snapshots) decoded(name string, m proto.Message) bool {
	data, there, err := s.objects.get(name)
	return err == nil && there && proto.Unmarshal(data, m) == nil
}

package natsjournal

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// SnapshotBucket is the object store that snapshots are kept in.
const SnapshotBucket = "LOOM_SNAP"

// Snapshots keeps snapshots in an object store; it implements
// [journal.Snapshots].
type Snapshots struct{ store jetstream.ObjectStore }

var _ journal.Snapshots = (*Snapshots)(nil)

// NewSnapshots returns the keeper of snapshots over a connection of the core
// account, whose bucket is there already.
func NewSnapshots(ctx context.Context, nc *nats.Conn) (*Snapshots, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(answerWithin))
	if err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	store, err := js.ObjectStore(ctx, SnapshotBucket)
	if err != nil {
		return nil, fault.New("host/unavailable", "snapshots cannot be opened").Because(err)
	}
	return &Snapshots{store}, nil
}

// Save is that of [journal.Snapshots].
func (s *Snapshots) Save(ctx context.Context, snapshot *loomv1.Snapshot) (*loomv1.SnapshotRef, error) {
	ref := journal.RefOf(snapshot)
	if err := s.put(ctx, ref.Object, snapshot); err != nil {
		return nil, err
	}
	return ref, nil
}

// Load is that of [journal.Snapshots].
func (s *Snapshots) Load(ctx context.Context, ref *loomv1.SnapshotRef) (*loomv1.Snapshot, error) {
	snapshot := new(loomv1.Snapshot)
	if !s.get(ctx, ref.GetObject(), snapshot) || !journal.Matches(ref, snapshot) {
		return nil, ctx.Err()
	}
	return snapshot, nil
}

// Index is that of [journal.Snapshots].
func (s *Snapshots) Index(ctx context.Context, partition int) (*loomv1.SnapshotIndex, error) {
	index := new(loomv1.SnapshotIndex)
	if !s.get(ctx, indexName(partition), index) {
		return nil, ctx.Err()
	}
	return index, nil
}

// SaveIndex is that of [journal.Snapshots].
func (s *Snapshots) SaveIndex(ctx context.Context, index *loomv1.SnapshotIndex) error {
	old, err := s.Index(ctx, int(index.Partition))
	if err != nil {
		return err
	}
	if err := s.put(ctx, indexName(int(index.Partition)), index); err != nil {
		return err
	}
	for _, object := range journal.Superseded(old, index) {
		if err := s.store.Delete(ctx, object); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return fault.New("host/unavailable", "snapshot %q cannot be dropped", object).Because(err)
		}
	}
	return nil
}

func indexName(partition int) string { return fmt.Sprintf("index/%02d", partition) }

func (s *Snapshots) put(ctx context.Context, name string, m proto.Message) error {
	data, err := proto.Marshal(m)
	if err != nil {
		return fault.New("internal/error", "snapshot %q cannot be encoded", name).Because(err)
	}
	if _, err := s.store.PutBytes(ctx, name, data); err != nil {
		return fault.New("host/unavailable", "snapshot %q cannot be saved", name).Because(err)
	}
	return nil
}

// get reads an object into m and says whether that went well.
func (s *Snapshots) get(ctx context.Context, name string, m proto.Message) bool {
	data, err := s.store.GetBytes(ctx, name)
	return err == nil && proto.Unmarshal(data, m) == nil
}

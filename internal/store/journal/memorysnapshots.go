package journal

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// MemorySnapshots is Snapshots in memory, for tests.
type MemorySnapshots struct {
	turn    chan struct{}
	objects map[string][]byte
	indexes map[uint32][]byte
}

// NewMemorySnapshots returns an empty keeper of snapshots.
func NewMemorySnapshots() *MemorySnapshots {
	m := &MemorySnapshots{turn: make(chan struct{}, 1), objects: map[string][]byte{}, indexes: map[uint32][]byte{}}
	m.turn <- struct{}{}
	return m
}

func (m *MemorySnapshots) acquire() { <-m.turn }
func (m *MemorySnapshots) release() { m.turn <- struct{}{} }

// Lose forgets every snapshot and index, as damage would.
func (m *MemorySnapshots) Lose() {
	m.acquire()
	defer m.release()
	clear(m.objects)
	clear(m.indexes)
}

// Save is that of [Snapshots].
func (m *MemorySnapshots) Save(ctx context.Context, s *loomv1.Snapshot) (*loomv1.SnapshotRef, error) {
	data, err := proto.Marshal(s)
	if err != nil {
		return nil, fault.New("internal/error", "snapshot cannot be encoded").Because(err)
	}
	ref := RefOf(s)
	m.acquire()
	defer m.release()
	m.objects[ref.Object] = data
	return ref, ctx.Err()
}

// Load is that of [Snapshots].
func (m *MemorySnapshots) Load(ctx context.Context, ref *loomv1.SnapshotRef) (*loomv1.Snapshot, error) {
	m.acquire()
	defer m.release()
	s := new(loomv1.Snapshot)
	data, ok := m.objects[ref.GetObject()]
	if !ok || proto.Unmarshal(data, s) != nil || !Matches(ref, s) {
		return nil, ctx.Err()
	}
	return s, ctx.Err()
}

// SaveSegment is that of [Snapshots].
func (m *MemorySnapshots) SaveSegment(ctx context.Context, s Segment) error {
	m.acquire()
	defer m.release()
	m.objects[SegmentObject(s.Name, false)], m.objects[SegmentObject(s.Name, true)] = s.Index, s.Records
	return ctx.Err()
}

// LoadSegment is that of [Snapshots].
func (m *MemorySnapshots) LoadSegment(ctx context.Context, name string, records bool) ([]byte, error) {
	object := SegmentObject(name, records)
	m.acquire()
	defer m.release()
	stored, ok := m.objects[object]
	if !ok {
		return nil, fault.New("journal/segment", "there is no %q", object)
	}
	return stored, ctx.Err()
}

// Index is that of [Snapshots].
func (m *MemorySnapshots) Index(ctx context.Context, partition int) (*loomv1.SnapshotIndex, error) {
	m.acquire()
	defer m.release()
	data, ok := m.indexes[uint32(partition)]
	index := new(loomv1.SnapshotIndex)
	if !ok || proto.Unmarshal(data, index) != nil {
		return nil, ctx.Err()
	}
	return index, ctx.Err()
}

// SaveIndex is that of [Snapshots].
func (m *MemorySnapshots) SaveIndex(ctx context.Context, index *loomv1.SnapshotIndex) error {
	data, err := proto.Marshal(index)
	if err != nil {
		return fault.New("internal/error", "snapshot index cannot be encoded").Because(err)
	}
	old, err := m.Index(ctx, int(index.Partition))
	if err != nil {
		return err
	}
	m.acquire()
	defer m.release()
	m.indexes[index.Partition] = data
	for _, object := range Superseded(old, index) {
		delete(m.objects, object)
	}
	return ctx.Err()
}

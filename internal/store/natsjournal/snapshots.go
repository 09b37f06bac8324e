package natsjournal

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/transient"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// SnapshotBucket is the object store that snapshots are kept in.
const SnapshotBucket = "LOOM_SNAP"

// objects is the stream that keeps them.
const objects = "OBJ_" + SnapshotBucket

// Snapshots keeps snapshots in an object store; it implements
// [journal.Snapshots].
type Snapshots struct {
	store  jetstream.ObjectStore
	stream jetstream.Stream
	// joint says that several hosts keep the objects.
	joint bool
}

var _ journal.Snapshots = (*Snapshots)(nil)

// NewSnapshots returns the keeper of snapshots over a connection of the core
// account, whose bucket is there already.
func NewSnapshots(ctx context.Context, nc *nats.Conn) (*Snapshots, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(answerWithin))
	if err != nil {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	s := new(Snapshots)
	if s.stream, err = transient.Find(ctx, nc, js, objects); err == nil {
		s.store, err = js.ObjectStore(ctx, SnapshotBucket)
	}
	if err != nil {
		return nil, fault.New("host/unavailable", "snapshots cannot be opened").Because(err)
	}
	s.joint = s.stream.CachedInfo().Config.Replicas > 1
	return s, nil
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
	if there, err := s.get(ctx, ref.GetObject(), snapshot); err != nil || !there || !journal.Matches(ref, snapshot) {
		return nil, err
	}
	return snapshot, nil
}

// SaveSegment is that of [journal.Snapshots].
func (s *Snapshots) SaveSegment(ctx context.Context, segment journal.Segment) error {
	if err := s.putBytes(ctx, journal.SegmentObject(segment.Name, true), segment.Records); err != nil {
		return err
	}
	return s.putBytes(ctx, journal.SegmentObject(segment.Name, false), segment.Index)
}

// LoadSegment is that of [journal.Snapshots].
func (s *Snapshots) LoadSegment(ctx context.Context, name string, records bool) (data []byte, err error) {
	err = s.patiently(ctx, func(ctx context.Context) (err error) {
		data, err = s.read(ctx, journal.SegmentObject(name, records))
		return err
	})
	return data, err
}

// Index is that of [journal.Snapshots].
func (s *Snapshots) Index(ctx context.Context, partition int) (*loomv1.SnapshotIndex, error) {
	index := new(loomv1.SnapshotIndex)
	if there, err := s.get(ctx, IndexObject(partition), index); err != nil || !there {
		return nil, err
	}
	return index, nil
}

// SaveIndex is that of [journal.Snapshots].
func (s *Snapshots) SaveIndex(ctx context.Context, index *loomv1.SnapshotIndex) error {
	old, err := s.Index(ctx, int(index.Partition))
	if err != nil {
		return err
	}
	if err := s.put(ctx, IndexObject(int(index.Partition)), index); err != nil {
		return err
	}
	for _, object := range journal.Superseded(old, index) {
		if err := s.store.Delete(ctx, object); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
			return fault.New("host/unavailable", "snapshot %q cannot be dropped", object).Because(err)
		}
	}
	return nil
}

// SaveCut keeps where a journal was cut, so that a start need not read the
// journal for it.
func (s *Snapshots) SaveCut(ctx context.Context, cut *loomv1.JournalCut) error {
	return s.put(ctx, cutName(int(cut.GetPartition())), cut)
}

// Cut returns what SaveCut has kept last, or nil. It is a hint: the journal
// says what counts.
func (s *Snapshots) Cut(ctx context.Context, partition int) (*loomv1.JournalCut, error) {
	cut := new(loomv1.JournalCut)
	if there, err := s.get(ctx, cutName(partition), cut); err != nil || !there {
		return nil, err
	}
	return cut, nil
}

func cutName(partition int) string { return fmt.Sprintf("cut/%02d", partition) }

// IndexObject names the object that keeps the index of a partition's snapshots.
func IndexObject(partition int) string { return fmt.Sprintf("index/%02d", partition) }

func (s *Snapshots) put(ctx context.Context, name string, m proto.Message) error {
	data, err := proto.Marshal(m)
	if err != nil {
		return fault.New("internal/error", "snapshot %q cannot be encoded", name).Because(err)
	}
	return s.putBytes(ctx, name, data)
}

func (s *Snapshots) putBytes(ctx context.Context, name string, data []byte) error {
	err := s.patiently(ctx, func(ctx context.Context) error {
		_, err := s.store.PutBytes(ctx, name, data)
		return err
	})
	if err != nil {
		return fault.New("host/unavailable", "snapshot %q cannot be saved", name).Because(err)
	}
	return nil
}

// get reads an object into m and says whether there is one that can be read. It
// returns host/unavailable when that cannot be told just now.
func (s *Snapshots) get(ctx context.Context, name string, m proto.Message) (there bool, err error) {
	var data []byte
	err = s.patiently(ctx, func(ctx context.Context) (err error) {
		data, err = s.read(ctx, name)
		return err
	})
	switch {
	case err == nil:
		return proto.Unmarshal(data, m) == nil, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case s.joint && transient.Is(err):
		return false, fault.New("host/unavailable", "snapshot %q cannot be read", name).Because(err)
	}
	return false, nil
}

// patiently calls f, which is harmless to repeat, through an election where
// several hosts keep the objects.
func (s *Snapshots) patiently(ctx context.Context, f func(context.Context) error) error {
	if !s.joint {
		return f(ctx)
	}
	return transient.Retry(ctx, transient.Election, f)
}

// read returns the bytes of an object. Where several hosts keep it, the leader
// alone is asked: the client's own way reads from any of them, which may not
// have everything yet.
func (s *Snapshots) read(ctx context.Context, name string) ([]byte, error) {
	if !s.joint {
		return s.store.GetBytes(ctx, name)
	}
	info, err := s.store.GetInfo(ctx, name)
	if err != nil {
		return nil, err
	}
	var data []byte
	subj := "$O." + SnapshotBucket + ".C." + info.NUID
	for next := uint64(1); uint64(len(data)) < info.Size; {
		msg, err := s.stream.GetMsg(ctx, next, jetstream.WithGetMsgSubject(subj))
		if err != nil {
			return nil, err
		}
		data, next = append(data, msg.Data...), msg.Sequence+1
	}
	if sum := sha256.Sum256(data); info.Digest != "SHA-256="+base64.URLEncoding.EncodeToString(sum[:]) {
		return nil, fmt.Errorf("snapshot %q has another digest than was noted", name)
	}
	return data, nil
}

package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Segment is ended work of a project, which is written once. Its name ends in the
// lower-case hex SHA-256 of its index, and that has the records' one.
type Segment struct {
	Name           string
	Index, Records []byte
}

const (
	recordsKept    = 8               // segments whose records stay in memory
	segmentsWithin = 4 * time.Second // is how long one is waited for: less than a turn may last
)

// Segments reads segments, and checks them. It keeps the records of those that were
// asked for last. Its methods may be called from several goroutines.
type Segments struct {
	ctx   context.Context
	store Snapshots

	mu   sync.Mutex
	sums map[string][]byte // of the records, by segment
	bad  map[string]bool   // those that could not be read, or were not what their names say
	kept []Segment         // the newest last; without their indexes
}

// NewSegments returns a reader of what store has, until ctx ends.
func NewSegments(ctx context.Context, store Snapshots) *Segments {
	return &Segments{ctx: ctx, store: store, sums: map[string][]byte{}, bad: map[string]bool{}}
}

// Usable says that none of some segments was found to be missing or damaged.
func (s *Segments) Usable(names []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(names, func(name string) bool { return s.bad[name] })
}

// Save stores a segment, whatever was there before.
func (s *Segments) Save(ctx context.Context, segment Segment) error {
	err := s.store.SaveSegment(ctx, segment)
	if err == nil {
		s.mu.Lock()
		delete(s.bad, segment.Name)
		s.mu.Unlock()
	}
	return err
}

// Index returns the index of a segment, or journal/segment.
func (s *Segments) Index(name string) (*loomv1.SegmentIndex, error) {
	data, err := s.load(name, false)
	if err != nil {
		return nil, err
	}
	index := &loomv1.SegmentIndex{}
	sum := sha256.Sum256(data)
	if !strings.HasSuffix(name, "/"+hex.EncodeToString(sum[:])) || proto.Unmarshal(data, index) != nil {
		return nil, s.spoilt(name, fault.New("journal/segment", "the index of segment %q is not what its name says", name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums[name] = index.RecordsSha256
	return index, nil
}

// Records returns the records of a segment, which must not be changed, or
// journal/segment.
func (s *Segments) Records(name string) ([]byte, error) {
	data, want := s.known(name)
	if data != nil {
		return data, nil
	}
	if want == nil {
		index, err := s.Index(name)
		if err != nil {
			return nil, err
		}
		want = index.RecordsSha256
	}
	data, err := s.load(name, true)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); !bytes.Equal(sum[:], want) {
		return nil, s.spoilt(name, fault.New("journal/segment", "the records of segment %q are not those of its index", name))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept = append(s.kept, Segment{Name: name, Records: data}); len(s.kept) > recordsKept {
		s.kept[0] = Segment{} // or its records stay with the array
		s.kept = s.kept[1:]
	}
	return data, nil
}

// known returns the records of a segment, if they are in memory, and their SHA-256 if
// its index was read.
func (s *Segments) known(name string) (records, sum []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range s.kept {
		if k.Name == name {
			copy(s.kept[i:], s.kept[i+1:])
			s.kept[len(s.kept)-1] = k
			return k.Records, nil
		}
	}
	return nil, s.sums[name]
}

func (s *Segments) load(name string, records bool) ([]byte, error) {
	ctx, cancel := context.WithTimeout(s.ctx, segmentsWithin)
	defer cancel()
	data, err := s.store.LoadSegment(ctx, name, records)
	if err != nil {
		return nil, s.spoilt(name, fault.New("journal/segment", "segment %q cannot be read", name).Because(err))
	}
	return data, nil
}

func (s *Segments) spoilt(name string, err error) error {
	if s.ctx.Err() == nil {
		s.mu.Lock()
		s.bad[name] = true
		s.mu.Unlock()
	}
	return err
}

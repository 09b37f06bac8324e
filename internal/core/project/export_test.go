package project

import (
	"fmt"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// RestAll is Rest that leaves nothing unpacked, and puts what has ended into
// segments. Tests call it before every command, so that each sees ended work as it
// comes from there.
func (s *State) RestAll() {
	s.rest(0)
	if s.cfg.Segments == nil {
		s.cfg.Segments = &MemorySegments{}
	}
	if store, ok := s.cfg.Segments.(*MemorySegments); ok {
		for _, made := range s.Capture().Divide(1) {
			store.Put(made)
			s.Keep(made)
		}
	}
}

// Beads returns how many beads there are.
func (s *State) Beads() int { return len(s.index.beads) }

// Unpacked returns how many beads are in memory as they are.
func (s *State) Unpacked() int { return len(s.p.Beads) }

// MemorySegments are segments in memory. Its zero value has none.
type MemorySegments struct {
	mu  sync.Mutex
	all map[string]Segment
}

// Put stores segments.
func (m *MemorySegments) Put(segments ...Segment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[string]Segment{}
	}
	for _, s := range segments {
		m.all[s.Name] = s
	}
}

func (m *MemorySegments) get(name string) (Segment, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.all[name]
	if !ok {
		return s, fmt.Errorf("there is no segment %q", name)
	}
	return s, nil
}

// Index is that of [Segments].
func (m *MemorySegments) Index(name string) (*loomv1.SegmentIndex, error) {
	s, err := m.get(name)
	if err != nil {
		return nil, err
	}
	index := &loomv1.SegmentIndex{}
	return index, proto.Unmarshal(s.Index, index)
}

// Records is that of [Segments].
func (m *MemorySegments) Records(name string) ([]byte, error) {
	s, err := m.get(name)
	return s.Records, err
}

// Reaction is a row of the table of who reacts to what.
type Reaction struct {
	Part, Does string
	After      bool
	Facts      []string
}

// Reactions is the table.
func Reactions() []Reaction {
	var rows []Reaction
	for _, r := range reactions() {
		rows = append(rows, exported(r))
	}
	return rows
}

func exported(r reaction) Reaction {
	row := Reaction{r.part, r.does, r.after, nil}
	for _, f := range r.facts {
		row.Facts = append(row.Facts, strings.TrimPrefix(f.Elem().Name(), "Event_"))
	}
	return row
}

// WatchReactions has saw told of each reaction, how many facts it led to at once, and
// how many that wait.
func WatchReactions(saw func(r Reaction, facts, waiting int)) {
	watch = func(r reaction, facts, waiting int) { saw(exported(r), facts, waiting) }
}

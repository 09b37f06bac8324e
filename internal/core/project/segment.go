package project

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// SegmentLeast is how many records of ended work are put into segments at least, for
// few small ones are more than one.
const SegmentLeast = 256

// segmentAim is about how many bytes there are in a segment.
const segmentAim = 512 << 10

// Segments are where ended work is that a state does not hold itself. What a name
// stands for never changes, so that a state which reads them is still a fold of its
// events alone. Both methods may be called at any time, and fail when what is asked
// for is not there or is not what its name says.
type Segments interface {
	Index(name string) (*loomv1.SegmentIndex, error)
	Records(name string) ([]byte, error)
}

// Segment is ended work as it is stored.
type Segment struct {
	Name    string // ends in the lower-case hex SHA-256 of Index
	Index   []byte // an encoded SegmentIndex
	Records []byte
}

// segmentOf returns a segment of some beads' records.
func segmentOf(project string, beads []string, all map[string][]byte) Segment {
	index, records := &loomv1.SegmentIndex{}, []byte(nil)
	for _, id := range beads {
		data, w := all[id], &loomv1.EndedWork{}
		if err := proto.Unmarshal(data, w); err != nil {
			panic(fmt.Sprintf("record of bead %q: %v", id, err))
		}
		entry := &loomv1.SegmentEntry{
			Id: id, Size: uint32(len(data)), Digest: digestOf(data), Status: w.Bead.Status, Type: w.Bead.Type,
			Parent: w.Bead.Parent, BlockedBy: w.Bead.BlockedBy, Fingerprint: w.Bead.Fingerprint, AskedBy: w.Approval.GetExecution(),
		}
		for _, x := range w.Executions {
			entry.Executions = append(entry.Executions, &loomv1.SegmentExecution{Id: x.Id, StartedAt: x.StartedAt, DefinitionHash: x.DefinitionHash, Usage: x.Usage})
		}
		index.Entries, records = append(index.Entries, entry), append(records, data...)
	}
	return newSegment(project, index, records)
}

func newSegment(project string, index *loomv1.SegmentIndex, records []byte) Segment {
	sum := sha256.Sum256(records)
	index.RecordsSha256 = sum[:]
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(index)
	if err != nil {
		panic(err) // all of it was decoded from valid records
	}
	sum = sha256.Sum256(data)
	return Segment{Name: project + "/" + hex.EncodeToString(sum[:]), Index: data, Records: records}
}

// Keep has the state count on a segment that is stored, and gives back the memory of
// what is in it. It changes nothing that can be seen. What has changed since the
// segment was made stays as it is; to repeat it changes nothing.
func (s *State) Keep(stored Segment) {
	if slices.Contains(s.shelf.segments, stored.Name) {
		return
	}
	index := &loomv1.SegmentIndex{}
	if err := proto.Unmarshal(stored.Index, index); err != nil {
		return
	}
	s.readSegments()
	number, offset := int32(len(s.shelf.segments)), uint32(0)
	s.shelf.segments = append(s.shelf.segments, stored.Name)
	for _, e := range index.Entries {
		at := locationOf(e, number, offset)
		offset += e.Size
		own, packed := s.shelf.own[e.Id]
		switch {
		case packed && digestOf(own) == e.Digest:
			delete(s.shelf.own, e.Id)
			s.shelf.kept[e.Id] = at
		case !packed && s.p.Beads[e.Id] != nil:
			s.shelf.kept[e.Id] = at // should it be the same when it is packed
		}
	}
}

func locationOf(e *loomv1.SegmentEntry, segment int32, offset uint32) location {
	return location{segment, offset, e.Size, e.Digest, e.Status, e.Type}
}

// Remains returns a snapshot that leaves out what is in segments, and names these.
// The state must not be used any more.
func (s *State) Remains() *loomv1.ProjectState {
	s.rest(0)
	for id := range s.shelf.own {
		s.unshelve(id)
	}
	p := s.p
	p.Locks, p.Memory = s.locks.Snapshot(), s.mem.Snapshot()
	keepGraph(p, s.graph.Pages())
	p.Segments = s.shelf.segments
	s.p = nil
	return p
}

// readSegments reads the indexes of the segments that a state began with, if it has
// not yet.
func (s *State) readSegments() {
	if !s.shelf.unread {
		return
	}
	s.shelf.unread = false
	if _, err := s.readIndexes(); err != nil {
		panic(err)
	}
}

// readIndexes notes where the records of all segments are, and returns the newest
// entry of each bead that the state does not hold itself.
func (s *State) readIndexes() (map[string]*loomv1.SegmentEntry, error) {
	entries := map[string]*loomv1.SegmentEntry{}
	for i, name := range s.shelf.segments {
		if s.cfg.Segments == nil {
			return nil, fmt.Errorf("segment %q: there are no segments here", name)
		}
		index, err := s.cfg.Segments.Index(name)
		if err != nil {
			return nil, fmt.Errorf("segment %q: %w", name, err)
		}
		offset := uint32(0)
		for _, e := range index.Entries {
			if s.p.Beads[e.Id] == nil && s.shelf.own[e.Id] == nil {
				entries[e.Id], s.shelf.kept[e.Id] = e, locationOf(e, int32(i), offset)
			}
			offset += e.Size
		}
	}
	for _, e := range entries {
		for _, x := range e.Executions {
			s.shelf.pinned[x.DefinitionHash]++
		}
	}
	return entries, nil
}

// record returns the bytes of a record in a segment. A segment that cannot be read
// breaks the state: whoever owns it folds it anew, without this segment.
func (s *State) record(at location) []byte {
	name := s.shelf.segments[at.segment]
	records, err := s.cfg.Segments.Records(name)
	switch {
	case err != nil:
		panic(fmt.Errorf("segment %q: %w", name, err))
	case uint64(len(records)) < uint64(at.offset)+uint64(at.size):
		panic(fmt.Sprintf("segment %q has %d bytes, and a record from %d to %d", name, len(records), at.offset, at.offset+at.size))
	}
	return records[at.offset : at.offset+at.size]
}

// digestOf returns the first 8 bytes of a record's SHA-256.
func digestOf(data []byte) uint64 {
	sum := sha256.Sum256(data)
	return binary.BigEndian.Uint64(sum[:8])
}

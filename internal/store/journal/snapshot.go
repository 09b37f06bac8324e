package journal

import (
	"bytes"
	"fmt"
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// RefOf returns the reference under which s is kept: its object's name tells
// partition, project and sequence.
func RefOf(s *loomv1.Snapshot) *loomv1.SnapshotRef {
	return &loomv1.SnapshotRef{
		Object:   fmt.Sprintf("snapshot/%02d/%s/%020d", s.Partition, s.GetState().GetConfig().GetId(), s.Sequence),
		Sequence: s.Sequence,
		Hash:     s.Hash,
		Segments: slices.Concat(s.GetState().GetSegments(), s.GetState().GetGraphNodes(), s.GetState().GetGraphEdges()),
	}
}

// Matches says whether s is as of the position that ref names.
func Matches(ref *loomv1.SnapshotRef, s *loomv1.Snapshot) bool {
	return s.Sequence == ref.Sequence && bytes.Equal(s.Hash, ref.Hash)
}

// SegmentObjects returns the objects of a segment: those of its index and of its
// records.
func SegmentObjects(name string) (index, records string) {
	return "segment/" + name + "/index", "segment/" + name + "/records"
}

// Superseded returns the objects that only the older of two indexes names,
// sorted. Either may be nil.
func Superseded(older, newer *loomv1.SnapshotIndex) []string {
	var objects []string
	for project, ref := range older.GetProjects() {
		now := newer.GetProjects()[project]
		if ref.GetObject() != now.GetObject() {
			objects = append(objects, ref.GetObject())
		}
		for _, name := range ref.GetSegments() {
			if !slices.Contains(now.GetSegments(), name) {
				index, records := SegmentObjects(name)
				objects = append(objects, index, records)
			}
		}
	}
	slices.Sort(objects)
	return objects
}

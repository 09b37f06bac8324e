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

// SegmentObject returns the object of a segment's records, or of its index.
func SegmentObject(name string, records bool) string {
	if records {
		return "segment/" + name + "/records"
	}
	return "segment/" + name + "/index"
}

// Superseded returns the objects that only the older of two indexes names,
// sorted. Either may be nil.
func Superseded(older, newer *loomv1.SnapshotIndex) []string {
	var objects []string
	for project, ref := range older.GetProjects() {
		now, still := newer.GetProjects()[project], map[string]bool{}
		for _, name := range now.GetSegments() {
			still[name] = true
		}
		if ref.GetObject() != now.GetObject() {
			objects = append(objects, ref.GetObject())
		}
		for _, name := range ref.GetSegments() {
			if !still[name] {
				objects = append(objects, SegmentObject(name, false), SegmentObject(name, true))
			}
		}
	}
	slices.Sort(objects)
	return objects
}

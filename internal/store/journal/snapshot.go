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
	}
}

// Matches says whether s is as of the position that ref names.
func Matches(ref *loomv1.SnapshotRef, s *loomv1.Snapshot) bool {
	return s.Sequence == ref.Sequence && bytes.Equal(s.Hash, ref.Hash)
}

// Superseded returns the objects that only the older of two indexes names,
// sorted. Either may be nil.
func Superseded(older, newer *loomv1.SnapshotIndex) []string {
	var objects []string
	for project, ref := range older.GetProjects() {
		if ref.GetObject() != newer.GetProjects()[project].GetObject() {
			objects = append(objects, ref.GetObject())
		}
	}
	slices.Sort(objects)
	return objects
}

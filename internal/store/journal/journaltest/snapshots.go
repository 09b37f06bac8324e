package journaltest

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Snapshot returns a snapshot of a project as of sequence.
func Snapshot(project string, sequence uint64) *loomv1.Snapshot {
	return &loomv1.Snapshot{
		Epoch: 1, Sequence: sequence, Hash: []byte{byte(sequence), 1, 2},
		State: &loomv1.ProjectState{Config: &loomv1.ProjectConfig{Id: project}, LastNumber: sequence},
	}
}

// RunSnapshots runs the contract tests of snapshots on fresh, empty keepers
// that open returns.
func RunSnapshots(t *testing.T, open func(t *testing.T) journal.Snapshots) {
	for name, test := range map[string]func(*testing.T, journal.Snapshots){
		"nothing is no error":                    nothing,
		"what is saved is loaded":                loaded,
		"another position is not it":             elsewhere,
		"an index drops what it no longer names": dropped,
	} {
		t.Run("WF10 "+name, func(t *testing.T) { test(t, open(t)) })
	}
}

func nothing(t *testing.T, s journal.Snapshots) {
	for _, ref := range []*loomv1.SnapshotRef{nil, {}, journal.RefOf(Snapshot("p", 1))} {
		if got, err := s.Load(t.Context(), ref); got != nil || err != nil {
			t.Errorf("Load(%v): %v, %v; want nil", ref, got, err)
		}
	}
	if got, err := s.Index(t.Context(), 0); got != nil || err != nil {
		t.Errorf("Index: %v, %v; want nil", got, err)
	}
}

// save saves a snapshot and fails the test if it cannot.
func save(t *testing.T, s journal.Snapshots, snapshot *loomv1.Snapshot) *loomv1.SnapshotRef {
	t.Helper()
	ref, err := s.Save(t.Context(), snapshot)
	if err != nil {
		t.Fatalf("Save: %v", err)
	}
	return ref
}

func wantSnapshot(t *testing.T, s journal.Snapshots, ref *loomv1.SnapshotRef, want *loomv1.Snapshot) {
	t.Helper()
	got, err := s.Load(t.Context(), ref)
	if err != nil || !proto.Equal(got, want) {
		t.Errorf("Load(%v): %v, %v; want %v", ref, got, err, want)
	}
}

func loaded(t *testing.T, s journal.Snapshots) {
	for range 2 { // saving it again replaces it
		one := Snapshot("p", 1)
		one.State.EdgeCount = 7
		wantSnapshot(t, s, save(t, s, one), one)
	}
	large := Snapshot("p", 2)
	large.State.Definitions = map[string]*loomv1.Definition{"x": {Description: string(make([]byte, 3<<20))}}
	wantSnapshot(t, s, save(t, s, large), large)
}

func elsewhere(t *testing.T, s journal.Snapshots) {
	ref := save(t, s, Snapshot("p", 5))
	for _, other := range []*loomv1.SnapshotRef{
		{Object: ref.Object, Sequence: 6, Hash: ref.Hash},
		{Object: ref.Object, Sequence: 5, Hash: []byte("x")},
	} {
		if got, err := s.Load(t.Context(), other); got != nil || err != nil {
			t.Errorf("Load(%v): %v, %v; want nil", other, got, err)
		}
	}
}

func dropped(t *testing.T, s journal.Snapshots) {
	one, two, other := Snapshot("p", 1), Snapshot("p", 2), Snapshot("q", 1)
	first := &loomv1.SnapshotIndex{Floor: 1, Projects: map[string]*loomv1.SnapshotRef{"p": save(t, s, one), "q": save(t, s, other)}}
	second := &loomv1.SnapshotIndex{Floor: 2, Projects: map[string]*loomv1.SnapshotRef{"p": save(t, s, two), "q": first.Projects["q"]}}
	for _, index := range []*loomv1.SnapshotIndex{first, second} {
		if err := s.SaveIndex(t.Context(), index); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Index(t.Context(), 0); err != nil || !proto.Equal(got, index) {
			t.Errorf("Index: %v, %v; want %v", got, err, index)
		}
	}
	wantSnapshot(t, s, second.Projects["p"], two)
	wantSnapshot(t, s, second.Projects["q"], other)
	if got, err := s.Load(t.Context(), first.Projects["p"]); got != nil || err != nil {
		t.Errorf("the snapshot that no index names: %v, %v; want nil", got, err)
	}
	if got, err := s.Index(t.Context(), 1); got != nil || err != nil {
		t.Errorf("another partition's index: %v, %v; want nil", got, err)
	}
}

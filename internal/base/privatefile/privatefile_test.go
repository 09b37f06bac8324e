package privatefile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
)

// TestP3_AFlippedBitOfAListIsFound flips every bit of a list that was written.
func TestP3_AFlippedBitOfAListIsFound(t *testing.T) {
	longtest.Skip(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := privatefile.List[string]{Dir: dir, Name: "list.json", Code: "identity/file"}
	want := []string{"publisher ci until 2027-01-02", "]"}
	if err := l.Change(func([]string) ([]string, error) { return want, nil }); err != nil {
		t.Fatal(err)
	}
	if got, _, err := l.Load(); err != nil || !slices.Equal(got, want) {
		t.Fatalf("Load: %q, %v", got, err)
	}
	path := filepath.Join(dir, l.Name)
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 * len(sound) {
		spoilt := bytes.Clone(sound)
		spoilt[i/8] ^= 1 << (i % 8)
		if err := os.WriteFile(path, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _, err := l.Load(); fault.Code(err) != "identity/file" {
			t.Errorf("bit %d of byte %d is flipped: %q, %v", i%8, i/8, got, err)
		}
	}
	byHand := sound[:bytes.LastIndex(sound, []byte("sum "))]
	if err := os.WriteFile(path, byHand, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _, err := l.Load(); err != nil || !slices.Equal(got, want) {
		t.Errorf("a list without a checksum: %q, %v", got, err)
	}
}

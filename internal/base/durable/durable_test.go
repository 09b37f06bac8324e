package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/base/durable"
)

// TestP2_NamesAreMadeDurable does what can be seen of it without a power cut;
// the rest is seen in test/powerloss.
func TestP2_NamesAreMadeDurable(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b", "c")
	for range 2 { // it is safe to repeat
		if err := durable.MakeAll(deep, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	from, to := filepath.Join(dir, "file"), filepath.Join(deep, "file")
	if err := os.WriteFile(from, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := durable.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	if err := durable.Tree(dir); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(to); string(data) != "x" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	for name, err := range map[string]error{
		"no tree":            durable.Tree(filepath.Join(dir, "none")),
		"rename of nothing":  durable.Rename(from, to),
		"no directory":       durable.Directory(filepath.Join(dir, "none")),
		"a file in the way":  durable.MakeAll(filepath.Join(to, "x"), 0o700),
		"rename to no place": durable.Rename(to, filepath.Join(dir, "none", "file")),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

package privatefile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
)

// A file of a secret is its owner's alone; what is no file is said to be none, whatever
// its mode is.
func TestSEC01_AFileOfASecretIsGuarded(t *testing.T) {
	dir := t.TempDir()
	open, shut := filepath.Join(dir, "open"), filepath.Join(dir, "shut")
	for path, mode := range map[string]os.FileMode{open: 0o640, shut: 0o600} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		shut: "", open: "the key can be read by others (mode 0640); chmod 600 it, and make another", filepath.Join(dir, "none"): "the key cannot be read",
		dir: "the key is a file, and this is a directory", os.DevNull: "the key is a file, and this is none",
	} {
		_, err := privatefile.Guarded("the key", path, "make another")
		if (err == nil) != (want == "") || err != nil && (fault.Code(err) != "data/permissions" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

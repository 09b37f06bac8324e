package datadir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/store/datadir"
)

func TestOPS02_WhoUsesADirectoryIsSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if pid, used := datadir.InUse(path); used || pid != 0 {
		t.Errorf("a directory that is not there: %d, %t", pid, used)
	}
	d, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if pid, used := datadir.InUse(path); !used || pid != os.Getpid() {
		t.Errorf("while it is open: %d, %t; want %d", pid, used, os.Getpid())
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, used := datadir.InUse(path); used {
		t.Error("after it was closed it is in use")
	}
	if d, err = datadir.Open(path); err != nil {
		t.Fatalf("looking kept it: %v", err)
	}
	_ = d.Close()
}

package projection_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/projection"
)

func TestWF11_UnusableFileIsSetAside(t *testing.T) {
	js := journals(source(t, 20), 2)
	for _, tt := range []struct {
		name, code string
		wreck      func(t *testing.T, path string)
	}{
		{"not a database", "projection/corrupt", func(t *testing.T, path string) {
			spoil(t, path, 0, "this is no database at all, and long enough to have a header of one hundred bytes, which SQLite reads first")
		}},
		{"a database of something else", "projection/foreign", func(t *testing.T, path string) {
			query(t, raw(t, path), "PRAGMA application_id = 77")
		}},
		{"tables of something else", "projection/foreign", func(t *testing.T, path string) {
			os.Remove(path)
			query(t, raw(t, path), "CREATE TABLE theirs (id)")
		}},
		{"tables are damaged", "projection/corrupt", func(t *testing.T, path string) {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			spoil(t, path, info.Size()/2, string(make([]byte, info.Size()/2)))
			spoil(t, path+"-wal", 0, "") // its last user was killed
		}},
		{"cut off", "projection/corrupt", func(t *testing.T, path string) {
			if err := os.Truncate(path, 5000); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filled(t, js)
			want := dump(t, path)
			tt.wreck(t, path)

			db, opening, err := projection.Open(t.Context(), path)
			if err != nil {
				t.Fatalf("Open = %v, want a new file", err)
			}
			defer db.Close()
			if !opening.Created || opening.SetAside != path+".unusable-1" || fault.Code(opening.Reason) != tt.code {
				t.Errorf("Opening = %+v, want a new file because of %s", opening, tt.code)
			}
			if _, err := os.Stat(opening.SetAside); err != nil {
				t.Errorf("the old file: %v", err)
			}
			for _, j := range js {
				apply(t, db, j, 0, len(j))
			}
			db.Close()
			if diff := cmp.Diff(want, dump(t, path)); diff != "" {
				t.Errorf("tables after the rebuild (-want +got):\n%s", diff)
			}
		})
	}
}

// Tables that another build has made are made again, and nothing is left of them.
func TestWF11_TablesOfAnotherBuildAreMadeAnew(t *testing.T) {
	js := journals(source(t, 20), 2)
	path := filled(t, js)
	want := dump(t, path)
	query(t, raw(t, path), "PRAGMA user_version = 9999")
	db, opening, err := projection.Open(t.Context(), path)
	if err != nil || opening != (projection.Opening{Created: true}) {
		t.Fatalf("Open = %+v, %v; want a new file, and none set aside", opening, err)
	}
	defer db.Close()
	for _, j := range js {
		apply(t, db, j, 0, len(j))
	}
	db.Close()
	if diff := cmp.Diff(want, dump(t, path)); diff != "" {
		t.Errorf("tables after the rebuild (-want +got):\n%s", diff)
	}
	if left, _ := filepath.Glob(path + ".unusable*"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

func spoil(t *testing.T, path string, at int64, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(text), at); err != nil {
		t.Fatal(err)
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd #name? with%20signs.db")
	for i, created := range []bool{true, false} {
		db, opening, err := projection.Open(t.Context(), path)
		if err != nil || opening != (projection.Opening{Created: created}) {
			t.Fatalf("Open %d = %+v, %v; want created: %t", i, opening, err, created)
		}
		db.Close()
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	if _, _, err := projection.Open(t.Context(), filepath.Join(path, "below a file")); fault.Code(err) != "projection/failed" {
		t.Errorf("Open below a file = %v, want projection/failed", err)
	}
}

func TestSetAsideTakesTheNextFreeName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loom.db")
	for _, want := range []string{path + ".unusable-1", path + ".unusable-2"} {
		spoil(t, path, 0, "x")
		spoil(t, path+"-wal", 0, "y")
		if got, err := projection.SetAside(path); got != want || err != nil {
			t.Errorf("SetAside = %q, %v; want %q", got, err, want)
		}
		if _, err := os.Stat(want + "-wal"); err != nil {
			t.Errorf("what lay beside it: %v", err)
		}
	}
	if _, err := projection.SetAside(path); fault.Code(err) != "projection/failed" {
		t.Errorf("SetAside of nothing = %v, want projection/failed", err)
	}
}

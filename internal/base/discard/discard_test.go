package discard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/base/discard"
)

// nest makes directories in one another, so many, with a file in the last; the names
// of the inner ones are no path that the system takes.
func nest(t *testing.T, dir string, deep int) {
	t.Helper()
	at, err := os.OpenRoot(dir)
	for i := 0; err == nil && i < deep; i++ {
		var next *os.Root
		if err = at.Mkdir("directory", 0o700); err == nil {
			next, err = at.OpenRoot("directory")
		}
		if at.Close(); err == nil {
			at = next
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	if err := at.WriteFile("file", []byte("x"), 0o400); err != nil {
		t.Fatal(err)
	}
}

func TestTOOL03_NothingThatACommandLeftStays(t *testing.T) {
	longtest.Skip(t)
	outside := filepath.Join(t.TempDir(), "outside")
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(t, os.WriteFile(outside, []byte("stays"), 0o600))
	for name, leave := range map[string]func(t *testing.T, dir string){
		"nothing": func(*testing.T, string) {},
		"directories deeper than any path, several": func(t *testing.T, dir string) {
			nest(t, dir, 1500)
			must(t, os.Mkdir(filepath.Join(dir, "other"), 0o700))
			nest(t, filepath.Join(dir, "other"), 700)
		},
		"names as those of what is moved": func(t *testing.T, dir string) {
			must(t, os.WriteFile(filepath.Join(dir, "lifted-1"), nil, 0o600))
			nest(t, dir, 100)
		},
		"directories that nobody may write": func(t *testing.T, dir string) {
			inner := filepath.Join(dir, "a", "b")
			must(t, os.MkdirAll(inner, 0o700))
			nest(t, inner, 40)
			must(t, os.Chmod(inner, 0o500))
			must(t, os.Chmod(filepath.Dir(inner), 0))
			must(t, os.Chmod(dir, 0o500))
		},
		"links that lead out": func(t *testing.T, dir string) {
			must(t, os.Symlink(outside, filepath.Join(dir, "file")))
			must(t, os.Symlink(filepath.Dir(outside), filepath.Join(dir, "directory")))
			must(t, os.Symlink(".", filepath.Join(dir, "itself")))
		},
		"many files": func(t *testing.T, dir string) {
			for i := range 3000 {
				must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o400))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "left")
			must(t, os.Mkdir(dir, 0o700))
			leave(t, dir)
			if err := discard.All(dir); err != nil {
				t.Errorf("All: %v", err)
			}
			if _, err := os.Lstat(dir); !os.IsNotExist(err) {
				t.Errorf("it is still there: %v", err)
			}
		})
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "stays" {
		t.Errorf("what a link led to: %q, %v", data, err)
	}
}

func TestTOOL03_WhatIsNoDirectory(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.MkdirAll(filepath.Join(target, "kept"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, filepath.Join(dir, "missing")} {
		if err := discard.All(path); err != nil {
			t.Errorf("All(%s): %v", path, err)
		}
	}
	if _, err := os.Stat(filepath.Join(target, "kept")); err != nil {
		t.Errorf("what the link led to: %v", err)
	}
}

package agent

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What a phase that did not pass has left in the place of its deliverable goes,
// whatever it is: nothing waits for the other end of a pipe.
func TestWF15_WhatAFailedPhaseLeftIsPutBack(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for place, leave := range map[string]func(path string) error{
		"a file":            func(path string) error { return os.WriteFile(path, []byte("other"), 0o600) },
		"a pipe":            func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a full directory":  func(path string) error { return os.MkdirAll(filepath.Join(path, "inner"), 0o700) },
		"a link out":        func(path string) error { return os.Symlink(outside, path) },
		"a link to nothing": func(path string) error { return os.Symlink("nothing", path) },
	} {
		for was, before := range map[string]func(path string) error{
			"nothing":            func(string) error { return nil },
			"a file":             func(path string) error { return os.WriteFile(path, []byte("before"), 0o755) },
			"a link to a secret": func(path string) error { return os.Symlink(outside, path) },
		} {
			t.Run(place+" where there was "+was, func(t *testing.T) {
				top, base := t.TempDir(), t.TempDir()
				for _, err := range []error{
					os.WriteFile(outside, []byte("secret"), 0o600), leave(filepath.Join(top, "report.md")), before(filepath.Join(base, "report.md")),
				} {
					if err != nil {
						t.Fatal(err)
					}
				}
				if err := putBackIn(top, base, "report.md"); err != nil {
					t.Fatal(err)
				}
				info, err := os.Lstat(filepath.Join(top, "report.md"))
				content, _ := os.ReadFile(filepath.Join(top, "report.md"))
				switch was {
				case "nothing":
					if !os.IsNotExist(err) {
						t.Errorf("there is %v, %v", info, err)
					}
				case "a file":
					if err != nil || info.Mode() != 0o755 || string(content) != "before" {
						t.Errorf("there is %v, %v, with %q", info, err, content)
					}
				default:
					if err != nil || info.Mode()&os.ModeSymlink == 0 {
						t.Errorf("there is %v, %v", info, err)
					}
				}
				if secret, err := os.ReadFile(outside); err != nil || string(secret) != "secret" {
					t.Errorf("outside there is %q, %v", secret, err)
				}
			})
		}
	}
}

func putBackIn(top, base, name string) error {
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	was, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer was.Close()
	return putBack(root, was, name)
}

package setups_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/place/setups"
)

var deps = []string{"deps", "vendor/bundle"}

// tree makes a checkout that a setup has run in.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"deps/a/index.js": "a", "deps/a.js": "a.js", "deps/a-b/run.sh": "#!/bin/sh", "vendor/bundle/gem": "gem", "vendor/own.c": "own"} {
		write(t, filepath.Join(dir, name), content)
	}
	for _, err := range []error{
		os.Chmod(filepath.Join(dir, "deps/a-b/run.sh"), 0o755), os.Symlink("../a-b/run.sh", filepath.Join(dir, "deps/a/link")), //nolint:gosec // it is a program
		os.Mkdir(filepath.Join(dir, "deps/empty"), 0o700), os.Chmod(filepath.Join(dir, "deps/a"), 0o555), //nolint:gosec // as Go's modules are
		os.Chtimes(filepath.Join(dir, "deps/a/index.js"), noon, noon), os.Chtimes(filepath.Join(dir, "deps"), noon, noon),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "deps/a"), 0o700) }) //nolint:gosec // a directory
	return dir
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// look lists what is in a directory: names, modes, content, where links lead.
func look(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		said := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			said = string(data) + " " + info.ModTime().UTC().Truncate(time.Second).String()
		case !d.IsDir():
			if said, err = os.Readlink(path); err != nil {
				return err
			}
		}
		all = append(all, fmt.Sprintf("%s %s %s", name, info.Mode(), said))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func store(t *testing.T) (s *setups.Store, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "setups")
	s, err := setups.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func keep(t *testing.T, s *setups.Store, key, checkout string) {
	t.Helper()
	if err := s.Keep(t.Context(), "shop", key, checkout, deps); err != nil {
		t.Fatal(err)
	}
}

// A copy is what was kept, in the place of what was there, and what is written to it
// changes no other.
func TestREAL02_ACopyIsWhatWasKept(t *testing.T) {
	s, _ := store(t)
	from, to := tree(t), tree(t)
	keep(t, s, "k", from)
	write(t, filepath.Join(to, "deps/a-b/own"), "of this checkout")
	write(t, filepath.Join(to, "own"), "own")
	for range 2 {
		if made, err := s.Lay(t.Context(), "shop", "k", to, deps); err != nil || time.Since(made) > time.Hour {
			t.Fatalf("%v, made at %v", err, made)
		}
		for _, dir := range deps {
			if diff := cmp.Diff(look(t, filepath.Join(from, dir)), look(t, filepath.Join(to, dir))); diff != "" {
				t.Errorf("%s (-kept +copy):\n%s", dir, diff)
			}
		}
		for _, name := range []string{"own", "vendor/own.c"} {
			if _, err := os.Stat(filepath.Join(to, name)); err != nil {
				t.Errorf("a file beside it: %v", err)
			}
		}
		write(t, filepath.Join(to, "deps/a.js"), "poison")
	}
	info, err := os.Stat(filepath.Join(to, "deps/empty"))
	was, werr := os.Stat(filepath.Join(from, "deps/empty"))
	if err != nil || werr != nil || info.ModTime().Unix() != was.ModTime().Unix() {
		t.Errorf("the time of a directory: %v, %v", err, werr)
	}
	if _, err := s.Lay(t.Context(), "shop", "other", to, deps); !errors.Is(err, setups.ErrNone) {
		t.Errorf("a result that was never kept: %v", err)
	}
}

// What would not serve in another checkout is not kept, and nothing of it is left.
func TestREAL02_WhatServesOneCheckoutIsNotKept(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"names the directory in which it was made": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "deps/activate"), []byte(strings.Repeat("x", 1<<20-7)+"VENV="+dir+"/.venv"), 0o600)
		},
		"leads to the directory in which it was made": func(dir string) error {
			return os.Symlink(filepath.Join(dir, "own"), filepath.Join(dir, "deps/link"))
		},
		"is neither a file nor a link": func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "deps/pipe"), 0o600) },
		"is not a directory": func(dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, "deps"), filepath.Join(dir, "elsewhere")), os.Symlink("elsewhere", filepath.Join(dir, "deps")))
		},
		"no such file": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "vendor")) },
		"escapes": func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "vendor")), os.Symlink("/etc", filepath.Join(dir, "vendor")))
		},
	} {
		s, at := store(t)
		dir := tree(t)
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if err := s.Keep(t.Context(), "shop", "k", dir, deps); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if left := names(t, filepath.Join(at, "shop")); len(left) != 0 {
			t.Errorf("%s left %q", name, left)
		}
	}
}

// A result that was damaged after it was made is not used and goes.
func TestREAL03_ADamagedResultIsNotUsed(t *testing.T) {
	longtest.Skip(t)
	s, at := store(t)
	keep(t, s, "whole", tree(t))
	whole, err := os.ReadFile(filepath.Join(at, "shop", "whole"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(at, "shop", "k")
	for n := 0; n < len(whole); n += 97 {
		flipped := append([]byte(nil), whole...)
		flipped[n] ^= 4
		for kind, data := range map[string][]byte{"flipped": flipped, "cut": whole[:n]} {
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			to := t.TempDir()
			if _, err := s.Lay(t.Context(), "shop", "k", to, deps); err == nil {
				t.Fatalf("%s at %d of %d: it is used", kind, n, len(whole))
			}
			if _, err := os.Lstat(filepath.Join(to, "deps")); !errors.Is(err, fs.ErrNotExist) || s.Has("shop", "k") {
				t.Fatalf("%s at %d: something is left: %v", kind, n, err)
			}
		}
	}
}

// A checkout in which an agent has put links where a result belongs gets the result,
// and nothing is written or removed elsewhere.
func TestREAL03_LinksOfAnAgentAreNotFollowed(t *testing.T) {
	s, _ := store(t)
	keep(t, s, "k", tree(t))
	outside := t.TempDir()
	write(t, filepath.Join(outside, "deps/a.js"), "mine")
	write(t, filepath.Join(outside, "bundle/gem"), "mine")
	before := look(t, outside)
	to := t.TempDir()
	if err := errors.Join(os.Symlink(filepath.Join(outside, "deps"), filepath.Join(to, "deps")), os.Symlink(outside, filepath.Join(to, "vendor"))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lay(t.Context(), "shop", "k", to, deps); err == nil {
		t.Error("a result was laid beyond the checkout")
	}
	if _, err := s.Lay(t.Context(), "shop", "k", to, deps[:1]); err == nil {
		t.Error("half of a result was laid as if it were all")
	}
	if diff := cmp.Diff(before, look(t, outside)); diff != "" {
		t.Errorf("outside (-before +after):\n%s", diff)
	}
	if !s.Has("shop", "k") {
		t.Error("the result is gone, which is sound")
	}
}

// A process that dies while a result is made leaves nothing that is used.
func TestREAL02_AnUnfinishedResultGoesAtTheNextStart(t *testing.T) {
	s, at := store(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Keep(ctx, "shop", "k", tree(t), deps); !errors.Is(err, context.Canceled) || s.Has("shop", "k") {
		t.Errorf("a making that was cut off: %v", err)
	}
	keep(t, s, "k", tree(t))
	write(t, filepath.Join(at, "shop", ".unfinished-1"), "half of it")
	if _, err := setups.Open(at); err != nil {
		t.Fatal(err)
	}
	if left := names(t, filepath.Join(at, "shop")); !slices.Equal(left, []string{"k"}) {
		t.Errorf("there are %q", left)
	}
}

// TestMain keeps a result again and again where a test has asked for a process that
// does, until that is killed.
func TestMain(m *testing.M) {
	at, from := os.Getenv("KEEP_AT"), os.Getenv("KEEP_FROM")
	if at == "" {
		os.Exit(m.Run())
	}
	s, err := setups.Open(at)
	for err == nil {
		fmt.Println("begin")
		err = s.Keep(context.Background(), "shop", "k", from, deps)
	}
	fmt.Println(err)
	os.Exit(1)
}

// A process that is killed while it makes a result leaves none or a whole one.
func TestREAL02_AKillLeavesNothingHalf(t *testing.T) {
	_, at := store(t)
	from := tree(t)
	write(t, filepath.Join(from, "deps/large"), strings.Repeat("large ", 4<<20))
	if err := os.MkdirAll(filepath.Join(at, "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	for begun := range 3 { // of so many results the last is cut
		cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // it is this test
		cmd.Env = append(os.Environ(), "KEEP_AT="+at, "KEEP_FROM="+from)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range begun + 1 {
			if !lines.Scan() || lines.Text() != "begin" {
				t.Fatalf("the process says %q: %v", lines.Text(), lines.Err())
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		s, err := setups.Open(at)
		if err != nil {
			t.Fatal(err)
		}
		to := t.TempDir()
		_, err = s.Lay(t.Context(), "shop", "k", to, deps)
		switch left := names(t, filepath.Join(at, "shop")); {
		case err != nil && (!errors.Is(err, setups.ErrNone) || begun > 0 || len(left) > 0):
			t.Errorf("after %d results: %v, and there are %q", begun, err, left)
		case err == nil && (!slices.Equal(left, []string{"k"}) || len(look(t, to)) != len(look(t, from))-1): // all but a file beside
			t.Errorf("after %d results there are %q, and a copy of %d files", begun, left, len(look(t, to)))
		}
	}
}

// Of many results those go first that nobody has used for the longest time.
func TestREAL02_ResultsAreBounded(t *testing.T) {
	s, at := store(t)
	from, to := tree(t), t.TempDir()
	for i := range setups.Most {
		key := fmt.Sprintf("k%d", i)
		keep(t, s, key, from)
		when := noon.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(filepath.Join(at, "shop", key), when, when); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Lay(t.Context(), "shop", "k0", to, deps); err != nil {
		t.Fatal(err)
	}
	keep(t, s, "new", from)
	for key, want := range map[string]bool{"k0": true, "k1": false, "k2": true, "new": true} {
		if s.Has("shop", key) != want {
			t.Errorf("%s is there: %t", key, !want)
		}
	}
}

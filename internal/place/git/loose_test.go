package git

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
)

// incompressible writes a file of 3 MiB that does not compress, the same for the same seed.
func incompressible(t *testing.T, root, name string, seed uint64) {
	t.Helper()
	data, from := make([]byte, 3<<20), rand.New(rand.NewPCG(seed, 1))
	for i := range data {
		data[i] = byte(from.Uint32())
	}
	if err := os.WriteFile(filepath.Join(root, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// blobOf returns the object of a file in a commit of the registered repository.
func (f *fixture) blobOf(commit, name string) string { return f.user("rev-parse", commit+":"+name) }

// A large file is sent as the file that it is, with its small neighbours in a pack,
// and everything is there, sound, when the candidate is.
func TestREAL04_LargeFilesAreCopied(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, tt := range []struct {
		name    string
		prepare func(f *fixture)
	}{
		{"as they are", func(*fixture) {}},
		{"again, where they are already", func(f *fixture) {
			incompressible(f.t.(*testing.T), f.top, "copy", 1)
			f.user("hash-object", "-w", "copy")
			f.user("clean", "-fq")
		}},
		{"in a pack, where modes are for several users", func(f *fixture) { f.user("config", "core.sharedRepository", "group") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			tt.prepare(f)
			change := f.propose(1, func(root string) {
				incompressible(t, root, "one.bin", 1)
				incompressible(t, root, "two.bin", 2)
				f.editing("a.txt", "small\n")(root)
			})
			made := f.candidate(1, 5, change)
			for _, name := range []string{"one.bin", "two.bin"} {
				blob := f.blobOf(made.GetCommit(), name)
				info, err := os.Stat(filepath.Join(f.top, ".git", "objects", blob[:2], blob[2:]))
				if err != nil || info.Mode().Perm()&0o222 != 0 {
					t.Errorf("%s: %v, %v", name, info, err)
				}
			}
			if out := f.user("fsck", "--full", "--strict"); strings.Contains(out, "missing") || strings.Contains(out, "error") {
				t.Errorf("fsck: %s", out)
			}
			if left, _ := filepath.Glob(filepath.Join(f.top, ".git", "objects", "tmp_obj_*")); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
			f.land(1, 6, made)
			if got := f.user("show", "main:a.txt"); got != "small" {
				t.Errorf("a.txt is %q", got)
			}
		})
	}
}

// What the mirror has in a pack is sent in one.
func TestREAL04_LargePackedFilesArrive(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	change := f.propose(1, func(root string) { incompressible(t, root, "one.bin", 1) })
	if _, err := f.com.git().run(t.Context(), "repack", "-a", "-d", "-q"); err != nil {
		t.Fatal(err)
	}
	made := f.candidate(1, 5, change)
	if size := f.user("cat-file", "-s", f.blobOf(made.GetCommit(), "one.bin")); size != "3145728" {
		t.Errorf("it has %s bytes", size)
	}
}

// An object that is not what its name says is not let in, and leaves nothing.
func TestP4_ADamagedObjectIsNotCopied(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	oid := f.user("hash-object", "-w", "a.txt")
	from, to := filepath.Join(f.top, ".git", "objects"), t.TempDir()
	good, err := os.ReadFile(filepath.Join(from, oid[:2], oid[2:]))
	if err != nil {
		t.Fatal(err)
	}
	other := f.user("hash-object", "-w", "dir/b.txt")
	strange, err := os.ReadFile(filepath.Join(from, other[:2], other[2:]))
	if err != nil {
		t.Fatal(err)
	}
	bad := t.TempDir()
	for name, data := range map[string][]byte{
		"cut short": good[:len(good)-3], "empty": nil, "of other bytes": strange, "no object": []byte("text"),
		"with a bit turned": append(bytes.Clone(good[:len(good)/2]), append([]byte{good[len(good)/2] ^ 4}, good[len(good)/2+1:]...)...),
	} {
		if err := os.MkdirAll(filepath.Join(bad, oid[:2]), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bad, oid[:2], oid[2:]), data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := copyLoose(bad, to, oid); fault.Code(err) != "git/damaged" {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(to, "tmp_obj_*")); len(left) > 0 {
			t.Errorf("%s: left over: %v", name, left)
		}
		if _, err := os.Stat(filepath.Join(to, oid[:2], oid[2:])); err == nil {
			t.Errorf("%s: it was let in", name)
		}
	}
	if err := copyLoose(from, to, oid); err != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(filepath.Join(to, oid[:2], oid[2:])); err != nil || !bytes.Equal(now, good) {
		t.Errorf("copied: %v, the same: %t", err, bytes.Equal(now, good))
	}
}

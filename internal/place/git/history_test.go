package git

import (
	"slices"
	"strconv"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
)

// Commits that added or changed a file are told oldest first, under its own name, with
// those of a branch that was merged; one that took it away is none.
func TestDOC06_ChangesOfFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	commit := func(path, content, message string) string {
		f.write(path, content)
		f.user("add", "-A")
		f.user("commit", "-q", "-m", message)
		return f.head("HEAD")
	}
	first := commit("dir/a b.json", "1", "add\ttwo words")
	f.user("checkout", "-q", "-b", "side")
	second := commit("dir/a b.json", "2", "on the side")
	f.user("checkout", "-q", "main")
	other := commit("c.json", "x", "other")
	f.user("merge", "-q", "--no-ff", "-m", "merge", "side")
	f.user("rm", "-q", "c.json")
	f.user("commit", "-q", "-m", "take it away")
	head, names, err := f.repo.FilesNamed(t.Context(), "main", ".json")
	if err != nil || head != f.head("main") || !slices.Equal(names, []string{"dir/a b.json"}) {
		t.Fatalf("FilesNamed: %s %q %v", head, names, err)
	}
	changes, err := f.repo.Changes(t.Context(), head, []string{"dir/a b.json", "c.json", "never.json"})
	if err != nil || len(changes) != 2 {
		t.Fatalf("Changes: %v %v", changes, err)
	}
	got := changes["dir/a b.json"]
	if len(got) != 2 || got[0].Commit != first || got[1].Commit != second || got[1].Subject != "on the side" || got[0].Author != "User" || got[0].Time.IsZero() {
		t.Errorf("of a b.json: %+v", got)
	}
	if c := changes["c.json"]; len(c) != 1 || c[0].Commit != other {
		t.Errorf("of c.json: %+v", c)
	}
	if data, size, there, err := f.repo.FileAt(t.Context(), first, "dir/a b.json", 1); err != nil || !there || string(data) != "1" || size != 1 {
		t.Errorf("FileAt: %q %d %t %v", data, size, there, err)
	}
	if data, size, there, err := f.repo.FileAt(t.Context(), first, "dir/a b.json", 0); err != nil || !there || data != nil || size != 1 {
		t.Errorf("FileAt of a file that is too large: %q %d %t %v", data, size, there, err)
	}
	if _, _, there, err := f.repo.FileAt(t.Context(), head, "c.json", 1); err != nil || there {
		t.Errorf("FileAt of a file that was taken away: %t %v", there, err)
	}
	if _, _, err := f.repo.FilesNamed(t.Context(), "--all", ".json"); fault.Code(err) != "git/unknown-branch" {
		t.Errorf("FilesNamed(--all): %v", err)
	}
}

// Authors, subjects and paths hold any byte but NUL, and subjects may be empty: no commit
// and no file is lost for that.
func TestDOC06_ChangesHaveAnyBytes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const hash = "0123456789abcdef0123456789abcdef01234567"
	paths := []string{"\nodd.json", "a.json", hash}
	subjects := []string{"one \x01two", "", hash + "\x01\x02"}
	for i, subject := range subjects {
		for _, path := range paths {
			f.write(path, subject+strconv.Itoa(i))
		}
		f.user("add", "-A")
		f.user("commit", "-q", "--author", "U\x01ser <u@example.com>", "--allow-empty-message", "-m", subject)
	}
	changes, err := f.repo.Changes(t.Context(), f.head("HEAD"), paths)
	if err != nil || len(changes) != len(paths) {
		t.Fatalf("Changes: %q %v", changes, err)
	}
	for _, path := range paths {
		var got []string
		for _, c := range changes[path] {
			got = append(got, c.Subject)
			if c.Author != "U\x01ser" || len(c.Commit) != len(hash) || c.Time.IsZero() {
				t.Errorf("of %q: %+v", path, c)
			}
		}
		if !slices.Equal(got, subjects) {
			t.Errorf("of %q: %q, want %q", path, got, subjects)
		}
	}
}

//go:build unix

package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/tool"
)

// newSparse is a workspace whose index says that only the files at the top and
// those in src/net are checked out.
func newSparse(t *testing.T) *repository {
	t.Helper()
	r := newRepository(t)
	put(t, r.Root, map[string]string{"src/net/ip.go": "package net\n", "src/os/file.go": "package os // needle\n", "src/os/dir.go": "package os\n"})
	r.git("add", ".")
	r.git("commit", "-qm", "third")
	r.git("update-index", "--skip-worktree", "src/os/file.go", "src/os/dir.go", "b/b.go")
	for _, dir := range []string{"src/os", "b"} {
		if err := os.RemoveAll(filepath.Join(r.Root, dir)); err != nil {
			t.Fatal(err)
		}
	}
	r.Base, r.Sparse = "HEAD", []string{"src/net"}
	return r
}

// TestREAL04_WhatIsNotCheckedOutIsNotMissing asks tools for files that the repository
// has and a sparse checkout has not: none says that there is no such file, and none
// writes over what nobody has seen.
func TestREAL04_WhatIsNotCheckedOutIsNotMissing(t *testing.T) {
	longtest.Skip(t)
	for name, a := range map[string]args{
		"file_read":      {"path": "src/os/file.go"},
		"file_edit":      {"path": "src/os/file.go", "old_text": "os", "new_text": "so"},
		"file_write":     {"path": "./src/os/file.go", "content": "x"},
		"apply_patch":    {"patch": "*** Begin Patch\n*** Add File: src/os/file.go\n+x\n*** End Patch"},
		"directory_list": {"path": "src/os"},
		"content_search": {"path": "src/os", "pattern": "needle"},
		"file_search":    {"path": "b", "pattern": "**"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newSparse(t)
			got := do(t, tool.New(r.Workspace, nil), name, a)
			if got.Code != "tool/not-found" {
				t.Errorf("%s: %s %s, want tool/not-found", name, got.Code, got.Output)
			}
			says(t, got, "the repository has", "not checked out here", "src/net", "git_show")
			if _, err := os.Lstat(filepath.Join(r.Root, "src/os")); err == nil {
				t.Error("it made the directory")
			}
		})
	}
	r := newSparse(t)
	s := tool.New(r.Workspace, nil)
	says(t, ok(t, do(t, s, "git_show", args{"path": "src/os/file.go"})), "needle")
	for name, a := range map[string]args{
		"content_search": {"pattern": "needle"}, "file_search": {"pattern": "**/file.go"}, "directory_list": {"depth": 3},
	} {
		got := ok(t, do(t, s, name, a))
		says(t, got, "3 files of the repository that are not checked out here", "src/net")
		silent(t, got, "src/os/file.go")
	}
	if got := do(t, s, "file_read", args{"path": "src/nowhere.go"}); got.Code != "tool/not-found" {
		t.Errorf("what the repository lacks: %s %s", got.Code, got.Output)
	} else {
		silent(t, got, "the repository has")
	}
	says(t, ok(t, do(t, s, "git_status", args{})), "nothing has changed")

	put(t, r.Root, map[string]string{"src/os/file.go": "package os // needle, changed\n"})
	says(t, ok(t, do(t, s, "git_status", args{})), "src/os/file.go")
	says(t, ok(t, do(t, s, "git_diff", args{})), "needle, changed")
	says(t, ok(t, do(t, s, "content_search", args{"pattern": "needle"})), "src/os/file.go", "2 files of the repository")
	ok(t, do(t, s, "file_write", args{"path": "src/os/file.go", "content": "package os\n"}))
	ok(t, do(t, s, "file_write", args{"path": "src/os/new.go", "content": "package os\n"}))
}

// silent fails if the output has the words.
func silent(t *testing.T, r tool.Result, words string) {
	t.Helper()
	if strings.Contains(r.Output, words) {
		t.Errorf("output has %q:\n%s", words, r.Output)
	}
}

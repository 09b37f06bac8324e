//go:build unix

package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// repository is a workspace whose git directory and index lie elsewhere, with
// two commits.
type repository struct {
	tool.Workspace
	t testing.TB
}

func newRepository(t testing.TB) *repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is needed: ", err)
	}
	top := t.TempDir()
	r := &repository{tool.Workspace{
		Root: filepath.Join(top, "work"), GitDir: filepath.Join(top, "mirror.git"), Index: filepath.Join(top, "index"),
	}, t}
	put(t, r.Root, map[string]string{"a.go": "package a\n", "b/b.go": "package b\n", ".gitignore": "*.log\nbuild/\n"})
	r.git("init", "-q")
	r.git("add", ".")
	r.git("commit", "-qm", "first")
	put(t, r.Root, map[string]string{"a.go": "package a\n\nvar X = 1\n"})
	r.git("commit", "-qam", "second: X")
	r.Base = strings.TrimSpace(r.git("rev-parse", "HEAD"))
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"--git-dir", r.GitDir, "--work-tree", r.Root}, args...)...)
	cmd.Dir = r.Root
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.t.TempDir(), "GIT_INDEX_FILE=" + r.Index, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com",
		"GIT_AUTHOR_DATE=2026-01-02T12:00:00Z", "GIT_COMMITTER_DATE=2026-01-02T12:00:00Z",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

// sign puts a commit with a signature in the place of the base.
func (r *repository) sign() {
	r.t.Helper()
	head, message, _ := strings.Cut(r.git("cat-file", "commit", r.Base), "\n\n")
	path := filepath.Join(r.t.TempDir(), "commit")
	signed := head + "\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\n" + message
	if err := os.WriteFile(path, []byte(signed), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.Base = strings.TrimSpace(r.git("hash-object", "-t", "commit", "-w", path))
}

func TestTOOL01_Git(t *testing.T) {
	r := newRepository(t)
	s := tool.New(r.Workspace, nil)
	says(t, ok(t, do(t, s, "git_status", args{})), "nothing has changed")
	says(t, ok(t, do(t, s, "git_diff", args{})), "nothing differs")
	put(t, r.Root, map[string]string{"a.go": "package a\n\nvar X = 2\n", "new ünd.go": "x", "out.log": "x", "build/x": "x"})
	if err := os.Remove(filepath.Join(r.Root, "b/b.go")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		tool string
		args args
		want string
	}{
		{"git_status", args{}, "M a.go\nD b/b.go\n? new ünd.go\n"},
		{"git_diff", args{"path": "a.go"}, "diff --git a/a.go b/a.go\nindex e7f5e98..3e5ae8a 100644\n--- a/a.go\n+++ b/a.go\n@@ -1,3 +1,3 @@\n package a\n \n-var X = 1\n+var X = 2\n"},
		{"git_diff", args{"path": "new ünd.go"}, "[new, unknown to git] new ünd.go\n"},
		{"git_diff", args{"path": "none"}, "nothing differs\n"},
		{"git_log", args{"limit": 1}, r.Base[:7] + " 2026-01-02 12:00 +0000 Ann: second: X\n"},
		{"git_log", args{"path": "b"}, r.git("rev-parse", "--short", "HEAD~")[:7] + " 2026-01-02 12:00 +0000 Ann: first\n"},
		{"git_log", args{"from": "HEAD~1"}, r.git("rev-parse", "--short", "HEAD~")[:7] + " 2026-01-02 12:00 +0000 Ann: first\n"},
		{"git_diff", args{"from": "none"}, "tool/not-found: from: there is no such commit (got \"none\"); git_log lists commits\n"},
		{"git_diff", args{"from": "--output=x"}, "tool/arguments: /from: it is not the name of a commit (got \"--output=x\")\n"},
		{"git_diff", args{"from": "HEAD..HEAD~1"}, "tool/arguments: /from: it is not the name of a commit (got \"HEAD..HEAD~1\")\n"},
		{"git_log", args{"path": "../x"}, "tool/outside: path: not a path of the workspace: it has a \"..\" (got \"../x\")\n"},
		{"git_diff", args{"path": ":(exclude)a.go"}, "nothing differs\n"},
	} {
		got := do(t, s, tt.tool, tt.args).Output
		if strings.HasPrefix(got, "diff ") { // how long git abbreviates is its own affair
			tt.want = got[:strings.Index(got, "index ")] + tt.want[strings.Index(tt.want, "index "):]
			got, tt.want = cutIndexLine(got), cutIndexLine(tt.want)
		}
		if got != tt.want {
			t.Errorf("%s %v:\n%s\nwant\n%s", tt.tool, tt.args, got, tt.want)
		}
	}
	for _, name := range []string{"git_status", "git_diff", "git_log", "git_show", "git_blame"} {
		a := args{}
		switch name {
		case "git_show":
			a["commit"] = "HEAD"
		case "git_blame":
			a["path"] = "a.go"
		}
		if got := do(t, tool.New(tool.Workspace{Root: r.Root}, nil), name, a); got.Code != "tool/failed" {
			t.Errorf("%s without a git directory: %s", name, got.Output)
		}
	}
}

// Who judges a commit is told of its lines, which are those that file_read counts, and
// not of the lines before it.
func TestTOOL01_ABlameIsOfWhatIsJudged(t *testing.T) {
	r := newRepository(t)
	judged := r.Workspace
	judged.Base, judged.Head = strings.TrimSpace(r.git("rev-parse", "HEAD~")), r.Base
	if got := do(t, tool.New(judged, nil), "git_blame", args{"path": "a.go"}).Output; !strings.Contains(got, "3) var X = 1\n") {
		t.Errorf("it is told of\n%s", got)
	}
}

func TestTOOL01_GitShowAndBlame(t *testing.T) {
	longtest.Skip(t)
	r := newRepository(t)
	put(t, r.Root, map[string]string{"a.go": "package changed\n"})
	first := strings.TrimSpace(r.git("rev-parse", "HEAD~"))
	s := tool.New(r.Workspace, nil)
	for _, tt := range []struct {
		tool string
		args args
		want string // the output, or what it holds when it begins with "..."
	}{
		{"git_show", args{"commit": "HEAD"}, "..." + r.Base + " 2026-01-02 12:00 +0000 Ann\n\nsecond: X\n"},
		{"git_show", args{"commit": "HEAD"}, "...\n a.go | 2 ++\n"},
		{"git_show", args{"commit": "HEAD"}, "...@@ -1 +1,3 @@\n package a\n+\n+var X = 1\n"},
		{"git_show", args{"commit": "HEAD~1"}, "...+package a\n"},
		{"git_show", args{"commit": "HEAD", "path": "a.go"}, "     1\tpackage a\n     2\t\n     3\tvar X = 1\n[end of the file, 3 lines]\n"},
		{"git_show", args{"commit": "HEAD", "path": "a.go", "offset": 1, "limit": 1}, "     1\tpackage a\n[lines 1 to 1 of 3; go on with offset 2]\n"},
		{"git_show", args{"commit": first, "path": "./a.go"}, "     1\tpackage a\n[end of the file, 1 lines]\n"},
		{"git_show", args{"commit": "HEAD", "path": "b"}, "b.go\n"},
		{"git_blame", args{"path": "a.go", "offset": 3}, "...(Ann 2026-01-02 3) var X = 1\n"},
		{"git_show", args{}, "...\n a.go | 2 ++\n"},
		{"git_blame", args{"path": "a.go", "limit": 1}, "..." + first[:7]},
		{"git_blame", args{"path": "a.go", "limit": 2}, "...\n[lines 1 to 2; go on with offset 3]\n"},
		{"git_blame", args{"path": "a.go", "offset": 2, "limit": 2}, "...(Ann 2026-01-02 3) var X = 1\n"},
		{"git_blame", args{"path": "a.go", "commit": "HEAD~1"}, "...(Ann 2026-01-02 1) package a\n"},
		{"git_blame", args{"path": "a.go", "offset": 9}, "...has only 3 lines"},
		{"git_blame", args{"path": "b"}, "tool/failed: path: it is a directory (got \"b\"); name a file\n"},
		{"git_blame", args{"path": "."}, "tool/failed: path: it is a directory (got \".\"); name a file\n"},
		{"git_show", args{"commit": "none"}, "tool/not-found: commit: there is no such commit (got \"none\"); git_log lists commits\n"},
		{"git_blame", args{"path": "a.go", "commit": "none"}, "tool/not-found: commit: there is no such commit (got \"none\"); git_log lists commits\n"},
		{"git_show", args{"commit": "--output=x"}, "tool/arguments: /commit: it is not the name of a commit (got \"--output=x\")\n"},
		{"git_blame", args{"path": "a.go", "commit": "--contents=x"}, "tool/arguments: /commit: it is not the name of a commit (got \"--contents=x\")\n"},
		{"git_show", args{"commit": "HEAD:a.go"}, "tool/arguments: /commit: it is not the name of a commit (got \"HEAD:a.go\")\n"},
		{"git_show", args{"commit": "HEAD", "path": "../x"}, "tool/outside: path: not a path of the workspace: it has a \"..\" (got \"../x\")\n"},
		{"git_show", args{"commit": "HEAD~1", "path": "late.go"}, "tool/not-found: path: commit " + first[:12] + " has no such file (got \"late.go\"); git_log with this path lists the commits that touch it\n"},
		{"git_blame", args{"path": "--help"}, "tool/not-found: path: commit " + r.Base[:12] + " has no such file (got \"--help\"); git_log with this path lists the commits that touch it\n"},
	} {
		got := do(t, s, tt.tool, tt.args).Output
		if part, ok := strings.CutPrefix(tt.want, "..."); ok && !strings.Contains(got, part) || !ok && got != tt.want {
			t.Errorf("%s %v:\n%s\nwant\n%s", tt.tool, tt.args, got, tt.want)
		}
	}
	if changed := do(t, s, "git_show", args{"commit": "HEAD"}).Changed; len(changed) > 0 {
		t.Errorf("git_show changed %v", changed)
	}
}

// What is shown of large commits and files is bounded, and a file goes on at an
// offset.
func TestTOOL01_GitShowIsBounded(t *testing.T) {
	longtest.Skip(t)
	r := newRepository(t)
	put(t, r.Root, map[string]string{"large.txt": strings.Repeat("some words on a line\n", 30_000), "large.bin": "a\x00b", "huge.txt": strings.Repeat("x\n", 2<<20+1)})
	r.git("add", ".")
	r.git("commit", "-qm", "large")
	r.Base = "" // so that HEAD is what git says
	s := tool.New(r.Workspace, nil)
	for _, a := range []args{{"commit": "HEAD"}, {"commit": "HEAD", "path": "large.txt"}} {
		if out := do(t, s, "git_show", a).Output; len(out) > tool.MaxOutput || !strings.Contains(out, "some words") {
			t.Errorf("git_show %v: %d bytes", a, len(out))
		}
	}
	says(t, ok(t, do(t, s, "git_show", args{"commit": "HEAD", "path": "large.txt", "offset": 29_999})), " 30000\tsome words on a line\n[end of the file, 30000 lines]")
	if out := do(t, s, "git_blame", args{"path": "large.txt", "commit": "HEAD"}).Output; strings.Count(out, "\n") != 201 || !strings.HasSuffix(out, "\n[lines 1 to 200; go on with offset 201]\n") {
		t.Errorf("git_blame without a limit: %d lines", strings.Count(out, "\n"))
	}
	if out := do(t, s, "git_blame", args{"path": "large.txt", "commit": "HEAD", "limit": 10_000}).Output; len(out) > tool.MaxOutput {
		t.Errorf("git_blame of much: %d bytes", len(out))
	}
	says(t, do(t, s, "git_show", args{"commit": "HEAD", "path": "large.bin"}), "the file is not text")
	says(t, do(t, s, "git_show", args{"commit": "HEAD", "path": "huge.txt"}), "tool/too-large: path: the file has 4194306 bytes")
}

func cutIndexLine(patch string) string {
	before, rest, _ := strings.Cut(patch, "index ")
	_, after, _ := strings.Cut(rest, "\n")
	return before + after
}

func TestTOOL01_SearchAsGitDoes(t *testing.T) {
	r := newRepository(t)
	put(t, r.Root, map[string]string{"out.log": "var X\n", "build/x.go": "var X\n", "new.go": "var X\n", "nested/.git/x": "var X\n"})
	s := tool.New(r.Workspace, nil)
	const left = "[ignored and not searched, unless path names it: build/, out.log]\n"
	if got := ok(t, do(t, s, "file_search", args{"pattern": "**"})).Output; got != ".gitignore\na.go\nb/b.go\nnew.go\n"+left {
		t.Errorf("file_search: %s", got)
	}
	if got := ok(t, do(t, s, "content_search", args{"pattern": "var X"})).Output; got != "a.go:3:var X = 1\nnew.go:1:var X\n"+left {
		t.Errorf("content_search: %s", got)
	}
	if got := ok(t, do(t, s, "file_search", args{"pattern": "*.go", "path": "b"})).Output; got != "b/b.go\n" {
		t.Errorf("file_search below b: %s", got)
	}
}

// Nothing that an agent can write makes the runtime's git run a program, and
// the .git in the workspace is not looked at.
func TestP11_GitRunsNothing(t *testing.T) {
	r := newRepository(t)
	hit := filepath.Join(t.TempDir(), "hit")
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$0 $*\" >> "+hit+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := "[core]\nrepositoryformatversion = 0\nfsmonitor = " + script + "\nhooksPath = " + filepath.Dir(script) + "\n" +
		"[diff]\nexternal = " + script + "\n[diff \"evil\"]\ncommand = " + script + "\ntextconv = " + script + "\n" +
		"[filter \"evil\"]\nclean = " + script + "\nsmudge = " + script + "\nrequired = true\n" +
		"[filter \"evil2\"]\nprocess = " + script + "\n[log]\nshowSignature = true\n[gpg]\nprogram = " + script + "\n"
	put(t, r.Root, map[string]string{
		".git/config": config, ".git/HEAD": "ref: refs/heads/x\n", ".gitattributes": "*.go filter=evil diff=evil\n*.txt filter=evil2\n",
		"a.go": "package a\n\nvar X = 3\n", "c.txt": "x",
	})
	r.sign()
	trusted, err := os.OpenFile(filepath.Join(r.GitDir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trusted.WriteString(config); err != nil {
		t.Fatal(err)
	}
	if err := trusted.Close(); err != nil {
		t.Fatal(err)
	}
	s := tool.New(r.Workspace, nil)
	says(t, ok(t, do(t, s, "git_status", args{})), "M a.go")
	says(t, ok(t, do(t, s, "git_diff", args{})), "+var X = 3")
	says(t, ok(t, do(t, s, "git_log", args{})), "second: X")
	says(t, ok(t, do(t, s, "git_show", args{"commit": "HEAD"})), "+var X = 1")
	says(t, ok(t, do(t, s, "git_show", args{"commit": r.Base})), "+var X = 1")
	says(t, ok(t, do(t, s, "git_show", args{"commit": "HEAD", "path": "a.go"})), "var X = 1")
	says(t, ok(t, do(t, s, "git_blame", args{"path": "a.go"})), "var X = 1")
	says(t, ok(t, do(t, s, "file_search", args{"pattern": "*.go"})), "a.go")
	if data, err := os.ReadFile(hit); err == nil {
		t.Errorf("git ran a program:\n%s", data)
	}
}

// What git ignores, and dependencies that nobody ignored, are left out of
// searches, which say so; a path that names them has them searched.
func TestTOOL01_WhatSearchesLeaveOut(t *testing.T) {
	r := newRepository(t)
	put(t, r.Root, map[string]string{
		"build/out.go": "package out\n", "x.log": "package log\n", "web/node_modules/p/index.js": "package p\n",
		".venv/lib/q.py": "package q\n", "b/.gitkeep": "",
	})
	s := tool.New(r.Workspace, nil)
	const left = "ignored and not searched, unless path names it: "
	for _, tt := range []struct {
		tool string
		args args
		want string
	}{
		{"content_search", args{"pattern": "^package"}, "a.go:1:package a\nb/b.go:1:package b\n[" + left + ".venv/, build/, web/node_modules/, x.log]\n"},
		{"content_search", args{"pattern": "^package", "path": "b"}, "b/b.go:1:package b\n"},
		{"content_search", args{"pattern": "^package", "path": "build"}, "build/out.go:1:package out\n"},
		{"content_search", args{"pattern": "^package", "path": "x.log"}, "x.log:1:package log\n"},
		{"content_search", args{"pattern": "^package", "path": "web/node_modules/p"}, "web/node_modules/p/index.js:1:package p\n"},
		{"file_search", args{"pattern": "**/*.go"}, "a.go\nb/b.go\n[" + left + ".venv/, build/, web/node_modules/, x.log]\n"},
	} {
		res := ok(t, do(t, s, tt.tool, tt.args))
		if res.Output != tt.want {
			t.Errorf("%s %v:\n%s\nwant\n%s", tt.tool, tt.args, res.Output, tt.want)
		}
		if strings.Contains(tt.want, left) != strings.Contains(res.Summary, left) {
			t.Errorf("%s %v: summary %q", tt.tool, tt.args, res.Summary)
		}
	}
}

// Of what lies deeper than a path can name git warns, in a line that is as long. No
// tool takes that for a file.
func TestTOOL01_WhatGitWarnsOfIsNoFile(t *testing.T) {
	r := newRepository(t)
	at, err := os.OpenRoot(r.Root)
	for name := strings.Repeat("d", 200); err == nil && len(name) < 225; name += "d" {
		var next *os.Root
		if err = at.Mkdir(name, 0o755); err == nil {
			next, err = at.OpenRoot(name)
		}
		if at.Close(); err == nil {
			at = next
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	if err := at.WriteFile("deep.go", []byte("package deep\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := tool.New(r.Workspace, nil)
	for _, c := range []struct {
		tool string
		args args
	}{{"git_status", args{}}, {"git_diff", args{}}, {"file_search", args{"pattern": "**"}}, {"content_search", args{"pattern": "nothing at all"}}} {
		if res := do(t, s, c.tool, c.args); res.Status != loomv1.ToolStatus_TOOL_STATUS_OK || strings.Contains(res.Output, "warning") {
			t.Errorf("%s: %v, %.300s", c.tool, res.Status, res.Output)
		}
	}
}

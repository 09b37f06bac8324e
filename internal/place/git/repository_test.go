package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.user("clone", "-q", "--bare", f.top, f.top+".git")
	f.user("worktree", "add", "-q", "--detach", f.top+"-linked")
	link(t, f.top, f.top+"-alias")
	partial := f.top + "-partial"
	f.user("config", "uploadpack.allowFilter", "true")
	f.user("clone", "-q", "--filter=blob:none", "file://"+f.top, partial)
	f.write("file", "x")
	for _, tt := range []struct{ path, code string }{
		{f.top, ""},
		{f.top + "/.git", ""},
		{f.top + "-alias", ""},
		{f.top + "-linked", ""},
		{f.top + ".git", ""},
		{f.top + "/dir", "git/not-a-repository"},
		{f.top + "/file", "git/not-a-repository"},
		{f.top + "/nowhere", "git/not-a-repository"},
		{t.TempDir(), "git/not-a-repository"},
		{"", "git/not-a-repository"},
		{partial, "git/unsupported"},
	} {
		r, err := Open(t.Context(), tt.path)
		if tt.code != "" {
			wantCode(t, err, tt.code)
		} else if err != nil || !filepath.IsAbs(r.Path()) {
			t.Errorf("Open(%s) = %v, %v", tt.path, r, err)
		}
	}
}

func TestBranch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	head := f.head("main")
	f.user("branch", "dev")
	f.user("branch", "loom/mine")
	unborn := filepath.Join(t.TempDir(), "unborn")
	f.user("init", "-q", "-b", "trunk", unborn)
	empty, err := Open(t.Context(), unborn)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		repo             *Repository
		name, want, code string
		says             string
	}{
		{f.repo, "", "main", "", ""},
		{f.repo, "main", "main", "", ""},
		{f.repo, "refs/heads/dev", "dev", "", ""},
		{f.repo, "nope", "", "git/unknown-branch", "there are: dev, loom/mine, main"},
		{f.repo, "HEAD", "", "git/unknown-branch", ""},
		{f.repo, head, "", "git/unknown-branch", ""},
		{f.repo, "-main", "", "git/unknown-branch", ""},
		{f.repo, "main^{tree}", "", "git/unknown-branch", ""},
		{f.repo, "ma in\n", "", "git/unknown-branch", ""},
		{f.repo, "loom/mine", "", "git/unsupported", "Loom's own"},
		{empty, "", "", "git/unknown-branch", "no commit yet"},
		{empty, "trunk", "", "git/unknown-branch", "no commit yet"},
		{empty, "main", "", "git/unknown-branch", "no such branch"},
	} {
		name, got, err := tt.repo.Branch(t.Context(), tt.name)
		if tt.code != "" {
			wantText(t, wantCode(t, err, tt.code), tt.says)
		} else if err != nil || name != tt.want || got != head {
			t.Errorf("Branch(%q) = %q, %q, %v; want %q, %q", tt.name, name, got, err, tt.want, head)
		}
	}
	f.user("checkout", "-q", "--detach")
	_, _, err = f.repo.Branch(t.Context(), "")
	wantText(t, wantCode(t, err, "git/unknown-branch"), "no branch is checked out")
}

func TestAvailable(t *testing.T) {
	if err := Available(t.Context()); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct{ script, says string }{
		{"", "2.38 or newer"},
		{"#!/bin/sh\necho git version 2.37.9\n", "2.37"},
		{"#!/bin/sh\necho git version 1.99\n", "1.99"},
		{"#!/bin/sh\necho something else\n", "something else"},
	} {
		dir := t.TempDir()
		if tt.script != "" {
			executable(t, filepath.Join(dir, "git"), tt.script)
		}
		t.Setenv("PATH", dir)
		wantText(t, wantCode(t, Available(t.Context()), "host/no-git"), tt.says)
	}
	t.Setenv("PATH", "")
	wantCode(t, Available(t.Context()), "host/no-git")
}

func TestDamagedFence(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, text := range []string{"", "token", "token -1\n", "token 5", "token 5\nmore", "token 99999999999999999999\n"} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f.user("update-ref", fenceRef(deployment), f.user("hash-object", "-w", path))
		_, err := f.repo.Fence(t.Context(), deployment)
		wantCode(t, err, "git/damaged")
		_, err = f.repo.raise(t.Context(), deployment, 7)
		wantCode(t, err, "git/damaged")
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	change := f.propose(1, f.editing("a.txt", "loom\n"))
	for name, bad := range map[string]func(*CandidateRequest){
		"deployment": func(r *CandidateRequest) { r.Deployment = "../x" },
		"bead":       func(r *CandidateRequest) { r.Bead = "" },
		"execution":  func(r *CandidateRequest) { r.Execution = "a b" },
		"decision":   func(r *CandidateRequest) { r.Decision = "x\nLoom-Token: 9" },
		"token":      func(r *CandidateRequest) { r.Token = 0 },
		"target":     func(r *CandidateRequest) { r.Target = "nope" },
		"change":     func(r *CandidateRequest) { r.Change = nil },
		"author":     func(r *CandidateRequest) { r.Author.Name = "x <y>" },
		"address":    func(r *CandidateRequest) { r.Author.Email = "" },
	} {
		req := f.request(1, 5, change)
		bad(&req)
		if _, _, err := f.com.Candidate(t.Context(), req); err == nil {
			t.Errorf("a bad %s was accepted", name)
		}
	}
	if _, err := f.com.Land(t.Context(), f.landRequest(1, 5, nil)); err == nil {
		t.Error("no candidate was accepted")
	}
	if _, err := f.ws.Open(t.Context(), "../../x", "b"); err == nil || exists(filepath.Join(f.data, "..", "x")) {
		t.Error("an execution that is a path was accepted")
	}
	if _, err := NewCommitter(f.data, "../p", f.repo); err == nil {
		t.Error("a project that is a path was accepted")
	}
	if refs := f.user("for-each-ref", "refs/loom/candidate"); refs != "" || strings.Contains(refs, "b1") {
		t.Errorf("refs %s", refs)
	}
}

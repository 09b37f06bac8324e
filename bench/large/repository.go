//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	lastFile = "zzz/last/last.go" // of the last directory
	symbol   = "LoomStandsInTheLastDirectory"
	binary   = "large.bin"
	more     = "more.bin"
	size     = 50 << 20
)

// makeRepository puts the files and a binary under git as one commit, with a hook.
func makeRepository(ctx context.Context, o options) (path string, files int, err error) {
	from := o.from
	if from == "" {
		root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
		if err != nil {
			return "", 0, err
		}
		from = strings.TrimSpace(string(root))
	}
	path = filepath.Join(o.dir, "repository")
	if err := os.CopyFS(path, os.DirFS(from)); err != nil {
		return "", 0, err
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Join(path, lastFile)), 0o700); err != nil {
		return "", 0, err
	}
	noise := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // never fails
	for name, data := range map[string][]byte{
		lastFile: []byte("package last\n\nfunc " + symbol + "() {}\n"), binary: noise,
	} {
		if err := os.WriteFile(filepath.Join(path, name), data, 0o600); err != nil {
			return "", 0, err
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A", "-f"},
		{"-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "all"},
		{"repack", "-q", "-a", "-d"},
	} {
		if _, err := git(ctx, path, args...); err != nil {
			return "", 0, err
		}
	}
	hook := filepath.Join(path, ".git", "hooks", "pre-commit")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntest -s "+lastFile+"\n"), 0o700); err != nil { //nolint:gosec // it has to run
		return "", 0, err
	}
	list, err := git(ctx, path, "ls-files")
	return path, bytes.Count(list, []byte("\n")), err
}

func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, nil
}

// gitCalls counts what git is asked, by a program that stands before it in PATH.
type gitCalls struct {
	log  string
	seen int
}

func countCalls(dir string) (*gitCalls, error) {
	real, err := exec.LookPath("git")
	if err != nil {
		return nil, err
	}
	bin, log := filepath.Join(dir, "bin"), filepath.Join(dir, "calls")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return nil, err
	}
	script := fmt.Sprintf("#!/bin/sh\necho \"$*\" >>'%s' 2>/dev/null\nexec '%s' \"$@\"\n", log, real)
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o700); err != nil { //nolint:gosec // it has to run
		return nil, err
	}
	return &gitCalls{log: log}, os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// next returns how many checkouts were written whole and how many were moved since
// it was asked last.
func (c *gitCalls) next() (whole, moved int) {
	data, _ := os.ReadFile(c.log) // there is none before the first call
	for line := range strings.Lines(string(data[c.seen:])) {
		switch {
		case strings.Contains(line, "read-tree --reset -u"):
			whole++
		case strings.Contains(line, "--work-tree") && strings.Contains(line, "read-tree -m -u") && !strings.Contains(line, "-m -u -n"):
			moved++
		}
	}
	c.seen = len(data)
	return whole, moved
}

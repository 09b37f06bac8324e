package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

const (
	callTimeout = 2 * time.Minute  // of one git call that names no other
	bulkTimeout = 15 * time.Minute // of one whose work grows with the repository
	callOutput  = 64 << 20         // bytes of standard output that a call may give
	grace       = 2 * time.Second
)

// neutral is configuration that outranks every file: nothing in it lets a
// repository name a program that git would start.
var neutral = []string{
	"core.fsmonitor=false", "core.hooksPath=/dev/null", "core.attributesFile=/dev/null",
	"core.excludesFile=/dev/null", "core.sshCommand=false", "core.gitProxy=", "core.askPass=",
	"core.pager=cat", "core.editor=false", "core.alternateRefsCommand=", "core.untrackedCache=false",
	"core.quotePath=false", "core.fsync=objects,derived-metadata,reference,index", "core.fsyncMethod=fsync",
	"diff.external=", "diff.ignoreSubmodules=all", "credential.helper=", "protocol.allow=never",
	"protocol.ext.allow=never", "protocol.file.allow=never", "submodule.recurse=false",
	"gc.auto=0", "maintenance.auto=false", "log.showSignature=false", "commit.gpgSign=false",
	"safe.directory=*", "advice.graftFileDeprecated=false", "core.filesRefLockTimeout=3000", "core.packedRefsTimeout=3000",
}

// bulk are the commands whose work grows with the number of files, or with the
// size of the history: a large repository or a slow disk is no fault of theirs.
var bulk = map[string]bool{
	"add": true, "blame": true, "check-attr": true, "checkout-index": true, "commit": true, "diff": true,
	"diff-files": true, "diff-index": true, "diff-tree": true, "gc": true, "index-pack": true, "ls-files": true, "ls-tree": true,
	"merge-base": true, "merge-tree": true, "pack-objects": true, "read-tree": true, "rev-list": true, "unpack-objects": true,
	"update-index": true, "write-tree": true,
}

// environment is the whole environment of a git call. Nothing of the caller's
// own is passed on but PATH; HOME is a place that can hold no file.
func environment(extra ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=/dev/null", "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=/dev/null", "GIT_PAGER=cat", "GIT_EDITOR=false",
		"GIT_AUTHOR_NAME=" + committerName, "GIT_AUTHOR_EMAIL=" + committerEmail,
		"GIT_COMMITTER_NAME=" + committerName, "GIT_COMMITTER_EMAIL=" + committerEmail,
	}, extra...)
}

// call is one git command. Its zero value with args runs git outside of any
// repository.
type call struct {
	gitDir   string   // always explicit, never discovered
	workTree string   // where files are; empty for none
	index    string   // index file; empty for the repository's own
	config   []string // further key=value pairs
	env      []string // further variables
	stdin    io.Reader
	timeout  time.Duration // zero means bulkTimeout for a bulk command, else callTimeout
	dir      string        // working directory; empty means workTree, else gitDir
	keep     *os.File      // stays open in git too, so that its lock outlives this process
}

// run returns what git printed. An exit status other than zero is a git/failed
// error, see [exitCode]; running out of time is git/timeout.
func (c call) run(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit(args[0]))
	defer cancel()
	stdout, stderr := &bounded{most: callOutput}, &bounded{most: 4 << 10}
	cmd := c.command(ctx, args)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	if err == nil && stdout.over {
		return nil, fault.New("git/too-large", "git %s gave more than %d MiB", args[0], callOutput>>20)
	}
	return stdout.head, c.explain(ctx, args, err, stderr)
}

// head is run for the first bytes of what git prints; the rest is dropped.
func (c call) head(ctx context.Context, most int, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit(args[0]))
	defer cancel()
	stdout, stderr := &bounded{most: most}, &bounded{most: 4 << 10}
	cmd := c.command(ctx, args)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return stdout.head, c.explain(ctx, args, cmd.Run(), stderr)
}

// line is run for an answer of one line.
func (c call) line(ctx context.Context, args ...string) (string, error) {
	out, err := c.run(ctx, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

func (c call) limit(command string) time.Duration {
	switch {
	case c.timeout != 0:
		return c.timeout
	case bulk[command]:
		return bulkTimeout
	}
	return callTimeout
}

// writeTree writes the files of a tree to an empty work tree, several at a
// time, and leaves them in the call's index.
func (c call) writeTree(ctx context.Context, treeish string) error {
	c.config = append(slices.Clone(c.config), "checkout.workers=0", "checkout.thresholdForParallelism=500")
	_, err := c.run(ctx, "read-tree", "--reset", "-u", treeish)
	return err
}

func (c call) command(ctx context.Context, args []string) *exec.Cmd {
	all := []string{"--no-pager"}
	if c.gitDir != "" {
		all = append(all, "--git-dir="+c.gitDir)
	}
	if c.workTree != "" {
		all = append(all, "--work-tree="+c.workTree)
	}
	for _, kv := range append(append([]string{}, neutral...), c.config...) {
		all = append(all, "-c", kv)
	}
	cmd := exec.CommandContext(ctx, "git", append(all, args...)...)
	cmd.Env = environment(c.env...)
	if c.index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+c.index)
	}
	cmd.Dir = c.place()
	cmd.Stdin = c.stdin
	if c.keep != nil {
		cmd.ExtraFiles = []*os.File{c.keep}
	}
	ownGroup(cmd, syscall.SIGTERM) // git removes its lock files on SIGTERM
	return cmd
}

func (c call) place() string {
	for _, dir := range []string{c.dir, c.workTree, c.gitDir} {
		if dir != "" {
			return dir
		}
	}
	return "/"
}

func (c call) explain(ctx context.Context, args []string, err error, stderr *bounded) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, exec.ErrNotFound) {
		return noGit()
	}
	if cause := ctx.Err(); cause != nil {
		return fault.New("git/timeout", "git %s was stopped", args[0]).Because(cause)
	}
	words := strings.TrimSpace(stderr.String())
	if words == "" {
		words = err.Error()
	}
	return fault.New("git/failed", "git %s: %s", args[0], words).Because(&exitError{exitStatus(err)})
}

// exitError keeps the exit status of a git call for callers that choose by it.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

func exitStatus(err error) int {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode()
	}
	return -1
}

// exitCode returns the exit status that err tells of: 0 for nil, -1 when git
// did not exit by itself.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return -1
}

package git

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
)

// stage is the committer's work tree, where the hooks see the change as they
// would see a commit of it. Its files are as git writes them to an empty directory
// and the rest is made anew each time, so nothing that an earlier one left can be
// wrong, and nothing is taken from it but the message.
type stage struct {
	mirror
	room      string // all of it lies here
	dir       string // the work tree
	tip, tree string
	author    Author
	policy    HookPolicy
	hooks     hooks
	pristine  string // index of the tree, out of reach of the hooks
	files     *Clean // what was laid; nil before
	step      func(string)
}

// newStage returns a stage in a room of its token's own, so that a holder that
// was overtaken cannot disturb the next one.
func (c *Committer) newStage(req CandidateRequest, tip, tree string) *stage {
	room := filepath.Join(c.dir, "committer", c.project, strconv.FormatUint(req.Token, 10))
	return &stage{mirror: c.mirror, room: room, tip: tip, tree: tree, author: req.Author, policy: req.Hooks, step: c.step}
}

// clear ends and removes what earlier holders, crashed or overtaken, have left.
func (s *stage) clear() error {
	mine, _ := strconv.ParseUint(filepath.Base(s.room), 10, 64)
	rooms, err := os.ReadDir(filepath.Dir(s.room))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, r := range rooms {
		if token, err := strconv.ParseUint(r.Name(), 10, 64); err == nil && token > mine {
			continue
		}
		room := filepath.Join(filepath.Dir(s.room), r.Name())
		killOrphans(room)
		if err := discard.All(room); err != nil {
			return err
		}
	}
	return nil
}

// open throws away what was there and gathers the hooks. Only where one of them
// would run is the stage laid: what no hook looks at needs no work tree.
func (s *stage) open(ctx context.Context, bead string) error {
	if err := s.clear(); err != nil {
		return err
	}
	s.dir, s.pristine = filepath.Join(s.room, "tree"), filepath.Join(s.room, "index")
	if err := os.MkdirAll(s.temporary(), 0o700); err != nil {
		return err
	}
	if err := s.gather(ctx); err != nil {
		return err
	}
	name := s.hooks.first()
	if name == "" {
		return nil
	}
	if s.policy.Contain == nil && !s.policy.Allow {
		return fault.New("tool/no-sandbox", "the repository has a %s hook, and hooks may not run here without a sandbox", name)
	}
	return s.lay(ctx, bead)
}

// lay writes what the hooks look at: the change's files, HEAD on loom/BEAD at
// the tip, the change in the index, and the hooks once more where one of them
// may look for its like.
func (s *stage) lay(ctx context.Context, bead string) (err error) {
	if s.mirror, err = s.seeing(s.policy.Cone); err != nil {
		return err
	}
	if s.cone, err = s.coneOf(ctx, s.tip, s.tree); err != nil { // hooks look at what the change touches
		return err
	}
	if err := s.view(); err != nil {
		return err
	}
	if s.files, err = s.policy.trees().lay(ctx, s.mirror, s.tree, s.dir, true); err != nil {
		return err
	}
	s.step("stage written")
	if err := copyIndex(s.files.index, s.pristine); err != nil {
		return err
	}
	if err := s.giveGit(ctx, s.dir, s.pristine, "refs/heads/loom/"+bead, s.tip); err != nil {
		return err
	}
	if s.hooks.dir == s.hookTree() { // with a relative core.hooksPath they are among the files
		if err := copyTree(s.hooks.dir, filepath.Join(s.dir, ".git", "hooks")); err != nil {
			return err
		}
	}
	return s.policy.trees().close(ctx, s.files)
}

// close gives the files back and removes the stage; a crash leaves it to the next
// open.
func (s *stage) close(ctx context.Context) {
	if s.files != nil {
		_ = s.policy.trees().Return(ctx, s.files) // what is not kept is removed
	}
	_ = discard.All(s.room)
}

// setUp has the stage made ready for the hooks, within the time of one for each
// command.
func (s *stage) setUp(ctx context.Context) ([]HookRun, error) {
	setup := s.policy.Setup
	if setup.Commands == nil {
		return nil, nil
	}
	if setup.Contain == nil && !setup.Allow {
		return nil, fault.New("setup/failed", "the setup for the hooks may not run here without a sandbox")
	}
	as := *s
	as.policy.Contain = setup.Contain
	var said strings.Builder
	commands, laid := setup.Commands(ctx, s.dir)
	for _, line := range laid {
		fmt.Fprintf(&said, "%s\n", line)
	}
	for _, command := range commands {
		timed, cancel := context.WithTimeout(ctx, s.policy.limit())
		out := &bounded{most: hookOutput, tail: hookOutput}
		err := as.start(timed, out, "/bin/sh", []string{"-c", command})
		cancel()
		if setup.Told != nil {
			for _, line := range setup.Told() {
				fmt.Fprintf(&said, "%s\n", line)
			}
		}
		if err != nil && ctx.Err() == nil {
			return nil, fault.New("setup/failed", "%q for the hooks: %v\n%s%s", command, plain(err), out.String(), said.String())
		}
		if err != nil {
			return nil, err
		}
	}
	if changed, err := s.rewritten(ctx); err != nil || len(changed) > 0 && len(commands) > 0 {
		return nil, cmp.Or(err, error(fault.New("setup/failed", "the setup for the hooks changes %s, which nobody has approved", Named(changed)).
			Want("commit what it makes of them")))
	}
	if said.Len() == 0 {
		return nil, nil
	}
	return []HookRun{{Name: SetupName, Output: said.String()}}, nil
}

// rehearse runs the hooks on the change and returns the message they leave.
func (s *stage) rehearse(ctx context.Context, message string) (string, []HookRun, error) {
	if s.hooks.first() == "" {
		return message, s.skipped(), nil
	}
	file := filepath.Join(s.dir, ".git", "COMMIT_EDITMSG")
	if err := os.WriteFile(file, []byte(message), 0o600); err != nil {
		return "", nil, err
	}
	runs, err := s.setUp(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, name := range commitHooks {
		run, err := s.run(ctx, name, hookArguments(name)...)
		if run.Skipped || run.Took > 0 {
			runs = append(runs, run)
		}
		if err == nil && run.Took > 0 {
			err = s.unchanged(ctx, name)
		}
		if err != nil {
			return "", runs, err
		}
		s.step("hook " + name)
	}
	message, err = readMessage(file)
	return message, runs, err
}

// skipped lists the hooks that are there and that git would not run.
func (s *stage) skipped() []HookRun {
	var list []HookRun
	for _, name := range commitHooks {
		if _, runs, there := s.hooks.find(name); there && !runs {
			list = append(list, HookRun{Name: name, Skipped: true})
		}
	}
	return list
}

func hookArguments(name string) []string {
	file := filepath.Join(".git", "COMMIT_EDITMSG")
	switch name {
	case "prepare-commit-msg":
		return []string{file, "message"}
	case "commit-msg":
		return []string{file}
	}
	return nil
}

// readMessage reads what the hooks left: a file, and not a link or a pipe.
func readMessage(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > messageMost {
		return "", fault.New("git/hook-failed", "the hooks left no message of at most %d KiB", messageMost>>10)
	}
	data, err := os.ReadFile(path)
	return string(data), err
}

// unchanged returns git/hook-changed when a hook staged something else, or
// rewrote tracked files: what is committed must be what was approved.
func (s *stage) unchanged(ctx context.Context, hook string) error {
	staged, err := s.over("", filepath.Join(s.dir, ".git", "index")).
		run(ctx, "diff-index", "--cached", "--name-only", "-z", s.tree)
	if err != nil {
		return fault.New("git/hook-changed", "the %s hook broke the index", hook).Because(err)
	}
	written, err := s.rewritten(ctx)
	if err != nil {
		return err
	}
	if changed := append(splitNUL(staged), written...); len(changed) > 0 {
		return fault.New("git/hook-changed", "the %s hook changed %s, which nobody has approved", hook, Named(unique(changed))).
			Want("let the implementer make the change as the hook wants it")
	}
	return nil
}

func (s *stage) rewritten(ctx context.Context) ([]string, error) {
	files := s.over(s.dir, s.pristine+".check")
	defer os.Remove(files.index)
	if err := copyIndex(s.pristine, files.index); err != nil {
		return nil, err
	}
	if _, err := files.run(ctx, "update-index", "-q", "--refresh"); err != nil && exitCode(err) != 1 {
		return nil, err
	}
	out, err := files.run(ctx, "diff-files", "--name-only", "-z", "--ignore-submodules=all")
	return splitNUL(out), err
}

func unique(sorted []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range sorted {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

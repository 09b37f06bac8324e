package tool

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

const (
	maxGit   = MaxOutput - 8<<10 // bytes of git's output that a tool gives
	maxShown = 4 << 20           // bytes of a commit's file that are looked through for lines
)

var gitStatus = &tool{
	Spec: Spec{
		Name:        "git_status",
		Class:       reads,
		Description: "List the files that differ from the commit that the work began on: M changed, A added, D deleted, ? unknown to git.",
		Schema:      schema(``, ``),
	},
	needs: tracked,
	run:   with(statusOfGit),
}

var gitDiff = &tool{
	Spec: Spec{
		Name:  "git_diff",
		Class: reads,
		Description: "Show what differs between a commit and the workspace, as a patch. New files unknown to git " +
			"are named at its end.",
		Schema: schema(``, `
			"path": {"type": "string", "minLength": 1, "description": "file or directory"},
			"from": {"type": "string", "minLength": 1, "maxLength": 200, "description": "commit; default the one that the work began on"}`),
	},
	needs: tracked,
	run:   with(diffOfGit),
}

var gitLog = &tool{
	Spec: Spec{
		Name:        "git_log",
		Class:       reads,
		Description: "List commits, newest first, from the one that the work began on: hash, date, author, subject.",
		Schema: schema(``, `
			"path": {"type": "string", "minLength": 1, "description": "file or directory"},
			"from": {"type": "string", "minLength": 1, "maxLength": 200, "description": "commit to begin at"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 200, `+quiet+`}`),
	},
	needs: tracked,
	run:   with(logOfGit),
}

var gitShow = &tool{
	Spec: Spec{
		Name:        "git_show",
		Class:       reads,
		Description: "Show a commit's message and patch, or with path that file as the commit has it.",
		Schema: schema(``, `
			"commit": {"type": "string", "minLength": 1, "maxLength": 200, "description": "default HEAD"},
			"path": {"type": "string", "minLength": 1},
			"offset": {"type": "integer", "minimum": 1, `+quiet+`},
			"limit": {"type": "integer", "minimum": 1, `+quiet+`}`),
	},
	needs: tracked,
	run:   with(showOfGit),
}

var gitBlame = &tool{
	Spec: Spec{
		Name:        "git_blame",
		Class:       reads,
		Description: "Say which commit each line of a file is from.",
		Schema: schema(`"path"`, `
			"path": {"type": "string", "minLength": 1},
			"commit": {"type": "string", "minLength": 1, "maxLength": 200, "description": "default HEAD"},
			"offset": {"type": "integer", "minimum": 1, `+quiet+`},
			"limit": {"type": "integer", "minimum": 1, "maximum": 10000, `+quiet+`}`),
	},
	needs: tracked,
	run:   with(blameOfGit),
}

type gitArguments struct {
	Path   string `json:"path"`
	From   string `json:"from"`
	Commit string `json:"commit"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

func statusOfGit(ctx context.Context, j job, _ gitArguments) (Result, error) {
	base, err := j.commit(ctx, "from", "")
	if err != nil {
		return Result{}, err
	}
	names, err := j.git(ctx, maxGit, j.diffing(ctx, "diff-index", "--name-status", "--no-renames", base, "--")...)
	if err != nil {
		return Result{}, err
	}
	fresh, err := j.untracked(ctx, "? ", ".")
	if err != nil {
		return Result{}, err
	}
	text := strings.ReplaceAll(names.text, "\t", " ") + fresh
	if text == "" {
		return done("nothing has changed\n", "nothing changed"), nil
	}
	return done(text, "%d paths differ", strings.Count(text, "\n")), nil
}

func diffOfGit(ctx context.Context, j job, a gitArguments) (Result, error) {
	base, err := j.commit(ctx, "from", a.From)
	if err != nil {
		return Result{}, err
	}
	path, err := pathspec(a.Path)
	if err != nil {
		return Result{}, err
	}
	out, err := j.git(ctx, maxGit, j.diffing(ctx, "diff", base, "--", path)...)
	if err != nil {
		return Result{}, err
	}
	fresh, err := j.untracked(ctx, "[new, unknown to git] ", path)
	if err != nil {
		return Result{}, err
	}
	if out.text+fresh == "" {
		return done("nothing differs\n", "no difference"), nil
	}
	return done(out.text+fresh, "%d lines of difference", strings.Count(out.text, "\n")), nil
}

func logOfGit(ctx context.Context, j job, a gitArguments) (Result, error) {
	from, err := j.commit(ctx, "from", a.From)
	if err != nil {
		return Result{}, err
	}
	path, err := pathspec(a.Path)
	if err != nil {
		return Result{}, err
	}
	if a.Limit == 0 {
		a.Limit = 20
	}
	args := []string{
		"log", "--no-show-signature", "--no-decorate", "--no-color", "--no-ext-diff", "--date=format:%Y-%m-%d %H:%M %z",
		"--format=%h %ad %an: %s", fmt.Sprintf("-%d", a.Limit), from, "--",
	}
	if path != "." {
		args = append(args, path)
	}
	out, err := j.git(ctx, maxGit, args...)
	if err != nil {
		return Result{}, err
	}
	return done(out.text, "%d commits", strings.Count(out.text, "\n")), nil
}

func showOfGit(ctx context.Context, j job, a gitArguments) (Result, error) {
	commit, err := j.commit(ctx, "commit", cmp.Or(a.Commit, "HEAD"))
	if err != nil {
		return Result{}, err
	}
	path, err := pathspec(a.Path)
	if err != nil {
		return Result{}, err
	}
	if path != "." {
		return j.fileOfCommit(ctx, commit, path, a)
	}
	out, err := j.git(ctx, maxGit, j.diffing(ctx, "show", "--no-show-signature", "--no-notes", "--no-decorate", "--diff-merges=first-parent",
		"--date=format:%Y-%m-%d %H:%M %z", "--format=%H %ad %an%n%n%B", "--stat=100", "--patch", commit, "--")...)
	if err != nil {
		return Result{}, err
	}
	return done(out.text, "commit %.12s", commit), nil
}

// fileOfCommit shows lines of a file, or the names in a directory, as a commit has
// them: what git keeps, which no filter and no textconv has gone over.
func (s *Set) fileOfCommit(ctx context.Context, commit, path string, a gitArguments) (Result, error) {
	kind, err := s.kindOf(ctx, commit, path)
	if err != nil {
		return Result{}, err
	}
	if kind != "blob" {
		out, err := s.git(ctx, maxGit, "ls-tree", "--name-only", commit+":"+path)
		if err != nil {
			return Result{}, err
		}
		return done(out.text, "%s: %d names", path, strings.Count(out.text, "\n")), nil
	}
	size, err := s.git(ctx, 256, "cat-file", "-s", commit+":"+path)
	if err != nil {
		return Result{}, err
	}
	if n, err := strconv.Atoi(strings.TrimSpace(size.text)); err != nil || n > maxShown {
		return Result{}, fault.New("tool/too-large", "the file has %s bytes; at most %d are shown", strings.TrimSpace(size.text), maxShown).
			At("path").Got(path)
	}
	out, err := s.git(ctx, maxShown, "cat-file", "blob", commit+":"+path)
	if err != nil {
		return Result{}, err
	}
	if strings.Contains(out.text, "\x00") {
		return Result{}, fault.New("tool/failed", "the file is not text").At("path").Got(path)
	}
	w := newWindow("file", a.Offset, a.Limit, s.room())
	if err := w.scan(ctx, bufio.NewReader(strings.NewReader(out.text))); err != nil {
		return Result{}, err
	}
	return w.result(path)
}

func blameOfGit(ctx context.Context, j job, a gitArguments) (Result, error) {
	commit, err := j.commit(ctx, "commit", cmp.Or(a.Commit, "HEAD")) // with the lines that file_read counts
	if err != nil {
		return Result{}, err
	}
	path, err := pathspec(a.Path)
	if err != nil {
		return Result{}, err
	}
	switch kind, err := j.kindOf(ctx, commit, path); {
	case err != nil:
		return Result{}, err
	case kind != "blob":
		return Result{}, fault.New("tool/failed", "it is a directory").At("path").Got(path).Want("name a file")
	}
	first, most := max(a.Offset, 1), cmp.Or(a.Limit, 200)
	lines := fmt.Sprintf("-L%d,+%d", first, most+1) // one more says whether there are more
	out, err := j.git(ctx, maxGit, "-c", "blame.ignoreRevsFile=", "blame", "--no-textconv", "--root", "--date=short", lines, commit, "--", path)
	if err != nil {
		return Result{}, err
	}
	list := strings.SplitAfter(out.text, "\n")
	if len(list)-1 <= most {
		return done(out.text, "%s: %d lines", path, len(list)-1), nil
	}
	more := fmt.Sprintf("[lines %d to %d; go on with offset %d]\n", first, first+most-1, first+most)
	return done(strings.Join(list[:most], "")+more, "%s: %d lines, and there are more", path, most), nil
}

// kindOf says what a commit has at a path: a "blob" or a "tree".
func (s *Set) kindOf(ctx context.Context, commit, path string) (string, error) {
	if path == "." {
		return "tree", nil
	}
	out, err := s.git(ctx, 256, "cat-file", "-t", commit+":"+path)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", err
	case err != nil:
		return "", fault.New("tool/not-found", "commit %.12s has no such file", commit).At("path").Got(path).
			Want("git_log with this path lists the commits that touch it")
	}
	return strings.TrimSpace(out.text), nil
}

// pathspec is a path as git takes it; nothing is the workspace.
func pathspec(path string) (string, error) {
	list, err := elements(path)
	if err != nil || len(list) == 0 {
		return ".", err
	}
	return strings.Join(list, "/"), nil
}

var revision = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./~^-]*$`)

// commit returns the full id of the commit that an argument names; of the base
// for "".
func (s *Set) commit(ctx context.Context, argument, rev string) (string, error) {
	if rev == "" {
		if rev = s.ws.Base; rev == "" {
			rev = "HEAD"
		}
	}
	if rest, ok := strings.CutPrefix(rev, "HEAD"); ok && (rest == "" || strings.ContainsAny(rest[:1], "~^")) {
		rev = cmp.Or(s.ws.Head, s.ws.Base, "HEAD") + rest // the git directory is that of many work trees
	}
	if !revision.MatchString(rev) || strings.Contains(rev, "..") {
		return "", unfit("/"+argument, "it is not the name of a commit").Got(rev)
	}
	out, err := s.git(ctx, 256, "rev-parse", "--verify", "--quiet", rev+"^{commit}")
	switch {
	case err != nil && (s.ws.GitDir == "" || ctx.Err() != nil):
		return "", err
	case err != nil:
		return "", fault.New("tool/not-found", "there is no such commit").At(argument).Got(rev).Want("git_log lists commits")
	}
	return strings.TrimSpace(out.text), nil
}

// untracked lists new files that git would take, each after a mark.
func (s *Set) untracked(ctx context.Context, mark, path string) (string, error) {
	out, err := s.git(ctx, 4<<10, "ls-files", "--others", "--exclude-standard", "--", path)
	if err != nil || out.text == "" {
		return "", err
	}
	return mark + strings.ReplaceAll(strings.TrimSuffix(out.text, "\n"), "\n", "\n"+mark) + "\n", nil
}

// diffing returns the arguments of a command that compares, with everything off
// by which a repository could have it run a program.
func (s *Set) diffing(ctx context.Context, verb string, args ...string) []string {
	list := append(s.filtersOff(ctx), verb, "--ignore-submodules=all", "--no-ext-diff", "--no-textconv", "--no-color")
	return append(list, args...)
}

// filtersOff overrides every content filter that the repository's own
// configuration defines.
func (s *Set) filtersOff(ctx context.Context) []string {
	out, err := s.git(ctx, 64<<10, "config", "--name-only", "--get-regexp", `^filter\..*\.(clean|smudge|process|required)$`)
	if err != nil {
		return nil // there are none
	}
	var args []string
	for name := range strings.Lines(out.text) {
		name = strings.TrimSuffix(name, "\n")
		value := ""
		if strings.HasSuffix(name, ".required") {
			value = "false"
		}
		args = append(args, "-c", name+"="+value)
	}
	return args
}

// git runs git on the workspace with the git directory that no agent can
// write, and keeps so many bytes of what it says. Its configuration is neutral:
// no hooks, no programs, no network, nothing of the user's or the system's.
func (s *Set) git(ctx context.Context, keep int, args ...string) (outcome, error) {
	if err := tracked(s); err != nil {
		return outcome{}, err
	}
	program, err := exec.LookPath("git")
	if err != nil {
		return outcome{}, fault.New("tool/failed", "git is not installed")
	}
	argv := []string{
		program, "--git-dir=" + s.ws.GitDir, "--work-tree=.", "--literal-pathspecs", "--no-pager",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.excludesFile=" + os.DevNull,
		"-c", "core.attributesFile=" + os.DevNull, "-c", "core.quotePath=false", "-c", "core.bare=false",
		"-c", "diff.external=", "-c", "protocol.allow=never", "-c", "log.showSignature=false", "-c", "submodule.recurse=false",
	}
	argv = append(argv, s.sparseConfig()...)
	answer := newCapture(keep, drained, nil) // what git warns of is no part of it
	out, err := s.processes.run(ctx, command{argv: append(argv, args...), dir: s.ws.Root, env: s.gitEnvironment(), keep: 4 << 10, answer: answer})
	switch {
	case err != nil:
		return outcome{}, err
	case out.err != nil:
		return outcome{}, out.err
	case out.code != 0:
		line, _, _ := strings.Cut(out.text, "\n")
		return outcome{}, fault.New("tool/failed", "git ended with exit code %d", out.code).Got(s.discreet(line))
	}
	out.text, out.cut = answer.whole()
	return out, nil
}

// discreet leaves the host's own paths out of a line.
func (s *Set) discreet(line string) string {
	for _, path := range []string{s.ws.GitDir, s.ws.Index, s.ws.Root} {
		if path != "" {
			line = strings.ReplaceAll(line, path, "...")
		}
	}
	return line
}

func (s *Set) gitEnvironment() []string {
	env := []string{
		"PATH=" + searchPath(os.Getenv("PATH")), "LC_ALL=C", "HOME=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1",
	}
	if s.ws.Index != "" {
		env = append(env, "GIT_INDEX_FILE="+s.ws.Index)
	}
	return env
}

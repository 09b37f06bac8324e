package git

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

// Limits of what is told of a revision.
const (
	mostBlamed = 2 << 20 // bytes of a file whose lines are followed
	hashDigits = 7       // at least, of the beginning of a commit's hash
)

// Revision is a commit that is looked at. It never changes.
type Revision struct {
	Commit string
	call   call
}

// Entry is a thing in a directory.
type Entry struct {
	Name string // without directories, as valid UTF-8
	Kind EntryKind
	Size int64 // of a file or link, in bytes
	// Executable says that a file may be run.
	Executable bool
}

// EntryKind is what an entry is.
type EntryKind int

// The kinds of entries.
const (
	Regular EntryKind = iota
	Directory
	Link
	Submodule
)

// Span is lines of a file that came with one commit, one after the other.
type Span struct {
	From, Lines int // the first one, from 1, and how many
	Origin      *Origin
}

// Compared is a file that differs between two revisions.
type Compared struct {
	Path           string // as valid UTF-8
	Added, Removed int    // lines
	Binary         bool   // it has none
	Before, After  bool   // it is in the one, in the other
}

// name is what a revision may be called by: what git understands beyond that, such as the
// log of a ref, the stash or a search, is its user's own.
var name = regexp.MustCompile(`^([^~^:?*\[\\\x00-\x20\x7f]+)((?:[~^][0-9]*)*)$`)

var hash = regexp.MustCompile(`^[0-9a-f]+$`)

// commitOf resolves a branch, a tag, the branch of a remote, HEAD or the hash of a
// commit, or one before it, as "main~2".
func (r *Repository) commitOf(ctx context.Context, rev string) (string, error) {
	m := name.FindStringSubmatch(rev)
	if m != nil && !strings.Contains(rev, "@{") {
		base, back := m[1], m[2]
		tries := []string{"refs/heads/" + base, "refs/tags/" + base, "refs/remotes/" + base}
		if base == "HEAD" || len(base) >= hashDigits && hash.MatchString(base) {
			tries = append(tries, base)
		}
		for _, expression := range tries {
			commit, err := resolve(ctx, r.git(), expression+back+"^{commit}")
			if err != nil && exitCode(err) <= 0 {
				return "", err
			}
			if commit != "" && err == nil {
				return commit, nil
			}
		}
	}
	return "", fault.New("git/unknown-branch", "there is no such branch or commit").Got(rev)
}

// Revision finds a branch, a tag or a commit, as commitOf has them, or an execution whose
// changed files the data directory keeps: as they were saved last.
//
// It returns git/unknown-branch for what is not there.
func (r *Repository) Revision(ctx context.Context, dir, project, rev string) (*Revision, error) {
	commit, err := r.commitOf(ctx, rev)
	if fault.Code(err) != "git/unknown-branch" {
		return &Revision{commit, r.git()}, err
	}
	m, problem := newMirror(dir, project, r)
	if _, missing := os.Stat(filepath.Join(m.path(), "HEAD")); problem != nil || missing != nil {
		return nil, err
	}
	for _, expression := range []string{wipRef(rev), rev} {
		if expression == rev && !isObjectID(rev) || expression != rev && checkTokens("execution", rev) != nil {
			continue
		}
		if commit, problem = m.resolve(ctx, expression); problem == nil && commit != "" {
			c := m.git()
			c.env = []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(r.common, "objects")}
			return &Revision{commit, c}, nil
		}
	}
	return nil, err
}

// List lists a directory, "" for the top: directories first, each kind by name.
//
// It returns git/unknown-line for a directory that is not there.
func (v *Revision) List(ctx context.Context, dir string) ([]Entry, error) {
	tree := v.Commit + ":"
	if dir != "" {
		found, err := v.call.at(ctx, v.Commit, dir)
		if err != nil || found.kind != "tree" {
			return nil, v.unknown(err, "directory", dir)
		}
		tree = found.id
	}
	out, err := v.call.run(ctx, "ls-tree", "-l", "-z", tree)
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, one := range splitNUL(out) {
		meta, name, _ := strings.Cut(one, "\t")
		f := strings.Fields(meta)
		if len(f) != 4 {
			return nil, fault.New("git/damaged", "git gave an entry that cannot be read").Got(one)
		}
		e := Entry{Name: shown(name), Executable: f[0] == "100755"}
		e.Size, _ = strconv.ParseInt(f[3], 10, 64)
		switch {
		case f[1] == "tree":
			e.Kind = Directory
		case f[1] == "commit":
			e.Kind = Submodule
		case f[0] == "120000":
			e.Kind = Link
		}
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return order(a) - order(b) })
	return list, nil
}

// order has directories before what is no directory.
func order(e Entry) int {
	if e.Kind == Directory {
		return 0
	}
	return 1
}

func (v *Revision) unknown(err error, what, path string) error {
	if err != nil {
		return err
	}
	return fault.New("git/unknown-line", "%.10s has no such %s", v.Commit, what).At("path").Got(path).Want("a path from the top of the repository")
}

// File returns a file. One with more than most bytes is git/too-large.
//
// It returns git/unknown-line for a file that is not there.
func (v *Revision) File(ctx context.Context, path string, most int64) ([]byte, error) {
	id, err := v.file(ctx, path, most)
	if err != nil {
		return nil, err
	}
	return v.call.run(ctx, "cat-file", "blob", id)
}

// file finds the blob of a file that has no more than most bytes.
func (v *Revision) file(ctx context.Context, path string, most int64) (string, error) {
	found, err := v.call.at(ctx, v.Commit, path)
	switch {
	case err != nil || found.kind != "blob":
		return "", v.unknown(err, "file", path)
	case found.size > most:
		return "", fault.New("git/too-large", "the file has %d bytes, more than %d MiB", found.size, most>>20).At("path").Got(path)
	}
	return found.id, nil
}

// only is the paths of a call that is about one file or directory, "" for all of them.
func (v *Revision) only(path string) ([]string, error) {
	switch {
	case path == "":
		return []string{"--"}, nil
	case strings.ContainsRune(path, 0):
		return nil, v.unknown(nil, "file", path)
	}
	return []string{"--", path}, nil
}

// Blame says which commits the lines of a file came with, from the first to the last.
// What their trailers claim is not read.
//
// It returns git/unknown-line for a file that is not there, and git/too-large for one of
// more than 2 MiB.
func (v *Revision) Blame(ctx context.Context, path string) ([]Span, error) {
	if _, err := v.file(ctx, path, mostBlamed); err != nil {
		return nil, err
	}
	c := v.call
	c.config = []string{"blame.ignoreRevsFile="}
	out, err := c.run(ctx, "blame", "--no-textconv", "--porcelain", v.Commit, "--", path)
	if err != nil {
		return nil, err
	}
	return readBlame(out)
}

// readBlame reads the output of "blame --porcelain": of each line a head with the commit
// and its number, of each commit's first line what git tells of the commit, and behind a
// tab the line itself.
func readBlame(out []byte) ([]Span, error) {
	var list []Span
	commits := map[string]*Origin{}
	var now *Origin
	for text := range bytes.Lines(out) {
		line := strings.TrimSuffix(string(text), "\n")
		switch {
		case strings.HasPrefix(line, "\t"):
			now = nil
		case now != nil:
			now.read(line)
		default:
			f := strings.Fields(line)
			if len(f) < 3 {
				return nil, fault.New("git/damaged", "git gave a line without its origin").Got(line)
			}
			if commits[f[0]] == nil {
				commits[f[0]] = &Origin{Commit: f[0]}
			}
			now = commits[f[0]]
			number, _ := strconv.Atoi(f[2])
			if n := len(list); n > 0 && list[n-1].Origin == now {
				list[n-1].Lines++
			} else {
				list = append(list, Span{From: number, Lines: 1, Origin: now})
			}
		}
	}
	return list, nil
}

// Log lists at most so many commits up to this one, the newest first, that changed a
// file or a directory; "" for all of them. It goes on behind the commit after, if one is
// named.
func (v *Revision) Log(ctx context.Context, path, after string, most int) ([]FileChange, error) {
	only, err := v.only(path)
	if err != nil {
		return nil, err
	}
	from := v.Commit
	args := []string{"log", "--format=%H%x00%ct%x00%an%x00%s%x00", "-n", strconv.Itoa(most)}
	if after != "" {
		if !isObjectID(after) {
			return nil, fault.New("git/unknown-branch", "there is no such commit").At("after").Got(after)
		}
		from = after
		args = append(args, "--skip=1")
	}
	out, err := v.call.run(ctx, append(append(args, from), only...)...)
	if exitCode(err) > 0 && after != "" {
		return nil, fault.New("git/unknown-branch", "there is no such commit").At("after").Got(after)
	}
	if err != nil {
		return nil, err
	}
	const fields = 4
	f := strings.Split(string(out), "\x00")
	var list []FileChange
	for ; len(f) > fields; f = f[fields:] {
		seconds, _ := strconv.ParseInt(f[1], 10, 64)
		list = append(list, FileChange{
			Commit: strings.TrimPrefix(f[0], "\n"), Author: shown(f[2]), Subject: shown(f[3]), Time: time.Unix(seconds, 0).UTC(),
		})
	}
	return list, nil
}

// Before is the revision before this one, the first of them where several were joined;
// nil for the very first.
func (v *Revision) Before(ctx context.Context) (*Revision, error) {
	commit, err := resolve(ctx, v.call, v.Commit+"^{commit}^")
	if err != nil || commit == "" {
		return nil, err
	}
	return &Revision{commit, v.call}, nil
}

// Compare says how a revision differs from another one, nil for one with nothing in it,
// in one file or directory, "" for all of them, and returns the unified diff: of a longer
// one the lines of the first [ShownDiff] bytes, and cut.
func (v *Revision) Compare(ctx context.Context, from *Revision, path string) (list []Compared, diff []byte, cut bool, err error) {
	only, err := v.only(path)
	if err != nil {
		return nil, nil, false, err
	}
	c, base := v.call, ""
	if from == nil {
		base, err = c.line(ctx, "hash-object", "-t", "tree", os.DevNull)
	} else if base = from.Commit; len(from.call.env) > 0 { // it sees the objects of both
		c = from.call
	}
	if err != nil {
		return nil, nil, false, err
	}
	between := []string{"--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", base, v.Commit}
	between = append(between, only...)
	if list, err = c.compared(ctx, between); err != nil {
		return nil, nil, false, err
	}
	diff, err = c.head(ctx, ShownDiff+1, append([]string{"diff-tree", "-r", "-p"}, between...)...)
	if err != nil || len(diff) <= ShownDiff {
		return list, diff, false, err
	}
	return list, diff[:bytes.LastIndexByte(diff[:ShownDiff], '\n')+1], true, nil
}

// compared lists the files of a comparison, with their lines.
func (c call) compared(ctx context.Context, between []string) ([]Compared, error) {
	states, err := c.run(ctx, append([]string{"diff-tree", "-r", "-z", "--name-status"}, between...)...)
	if err != nil {
		return nil, err
	}
	counts, err := c.run(ctx, append([]string{"diff-tree", "-r", "-z", "--numstat"}, between...)...)
	if err != nil {
		return nil, err
	}
	state := splitNUL(states)
	var list []Compared
	for i, one := range splitNUL(counts) {
		f := strings.SplitN(one, "\t", 3)
		if len(f) != 3 || 2*i+1 >= len(state) {
			return nil, fault.New("git/damaged", "git gave a difference that cannot be read").Got(one)
		}
		e := Compared{Path: shown(f[2]), Binary: f[0] == "-", Before: state[2*i] != "A", After: state[2*i] != "D"}
		e.Added, _ = strconv.Atoi(f[0])
		e.Removed, _ = strconv.Atoi(f[1])
		list = append(list, e)
	}
	return list, nil
}

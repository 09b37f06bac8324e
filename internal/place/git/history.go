package git

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

// FileChange is a commit that added or changed a file.
type FileChange struct {
	Commit, Author, Subject string
	Time                    time.Time
}

// FilesNamed returns the files of a revision, a branch or the name of a commit, whose
// names end so, in order, with the commit that was read.
//
// It returns git/unknown-branch for a revision that is not there.
func (r *Repository) FilesNamed(ctx context.Context, rev, suffix string) (commit string, paths []string, err error) {
	if commit, err = r.commitOf(ctx, rev); err != nil {
		return "", nil, err
	}
	out, err := r.git().run(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return "", nil, err
	}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		meta, path, _ := strings.Cut(entry, "\t")
		if f := strings.Fields(meta); len(f) == 3 && f[1] == "blob" && strings.HasPrefix(f[0], "100") && strings.HasSuffix(path, suffix) {
			paths = append(paths, path)
		}
	}
	return commit, paths, nil
}

// CommitOf returns the commit of a revision, a branch or the name of a commit.
//
// It returns git/unknown-branch for a revision that is not there.
func (r *Repository) CommitOf(ctx context.Context, rev string) (string, error) {
	return r.commitOf(ctx, rev)
}

// FileAt returns a file as a commit has it, its size, and whether it is there. One with
// more than most bytes is not read: it has a size, and no data.
func (r *Repository) FileAt(ctx context.Context, commit, path string, most int64) (data []byte, size int64, there bool, err error) {
	id, size, there, err := r.blobAt(ctx, commit, path)
	if err != nil || !there || size > most {
		return nil, size, there, err
	}
	data, err = r.git().run(ctx, "cat-file", "blob", id)
	return data, size, err == nil, err
}

// Changes returns the commits up to one that added or changed files, oldest first, of
// each file that has any.
func (r *Repository) Changes(ctx context.Context, commit string, paths []string) (map[string][]FileChange, error) {
	list := map[string][]FileChange{}
	if len(paths) == 0 {
		return list, nil
	}
	args := []string{"log", "--reverse", "--format=%x00%H%x00%ct%x00%an%x00%s", "--name-only", "--diff-filter=AM", "--no-renames", "-z", commit, "--"}
	out, err := r.git().run(ctx, append(args, paths...)...)
	if err != nil {
		return nil, err
	}
	return list, readChanges(list, strings.Split(string(out), "\x00"))
}

// readChanges reads fields that NULs separate, of each commit an empty one, its hash,
// time, author and subject, and the paths of its files, the first of them behind a
// newline. Authors and subjects may hold any other byte, and no path is empty.
func readChanges(list map[string][]FileChange, f []string) error {
	const head = 5
	for len(f) > 1 { // the last one follows the last NUL
		if len(f) < head || f[0] != "" {
			return fault.New("git/damaged", "git gave a commit without its files").Got(strings.Join(f, " "))
		}
		seconds, _ := strconv.ParseInt(f[2], 10, 64)
		c := FileChange{Commit: f[1], Author: shown(f[3]), Subject: shown(f[4]), Time: time.Unix(seconds, 0).UTC()}
		f = f[head:]
		for first := true; len(f) > 0 && f[0] != ""; first, f = false, f[1:] {
			path := f[0]
			if first {
				path = strings.TrimPrefix(path, "\n")
			}
			list[path] = append(list[path], c)
		}
	}
	return nil
}

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

// FileAt returns a file as a commit has it, and whether it is there. Links are no files.
func (r *Repository) FileAt(ctx context.Context, commit, path string) ([]byte, bool, error) {
	return r.content(ctx, commit, path)
}

// Changes returns the commits up to one that added or changed files, oldest first, of
// each file that has any.
func (r *Repository) Changes(ctx context.Context, commit string, paths []string) (map[string][]FileChange, error) {
	list := map[string][]FileChange{}
	if len(paths) == 0 {
		return list, nil
	}
	args := []string{"log", "--reverse", "--format=%x01%H%x00%ct%x00%an%x00%s", "--name-only", "--diff-filter=AM", "--no-renames", "-z", commit, "--"}
	out, err := r.git().run(ctx, append(args, paths...)...)
	if err != nil {
		return nil, err
	}
	for _, one := range strings.Split(string(out), "\x01")[1:] {
		f := strings.Split(one, "\x00")
		if len(f) < 5 {
			return nil, fault.New("git/damaged", "git gave a commit without its files").Got(one)
		}
		seconds, _ := strconv.ParseInt(f[1], 10, 64)
		c := FileChange{Commit: f[0], Author: shown(f[2]), Subject: shown(f[3]), Time: time.Unix(seconds, 0).UTC()}
		for _, path := range f[4:] {
			if path = strings.TrimPrefix(path, "\n"); path != "" {
				list[path] = append(list[path], c)
			}
		}
	}
	return list, nil
}

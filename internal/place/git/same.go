package git

import (
	"os"
	"path/filepath"
	"strings"
)

// Same reports whether two paths are of one repository: its work tree, another
// work tree of it, or its git directory. What cannot be read is the same as nothing.
func Same(path, other string) bool {
	a, err := os.Stat(commonOf(path))
	if err != nil {
		return false
	}
	b, err := os.Stat(commonOf(other))
	return err == nil && os.SameFile(a, b)
}

// commonOf returns where the refs and objects of a repository are, by the files that
// say so: of a work tree with a git directory of its own, or elsewhere.
func commonOf(path string) string {
	dir := path
	switch info, err := os.Stat(filepath.Join(path, ".git")); {
	case err != nil: // it is a git directory
	case info.IsDir():
		dir = filepath.Join(path, ".git")
	default:
		at := strings.TrimPrefix(readFile(filepath.Join(path, ".git")), "gitdir: ")
		if dir = at; !filepath.IsAbs(at) {
			dir = filepath.Join(path, at)
		}
	}
	switch common := readFile(filepath.Join(dir, "commondir")); {
	case common == "":
		return dir
	case filepath.IsAbs(common):
		return common
	default:
		return filepath.Join(dir, common)
	}
}

package patchscan

import (
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/lazy"
)

// A conflict as git writes it: ours between the first mark and the second, theirs
// between that and the third. What a mark is followed by names a side.
const (
	marksOurs   = "<<<<<<<"
	marksMiddle = "======="
	marksTheirs = ">>>>>>>"
)

// byCommit is a mark that names its side by a commit, as merges of the runtime do. It
// is one also where the other two were taken out.
var byCommit = lazy.Compile(`^(?:<{7}|>{7}) (?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// conflicts looks for conflicts among the added lines that nobody has resolved.
func (e *examination) conflicts(file string, t text, added []int) {
	began, told := -1, -1
	for _, i := range added {
		line := t.line(i)
		switch {
		case marked(line, marksOurs):
			began = i
		case marked(line, marksTheirs) && began >= 0 && split(t, began, i):
			e.add(Conflict, file, began+1, "git's marks of a conflict stand here, up to line %d: it was not resolved", i+1)
			began, told = -1, i
		}
		if byCommit.MatchString(line) && i != told && !closed(t, i, added) {
			e.add(Conflict, file, i+1, "a mark of a conflict that git could not resolve was left")
		}
	}
}

// marked says whether a line is a mark, alone or followed by the name of a side.
func marked(line, mark string) bool {
	return line == mark || strings.HasPrefix(line, mark+" ")
}

// split says whether the middle of a conflict stands between two lines.
func split(t text, from, to int) bool {
	for i := from + 1; i < to; i++ {
		if t.line(i) == marksMiddle {
			return true
		}
	}
	return false
}

// closed says whether the first mark of a conflict has its last one, which tells of
// the whole.
func closed(t text, at int, added []int) bool {
	if !marked(t.line(at), marksOurs) {
		return false
	}
	i, _ := slices.BinarySearch(added, at+1)
	for ; i < len(added); i++ {
		switch line := t.line(added[i]); {
		case marked(line, marksOurs):
			return false
		case marked(line, marksTheirs):
			return split(t, at, added[i])
		}
	}
	return false
}

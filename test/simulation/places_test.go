package simulation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// moduleRoot is where the module is, from where its tests run.
const moduleRoot = "../.."

// bug is a mistake that somebody could make: text of a file, and what stands in
// its place.
type bug struct {
	name, file, old, new string
	// masked says why nothing can be seen of it, if that is so.
	masked string
}

// TestP21_EveryBugHasItsPlace looks for the text that each bug takes the place
// of, and takes no time: a change of the cores that moves one mends the list with
// it, or leaves the bug out.
func TestP21_EveryBugHasItsPlace(t *testing.T) {
	names := map[string]bool{}
	for _, b := range bugs {
		b.planted(t)
		if names[b.name] {
			t.Errorf("%s: there are two of that name", b.name)
		}
		names[b.name] = true
	}
}

// planted returns the file with the bug in it. Where the text is not there any
// more, the list must be mended.
func (b bug) planted(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(moduleRoot, b.file))
	if err != nil {
		t.Error(err)
		return ""
	}
	if n := strings.Count(string(data), b.old); n != 1 {
		t.Errorf("%s: its text is %d times in %s; want once", b.name, n, b.file)
		return ""
	}
	return strings.Replace(string(data), b.old, b.new, 1)
}

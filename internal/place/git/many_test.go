package git

import (
	"fmt"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"
)

// TestLOCK03_P17_ThousandsOfFiles takes a change of one file the whole way in a
// repository of 5,000, whose checkout is in use: it lands aside, as a commit of
// that file alone, and the checkout stays as it is. What it costs is the two
// checkouts that Loom makes, of the workspace and for the hook.
func TestLOCK03_P17_ThousandsOfFiles(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	const files, path = 5000, "module-03/part-3/file-3.txt"
	f := newFixture(t)
	for n := range files {
		f.write(fmt.Sprintf("module-%02d/part-%d/file-%d.txt", n%50, n%7, n), fmt.Sprintf("%d\n", n))
	}
	f.user("-c", "core.bigFileThreshold=1", "add", ".") // into one pack
	f.user("commit", "-q", "-m", "many")
	f.hook("pre-commit", fmt.Sprintf("#!/bin/sh\ntest \"$(git ls-files | wc -l)\" -eq %d && test \"$(git diff --cached --name-only)\" = %s\n", files+3, path))
	f.write("mine.txt", "mine\n")
	f.write("dir/b.txt", "mine\n")
	before, begun := state(t, f.top), time.Now()
	change := f.propose(1, f.editing(path, "loom\n"))
	if len(change.GetFiles()) != 1 || change.GetFiles()[0].GetPath() != path {
		t.Fatalf("the change is of %v", change.GetFiles())
	}
	landing := f.land(1, 6, f.candidate(1, 5, change))
	t.Logf("from the registered repository to the landing: %s", time.Since(begun).Round(time.Millisecond))
	if got := f.user("diff", "--name-only", landing.GetCommit()+"~1", landing.GetCommit()); got != path {
		t.Errorf("%s changes %q", landing.GetRef(), got)
	}
	if landing.GetRef() != "refs/heads/loom/landed" || state(t, f.top) != before {
		t.Errorf("landed on %s, and the checkout in use was changed: %q", landing.GetRef(), f.status())
	}
}

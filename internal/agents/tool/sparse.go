package tool

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// absent lists what the repository has under a path and a sparse checkout has not,
// sorted; nothing where the checkout is whole.
func (s *Set) absent(ctx context.Context, under string) ([]string, error) {
	if len(s.ws.Sparse) == 0 || s.ws.GitDir == "" {
		return nil, nil
	}
	out, err := s.git(ctx, maxListing, "ls-files", "-z", "-t", "--cached", "--", under)
	if err != nil {
		return nil, err
	}
	var list []string
	for line := range strings.SplitSeq(out.text, "\x00") {
		if f, ok := strings.CutPrefix(line, "S "); ok {
			list = append(list, f)
		}
	}
	return list, nil
}

// countAbsent says how much under a directory no search looks at, because it is not
// checked out; "" for nothing.
func (s *Set) countAbsent(ctx context.Context, under string) (string, error) {
	list, err := s.absent(ctx, under)
	if err != nil || len(list) == 0 {
		return "", err
	}
	return fmt.Sprintf("not searched: %d files of the repository that are not checked out here; here are %s", len(list), s.here()), nil
}

// sparseConfig has git see what stands outside of the directories of a sparse
// checkout, which its index says is not in the work tree.
func (s *Set) sparseConfig() []string {
	if len(s.ws.Sparse) == 0 {
		return nil
	}
	return []string{"-c", "core.sparseCheckout=true", "-c", "sparse.expectFilesOutsideOfPatterns=false"}
}

// here names what a sparse checkout has.
func (s *Set) here() string {
	return "the files at the top and " + some(s.ws.Sparse)
}

// notHere says that a path is in the repository and not in this checkout of it; nil
// where that is not so.
func (s *Set) notHere(ctx context.Context, asked string) *fault.Error {
	asked = path.Clean(asked)
	if asked == "." || path.IsAbs(asked) || strings.HasPrefix(asked, "..") {
		return nil
	}
	list, _ := s.absent(ctx, asked) // where git cannot tell, the tool says what it sees
	if len(list) == 0 {
		return nil
	}
	what, way := "this directory", fmt.Sprintf("; it has %d files, such as %s", len(list), list[0])
	if slices.Contains(list, asked) {
		what, way = "this file", ""
	}
	return fault.New("tool/not-found", "the repository has %s, which is not checked out here: here are %s%s", what, s.here(), way).At("path").Got(asked).
		Want("git_show with a path reads a file as the commit has it; to change one, put it here with shell: git show HEAD:PATH > PATH, or git sparse-checkout add DIRECTORY")
}

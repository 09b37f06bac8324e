package agent

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/patchscan"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// scanner is compiled once: it has no state of a project's.
var scanner = sync.OnceValues(patchscan.New)

// warnings looks at what a change of a worktree contains.
func (j *job) warnings(ctx context.Context, tree *git.Worktree, c *loomv1.Change) ([]*loomv1.PatchWarning, error) {
	s, err := scanner()
	if err != nil {
		return nil, err
	}
	files, err := tree.Contents(ctx, c)
	if err != nil {
		return nil, err
	}
	found := s.Scan(files, j.brief.Project.GetPatch(), j.Secrets.In)
	for _, w := range found {
		w.Path, w.Text = j.Secrets.Text(w.Path), j.Secrets.Text(w.Text)
	}
	return found, nil
}

// inspected says what keeps what a worktree has now from being proposed; nil for
// nothing.
func (j *job) inspected(ctx context.Context, tree *git.Worktree) (*fault.Error, error) {
	if err := tree.Plain(ctx); err != nil {
		if fault.Code(err) == "git/unsupported" {
			return fault.From(err), nil
		}
		return nil, err
	}
	change, _, err := tree.Change(ctx)
	switch fault.Code(err) {
	case "git/no-change":
		return nil, nil
	case "git/unsupported":
		return fault.From(err), nil
	}
	if err != nil {
		return nil, err
	}
	found, err := j.warnings(ctx, tree, change)
	return refusal(found), err
}

// refusal is the error of a change that the project's policy refuses, nil for none.
func refusal(found []*loomv1.PatchWarning) *fault.Error {
	refused := patchscan.Refused(found)
	if len(refused) == 0 {
		return nil
	}
	code, right := "patch/refused", "leave it out of the change"
	switch refused[0].Kind {
	case string(patchscan.Conflict):
		right = "decide for one side or bring both together, and take out the marks"
	case string(patchscan.Secret):
		code, right = "patch/secret", "leave it out of the change; a key is read from the environment, or from a file that git ignores"
	}
	const told = 10
	var places []string
	for _, w := range refused[:min(len(refused), told)] {
		places = append(places, patchscan.Text(w))
	}
	if more := len(refused) - told; more > 0 {
		places = append(places, fmt.Sprintf("and %d more", more))
	}
	return fault.New(code, "%s", strings.Join(places, "; ")).Want("%s", right)
}

// examinationText is what a model is told whose change is refused.
func examinationText(why *fault.Error) string {
	var p prompt
	p.section("Your change is refused")
	p.WriteString("The runtime looked at what your worktree has. This project's policy does not let it be proposed, so your success is not taken. Mend it, or finish with failure.\n")
	p.data(why.Error())
	return p.String()
}

// filesBytes bounds the paths that are listed of a change; the diff and the
// digest have all of them.
const filesBytes = 48 << 10

// listed cuts the list of a change's files, and spells paths that are no text.
func listed(c *loomv1.Change) *loomv1.Change {
	c.FilesTotal = uint32(len(c.Files))
	size := 0
	for i, f := range c.Files {
		f.Path = strings.ToValidUTF8(f.Path, "\uFFFD")
		if size += len(f.Path) + 32; size > filesBytes {
			c.Files = c.Files[:i]
			break
		}
	}
	return c
}

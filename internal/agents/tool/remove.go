package tool

import (
	"context"
	"encoding/json"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var fileRemove = &tool{
	Spec: Spec{
		Name:        "file_remove",
		Class:       writes,
		Description: "Remove a file: one that was made by mistake, or that the work does away with. What others deliver stays.",
		Schema:      schema(`"path"`, `"path": {"type": "string", "minLength": 1}`),
	},
	run:       with(removeFile),
	reconcile: reconcileRemove,
}

type removeArguments struct {
	Path string `json:"path"`
}

func removeFile(ctx context.Context, j job, a removeArguments) (Result, error) {
	if absent := j.notHere(ctx, a.Path); absent != nil {
		return Result{}, absent
	}
	p, err := j.target(a.Path, "", false)
	if err != nil {
		return Result{}, err
	}
	defer p.close()
	if _, err := p.regular(); err != nil {
		return Result{}, err
	}
	if err := j.mayGo(p.path); err != nil {
		return Result{}, err
	}
	if err := (pending{place: p}).remove(); err != nil {
		return Result{}, err
	}
	return removed(p.path), nil
}

func removed(path string) Result {
	r := done("removed "+path+"\n", "%s: removed", path)
	r.Changed = []string{path}
	return r
}

// mayGo refuses to take a file away that others deliver.
func (s *Set) mayGo(path string) error {
	if s.ws.Kept == nil {
		return nil
	}
	if why := s.ws.Kept(path); why != "" {
		return fault.New("tool/denied", "%s", why).At("path").Got(path)
	}
	return nil
}

// reconcileRemove looks whether the file that a call was to take away is gone.
func reconcileRemove(_ context.Context, s *Set, call *loomv1.ToolCall) (Result, bool) {
	var a removeArguments
	if json.Unmarshal([]byte(call.Arguments), &a) != nil || s.ws.ReadOnly {
		return Result{}, false
	}
	p, err := s.target(a.Path, "", false)
	if err != nil {
		return Result{}, false // it is refused again
	}
	defer p.close()
	if _, err := p.regular(); fault.Code(err) == "tool/not-found" {
		return removed(p.path), true
	}
	return Result{}, false
}

package tool

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// mostNear is how many paths are named that may have been meant.
const mostNear = 5

// near completes the error of a path that is not there with paths that may have
// been meant, so that no call is lost to looking for them.
func (s *Set) near(ctx context.Context, arguments string, err error) error {
	e := fault.From(err)
	var a struct{ Path string }
	if e.Code != "tool/not-found" || e.Where != "path" || e.Hint != "" || json.Unmarshal([]byte(arguments), &a) != nil || a.Path == "" {
		return err
	}
	if absent := s.notHere(ctx, a.Path); absent != nil {
		return absent
	}
	files, _, failed := s.files(ctx, ".")
	if failed != nil || slices.Contains(files, path.Clean(a.Path)) { // it is there, and no directory
		return err
	}
	if like := namesakes(path.Clean(a.Path), files); len(like) > 0 {
		e.Hint = "there is " + strings.Join(like, ", ")
	}
	return e
}

// namesakes returns the files of the same name in other directories, else the one whose
// path is nearest, else nothing.
func namesakes(asked string, files []string) (list []string) {
	for _, f := range files {
		if path.Base(f) == path.Base(asked) {
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return common(b, asked) - common(a, asked) })
	if len(list) > 0 {
		return list[:min(len(list), mostNear)]
	}
	beside := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return path.Dir(f) != path.Dir(asked) })
	for i, f := range beside {
		beside[i] = path.Base(f)
	}
	if n := suggest.Nearest(path.Base(asked), beside); n != "" {
		return []string{path.Join(path.Dir(asked), n)}
	}
	return nil
}

// common counts the parts at the end that two paths share.
func common(a, b string) (n int) {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	for n < min(len(as), len(bs)) && as[len(as)-1-n] == bs[len(bs)-1-n] {
		n++
	}
	return n
}

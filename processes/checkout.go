package processes

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The most that a process may name of a repository.
const (
	maxSparse    = 64  // directories
	maxDirectory = 512 // bytes of one
)

// notEmpty refuses a list that would mean the same as none.
func (f *checkoutFile) notEmpty(doc *strictyaml.Document) {
	if f != nil && len(f.Sparse) == 0 && doc.Has("checkout", "sparse") && !doc.Broken("checkout", "sparse") {
		doc.Add(fault.New("workflow/invalid", "checkout.sparse names no directory").Want("leave checkout out for the whole repository"), "checkout", "sparse")
	}
}

func (f *checkoutFile) message() *loomv1.Checkout {
	if f == nil || len(f.Sparse) == 0 {
		return nil
	}
	return &loomv1.Checkout{Sparse: f.Sparse}
}

func (w *writer) checkout(c *loomv1.Checkout) {
	if c != nil {
		w.line("checkout:")
		w.line("  sparse: %s", list(c.Sparse))
	}
}

// checkout checks what the work of a definition has of its repository.
func (v *validator) checkout() {
	if v.def.Checkout == nil {
		return
	}
	dirs := v.def.Checkout.Sparse
	if n := len(dirs); n == 0 || n > maxSparse {
		v.refuse("workflow/invalid", at("checkout", "sparse"), "%d directories are named", n).Want("1 to %d", maxSparse)
		return
	}
	for i, dir := range dirs {
		here := at("checkout", "sparse", i)
		if why := notDirectory(dir); why != "" {
			v.refuse("workflow/invalid", here, "a directory of a sparse checkout %s", why).Got(dir).
				Want("a path from the top of the repository such as cmd/go")
			continue
		}
		j := slices.IndexFunc(dirs, func(other string) bool { return other != dir && strings.HasPrefix(dir, other+"/") })
		if j < 0 {
			j = slices.Index(dirs[:i], dir)
		}
		if j >= 0 {
			v.refuse("workflow/invalid", here, "directory %q is there with %q already, which is checkout.sparse[%d]", dir, dirs[j], j)
		}
	}
}

// notDirectory says what is wrong with a path that names a directory from the top
// of a repository; "" for nothing.
func notDirectory(dir string) string {
	switch {
	case dir == "" || dir == ".":
		return "is not the whole repository"
	case len(dir) > maxDirectory || !utf8.ValidString(dir):
		return "is UTF-8 text of at most 512 bytes"
	case path.IsAbs(dir):
		return "is not absolute"
	case strings.ContainsAny(dir, `*?[]\`):
		return "is a name and no pattern: it has none of * ? [ ] and \\"
	case strings.ContainsFunc(dir, unicode.IsControl):
		return "has no control characters"
	case slices.Contains(strings.Split(dir, "/"), ".."):
		return "has no .. in it"
	case slices.ContainsFunc(strings.Split(dir, "/"), func(s string) bool { return strings.EqualFold(s, ".git") }):
		return "is not git's own"
	case path.Clean(dir) != dir:
		return "is a clean path: no ./ and no // in it and no / at its end"
	}
	return ""
}

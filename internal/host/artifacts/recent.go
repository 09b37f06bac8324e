package artifacts

import (
	"slices"
	"sync"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Limits of what is kept.
const (
	mostKept      = 8
	mostKeptBytes = 32 << 20
)

// Recent keeps the documents and pages that were given last, of which people read one
// part after another. It is safe for use by several goroutines.
type Recent struct {
	mu   sync.Mutex
	list []kept // the one that was used last is the last
	size int
}

// key names what is kept. All of it follows from the commit.
type key struct {
	project, commit, id, v string
	form                   loomv1.ArtifactForm
}

type kept struct {
	key
	*whole
}

// whole is a version of a document, or a page of what it says. Nobody changes it.
type whole struct {
	kind, name string
	version    *loomv1.ArtifactVersion
	data       []byte
}

func (r *Recent) get(k key) *whole {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(one kept) bool { return one.key == k })
	if i < 0 {
		return nil
	}
	one := r.list[i]
	r.list = append(slices.Delete(r.list, i, i+1), one)
	return one.whole
}

func (r *Recent) put(k key, w *whole) {
	if r == nil || len(w.data) > mostKeptBytes {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.list, func(one kept) bool { return one.key == k }); i >= 0 {
		r.drop(i)
	}
	r.list, r.size = append(r.list, kept{k, w}), r.size+len(w.data)
	for len(r.list) > mostKept || r.size > mostKeptBytes {
		r.drop(0)
	}
}

func (r *Recent) drop(i int) {
	r.size -= len(r.list[i].data)
	r.list = slices.Delete(r.list, i, i+1)
}

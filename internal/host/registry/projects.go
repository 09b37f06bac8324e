package registry

import (
	"slices"
	"strconv"
	"sync"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// Projects are the ids of the projects that a host knows to be registered, and which
// of them were removed. Its zero value knows none. All methods may be called at the
// same time.
type Projects struct {
	// Changed is called when one becomes known, with nothing held. Nil calls nothing.
	// It is set before the first use.
	Changed func()

	mu    sync.Mutex
	known []string // sorted
	gone  []string // those of them that were removed, sorted
}

// Add notes that projects are registered.
func (p *Projects) Add(ids ...string) {
	if p.add(ids) && p.Changed != nil {
		p.Changed()
	}
}

func (p *Projects) add(ids []string) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		if at, known := slices.BinarySearch(p.known, id); !known {
			p.known, changed = slices.Insert(p.known, at, id), true
		}
	}
	return changed
}

// SetRemoved notes whether a project was removed.
func (p *Projects) SetRemoved(id string, removed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch at, is := slices.BinarySearch(p.gone, id); {
	case removed && !is:
		p.gone = slices.Insert(p.gone, at, id)
	case !removed && is:
		p.gone = slices.Delete(p.gone, at, at+1)
	}
}

// All returns the ids of the registered projects, sorted; those that were removed are
// among them.
func (p *Projects) All() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.known)
}

// Has reports whether a project is registered.
func (p *Projects) Has(id string) bool { return slices.Contains(p.All(), id) }

// Removed reports whether a project was removed.
func (p *Projects) Removed(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.gone, id)
}

// Served returns the ids of the projects that take work, sorted.
func (p *Projects) Served() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.known), func(id string) bool { return slices.Contains(p.gone, id) })
}

// Only returns the only project that takes work, or "".
func (p *Projects) Only() string {
	if ids := p.Served(); len(ids) == 1 {
		return ids[0]
	}
	return ""
}

// Suggest adds the name of a project that may have been meant to an error about one
// that does not exist; other errors it returns as they are.
func (p *Projects) Suggest(err error) error {
	if fault.Code(err) != "project/unknown" {
		return err
	}
	e := *fault.From(err)
	if asked, uerr := strconv.Unquote(e.Value); uerr == nil && e.Hint == "" {
		e.Hint = suggest.Among(asked, p.All())
	}
	return &e
}

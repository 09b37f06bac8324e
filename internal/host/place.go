package host

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// places says where this host has the repositories of projects, and which of
// them it has at all: an agent takes no work of a project whose repository is
// not here.
type places struct {
	mu   sync.Mutex
	here map[string]time.Time // projects that are here, or when it was looked for in vain
}

// forget has the repository of a project looked for again.
func (p *places) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.here, id)
}

// lookAgain is after how long a repository that was not here is looked for.
const lookAgain = 10 * time.Second

// hasRepository says whether work of a project can be done here.
func (h *Host) hasRepository(id string) bool {
	h.places.mu.Lock()
	at, known := h.places.here[id]
	h.places.mu.Unlock()
	if known && (at.IsZero() || time.Since(at) < lookAgain) {
		return at.IsZero()
	}
	ctx, cancel := context.WithTimeout(h.ctx, serveWithin)
	defer cancel()
	view, err := h.projects.Look(ctx, project.Projects, &loomv1.Query{Project: id})
	if err != nil || len(view.Projects) != 1 {
		return fault.Status(err) != fault.Unavailable // whoever claims is told what is wrong
	}
	_, err = os.Stat(view.Projects[0].Repository)
	at = time.Time{}
	if err != nil {
		at = time.Now()
		h.log.Warn("the repository of a project is not on this host; its work is left to others", "project", id, "repository", view.Projects[0].Repository)
	}
	h.places.mu.Lock()
	defer h.places.mu.Unlock()
	if h.places.here == nil {
		h.places.here = map[string]time.Time{}
	}
	h.places.here[id] = at
	return err == nil
}

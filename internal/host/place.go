package host

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// places says where this host has the repositories of projects, and which of
// them it has at all: an agent takes no work of a project whose repository is
// not here.
type places struct {
	mu   sync.Mutex
	own  map[string]string    // paths of this host's own, by project
	here map[string]time.Time // projects that are here, or when it was looked for in vain
}

// lookAgain is after how long a repository that was not here is looked for.
const lookAgain = 10 * time.Second

// placed returns a project as this host has it.
func (h *Host) placed(p *loomv1.ProjectConfig) string {
	h.places.mu.Lock()
	defer h.places.mu.Unlock()
	if path, ok := h.places.own[p.Id]; ok {
		return path
	}
	return p.Repository
}

// place notes that this host has a repository of its own for a project that
// another host registered with another path. Both must land on one remote,
// because that is where the fence is.
func (h *Host) place(registered, ours *loomv1.ProjectConfig) error {
	if registered.Remote == "" || ours.Remote != "" && ours.Remote != registered.Remote {
		return fault.New("project/conflict", "project %q is registered with repository %s; a host with another copy needs the same remote to push to", registered.Id, registered.Repository).
			At("project "+registered.Id).Want("the same path on every host, or --push %s=REMOTE on each", registered.Id)
	}
	h.places.mu.Lock()
	defer h.places.mu.Unlock()
	if h.places.own == nil {
		h.places.own = map[string]string{}
	}
	h.places.own[registered.Id] = ours.Repository
	return nil
}

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
		return true // whoever claims is told what is wrong
	}
	_, err = os.Stat(h.placed(view.Projects[0]))
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

package host

import (
	"context"
	"strings"
	"sync"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// repositories opens each registered repository once.
type repositories struct {
	dir *datadir.Dir

	mu   sync.Mutex
	open map[string]*agent.Repository
}

// Open opens the repository that a project is registered with.
func (r *repositories) Open(ctx context.Context, p *loomv1.ProjectConfig) (*agent.Repository, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := strings.Join([]string{p.Id, p.Repository, p.TargetBranch, p.Remote}, "\x00")
	if known, ok := r.open[key]; ok {
		return known, nil
	}
	source, err := git.Open(ctx, p.Repository)
	if err == nil && p.Remote != "" {
		source, err = source.WithRemote(ctx, p.Remote)
	}
	if err != nil {
		return nil, err
	}
	workspaces, err := git.NewWorkspaces(r.dir.Path("git"), p.Id, p.TargetBranch, source)
	if err != nil {
		return nil, err
	}
	committer, err := git.NewCommitter(r.dir.Path("git"), p.Id, source)
	if err != nil {
		return nil, err
	}
	if r.open == nil {
		r.open = map[string]*agent.Repository{}
	}
	opened := &agent.Repository{Workspaces: workspaces, Committer: committer, Source: source}
	r.open[key] = opened
	return opened, nil
}

// repositoryOf opens the repository of a registered project.
func (h *Host) repositoryOf(ctx context.Context, id string) (*agent.Repository, error) {
	view, err := h.projects.Look(ctx, project.Projects, &loomv1.Query{Project: id})
	if err != nil {
		return nil, err
	}
	if len(view.Projects) != 1 {
		return nil, fault.New("project/unknown", "project %q is not registered", id)
	}
	return h.repos.Open(ctx, view.Projects[0])
}

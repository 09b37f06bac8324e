package reading

import (
	"context"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/artifacts"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Artifacts gives the documents that landed on the branches of projects.
type Artifacts struct {
	*Views
	Secrets *redact.Secrets // are taken out of texts
	recent  artifacts.Recent
}

// List lists documents with their versions.
func (a *Artifacts) List(ctx context.Context, q *loomv1.ArtifactsRequest) (*loomv1.ArtifactsReply, error) {
	s, err := a.of(ctx, q.Project)
	if err != nil {
		return nil, err
	}
	return s.List(ctx, q)
}

// Part reads a part of a document.
func (a *Artifacts) Part(ctx context.Context, q *loomv1.ArtifactRequest) (*loomv1.ArtifactReply, error) {
	s, err := a.of(ctx, q.Project)
	if err != nil {
		return nil, err
	}
	return s.Part(ctx, q)
}

// of is the documents of a project.
func (a *Artifacts) of(ctx context.Context, id string) (*artifacts.Store, error) {
	p, err := a.registered(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := git.Open(ctx, p.Repository)
	if err != nil {
		return nil, err
	}
	return &artifacts.Store{Repository: r, Project: p.Id, Branch: p.TargetBranch, Clean: a.Secrets.Text, Recent: &a.recent}, nil
}

// registered is how a project is registered; empty names the only one.
func (s *Views) registered(ctx context.Context, id string) (*loomv1.ProjectConfig, error) {
	if id == "" {
		id = s.Projects.Only()
	}
	v, err := s.Answer(ctx, project.Projects, &loomv1.Query{Project: id}, nil)
	if err != nil {
		return nil, err
	}
	if len(v.Projects) != 1 {
		return nil, fault.New("project/unknown", "no project is named").At("project").Want("name the project")
	}
	return v.Projects[0], nil
}

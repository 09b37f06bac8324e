package host

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// withReporting gives a registration the rules of error reports that this start
// names: the project's own, else those of all projects, else none, which means
// the built-in ones.
func (h *Host) withReporting(ctx context.Context, c *loomv1.ProjectConfig, own *project.Reporting) error {
	r := own
	if r == nil {
		r = h.config.Reporting
	}
	if r == nil {
		return nil
	}
	c.Routes, c.Governor = r.Routes, r.Governor
	known := h.processesOf(ctx, c.Id)
	for _, route := range r.Routes {
		if route.Process != "" && !slices.Contains(known, route.Process) {
			return fault.New("submit/unknown-process", "a routing rule of project %q names a process that is not known", c.Id).At("process").
				Got(route.Process).Want("%s", suggest.Among(route.Process, known))
		}
	}
	return nil
}

// processesOf returns the names of the processes that a project has, and of
// those that it will be given.
func (h *Host) processesOf(ctx context.Context, id string) []string {
	names := h.library.Names()
	view, err := h.projects.Look(ctx, project.Definitions, &loomv1.Query{Project: id, Limit: project.MaxListed})
	if err != nil { // it is not registered yet
		return names
	}
	for _, d := range view.Definitions {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// registerReporting gives projects that were registered before, and that this
// start does not name, the rules that it has for all.
func (h *Host) registerReporting(ctx context.Context) error {
	if h.config.Reporting == nil {
		return nil
	}
	all, err := h.allProjects(ctx, &loomv1.Query{})
	if err != nil {
		return err
	}
	for _, old := range all.Projects {
		given := slices.ContainsFunc(h.config.Projects, func(p Project) bool { return p.ID == old.Id })
		if given && !slices.Contains(h.passed, old.Id) || old.Removed != nil {
			continue
		}
		c := proto.CloneOf(old)
		if err := h.withReporting(ctx, c, nil); err != nil {
			return err
		}
		if err := h.registerOne(ctx, c, nil); err != nil {
			return err
		}
	}
	return nil
}

package registry

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// giveReporting gives a registration the rules of error reports that this start
// names: the project's own, else those of all projects, else none, which means
// the built-in ones.
func (r *Registrar) giveReporting(ctx context.Context, c *loomv1.ProjectConfig, own *project.Reporting) error {
	rules := own
	if rules == nil {
		rules = r.Reporting
	}
	if rules == nil {
		return nil
	}
	c.Routes, c.Governor = rules.Routes, rules.Governor
	known := r.processesOf(ctx, c.Id)
	for _, route := range rules.Routes {
		if route.Process != "" && !slices.Contains(known, route.Process) {
			return fault.New("submit/unknown-process", "a routing rule of project %q names a process that is not known", c.Id).At("process").
				Got(route.Process).Want("%s", suggest.Among(route.Process, known))
		}
	}
	return nil
}

// processesOf returns the names of the processes that a project has, and of
// those that it will be given.
func (r *Registrar) processesOf(ctx context.Context, id string) []string {
	names := r.Library.Names()
	view, err := r.Cells.Look(ctx, project.Definitions, &loomv1.Query{Project: id, Limit: project.MaxListed})
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
func (r *Registrar) registerReporting(ctx context.Context, all []*loomv1.ProjectConfig) error {
	if r.Reporting == nil {
		return nil
	}
	for _, old := range all {
		named := slices.ContainsFunc(r.Named, func(n Named) bool { return n.Id == old.Id })
		if named && !slices.Contains(r.left, old.Id) || old.Removed != nil {
			continue
		}
		c := proto.CloneOf(old)
		if err := r.giveReporting(ctx, c, nil); err != nil {
			return err
		}
		if err := r.register(ctx, c, nil); err != nil {
			return err
		}
	}
	return nil
}

package reading

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/registry"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ownNames are the views whose ids are numbered or named in each project by itself.
var ownNames = []project.View{project.Memories, project.Sessions, project.Definitions}

func isOwn(v project.View) bool { return slices.Contains(ownNames, v) }

// isOwnName reports whether a query asks by an id that says nothing of its project.
func isOwnName(v project.View, q *loomv1.Query) bool {
	return q.Project == "" && q.Id != "" && isOwn(v) && (v == project.Definitions || project.Of(q.Id) == "")
}

// holder is the only one of some projects that has what a query names.
func (s *Views) holder(ctx context.Context, v project.View, q *loomv1.Query, projects []string) (id string, quarantined []string, err error) {
	return holder(s.Projects, projects, "id", q.Id, func(id string) error {
		one := &loomv1.Query{Project: id, Id: q.Id, Limit: 1}
		if err := CheckQuery(v, one); err != nil {
			return err
		}
		_, err := s.States.Look(ctx, v, one)
		return err
	})
}

// holder is the only one of some projects that has what a name is for; of several that
// have it, the only one that takes work. With none, and with several, it refuses. Those
// that are quarantined are returned too; where no other has it, one of them may.
func holder(known *registry.Projects, projects []string, field, name string, has func(project string) error) (id string, quarantined []string, err error) {
	var found []string
	var missing error
	for _, id := range projects {
		err := has(id)
		switch {
		case err == nil:
			found = append(found, id)
		case strings.Contains(fault.Code(err), "/unknown"):
			missing = cmp.Or(missing, err)
		case isQuarantined(err):
			quarantined = append(quarantined, id)
		default:
			return "", nil, err
		}
	}
	if len(found) > 1 {
		if served := slices.DeleteFunc(slices.Clone(found), known.Removed); len(served) == 1 {
			found = served
		}
	}
	switch {
	case len(found) == 1:
		return found[0], quarantined, nil
	case len(found) > 1:
		return "", nil, fault.New("project/unknown", "no project is named, and %s have it", strings.Join(found, " and ")).At(field).Got(name).Want("name one of them")
	case len(quarantined) > 0:
		return "", nil, fault.New("project/quarantined", "no other project has it, and what %s has cannot be replayed", strings.Join(quarantined, " and ")).At(field).Got(name)
	case missing != nil:
		return "", nil, fault.New(fault.Code(missing), "none of %s has it", strings.Join(projects, ", ")).At(field).Got(name)
	}
	return "", nil, errNoProject()
}

func errNoProject() error {
	return fault.New("project/unknown", "no project is named, and this deployment does not have exactly one").At("project").
		Want("name one; \"loom project list\" shows them")
}

// readable lists those of the projects that a sender may read who is narrowed to some;
// one who is narrowed to none may read all.
func readable(all, narrowed []string) []string {
	if len(narrowed) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(id string) bool { return !slices.Contains(narrowed, id) })
}

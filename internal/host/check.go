package host

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
	"github.com/loomrun/loom/roles"
)

// maxAgents is how many agents of a role a host can be asked to run.
const maxAgents = 1000

// checkAgents refuses roles that do not exist or are people, and numbers that
// make no sense.
func checkAgents(agents map[string]int, set *roles.Set) []*fault.Error {
	var errs []*fault.Error
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		role, known := set.Get(name)
		switch n := agents[name]; {
		case !known:
			errs = append(errs, fault.New("role/unknown", "no such role").At("agents").Got(name).Want("%s", suggest.Among(name, set.Names())))
		case role.Human:
			errs = append(errs, fault.New("usage/argument", "role %q is a person", name).At("agents"))
		case n < 0 || n > maxAgents:
			errs = append(errs, fault.New("usage/argument", "%d agents of role %q; there can be 0 to %d", n, name, maxAgents).At("agents"))
		}
	}
	return errs
}

// checkQuery refuses a query with an id that cannot be one, or without a
// project where none is meant. A definition's id may go on with "@" and the
// beginning of a hash.
func checkQuery(v project.View, q *loomv1.Query) error {
	if q.Project == "" {
		return fault.New("project/unknown", "no project is named, and this deployment does not have exactly one").At("project").
			Want("name one; \"loom project list\" shows them")
	}
	id := q.Id
	if name, hash, ok := strings.Cut(id, "@"); ok && v == project.Definitions {
		if id = name; hash == "" || strings.Trim(hash, "0123456789abcdef") != "" {
			return fault.New("id/malformed", "not the beginning of a hash").At("id").Got(hash).Want("1 to 64 of 0-9 and a-f")
		}
	}
	return checkIDs(map[string]string{
		"project": q.Project, "id": id, "parent": q.Parent, "after": q.After, "process": q.Process, "assignee": q.Assignee,
	})
}

// checkIDs refuses ids that cannot be; an empty one means that none was given.
func checkIDs(ids map[string]string) error {
	for _, name := range []string{"project", "bead", "execution", "id", "parent", "after", "process", "assignee", "team", "agent", "host"} {
		if id := ids[name]; id != "" {
			if _, err := subject.Parse(name, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkNotices refuses to read notices of what does not exist, because nothing
// would ever come.
func (h *Host) checkNotices(ctx context.Context, q *loomv1.NoticesRequest) error {
	if err := checkIDs(map[string]string{"project": q.Project, "bead": q.Bead, "execution": q.Execution, "team": q.Team, "agent": q.Agent, "host": q.Host}); err != nil {
		return err
	}
	if err := checkFilters(q); err != nil {
		return err
	}
	if _, known := h.roles.Get(q.Role); q.Role != "" && !known {
		return fault.New("role/unknown", "no such role").At("role").Got(q.Role).Want("%s", suggest.Among(q.Role, h.roles.Names()))
	}
	about := cmp.Or(q.Execution, q.Bead, q.Team)
	owner := cmp.Or(q.Project, project.Of(about))
	if owner == "" && about == "" || owner == project.System {
		return nil
	}
	view, id := project.Projects, ""
	switch {
	case q.Execution != "":
		view, id = project.Executions, q.Execution
	case about != "":
		view, id = project.Beads, about
	}
	_, err := h.states.Look(ctx, view, &loomv1.Query{Project: owner, Id: id})
	return h.known.Suggest(err)
}

// checkFilters refuses a cursor that cannot be, and kinds and times that nothing
// would ever match.
func checkFilters(q *loomv1.NoticesRequest) error {
	if len(q.GetAfter().GetPositions()) > 0 {
		if _, err := notice.ParseCursor(notice.FormatCursor(q.After)); err != nil {
			return fault.From(err).At("after")
		}
	}
	for _, kind := range q.Kinds {
		if !slices.Contains(notice.Kinds(), kind) {
			return fault.New("usage/argument", "no such kind of notice").At("kinds").Got(kind).Want("%s", suggest.Among(kind, notice.Kinds()))
		}
	}
	if q.Since != nil && q.Since.CheckValid() != nil {
		return fault.New("usage/argument", "not a time").At("since")
	}
	return nil
}

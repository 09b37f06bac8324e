package reading

import (
	"cmp"
	"context"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/registry"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Notices answers what happened, from the journals.
type Notices struct {
	history
	States   States
	Projects *registry.Projects
	Roles    *roles.Set
}

// Page returns the notices after a cursor that match what is asked for, and where to go
// on.
func (n *Notices) Page(ctx context.Context, q *loomv1.NoticesRequest) (*loomv1.NoticesReply, error) {
	if err := n.check(ctx, q); err != nil {
		return nil, err
	}
	return n.page(ctx, q)
}

// check refuses to read notices of what does not exist, because nothing
// would ever come.
func (n *Notices) check(ctx context.Context, q *loomv1.NoticesRequest) error {
	if err := CheckIDs(map[string]string{"project": q.Project, "bead": q.Bead, "execution": q.Execution, "team": q.Team, "agent": q.Agent, "host": q.Host}); err != nil {
		return err
	}
	if err := checkFilters(q); err != nil {
		return err
	}
	if _, known := n.Roles.Get(q.Role); q.Role != "" && !known {
		return fault.New("role/unknown", "no such role").At("role").Got(q.Role).Want("%s", suggest.Among(q.Role, n.Roles.Names()))
	}
	about := cmp.Or(q.Execution, q.Bead, q.Team)
	owner := cmp.Or(q.Project, project.Of(about))
	if owner == "" && about == "" || owner == project.System {
		return nil
	}
	view, id := project.Projects, ""
	switch {
	case owner == "":
		return malformedID(aboutField(q), about)
	case q.Execution != "":
		view, id = project.Executions, q.Execution
	case about != "":
		view, id = project.Beads, about
	}
	_, err := n.States.Look(ctx, view, &loomv1.Query{Project: owner, Id: id})
	return n.Projects.Suggest(err)
}

// aboutField is the field that says which work notices are about.
func aboutField(q *loomv1.NoticesRequest) string {
	switch {
	case q.Execution != "":
		return "execution"
	case q.Bead != "":
		return "bead"
	}
	return "team"
}

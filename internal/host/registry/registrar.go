// Package registry knows which projects are registered on a deployment, and registers,
// adds and removes them.
package registry

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Cells are the way to all projects of the deployment.
type Cells interface {
	Do(ctx context.Context, cmd *loomv1.Command) (*loomv1.Answer, error)
	Look(ctx context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error)
	// List returns the ids of all projects, project "system" among them.
	List(ctx context.Context) ([]string, error)
}

// Named is a project that a start names.
type Named struct {
	*loomv1.ProjectConfig
	// Reporting has the rules of error reports of this project. Nil means those of all.
	Reporting *project.Reporting
	// Standing leaves the project as operators have added or removed it since.
	Standing bool
	// Kept leaves the project in the repository that operators have given it since, and
	// removed if they have removed it.
	Kept bool
}

// leaves reports whether a start leaves a project wholly as operators had it.
func (n Named) leaves(was *loomv1.ProjectConfig) bool {
	return n.Standing && was.GetAdded() || (n.Standing || n.Kept) && was.GetRemoved() != nil
}

// placed is what a start says of a project, in the repository and for the branch that
// operators have given it since, if the start names none.
func (n Named) placed(was *loomv1.ProjectConfig) *loomv1.ProjectConfig {
	if !n.Kept || !was.GetAdded() {
		return n.ProjectConfig
	}
	c := proto.CloneOf(n.ProjectConfig)
	c.Repository, c.TargetBranch, c.Added = was.Repository, was.TargetBranch, true
	return c
}

// Config says what a registrar works with. All but Reporting and ForAll is needed.
type Config struct {
	Cells    Cells
	Projects *Projects
	Library  *processes.Library // the definitions that each project is given
	Named    []Named

	// Reporting has the rules of error reports of all projects without rules of their
	// own. Nil leaves them the built-in ones.
	Reporting *project.Reporting
	// ForAll has what this start says of every project that it registers: grace,
	// crashes, train and budgets.
	ForAll *loomv1.ProjectConfig

	// Do sends a command in the name of this host.
	Do func(ctx context.Context, project string, cmd *loomv1.Command) error
	// Check refuses a registration before anybody looks at its repository.
	Check func(c *loomv1.ProjectConfig) error
	// Shared reports whether other hosts serve projects of the deployment.
	Shared func() bool
	// Moved is told of a project that may have another repository than before.
	Moved func(project string)
}

// Registrar registers projects: those that a start names, and those that operators add
// while the host runs. Start comes first; the other methods may be called at the same
// time.
type Registrar struct {
	Config
	left []string         // named projects that the start left as operators had them
	away map[string]error // why projects that earlier starts named have no repository now
}

// New returns a registrar that has registered nothing.
func New(c Config) *Registrar { return &Registrar{Config: c, away: map[string]error{}} }

// Start registers the named projects, all of them or, where one is refused, none, and
// gives every project the definitions that this release brings.
func (r *Registrar) Start(ctx context.Context) error {
	all, err := r.look(ctx)
	if err != nil {
		return err
	}
	if err := r.registerNamed(ctx, all); err != nil {
		return err
	}
	if err := r.registerReporting(ctx, all); err != nil {
		return err
	}
	for _, id := range r.Projects.Served() {
		if err := r.giveDefinitions(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// Learn learns of the projects that other hosts have registered and removed.
func (r *Registrar) Learn(ctx context.Context) error {
	_, err := r.look(ctx)
	return err
}

// look asks every project of the deployment how it is registered, and notes which there
// are and which were removed.
func (r *Registrar) look(ctx context.Context) ([]*loomv1.ProjectConfig, error) {
	ids, err := r.Cells.List(ctx)
	if err != nil {
		return nil, err
	}
	r.Projects.Add(slices.DeleteFunc(ids, func(id string) bool { return id == project.System })...)
	all, err := Registrations(ctx, r.Cells, r.Projects.All(), 0)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		r.Projects.SetRemoved(c.Id, c.Removed != nil)
	}
	return all, nil
}

// Registrations asks projects how they are registered.
func Registrations(ctx context.Context, from interface {
	Look(ctx context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error)
}, ids []string, limit uint32,
) (all []*loomv1.ProjectConfig, err error) {
	for _, id := range ids {
		view, err := from.Look(ctx, project.Projects, &loomv1.Query{Project: id, Limit: limit})
		if err != nil {
			return nil, err
		}
		all = append(all, view.Projects...)
	}
	return all, nil
}

// registerNamed checks all named projects before it registers any.
func (r *Registrar) registerNamed(ctx context.Context, all []*loomv1.ProjectConfig) error {
	var configs []*loomv1.ProjectConfig
	for _, n := range r.Named {
		was := find(all, n.Id)
		if n.leaves(was) {
			r.left = append(r.left, n.Id)
			continue
		}
		c, err := r.resolve(ctx, n.placed(was), n.Reporting, was)
		if n.Kept && was != nil && fault.Code(err) == "git/not-a-repository" {
			r.away[n.Id] = err
			continue
		}
		if err != nil {
			return err
		}
		configs = append(configs, c)
		if err := r.free(c, was, slices.Concat(all, configs)); err != nil {
			return err
		}
	}
	for _, c := range configs {
		if err := r.register(ctx, c, nil); err != nil {
			return err
		}
		r.Projects.Add(c.Id)
		r.Projects.SetRemoved(c.Id, false)
	}
	return nil
}

// find returns how a project is registered, nil for one that is not.
func find(all []*loomv1.ProjectConfig, id string) *loomv1.ProjectConfig {
	if i := slices.IndexFunc(all, func(c *loomv1.ProjectConfig) bool { return c.Id == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// LeftAsItWas reports whether the start has left a named project as operators had it,
// who added or removed it while a host ran, and if so, whether it is removed.
func (r *Registrar) LeftAsItWas(id string) (left, removed bool) {
	return slices.Contains(r.left, id), r.Projects.Removed(id)
}

// Away returns why a project that earlier starts have named has no repository now, or nil:
// it is left as it was, and its work waits.
func (r *Registrar) Away(id string) error { return r.away[id] }

// resolve returns what a project is registered as, of what is said of it: it checks the
// repository, finds the target branch, and asks the remote.
func (r *Registrar) resolve(ctx context.Context, said *loomv1.ProjectConfig, own *project.Reporting, was *loomv1.ProjectConfig) (*loomv1.ProjectConfig, error) {
	c, repo, err := locate(ctx, said, was)
	if err != nil {
		return nil, err
	}
	if c.Remote != "" {
		if err := reached(ctx, repo, c.Remote, c.TargetBranch); err != nil {
			return nil, fault.From(err).At("project " + c.Id + ", push")
		}
	}
	forAll(c, r.ForAll)
	return c, r.giveReporting(ctx, c, own)
}

// locate checks the repository of a project and finds the target branch, the one that is
// named, else the one the project was registered with, else the one that is checked out.
func locate(ctx context.Context, said, was *loomv1.ProjectConfig) (*loomv1.ProjectConfig, *git.Repository, error) {
	path, err := filepath.Abs(said.Repository)
	if err != nil {
		return nil, nil, fault.New("git/not-a-repository", "not a path: %s", err).At("project " + said.Id)
	}
	repo, err := git.Open(ctx, path)
	if err != nil {
		e := *fault.From(err)
		return nil, nil, e.At(strings.TrimSuffix("project "+said.Id+", "+e.Where, ", "))
	}
	c := proto.CloneOf(said)
	c.Repository = repo.Path()
	if c.TargetBranch == "" && was.GetRepository() == c.Repository {
		c.TargetBranch = was.GetTargetBranch()
	}
	if c.TargetBranch, _, err = repo.Branch(ctx, c.TargetBranch); err != nil {
		return nil, nil, fault.From(err).At("project " + c.Id + ", branch of " + c.Repository)
	}
	return c, repo, nil
}

// Locate reports all that is wrong with the repositories of projects that a start names
// and with their branches, and which of them are one. It asks no remote.
func Locate(ctx context.Context, named []*loomv1.ProjectConfig) (errs []*fault.Error) {
	var found []*loomv1.ProjectConfig
	for _, said := range named {
		c, _, err := locate(ctx, said, nil)
		if err == nil {
			err = taken(c, found)
			found = append(found, c)
		}
		errs = append(errs, fault.All(err)...)
	}
	return errs
}

// forAll gives a registration what its start says of every project.
func forAll(c, all *loomv1.ProjectConfig) {
	c.Grace, c.Crashes, c.Train = all.GetGrace(), all.GetCrashes(), all.GetTrain()
	c.Budget, c.BeadBudget, c.DayBudget = all.GetBudget(), all.GetBeadBudget(), all.GetDayBudget()
}

// reached refuses a remote that does not answer, or lacks the branch.
func reached(ctx context.Context, repo *git.Repository, remote, branch string) error {
	with, err := repo.WithRemote(ctx, remote)
	if err == nil {
		_, err = with.Tip(ctx, branch)
	}
	return err
}

// free refuses a repository that another host has registered for the project with
// another path, or that another project of the deployment has: its fence is one for the
// deployment.
func (r *Registrar) free(c, was *loomv1.ProjectConfig, all []*loomv1.ProjectConfig) error {
	if was != nil && was.Repository != c.Repository && r.Shared() {
		return Elsewhere(was, c)
	}
	return taken(c, all)
}

// taken refuses the repository or the remote of another project.
func taken(c *loomv1.ProjectConfig, all []*loomv1.ProjectConfig) error {
	for _, other := range all {
		if other.Id == c.Id {
			continue
		}
		if other.Repository == c.Repository || git.Same(other.Repository, c.Repository) {
			e := fault.New("project/conflict", "repository %s belongs to project %q", c.Repository, other.Id).At("project " + c.Id)
			if other.Removed != nil {
				return e.Want("that project was removed, and can be added again under its name")
			}
			return e
		}
		if c.Remote == other.Remote && strings.ContainsAny(c.Remote, "/:") {
			return fault.New("project/conflict", "remote %s belongs to project %q", c.Remote, other.Id).At("project " + c.Id + ", push")
		}
	}
	return nil
}

// Elsewhere refuses a repository that another host has registered with another path:
// what hosts do in a project they find in its repository, so all must have the same.
func Elsewhere(registered, ours *loomv1.ProjectConfig) error {
	return fault.New("project/conflict", "project %q is registered with repository %s on this deployment, not %s", registered.Id, registered.Repository, ours.Repository).
		At("project " + registered.Id).Want("the same repository under the same path on every host, for example on a shared file system")
}

// register registers a project. It takes over the deployment's keys, by the orders that
// made them in the project "system", which it checks again: a new one would begin with the
// first key, which may be revoked, and one that was not served may have missed that.
// The fact names who asked for it; nobody is the host itself.
func (r *Registrar) register(ctx context.Context, c *loomv1.ProjectConfig, by *loomv1.Identity) error {
	cmd := &loomv1.RegisterProject{Config: c, AskedBy: by}
	view, err := r.Cells.Look(ctx, project.Keys, &loomv1.Query{Project: project.System, Filter: project.KeyOrders})
	switch fault.Code(err) {
	case "":
		cmd.Keys = view.KeyOrders
	case "project/unknown": // it has no events yet
	default:
		return err
	}
	return r.Do(ctx, c.Id, &loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: cmd}})
}

func (r *Registrar) giveDefinitions(ctx context.Context, id string) error {
	for _, name := range r.Library.Names() {
		def, _ := r.Library.Get(name)
		if err := r.Do(ctx, id, &loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: def}}}); err != nil {
			return err
		}
	}
	return nil
}

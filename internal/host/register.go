package host

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/patchscan"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// serveRegister registers a project while the host runs, or removes one.
func (h *Host) serveRegister(ctx context.Context, c call) proto.Message {
	q := &loomv1.RegisterRequest{}
	err := actors.Decode(c.contentType, c.data, q)
	reply := &loomv1.RegisterReply{}
	if err == nil {
		switch change := q.Change.(type) {
		case *loomv1.RegisterRequest_Add:
			reply, err = h.addProject(ctx, change.Add, c.from)
		case *loomv1.RegisterRequest_Remove:
			reply, err = h.removeProject(ctx, change.Remove, q.Reason, c.from)
		default:
			err = fault.New("command/malformed", "no project is to be added or removed")
		}
	}
	if err != nil {
		return &loomv1.RegisterReply{Error: fault.From(h.suggestProject(err)).Proto()}
	}
	return reply
}

// addProject registers a project as a start does that names it, with the same checks
// before anything is changed. Repeating it goes on where an interrupted one has ended:
// the registration is one fact, and what follows from it is given at each start too.
func (h *Host) addProject(ctx context.Context, asked *loomv1.ProjectConfig, by *loomv1.Identity) (*loomv1.RegisterReply, error) {
	if err := h.space.Admit(); err != nil {
		return nil, err
	}
	if err := checkIDs(map[string]string{"project": asked.GetId()}); err != nil {
		return nil, err
	}
	if err := checkAdded(asked); err != nil {
		return nil, err
	}
	was, err := h.registration(ctx, asked.Id)
	if err != nil {
		return nil, err
	}
	p := asProject(asked)
	p.OperatorsAnswer, p.Registries = was.GetOperatorsAnswer(), was.GetSetupRegistries()
	if p.Remote == "" && isAddress(was.GetRemote()) {
		p.Remote = was.GetRemote()
	}
	if err := fault.Join(h.config.checkProject(p)); err != nil {
		return nil, err
	}
	c, err := h.resolve(ctx, p)
	if err != nil {
		return nil, err
	}
	if there := h.registeredElsewhere(ctx, c); there != nil {
		return nil, elsewherePlaced(there, c)
	}
	if err := h.free(ctx, c, nil); err != nil {
		return nil, err
	}
	changed := differing(was, c)
	c.Added = was == nil || was.Removed != nil || len(changed) > 0 || was.Added // else it is as a start has it, and stays so
	if err := h.registerOne(ctx, c, by); err != nil {
		return nil, err
	}
	h.places.forget(c.Id)
	h.know(c.Id)
	h.setGone(c.Id, false)
	if err := h.giveDefinitions(ctx, c.Id); err != nil {
		return nil, err
	}
	return &loomv1.RegisterReply{Project: c, Anew: was == nil || was.Removed != nil, Changed: changed}, nil
}

// checkAdded refuses what whoever starts the host says, and nobody from elsewhere: what
// operators may answer, what commands may reach over the network, and addresses that
// work is sent to.
func checkAdded(c *loomv1.ProjectConfig) error {
	var errs []*fault.Error
	refuse := func(field, flag string) {
		errs = append(errs, fault.New("request/denied", "%s of a project is said where its host is started", field).At(field).Want("loom up --%s", flag))
	}
	if len(c.GetOperatorsAnswer()) > 0 {
		refuse("operators_answer", "operators-answer")
	}
	if len(c.GetSetupRegistries()) > 0 {
		refuse("setup_registries", "setup-registry")
	}
	if isAddress(c.GetRemote()) {
		refuse("a remote by its address", "push")
	}
	if !filepath.IsAbs(c.GetRepository()) {
		errs = append(errs, fault.New("project/invalid", "project %q: repository is not an absolute path", c.GetId()).At("repository").Got(c.GetRepository()))
	}
	return fault.Join(errs)
}

// isAddress reports whether a remote is a URL or a path, and not the name of one that
// the repository has.
func isAddress(remote string) bool {
	return strings.ContainsAny(remote, `:/\`) || strings.HasPrefix(remote, ".") || strings.HasPrefix(remote, "-")
}

// asProject is what a registration says of one project.
func asProject(c *loomv1.ProjectConfig) Project {
	p := Project{
		ID: c.Id, Repository: c.Repository, Branch: c.TargetBranch, Checks: c.Checks, Setup: c.Setup, SetupReads: c.SetupReads, SetupMakes: c.SetupMakes,
		Memory: c.Memory, Remote: c.Remote, Processes: c.Processes,
	}
	if len(c.Patch) > 0 {
		p.Patch = patchscan.Policy(c.Patch)
	}
	if len(c.Routes) > 0 || c.Governor != nil {
		p.Reporting = &project.Reporting{Routes: c.Routes, Governor: c.Governor}
	}
	return p
}

// Registration is what a project says of itself, for an operator to add it to a host
// that runs; its repository is not looked at.
func (p Project) Registration() *loomv1.ProjectConfig {
	c := &loomv1.ProjectConfig{
		Id: p.ID, Repository: p.Repository, TargetBranch: p.Branch, Checks: p.Checks, Setup: p.Setup, SetupReads: p.SetupReads, SetupMakes: p.SetupMakes,
		SetupRegistries: p.Registries, Memory: p.Memory, OperatorsAnswer: p.OperatorsAnswer, Remote: p.Remote, Processes: p.Processes, Patch: p.Patch,
	}
	if p.Reporting != nil {
		c.Routes, c.Governor = p.Reporting.Routes, p.Reporting.Governor
	}
	return c
}

// differing names the fields in which two registrations differ, but for how they came.
func differing(was, is *loomv1.ProjectConfig) (names []string) {
	if was == nil {
		return nil
	}
	a, b := was.ProtoReflect(), is.ProtoReflect()
	fields := a.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Name() != "added" && f.Name() != "removed" && !same(a, b, f) {
			names = append(names, string(f.Name()))
		}
	}
	return names
}

func same(a, b protoreflect.Message, f protoreflect.FieldDescriptor) bool {
	return a.Has(f) == b.Has(f) && a.Get(f).Equal(b.Get(f))
}

func (h *Host) removeProject(ctx context.Context, id, reason string, by *loomv1.Identity) (*loomv1.RegisterReply, error) {
	if err := checkIDs(map[string]string{"project": id}); err != nil {
		return nil, err
	}
	was, err := h.registration(ctx, id)
	if err != nil {
		return nil, err
	}
	if was == nil {
		return nil, project.UnknownProject(id)
	}
	cmd := &loomv1.Command{Project: id, Actor: by, Body: &loomv1.Command_RemoveProject{RemoveProject: &loomv1.RemoveProject{Reason: reason}}}
	if _, err := h.projects.Do(ctx, cmd); err != nil {
		return nil, err
	}
	h.setGone(id, true)
	is, err := h.registration(ctx, id)
	if err != nil {
		return nil, err
	}
	reply := &loomv1.RegisterReply{Project: is}
	if was.Removed == nil {
		reply.Changed = []string{"removed"}
	}
	return reply, nil
}

// listProjects lists the projects that take work, with the filter "all" those too that
// were removed.
func (h *Host) listProjects(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	switch q.Filter {
	case "", "all":
	default:
		return nil, fault.New("usage/argument", "no such filter").At("filter").Got(q.Filter).Want(`leave it out, or write "all"`)
	}
	all, err := h.allProjects(ctx, q)
	if err == nil && q.Filter == "" {
		all.Projects = slices.DeleteFunc(all.Projects, func(c *loomv1.ProjectConfig) bool { return c.Removed != nil })
	}
	return all, err
}

// served returns the ids of the projects that take work, sorted.
func (h *Host) served() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.known), func(id string) bool { return slices.Contains(h.gone, id) })
}

// LeftAsItWas reports whether the start has left a configured project as operators had
// it, who added or removed it while a host ran, and if so, whether it is removed.
func (h *Host) LeftAsItWas(id string) (left, removed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.passed, id), slices.Contains(h.gone, id)
}

func (h *Host) setGone(id string, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = slices.DeleteFunc(h.gone, func(known string) bool { return known == id })
	if gone {
		h.gone = append(h.gone, id)
		slices.Sort(h.gone)
	}
}

// learnRemoved learns which projects were removed, here or on other hosts.
func (h *Host) learnRemoved(ctx context.Context) error {
	all, err := h.allProjects(ctx, &loomv1.Query{})
	if err != nil {
		return err
	}
	for _, c := range all.Projects {
		h.setGone(c.Id, c.Removed != nil)
	}
	return nil
}

package registry

import (
	"context"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Add registers a project as a start does that names it, with the same checks before
// anything is changed. Repeating it goes on where an interrupted one has ended: the
// registration is one fact, and what follows from it is given at each start too.
func (r *Registrar) Add(ctx context.Context, asked *loomv1.ProjectConfig, by *loomv1.Identity) (*loomv1.RegisterReply, error) {
	if err := checkID(asked.GetId()); err != nil {
		return nil, err
	}
	if err := checkAsked(asked); err != nil {
		return nil, err
	}
	was, err := r.registration(ctx, asked.Id)
	if err != nil {
		return nil, err
	}
	said := sayable(asked, was)
	if err := r.Check(said); err != nil {
		return nil, err
	}
	c, err := r.resolve(ctx, said, reportingOf(said), was)
	if err != nil {
		return nil, err
	}
	all, err := Registrations(ctx, r.Cells, r.Projects.All(), 0)
	if err != nil {
		return nil, err
	}
	if err := r.free(c, was, all); err != nil {
		return nil, err
	}
	changed := differing(was, c)
	c.Added = was == nil || was.Removed != nil || len(changed) > 0 || was.Added // else it is as a start has it, and stays so
	if err := r.register(ctx, c, by); err != nil {
		return nil, err
	}
	r.Moved(c.Id)
	r.Projects.Add(c.Id)
	r.Projects.SetRemoved(c.Id, false)
	if err := r.giveDefinitions(ctx, c.Id); err != nil {
		return nil, err
	}
	return &loomv1.RegisterReply{Project: c, Anew: was == nil || was.Removed != nil, Changed: changed}, nil
}

// Remove has a project take no more work; what it has recorded stays.
func (r *Registrar) Remove(ctx context.Context, id, reason string, by *loomv1.Identity) (*loomv1.RegisterReply, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	was, err := r.registration(ctx, id)
	if err != nil {
		return nil, err
	}
	if was == nil {
		return nil, project.UnknownProject(id)
	}
	cmd := &loomv1.Command{Project: id, Actor: by, Body: &loomv1.Command_RemoveProject{RemoveProject: &loomv1.RemoveProject{Reason: reason}}}
	if _, err := r.Cells.Do(ctx, cmd); err != nil {
		return nil, err
	}
	r.Projects.SetRemoved(id, true)
	is, err := r.registration(ctx, id)
	if err != nil {
		return nil, err
	}
	reply := &loomv1.RegisterReply{Project: is}
	if was.Removed == nil {
		reply.Changed = []string{"removed"}
	}
	return reply, nil
}

// registration is how a project is registered, nil for one that is not.
func (r *Registrar) registration(ctx context.Context, id string) (*loomv1.ProjectConfig, error) {
	view, err := r.Cells.Look(ctx, project.Projects, &loomv1.Query{Project: id})
	if fault.Code(err) == "project/unknown" {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil || len(view.Projects) != 1 {
		return nil, err
	}
	return view.Projects[0], nil
}

// checkID refuses ids that cannot be; an empty one means that none was given.
func checkID(id string) error {
	if id == "" {
		return nil
	}
	_, err := subject.Parse("project", id)
	return err
}

// checkAsked refuses what whoever starts the host says, and nobody from elsewhere: what
// operators may answer, what commands may reach over the network, and addresses that
// work is sent to.
func checkAsked(c *loomv1.ProjectConfig) error {
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

// sayable is what an operator may say of a project, beside what it was registered with
// that only whoever starts the host may say.
func sayable(asked, was *loomv1.ProjectConfig) *loomv1.ProjectConfig {
	c := proto.CloneOf(asked)
	c.DefaultProcess, c.Added, c.Removed = "", false, nil
	c.OperatorsAnswer, c.SetupRegistries = was.GetOperatorsAnswer(), was.GetSetupRegistries()
	if c.Remote == "" && isAddress(was.GetRemote()) {
		c.Remote = was.GetRemote()
	}
	return c
}

// reportingOf are the rules of error reports that an operator says with a project, nil
// for none.
func reportingOf(c *loomv1.ProjectConfig) *project.Reporting {
	if len(c.Routes) == 0 && c.Governor == nil {
		return nil
	}
	return &project.Reporting{Routes: c.Routes, Governor: c.Governor}
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

package reading

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/registry"
	"github.com/loomrun/loom/internal/store/blob"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// States answers from what projects are now.
type States interface {
	Look(ctx context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error)
	Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error)
}

// Views answer queries about projects as they are, of one project or of several.
type Views struct {
	States   States
	Projects *registry.Projects
	Tables   *Tables
	Blobs    blob.Store
}

// Answer answers a query of a sender who may read the projects that narrowed names; none
// means all.
func (s *Views) Answer(ctx context.Context, v project.View, q *loomv1.Query, narrowed []string) (*loomv1.View, error) {
	if err := CheckPage(v, q); err != nil {
		return nil, err
	}
	if v == project.Projects && q.Project == "" {
		return s.listProjects(ctx, q)
	}
	if q.Project == "" {
		q.Project = s.meant(v, q)
	}
	if q.Project == "" && q.Id != "" && saysProject(v) { // else it would have said which
		return nil, malformedID("id", q.Id)
	}
	var quarantined []string
	if isOwnName(v, q) {
		owner, others, err := s.holder(ctx, v, q, readable(s.Projects.All(), narrowed))
		if err != nil {
			return nil, err
		}
		q.Project, quarantined = owner, others
	}
	if spans(v, q) {
		return s.span(ctx, v, q, readable(s.Projects.All(), narrowed))
	}
	if owner, id, ok := strings.Cut(q.After, "/"); ok && owner == q.Project && isOwn(v) {
		q.After = id
	}
	if q.Project != "" && len(narrowed) > 0 && !slices.Contains(narrowed, q.Project) {
		return nil, Denied(q.Project)
	}
	if err := CheckQuery(v, q); err != nil {
		return nil, err
	}
	view, err := s.States.Look(ctx, v, q)
	if err != nil {
		return nil, s.Projects.Suggest(err)
	}
	view.Quarantined = quarantined
	if err := s.addLongText(ctx, v, q, view); err != nil {
		return nil, err
	}
	s.addTree(ctx, v, q, view)
	return view, s.addDiff(ctx, v, q, view)
}

// Denied refuses a project to a sender who is narrowed to others.
func Denied(id string) error {
	return fault.New("request/denied", "project %q is not for these credentials", id).At("project")
}

// Execution returns an execution as it is now, by its id or its bead's.
func (s *Views) Execution(ctx context.Context, id string) (*loomv1.Execution, error) {
	if _, err := subject.Parse("execution", id); err != nil {
		return nil, err
	}
	owner := project.Of(id)
	if owner == "" {
		return nil, fault.New("execution/unknown", "execution %q is not known", id).At("execution")
	}
	view, err := s.States.Look(ctx, project.Executions, &loomv1.Query{Project: owner, Id: id})
	if err != nil {
		return nil, s.Projects.Suggest(err)
	}
	return view.Executions[0], nil
}

// History answers what nodes of an execution went through.
func (s *Views) History(ctx context.Context, q *loomv1.HistoryRequest) (*loomv1.HistoryReply, error) {
	x, err := s.Execution(ctx, q.Execution)
	if err != nil {
		return nil, err
	}
	if err := s.Tables.CaughtUp(ctx, x.Project); err != nil {
		return nil, err
	}
	list, err := s.Tables.Transitions(ctx, x.Id)
	return &loomv1.HistoryReply{Transitions: list}, err
}

// listProjects lists the projects that take work, with the filter "all" those too that
// were removed.
func (s *Views) listProjects(ctx context.Context, q *loomv1.Query) (*loomv1.View, error) {
	switch q.Filter {
	case "", "all":
	default:
		return nil, fault.New("usage/argument", "no such filter").At("filter").Got(q.Filter).Want(`leave it out, or write "all"`)
	}
	all := &loomv1.View{}
	for _, id := range s.Projects.All() {
		one, err := registry.Registrations(ctx, s.States, []string{id}, q.Limit)
		switch {
		case isQuarantined(err):
			all.Quarantined = append(all.Quarantined, id)
		case err != nil:
			return nil, err
		}
		all.Projects = append(all.Projects, one...)
	}
	if q.Filter == "" {
		all.Projects = slices.DeleteFunc(all.Projects, func(c *loomv1.ProjectConfig) bool { return c.Removed != nil })
	}
	return all, nil
}

// treeWithin is how long an answer waits for the tables to say what belongs to an
// execution.
const treeWithin = 2 * time.Second

// addTree gives what an execution that was asked for by id has used with those that
// work for it. The answer does without where the tables lag: the rest is not theirs.
func (s *Views) addTree(ctx context.Context, v project.View, q *loomv1.Query, view *loomv1.View) {
	if v != project.Executions || q.Id == "" || len(view.Executions) != 1 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, treeWithin)
	defer cancel()
	x := view.Executions[0]
	if err := s.Tables.CaughtUp(ctx, x.Project); err != nil {
		return
	}
	if tree, err := s.Tables.Tree(ctx, x.Id); err == nil && tree.Executions > 1 {
		view.Tree = tree
	}
}

// addDiff gives the text of the diff with an approval that was asked for by id.
func (s *Views) addDiff(ctx context.Context, v project.View, q *loomv1.Query, view *loomv1.View) error {
	if v != project.Inbox || q.Id == "" || len(view.Approvals) != 1 {
		return nil
	}
	ref := view.Approvals[0].Change.GetDiff()
	if ref == nil {
		return nil
	}
	diff, err := s.Blobs.Get(ctx, ref)
	view.Diff = validText(diff)
	return err
}

// addLongText gives the whole text with an entry of the memory that was asked for by id.
func (s *Views) addLongText(ctx context.Context, v project.View, q *loomv1.Query, view *loomv1.View) error {
	if v != project.Memories || q.Id == "" || len(view.Memories) != 1 || view.Memories[0].Id != q.Id {
		return nil
	}
	ref := view.Memories[0].Detail
	if ref == nil {
		return nil
	}
	text, err := s.Blobs.Get(ctx, ref)
	view.Text = validText(text)
	return err
}

// validText is a blob as a view can carry it: files may be in any encoding, and git
// takes some that are no text at all for text.
func validText(data []byte) string { return strings.ToValidUTF8(string(data), "\uFFFD") }

// meant is the project of a query that names none: that of the id or the parent, else the
// only one.
func (s *Views) meant(v project.View, q *loomv1.Query) string {
	of := ""
	if saysProject(v) || v == project.Memories || v == project.Sessions {
		of = project.Of(cmp.Or(q.Id, q.Parent))
	}
	return cmp.Or(of, s.Projects.Only())
}

// saysProject reports whether every id of a view says which project it is of.
func saysProject(v project.View) bool {
	return slices.Contains([]project.View{project.Beads, project.Executions, project.Inbox, project.Talks, project.Graph}, v)
}

func malformedID(field, id string) error {
	return fault.New("id/malformed", "not an id of Loom's").At(field).Got(id).Want("PROJECT-NUMBER, for example shop-1")
}

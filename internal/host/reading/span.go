package reading

import (
	"cmp"
	"context"
	"slices"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// spanned are the views whose lists can have what several projects have.
var spanned = []project.View{
	project.Beads, project.Executions, project.Inbox, project.Lock, project.Pauses, project.Permitted, project.Definitions, project.Keys,
}

// Spans reports whether the lists of a view can have what several projects have.
func Spans(v project.View) bool { return slices.Contains(spanned, v) }

// spans reports whether a query without a project is about all projects: it lists, and
// names nothing that belongs to one of them.
func spans(v project.View, q *loomv1.Query) bool {
	return q.Project == "" && q.Id == "" && q.Parent == "" && slices.Contains(spanned, v)
}

// span answers a query about several projects: what the first has, then what the next
// has, up to the limit. The id to list on after says with which project to go on.
func (s *Views) span(ctx context.Context, v project.View, q *loomv1.Query, projects []string) (*loomv1.View, error) {
	all, left, after := &loomv1.View{}, min(cmp.Or(q.Limit, 100), project.MaxListed), q.After
	for i, id := range projects {
		if id < project.Of(after) {
			continue
		}
		one := &loomv1.Query{Project: id, Filter: q.Filter, Limit: left, Text: q.Text, Labels: q.Labels, Type: q.Type, Process: q.Process, Assignee: q.Assignee, Oldest: q.Oldest}
		if project.Of(after) == id {
			one.After = after
		}
		if err := CheckQuery(v, one); err != nil {
			return nil, err
		}
		page, err := s.States.Look(ctx, v, one)
		if err != nil {
			return nil, s.Projects.Suggest(err)
		}
		addPage(all, page)
		if last := lastListed(page); last != "" {
			left -= uint32(len(page.Beads) + len(page.Executions) + len(page.Approvals))
			if left == 0 && page.Next == "" && i < len(projects)-1 {
				page.Next = last // there may be more in the next project
			}
		}
		if all.Next = page.Next; all.Next != "" {
			break
		}
	}
	if v == project.Inbox {
		return s.counted(ctx, all, projects)
	}
	return all, nil
}

// counted says how many approvals wait in all projects, those included that the page
// does not reach.
func (s *Views) counted(ctx context.Context, all *loomv1.View, projects []string) (*loomv1.View, error) {
	for _, id := range projects {
		page, err := s.States.Look(ctx, project.Inbox, &loomv1.Query{Project: id, Limit: 1})
		if err != nil {
			return nil, err
		}
		all.Waiting += page.Waiting
	}
	return all, nil
}

// addPage adds what one project has to what others have.
func addPage(all, page *loomv1.View) {
	all.Beads = append(all.Beads, page.Beads...)
	all.Executions = append(all.Executions, page.Executions...)
	all.Approvals = append(all.Approvals, page.Approvals...)
	all.Locks = append(all.Locks, page.Locks...)
	all.Claims = append(all.Claims, page.Claims...)
	all.Pauses = append(all.Pauses, page.Pauses...)
	all.Permissions = append(all.Permissions, page.Permissions...)
	all.Toolkits = append(all.Toolkits, page.Toolkits...)
	all.Definitions = append(all.Definitions, page.Definitions...)
	all.Keys = append(all.Keys, page.Keys...)
	all.KeyChanges = append(all.KeyChanges, page.KeyChanges...)
	for _, b := range page.Blocks {
		if !slices.ContainsFunc(all.Blocks, func(o *loomv1.ModelBlock) bool { return o.Model == b.Model && o.Code == b.Code }) {
			all.Blocks = append(all.Blocks, b)
		}
	}
}

// lastListed is the id of the last that a page lists, "" for none.
func lastListed(page *loomv1.View) string {
	switch {
	case len(page.Beads) > 0:
		return page.Beads[len(page.Beads)-1].Id
	case len(page.Executions) > 0:
		return page.Executions[len(page.Executions)-1].Id
	case len(page.Approvals) > 0:
		return page.Approvals[len(page.Approvals)-1].Id
	}
	return ""
}

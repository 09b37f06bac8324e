package reading

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/memory"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// spanned are the views whose lists can have what several projects have.
var spanned = []project.View{
	project.Beads, project.Executions, project.Inbox, project.Lock, project.Pauses, project.Permitted, project.Definitions, project.Keys,
	project.Memories, project.Sessions, project.Talks, project.Graph,
}

// Spans reports whether the lists of a view can have what several projects have.
func Spans(v project.View) bool { return slices.Contains(spanned, v) }

// spans reports whether a query without a project is about all projects: it lists, and
// names nothing that belongs to one of them.
func spans(v project.View, q *loomv1.Query) bool {
	if isOwn(v) && q.After != "" && !strings.Contains(q.After, "/") { // of which project?
		return false
	}
	return q.Project == "" && q.Id == "" && q.Parent == "" && slices.Contains(spanned, v)
}

// afterIn returns which project a list goes on with, and after which of its ids.
func afterIn(v project.View, after string) (owner, id string) {
	if !isOwn(v) {
		return project.Of(after), after
	}
	owner, id, _ = strings.Cut(after, "/")
	return owner, id
}

// span answers a query about several projects: what the first has, then what the next
// has, up to the limit. The id to list on after says with which project to go on. One that
// is quarantined is left out and named, unless all are.
func (s *Views) span(ctx context.Context, v project.View, q *loomv1.Query, projects []string) (*loomv1.View, error) {
	all, left := &loomv1.View{}, min(cmp.Or(q.Limit, 100), project.MaxListed)
	begin, after := afterIn(v, q.After)
	for i, id := range projects {
		if id < begin {
			continue
		}
		one := &loomv1.Query{
			Project: id, Filter: q.Filter, Limit: left, Text: q.Text, Labels: q.Labels, Type: q.Type, Process: q.Process, Assignee: q.Assignee, Oldest: q.Oldest, Newest: q.Newest,
			Namespace: q.Namespace, Tokens: q.Tokens,
		}
		if begin == id {
			one.After = after
		}
		if err := CheckQuery(v, one); err != nil {
			return nil, err
		}
		page, err := s.States.Look(ctx, v, one)
		switch {
		case isQuarantined(err) && len(all.Quarantined) < len(projects)-1:
			all.Quarantined = append(all.Quarantined, id)
			continue
		case err != nil:
			return nil, s.Projects.Suggest(err)
		}
		addPage(all, page, id)
		if q.Text != "" && v == project.Memories || len(page.Waits) > 0 {
			continue // each has what it has, and the best are chosen below
		}
		if n := listed(page); n > 0 {
			left -= n
			if last := lastListed(page); left == 0 && page.Next == "" && i < len(projects)-1 {
				page.Next = last // there may be more in the next project
			}
		}
		if page.Next != "" && isOwn(v) {
			page.Next = id + "/" + page.Next
		}
		if all.Next = page.Next; all.Next != "" || left == 0 {
			break
		}
	}
	switch {
	case v == project.Inbox:
		chooseWaits(all, q)
		return s.counted(ctx, all, projects)
	case all.Found != nil:
		chooseFound(all, q)
	}
	return all, nil
}

// listed is how many entries a page has of a list that is bounded.
func listed(page *loomv1.View) uint32 {
	return uint32(len(page.Beads) + len(page.Executions) + len(page.Approvals) + len(page.Memories) + len(page.Sessions) + len(page.Conversations) + len(page.Offers))
}

// chooseWaits leaves of what waits in several projects as many as one would have, and the
// approvals among them in their order.
func chooseWaits(all *loomv1.View, q *loomv1.Query) {
	if len(all.Waits) == 0 {
		return
	}
	project.SortWaits(all.Waits)
	all.Waits = all.Waits[:min(len(all.Waits), int(min(cmp.Or(q.Limit, 100), project.MaxListed)))]
	whole := map[string]*loomv1.Approval{}
	for _, a := range all.Approvals {
		whole[a.Id] = a
	}
	all.Approvals = nil
	for _, w := range all.Waits {
		if a := whole[w.Id]; a != nil {
			all.Approvals = append(all.Approvals, a)
		}
	}
}

// chooseFound leaves of what several memories found the best, as many and as long as one
// would: what does not fit is counted, and what comes after it is tried. The scores are
// of different memories, where the same word can be rare in one and common in another, so
// an order among projects is an estimate; within a project it is exact.
func chooseFound(all *loomv1.View, q *loomv1.Query) {
	found := all.Found
	slices.SortStableFunc(found.Items, func(a, b *loomv1.MemoryItem) int { return cmp.Compare(b.Score, a.Score) })
	limit, tokens := int(min(cmp.Or(q.Limit, 100), project.MaxListed)), cmp.Or(q.Tokens, project.MemoryTokens)
	items := found.Items
	found.Items, found.Tokens, all.Memories = nil, 0, nil
	var text strings.Builder
	for _, item := range items {
		line := item.Entry.Project + "/" + memory.Line(item.Entry) + "\n"
		item.Tokens = memory.TokensOf(len(line))
		if len(found.Items) >= limit || uint64(found.Tokens)+uint64(item.Tokens) > uint64(tokens) {
			found.LeftOut++
			continue
		}
		found.Items = append(found.Items, item)
		found.Tokens += item.Tokens
		text.WriteString(line)
		all.Memories = append(all.Memories, item.Entry)
	}
	found.Text = text.String()
}

// isQuarantined reports whether a project cannot answer since its events cannot be
// replayed, which says nothing of the others.
func isQuarantined(err error) bool { return fault.Code(err) == "project/quarantined" }

// counted says how many approvals wait in all projects, those included that the page
// does not reach.
func (s *Views) counted(ctx context.Context, all *loomv1.View, projects []string) (*loomv1.View, error) {
	for _, id := range projects {
		page, err := s.States.Look(ctx, project.Inbox, &loomv1.Query{Project: id, Limit: 1, Newest: true})
		if isQuarantined(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all.Waiting += page.Waiting
	}
	return all, nil
}

// addPage adds what a project has to what others have.
func addPage(all, page *loomv1.View, id string) {
	addNamed(all, page, id)
	all.Beads = append(all.Beads, page.Beads...)
	all.Executions = append(all.Executions, page.Executions...)
	all.Approvals = append(all.Approvals, page.Approvals...)
	all.Conversations = append(all.Conversations, page.Conversations...)
	all.Waits, all.WaitsTotal = append(all.Waits, page.Waits...), all.WaitsTotal+page.WaitsTotal
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

// addNamed adds to a list, with the project, what does not name it by its id.
func addNamed(all, page *loomv1.View, id string) {
	all.Sessions = append(all.Sessions, page.Sessions...)
	all.Offers = append(all.Offers, page.Offers...)
	of := func(e *loomv1.MemoryEntry) *loomv1.MemoryEntry {
		e = proto.CloneOf(e) // it is the memory's own
		e.Project = id
		return e
	}
	if page.Found != nil {
		all.Found = cmp.Or(all.Found, &loomv1.MemoryContext{})
		all.Found.LeftOut += page.Found.LeftOut
		for _, item := range page.Found.Items {
			all.Found.Items = append(all.Found.Items, &loomv1.MemoryItem{Entry: of(item.Entry), Score: item.Score, Tokens: item.Tokens})
		}
		return
	}
	for _, e := range page.Memories {
		all.Memories = append(all.Memories, of(e))
	}
	if page.Graph != nil {
		all.Graphs = append(all.Graphs, &loomv1.GraphReply{Project: id, Graph: page.Graph, Number: page.Number, Stale: page.Stale})
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
	case len(page.Memories) > 0:
		return page.Memories[len(page.Memories)-1].Id
	case len(page.Sessions) > 0:
		return page.Sessions[len(page.Sessions)-1].Id
	case len(page.Conversations) > 0:
		return page.Conversations[len(page.Conversations)-1].Id
	case len(page.Offers) > 0:
		return page.Offers[len(page.Offers)-1].Attempt
	}
	return ""
}

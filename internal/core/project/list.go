package project

import (
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How much of a project one question looks at. Where that is not all, the
// answer says where to go on, though it may have fewer than were asked for.
const (
	lookedAt    = 20_000  // beads or executions
	lookedAtAll = 8 << 20 // bytes of their texts
)

func (s *State) lookBeads(out *loomv1.View, q *loomv1.Query, limit int) error {
	if q.Id != "" {
		b, err := s.wholeBead(q.Id)
		if err == nil {
			out.Beads = append(out.Beads, b)
		}
		return err
	}
	if err := checkType(q.Type); err != nil {
		return err
	}
	wanted, words, list, looked := beadFilter(q), foldedWords(q.Text), s.index.beads, 0
	status, sort := askedFor(q)
	if q.Parent != "" {
		list = s.index.children[q.Parent]
	}
	list = list[:list.before(q.After)]
	for n, id := range slices.Backward(list) {
		if s.p.Beads[id] != nil || s.shelf.may(id, status, sort) {
			if b := s.listed(id); wanted(b) && s.inState(b, q.Filter) && (len(words) == 0 || hasAll(b, words, &looked)) {
				one := listedBead(b)
				one.State = s.beadState(b)
				out.Beads = append(out.Beads, one)
			}
		}
		if n > 0 && (len(out.Beads) == limit || len(list)-n == lookedAt || looked > lookedAtAll) {
			out.Next = id
			return nil
		}
	}
	return nil
}

// wholeBead returns a bead with all that is known of it.
func (s *State) wholeBead(id string) (*loomv1.Bead, error) {
	b := s.bead(id)
	if b == nil {
		return nil, fault.New("bead/unknown", "bead %q is not known in project %q", id, s.cfg.ID).At("id")
	}
	b = proto.CloneOf(b)
	b.Children = s.index.children[id].first(MaxListed)
	b.Blocks = s.index.blocks[id].first(MaxListed)
	b.Landing, b.State = proto.CloneOf(s.execution(b.Execution).GetLanding()), s.beadState(b)
	return b, nil
}

func checkType(word string) error {
	if word == "" {
		return nil
	}
	var known []string
	for i := int32(1); loomv1.BeadType_name[i] != ""; i++ {
		known = append(known, Word(loomv1.BeadType(i)))
	}
	if slices.Contains(known, word) {
		return nil
	}
	return fault.New("usage/argument", "no such type of beads").At("type").Got(word).Want("%s", suggest.Among(word, known))
}

// beadFilter returns what a query asks of a bead, but for its texts.
func beadFilter(q *loomv1.Query) func(*loomv1.Bead) bool {
	status, sort := askedFor(q)
	return func(b *loomv1.Bead) bool {
		if !is(int32(b.Status), status) || !is(int32(b.Type), sort) {
			return false
		}
		if q.Process != "" && b.Process != q.Process || q.Assignee != "" && b.Assignee != q.Assignee {
			return false
		}
		for _, l := range q.Labels {
			if !slices.Contains(b.Labels, l) {
				return false
			}
		}
		return true
	}
}

// anyValue stands for each value of an enum.
const anyValue = -2

// askedFor returns the status and the type that a query asks for.
func askedFor(q *loomv1.Query) (status, sort int32) {
	status, sort = anyValue, anyValue
	if q.Filter != "" {
		status = valued(q.Filter, "BEAD_STATUS_", loomv1.BeadStatus_value)
		if _, known := stateNamed(q.Filter); known {
			status = int32(loomv1.BeadStatus_BEAD_STATUS_IN_PROGRESS)
			if q.Filter == closedWithGaps {
				status = int32(loomv1.BeadStatus_BEAD_STATUS_CLOSED)
			}
		}
	}
	if q.Type != "" {
		sort = valued(q.Type, "BEAD_TYPE_", loomv1.BeadType_value)
	}
	return status, sort
}

func is(value, wanted int32) bool { return wanted == anyValue || value == wanted }

// valued returns the value of an enum that a word is for, -1 for none.
func valued(word, prefix string, values map[string]int32) int32 {
	if v, known := values[prefix+strings.ToUpper(word)]; known {
		return v
	}
	return -1
}

// foldedWords returns the words of a text in one case.
func foldedWords(text string) []string { return strings.Fields(fold(text)) }

// hasAll says whether each of the words stands in a text of b, and adds the
// bytes of these to looked.
func hasAll(b *loomv1.Bead, words []string, looked *int) bool {
	text := fold(strings.Join(append([]string{b.Id, b.Goal, b.Description}, b.Labels...), "\n"))
	*looked += len(text)
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// fold returns s in one case, so that texts which differ in case alone become
// the same.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			return r
		}
		least := r
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			least = min(least, o)
		}
		if least <= unicode.MaxASCII {
			return unicode.ToLower(least)
		}
		return least
	}, s)
}

func (s *State) lookExecutions(out *loomv1.View, q *loomv1.Query, limit int) error {
	if q.Id != "" {
		x := s.execution(first(s.bead(q.Id).GetExecution(), q.Id))
		if x == nil {
			return fault.New("execution/unknown", "execution %q is not known in project %q", q.Id, s.cfg.ID).At("id")
		}
		one := workflow.Copy(x)
		one.State = s.executionState(x)
		out.Executions = append(out.Executions, one)
		out.Definition = proto.CloneOf(s.p.Definitions[x.DefinitionHash])
		return nil
	}
	list, status := s.index.executions, valued(q.Filter, "EXECUTION_STATUS_", loomv1.ExecutionStatus_value)
	if q.After != "" {
		x := s.execution(q.After)
		if x == nil {
			return fault.New("execution/unknown", "execution %q is not known in project %q", q.After, s.cfg.ID).At("after")
		}
		i, _ := slices.BinarySearchFunc(list, begun{asTime(x.StartedAt), x.Id}, begun.compare)
		list = list[:i]
	}
	for n, e := range slices.Backward(list) {
		x := s.listedExecution(e.id)
		if (q.Filter == "" || int32(x.Status) == status) && (q.Process == "" || x.Definition == q.Process) {
			one := listedExecution(x)
			one.State = s.executionState(x)
			out.Executions = append(out.Executions, one)
		}
		if n > 0 && (len(out.Executions) == limit || len(list)-n == lookedAt) {
			out.Next = e.id
			return nil
		}
	}
	return nil
}

// lookInbox lists open approvals, or gives one by its id or its bead's.
// byHolding says whether a query is for the inbox in the order of what holds up most.
func byHolding(q *loomv1.Query) bool {
	return q.Id == "" && q.After == "" && !q.Oldest && !q.Newest && q.Filter != allApprovals
}

// allApprovals is the filter of the inbox that has those that are answered, too.
const allApprovals = "all"

func (s *State) lookInbox(out *loomv1.View, q *loomv1.Query, limit int) error {
	if q.Id == "" {
		out.Blocks, out.Waiting = s.blocks(), uint32(len(s.index.asking))
		if q.After == "" {
			out.Sessions = s.sessionsThatWait()
		}
	}
	var shown []*loomv1.Approval
	switch {
	case q.Id != "":
		shown = s.approvalsOf(q.Id)
		if len(shown) == 0 {
			return fault.New("approval/unknown", "nothing to decide about %q in project %q", q.Id, s.cfg.ID).At("id")
		}
	case byHolding(q):
		list := s.waits(q.Filter)
		out.Waits, out.WaitsTotal = list[:min(len(list), limit)], uint32(len(list))
		for _, w := range out.Waits {
			if a := s.p.Approvals[w.Id]; a != nil {
				shown = append(shown, a)
			}
		}
	default:
		shown, out.Next = s.approvalPage(q, limit)
	}
	for _, a := range shown {
		a = proto.CloneOf(a)
		if len(shown) > 1 {
			a.History, a.Change = nil, listedChange(a.Change)
		} else {
			a.Overlaps = s.overlaps(a)
		}
		out.Approvals = append(out.Approvals, a)
	}
	return nil
}

// approvalsOf returns the approval of an id, or those open that are about a bead.
func (s *State) approvalsOf(id string) (list []*loomv1.Approval) {
	if s.approval(id) != nil {
		return []*loomv1.Approval{s.listedApproval(id)}
	}
	for _, one := range s.index.asking.onward("", false) {
		if a := s.listedApproval(one); a.Bead == id {
			list = append(list, a)
		}
	}
	return list
}

// approvalPage returns a page of approvals, and the id to list on after where there is
// more.
func (s *State) approvalPage(q *loomv1.Query, limit int) (page []*loomv1.Approval, next string) {
	list := s.index.asking
	if q.Filter == allApprovals {
		list = s.index.approvals
	}
	list = list.onward(q.After, q.Oldest)
	for n, id := range list {
		if page = append(page, s.listedApproval(id)); len(page) == limit && n < len(list)-1 {
			return page, id
		}
	}
	return page, ""
}

// What is listed leaves out what has no bound worth sending a hundred times;
// asking by id gives all of it.

func listedBead(b *loomv1.Bead) *loomv1.Bead {
	return &loomv1.Bead{
		Id: b.Id, Project: b.Project, Type: b.Type, Status: b.Status, Goal: b.Goal, Priority: b.Priority, Deadline: b.Deadline,
		Labels: slices.Clone(b.Labels), Process: b.Process, Execution: b.Execution, About: b.About, Fingerprint: b.Fingerprint,
		Occurrences: b.Occurrences, CreatedAt: b.CreatedAt, UpdatedAt: b.UpdatedAt, FiledBy: b.FiledBy, Reason: b.Reason,
		Parent: b.Parent, BlockedBy: slices.Clone(b.BlockedBy), BlockedSince: b.BlockedSince, Assignee: b.Assignee, Executions: b.Executions, Follows: b.Follows,
		After: b.After,
	}
}

func listedExecution(x *loomv1.Execution) *loomv1.Execution {
	return &loomv1.Execution{
		Id: x.Id, Bead: x.Bead, Project: x.Project, Definition: x.Definition, Version: x.Version, DefinitionHash: x.DefinitionHash,
		Status: x.Status, StartedAt: x.StartedAt, EndedAt: x.EndedAt, Dispatches: x.Dispatches, Transitions: x.Transitions,
		Reason: x.Reason, Priority: x.Priority, Usage: proto.CloneOf(x.Usage), ModelCalls: x.ModelCalls, Scripted: x.Scripted,
		HeldSince: x.HeldSince, Parent: x.Parent, Depth: x.Depth, After: x.After,
	}
}

// listedWarnings is how many warnings of a change a list has, the gravest.
const listedWarnings = 5

func listedChange(c *loomv1.Change) *loomv1.Change {
	if c == nil {
		return nil
	}
	return &loomv1.Change{Base: c.Base, Commit: c.Commit, PatchDigest: c.PatchDigest, FilesTotal: max(c.FilesTotal, uint32(len(c.Files))), Warnings: c.Warnings[:min(len(c.Warnings), listedWarnings)]}
}

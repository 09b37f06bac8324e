package workflow

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How much an approval carries of what led to it, beside its history.
const (
	shownIntent = 8 << 10  // bytes
	shownWork   = 96 << 10 // bytes of the attempts of other nodes, in all
	shownPlan   = 32 << 10 // bytes; of a larger plan only why it is as it is
)

// present completes an approval with what a person needs to judge it: what was asked
// for, the plan, who did which part and said what of it, the decisions, the cost.
func (r Run) present(a *loomv1.Approval) {
	a.Work = r.work(a.Node)
	a.Intent = cut(strings.TrimSpace(r.Bead.GetGoal()+"\n\n"+r.Bead.GetDescription()), shownIntent)
	a.Plan, a.Usage = proto.CloneOf(r.X.Plan), proto.CloneOf(r.X.Usage)
	if proto.Size(a.Plan) > shownPlan {
		a.Plan = &loomv1.Plan{Number: a.Plan.Number, Why: a.Plan.Why, DefinitionHash: a.Plan.DefinitionHash}
	}
	if r.Considered != nil {
		a.Considered = r.Considered()
	}
}

// asksAgain says why a question is put once more: who sent back what was approved, and
// whether it is still the same. It is empty for the first time.
func (r Run) asksAgain(n *node) string {
	by := r.sentBack(n)
	if by == nil {
		return ""
	}
	why := fmt.Sprintf("%s sent back what was approved: %s", by.Node, cut(by.Outcome.GetSummary(), SummaryBytes))
	for _, m := range r.Def.order {
		if n.follows(m) && slices.ContainsFunc(r.state(m).GetHistory(), func(a *loomv1.Attempt) bool {
			return byEnd(a, by) < 0 && made(a.Outcome, r.X.Change.GetPatchDigest())
		}) {
			return why + "; this is the same change again"
		}
	}
	return why
}

// sentBack returns the newest attempt after a node whose failure had the node visited
// again, nil for none.
func (r Run) sentBack(to *node) (by *loomv1.Attempt) {
	for _, n := range r.Def.order {
		st := r.state(n)
		h := st.GetHistory()
		if len(h) == 0 || !n.follows(to) {
			continue
		}
		last := h[len(h)-1]
		if last.Outcome.GetStatus() != success && st.GetVisit() > last.Visit && (by == nil || byEnd(by, last) < 0) {
			by = last
		}
	}
	return by
}

// work returns the newest ended attempt of each node that comes before the one that
// is named, and that of a later one which sent the work back, oldest first. When all
// of it is too much, the oldest have their words alone.
func (r Run) work(before string) []*loomv1.Attempt {
	to := r.Def.nodes[before]
	if to == nil {
		return nil // an execution's history has what all nodes did
	}
	var list []*loomv1.Attempt
	for _, n := range r.Def.order {
		if h := r.state(n).GetHistory(); len(h) > 0 && to.follows(n) {
			list = append(list, h[len(h)-1])
		}
	}
	if by := r.sentBack(to); by != nil {
		list = append(list, by)
	}
	slices.SortStableFunc(list, byEnd)
	list = shown(list)
	left := shownWork
	for i, a := range slices.Backward(list) {
		if left -= proto.Size(a); left < 0 {
			list[i] = &loomv1.Attempt{Id: a.Id, Node: a.Node, Visit: a.Visit, Number: a.Number, Role: a.Role, Outcome: &loomv1.Outcome{
				Status: a.Outcome.GetStatus(), Summary: a.Outcome.GetSummary(), Code: a.Outcome.GetCode(), Document: a.Outcome.GetDocument(), Checks: a.Outcome.GetChecks(),
			}}
		}
	}
	return list
}

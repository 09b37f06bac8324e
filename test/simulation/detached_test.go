package simulation

import (
	"slices"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// setAside wants a node that is done after the end to be one that nothing waits for, and
// its time to have come.
func (o *oracle) setAside(x *execution, n *nodeOracle, e *loomv1.Event) {
	switch {
	case !n.def.Detached:
		o.broken(44, "%s is set aside, and the end waits for it", e.Node)
	case !o.ready(x, e.Node):
		o.broken(44, "%s is set aside before its time", e.Node)
	case o.halted(x):
		o.broken(24, "%s is set aside though the execution is halted", e.Node)
	}
	o.w.see("set aside")
	n.aside = true
}

// owes notes what an execution that has delivered has left for after its end.
func (o *oracle) owes(x *execution, status loomv1.ExecutionStatus) {
	for id, n := range x.nodes {
		if n.aside && workflow.Delivered(status) {
			x.owed = append(x.owed, id)
		}
	}
	slices.Sort(x.owed)
	if len(x.owed) > 0 {
		o.owing = append(o.owing, x)
	}
}

// afterEnd wants what begins after an execution's end to do what that has left, once.
func (o *oracle) afterEnd(x *execution, after string) {
	var does []string
	for id, n := range x.nodes {
		if n.def.Type == loomv1.NodeType_NODE_TYPE_TASK {
			does = append(does, id)
		}
	}
	slices.Sort(does)
	before := o.executions[after]
	switch {
	case before == nil || !before.ended || !slices.Equal(before.owed, does):
		o.broken(44, "%s does %v after %s, which has left %v", x.id, does, after, before.left())
	case o.beads[x.bead].GetAfter() != after || o.beads[x.bead].GetParent() != before.bead:
		o.broken(44, "bead %s of %s is not of %s", x.bead, x.id, after)
	}
	o.w.see("work after the end")
	if before != nil {
		before.owed = nil
	}
}

func (x *execution) left() []string {
	if x == nil {
		return nil
	}
	return x.owed
}

// stillAfterwards wants all that executions have left for after their end to have begun.
func (o *oracle) stillAfterwards() {
	for _, x := range o.owing {
		if len(x.owed) > 0 {
			o.broken(44, "%s has ended, and %v has not begun", x.id, x.owed)
		}
	}
	o.owing = nil
}

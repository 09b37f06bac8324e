package errand

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// afterPatience is how long a run stays for what is done after its end. What takes longer
// goes on when a host next runs on the data directory.
const afterPatience = time.Minute

// AfterWork is what became of detached nodes: by when the run ended, or "open".
type AfterWork struct {
	Bead      string   `json:"bead"`
	Execution string   `json:"execution"`
	Nodes     []string `json:"nodes"`
	Status    string   `json:"status"`
	Reason    string   `json:"reason,omitempty"`

	View *loomv1.Execution `json:"-"`
}

// afterwards stays until all that is done after some end is done, of this run or of one
// before, and returns what became of this run's. What was asked for is delivered by then,
// so that no failure of it is one of the run.
func (e *errand) afterwards(ctx context.Context, x *loomv1.Execution) (list []*AfterWork) {
	if !workflow.Delivered(x.GetStatus()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, afterPatience)
	defer cancel()
	open, err := e.unfinished(ctx)
	open = slices.DeleteFunc(open, func(b *loomv1.Bead) bool { return b.After == "" })
	if err == nil && len(open) > 0 {
		e.View.Say("delivered; what was left for afterwards is done now")
		e.stay(ctx, open)
	}
	for _, id := range e.record.Afterwards() {
		if w := e.afterWork(context.WithoutCancel(ctx), id); w != nil {
			list = append(list, w)
		}
	}
	return list
}

// stay waits until beads have ended.
func (e *errand) stay(ctx context.Context, open []*loomv1.Bead) {
	q := &loomv1.NoticesRequest{Project: e.ws.id, Kinds: []string{"bead-status-changed"}}
	err := e.client.Follow(ctx, q, true, func(n *loomv1.Notice) error {
		if s := n.Event.GetBeadStatusChanged().GetStatus(); ended(s) {
			open = slices.DeleteFunc(open, func(b *loomv1.Bead) bool { return b.Id == n.Event.Bead })
		}
		if len(open) == 0 {
			return errOver
		}
		return nil
	})
	if !errors.Is(err, errOver) {
		e.View.Say("it takes longer, and goes on when a host next runs here")
	}
}

// afterWork is what became of one, nil where nobody says.
func (e *errand) afterWork(ctx context.Context, bead string) *AfterWork {
	v, err := e.client.Execution(ctx, &loomv1.Query{Project: e.ws.id, Id: bead})
	if err != nil {
		return nil
	}
	x := v.Executions[0]
	w := &AfterWork{Bead: bead, Execution: x.Id, Status: project.Word(x.Status), Reason: x.Reason, View: x}
	if x.EndedAt == nil {
		w.Status = "open"
	}
	for _, n := range v.Definition.GetNodes() {
		if n.Type == loomv1.NodeType_NODE_TYPE_TASK {
			w.Nodes = append(w.Nodes, n.Id)
		}
	}
	return w
}

func ended(s loomv1.BeadStatus) bool {
	return s == loomv1.BeadStatus_BEAD_STATUS_CLOSED || s == loomv1.BeadStatus_BEAD_STATUS_FAILED || s == loomv1.BeadStatus_BEAD_STATUS_ABORTED
}

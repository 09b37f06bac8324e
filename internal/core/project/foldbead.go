package project

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// FoldBead folds an event into the bead that it names, which is empty before
// BeadFiled: what the bead holds by itself, without what follows for other beads or
// for executions. It is the fold of [State.Apply]; whoever keeps beads elsewhere, such
// as the projection, uses it too. It returns an error for a fact that is not about a
// bead, and keeps references to messages within e.
func FoldBead(b *loomv1.Bead, e *loomv1.Event) error {
	switch f := e.Fact.(type) {
	case *loomv1.Event_BeadFiled:
		proto.Merge(b, f.BeadFiled.GetBead())
		b.CreatedAt, b.FiledBy = e.Time, e.Actor
		if b.Status == loomv1.BeadStatus_BEAD_STATUS_BLOCKED {
			b.BlockedSince = e.Time
		}
	case *loomv1.Event_BeadOccurred:
		b.Occurrences = f.BeadOccurred.GetOccurrences()
	case *loomv1.Event_BeadStatusChanged:
		was := b.Status
		if why := f.BeadStatusChanged.GetReopened(); why != "" {
			b.Reopened = &loomv1.Mark{Time: e.Time, Text: why}
		} else if ended(was) { // without a word
			b.Reopened = nil
		}
		b.Status, b.Reason, b.Gaps = f.BeadStatusChanged.GetStatus(), f.BeadStatusChanged.GetReason(), f.BeadStatusChanged.GetGaps()
		switch {
		case b.Status != loomv1.BeadStatus_BEAD_STATUS_BLOCKED:
			b.BlockedSince = nil
		case was != b.Status:
			b.BlockedSince = e.Time
		}
	case *loomv1.Event_DraftKept:
		b.Draft = f.DraftKept.GetDraft()
	case *loomv1.Event_BeadUpdated:
		set(b, f.BeadUpdated.GetBead())
	case *loomv1.Event_ExecutionStarted, *loomv1.Event_ExecutionForked:
		b.Execution, b.Draft = e.Execution, nil
		b.Executions++
		return nil // which is no change of the bead's own
	default:
		return fmt.Errorf("%T is not about a bead", e.Fact)
	}
	b.UpdatedAt = e.Time
	return nil
}

package simulation

import (
	"fmt"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// sawMemory checks the facts of the memory: entries are numbered in their order, each is
// counted up by one and ends once, nothing is said of one that has ended, and a session
// has ended with its execution.
func (o *oracle) sawMemory(e *loomv1.Event) {
	living := func(id string) {
		if !o.memories[id] {
			o.broken(38, "%s of %q, which is not remembered", tellEvent(e), id)
		}
	}
	over := func(ids []string) {
		for _, id := range ids {
			living(id)
			o.memories[id] = false
		}
	}
	switch f := e.Fact.(type) {
	case *loomv1.Event_MemoryKept:
		kept := f.MemoryKept.Entry
		if want := fmt.Sprintf("m%d", len(o.memories)+1); kept.Id != want {
			o.broken(38, "entry %q is kept where %s is next", kept.Id, want)
		}
		if x := o.executions[e.Execution]; kept.Layer == loomv1.MemoryLayer_MEMORY_LAYER_SESSION && (x == nil || x.ended) {
			o.broken(38, "%s is kept for the session of %q, which does not run", kept.Id, e.Execution)
		}
		if kept.Layer == loomv1.MemoryLayer_MEMORY_LAYER_DURABLE && kept.Trust == loomv1.MemoryTrust_MEMORY_TRUST_UNTRUSTED {
			o.broken(38, "%s is untrusted and durable", kept.Id)
		}
		o.memories[kept.Id], o.said[kept.Id] = true, 1
		o.recorded(kept)
	case *loomv1.Event_MemoryMerged:
		living(f.MemoryMerged.Id)
		o.recordedAgain(f.MemoryMerged.Id)
		if n := f.MemoryMerged.Count; n <= o.said[f.MemoryMerged.Id] || f.MemoryMerged.Dropped == "" && n != o.said[f.MemoryMerged.Id]+1 {
			o.broken(38, "%s was said %d times, and now %d", f.MemoryMerged.Id, o.said[f.MemoryMerged.Id], n)
		}
		o.said[f.MemoryMerged.Id] = f.MemoryMerged.Count
		if f.MemoryMerged.Dropped != "" {
			over([]string{f.MemoryMerged.Dropped})
		}
	case *loomv1.Event_MemoryChanged:
		living(f.MemoryChanged.Entry.Id)
	case *loomv1.Event_MemoryPromoted:
		living(f.MemoryPromoted.Id)
	case *loomv1.Event_MemoryForgotten:
		over([]string{f.MemoryForgotten.Id})
	case *loomv1.Event_MemoryExpired:
		over(f.MemoryExpired.Ids)
	case *loomv1.Event_MemoryDropped:
		over(f.MemoryDropped.Ids)
	case *loomv1.Event_MemoryOffered:
		for _, id := range f.MemoryOffered.Offer.Entries {
			living(id)
		}
	}
}

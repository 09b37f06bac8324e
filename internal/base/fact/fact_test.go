package fact_test

import (
	"fmt"
	"testing"

	"github.com/loomrun/loom/internal/base/fact"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func ExampleOf() {
	k := fact.Of(&loomv1.Event{Fact: &loomv1.Event_RetryScheduled{RetryScheduled: &loomv1.RetryScheduled{}}})
	fmt.Println(k.Name, k.Cores, k.Since)
	fmt.Println(k.Says)
	// Output:
	// retry-scheduled [CORE_WORKFLOW] 1
	// {about}: {node} is tried again at {.at}
}

// Every kind is described, and what is of no kind has no description.
func TestWF10_EveryKindIsDescribed(t *testing.T) {
	for _, k := range fact.All() {
		e := &loomv1.Event{}
		e.ProtoReflect().Set(k.Field, e.ProtoReflect().NewField(k.Field))
		if got := fact.Of(e); got != k {
			t.Errorf("Of(%s) = %+v", k.Name, got)
		}
		if !k.Field.Options().ProtoReflect().Has(loomv1.E_Kind.TypeDescriptor()) {
			t.Errorf("%s has no option (kind) in event.proto", k.Name)
		}
	}
	if k := fact.Of(&loomv1.Event{}); k != nil || k.FoldedBy(loomv1.Core_CORE_GRAPH) {
		t.Errorf("an event without a fact is a %v", k)
	}
}

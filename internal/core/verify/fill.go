package verify

import (
	"regexp"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// place is where a deliverable's name has a text of the execution's context, or
// what stands behind the bar.
var place = regexp.MustCompile(`\{context\.([a-z][a-z0-9_]*)\|([A-Za-z0-9._-]+)\}`)

// Fill puts texts of a context into their places: {context.artifact|document}
// becomes the context's artifact, or "document" where it has none.
func Fill(s string, context *structpb.Struct) string {
	return place.ReplaceAllStringFunc(s, func(found string) string {
		m := place.FindStringSubmatch(found)
		if v := context.GetFields()[m[1]].GetStringValue(); v != "" {
			return v
		}
		return m[2]
	})
}

// InContext is a phase whose deliverables have the names that a context gives
// them; p itself where it leaves nothing to one. The error is process/deliverable
// for a name that is none, and for a text of the context that is not part of one: what
// looks like the end of a name ends none.
func InContext(p *loomv1.Phase, context *structpb.Struct) (*loomv1.Phase, error) {
	filled := make([]string, len(p.GetDeliverables()))
	for i, s := range p.GetDeliverables() {
		for _, found := range place.FindAllString(s, -1) {
			if part := Fill(found, context); !nameIsSound(part) {
				return p, fault.New("process/deliverable", "not part of the name of a file in the workspace").At("context").Got(part).
					Want("letters, digits, '.', '-', '_' and '/'")
			}
		}
		filled[i] = Fill(s, context)
		if _, err := ParseDeliverable(filled[i]); err != nil {
			return p, fault.From(err).At("context")
		}
	}
	if slices.Equal(filled, p.GetDeliverables()) {
		return p, nil
	}
	out := proto.CloneOf(p)
	out.Deliverables = filled
	return out, nil
}

package intent

import (
	"fmt"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Text tells an envelope to whoever works for it: each field in the words of the person,
// success criteria by their numbers.
func Text(e *loomv1.IntentEnvelope) string {
	var b strings.Builder
	for _, f := range Fields {
		for i, q := range Quotations(e, f) {
			name := FieldName(f)
			if f == Success {
				name = fmt.Sprintf("success %d", i+1)
			}
			fmt.Fprintf(&b, "%s: %s\n", name, q.GetText())
		}
	}
	return b.String()
}

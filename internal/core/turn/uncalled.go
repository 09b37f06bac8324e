package turn

import (
	"fmt"
	"strings"
	"unicode/utf8"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What is told of the arguments of calls that were not run, in bytes: of all
// together, and of one at least and at most.
const (
	uncalledAll   = 4096
	uncalledLeast = 120
	uncalledMost  = 1200
	uncalledName  = 64
)

// Uncalled tells a model which calls an answer had that nobody could act on, so
// that it need not guess what it had asked for; "" for none.
func Uncalled(calls []*loomv1.ToolCall) string {
	if len(calls) == 0 {
		return ""
	}
	most := min(max(uncalledAll/len(calls), uncalledLeast), uncalledMost)
	var b strings.Builder
	for i, c := range calls {
		fmt.Fprintf(&b, "%d. %s %s\n", i+1, brief(c.GetTool(), uncalledName), ends(c.GetArguments(), most))
	}
	return "\nThese were its calls, none of which was run; what is long is shortened in the middle:\n" + strings.TrimSuffix(AsData(b.String()), "\n")
}

// ends is the beginning and the end of a text, of n bytes together.
func ends(s string, n int) string {
	if len(s) <= n {
		return s
	}
	tail := s[len(s)-n/2:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return whole(s[:n/2]) + " … " + tail
}

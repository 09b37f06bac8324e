package turn

import (
	"encoding/json"
	"fmt"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// loop says why the rounds go in a circle, or "": the same calls with the same
// arguments had the same results five times in a row, or two such rounds took
// turns three times. A result that changes, as that of a wait for something
// that goes on does, is no circle; calling finish and useless answers do not
// count.
func loop(all []*round) string {
	marks := signatures(all)
	if n := repeats(marks); n >= stopAfter {
		return fmt.Sprintf("the same calls had the same results %d times in a row", n)
	}
	if n := cycles(marks); n >= stopCycles {
		return fmt.Sprintf("the same two rounds of calls took turns %d times with the same results", n)
	}
	return ""
}

// nudge is what the model is told before it would be stopped, or "".
func nudge(all []*round) string {
	marks := signatures(all)
	if n := repeats(marks); n >= nudgeAfter {
		return fmt.Sprintf("You have made the same calls %d times, and nothing changed. Do something else, or %s; after %d times the turn is stopped.",
			n, ending(all, "end your turn by calling "+FinishName), stopAfter)
	}
	if n := cycles(marks); n == stopCycles-1 {
		return fmt.Sprintf("You go back and forth between the same two rounds of calls, and nothing changes. Do something else, or %s.", ending(all, "end your turn by calling "+FinishName))
	}
	return ""
}

// ending is how a model ends what it does: in a conversation by a reply.
func ending(all []*round, otherwise string) string {
	if all[0].converses {
		return "reply"
	}
	return otherwise
}

// repeats counts how often the last mark stands at the end.
func repeats(marks []string) int {
	n := 0
	for i := len(marks) - 1; i >= 0 && marks[i] == marks[len(marks)-1]; i-- {
		n++
	}
	return n
}

// cycles counts how often two different marks take turns at the end.
func cycles(marks []string) int {
	end := len(marks)
	if end < 2 || marks[end-1] == marks[end-2] {
		return 0
	}
	n := 0
	for i := end; i >= 2 && marks[i-1] == marks[end-1] && marks[i-2] == marks[end-2]; i -= 2 {
		n++
	}
	return n
}

// signatures returns a mark for each round that ran tools. Nothing is left of
// them when the last round ran none, as it then is not part of a circle.
func signatures(all []*round) []string {
	var marks []string
	for i, r := range all {
		mark := ""
		if r.unusable == "" {
			mark = r.signature()
		}
		if mark != "" {
			marks = append(marks, mark)
		} else if i == len(all)-1 {
			return nil
		}
	}
	return marks
}

// signature tells a round by its calls and their results.
func (r *round) signature() string {
	if r.mark != "" {
		return r.mark
	}
	var b strings.Builder
	for i, c := range r.answer.GetCalls() {
		if r.ends(c) {
			continue
		}
		res := r.steps[i].GetResult()
		fmt.Fprintf(&b, "%q %s %d %d %s\n", c.GetTool(), canonical(c.GetArguments()), res.GetStatus(), res.GetExitCode(), output(res))
	}
	r.mark = b.String()
	return r.mark
}

// output names what the model got.
func output(r *loomv1.ToolResult) string {
	if sum := r.GetOutput().GetSha256(); sum != "" {
		return sum
	}
	return fmt.Sprintf("%q", r.GetSummary())
}

// canonical writes JSON without blanks and with its keys in order.
func canonical(arguments string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return arguments
	}
	out, err := json.Marshal(v)
	if err != nil {
		return arguments
	}
	return string(out)
}

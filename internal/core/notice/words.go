package notice

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func turns(e *loomv1.Event) string {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_ModelAnswered:
		return answered(e, f.ModelAnswered.GetAnswer())
	case *loomv1.Event_ToolIntended:
		c := f.ToolIntended.GetTool().GetCall()
		return fmt.Sprintf("%s runs %s", who(e), c.GetTool()) + after(": ", arguments(c.GetArguments()))
	case *loomv1.Event_ToolFinished:
		return finished(e, f.ToolFinished)
	case *loomv1.Event_TurnCompacted:
		return fmt.Sprintf("%s goes on with a summary of its first %s", who(e), fault.Count(int(f.TurnCompacted.GetCompaction().GetAnswers()), "answer")) + summarised(f.TurnCompacted.GetCompaction().GetAnswer())
	case *loomv1.Event_CallSettled:
		u, used := f.CallSettled.GetUsage(), "were used"
		if f.CallSettled.GetAssumed() {
			used = "count as used, all that was held back"
		}
		return fmt.Sprintf("%s has no answer; %d tokens in and %d out %s", who(e), u.GetInputTokens(), u.GetOutputTokens(), used)
	case *loomv1.Event_CallReserved:
		return fmt.Sprintf("%s may ask its model: %s held back", who(e), reserved(f.CallReserved.GetReservation()))
	}
	return ""
}

func answered(e *loomv1.Event, a *loomv1.ModelAnswer) string {
	s := fmt.Sprintf("%s heard from %s", who(e), a.GetModel()) + after(": ", a.GetSummary())
	if n := len(a.GetCalls()); n > 0 {
		s += fmt.Sprintf(" (%s)", fault.Count(n, "tool call"))
	}
	return s
}

// summarised says what came of asking a model for a summary, if one was.
func summarised(a *loomv1.ModelAnswer) string {
	switch {
	case a == nil:
		return ""
	case a.Problem != "":
		return fmt.Sprintf(", without that of %s: %s", a.GetModel(), a.Problem)
	}
	return " by " + a.GetModel()
}

func finished(e *loomv1.Event, t *loomv1.ToolFinished) string {
	r := t.GetResult()
	what := after(": ", r.GetSummary())
	switch r.GetStatus() {
	case loomv1.ToolStatus_TOOL_STATUS_ERROR:
		return fmt.Sprintf("%s could not run %s", who(e), t.GetTool()) + what
	case loomv1.ToolStatus_TOOL_STATUS_DENIED:
		return fmt.Sprintf("%s may not run %s", who(e), t.GetTool()) + what
	case loomv1.ToolStatus_TOOL_STATUS_UNKNOWN:
		return fmt.Sprintf("%s cannot know whether %s ran", who(e), t.GetTool()) + what
	}
	if exit := fmt.Sprintf("exit %d", r.GetExitCode()); r.GetExitCode() != 0 && !strings.Contains(what, exit) {
		what += " (" + exit + ")"
	}
	return fmt.Sprintf("%s ran %s", who(e), t.GetTool()) + what
}

// arguments picks what tells most about a call out of its JSON arguments:
// the command, the path, the pattern; else the JSON itself.
func arguments(text string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(text), &fields) != nil || len(fields) == 0 {
		return strings.TrimPrefix(text, "{}")
	}
	for _, name := range []string{"command", "path", "pattern", "query"} {
		if s, ok := fields[name].(string); ok && s != "" {
			return s
		}
	}
	return text
}

// word says an enum value as people do: BEAD_STATUS_IN_PROGRESS is "in
// progress". A value that is not set, or not known, is "unknown".
func word(v protoreflect.Enum) string {
	return wordOf(v.Descriptor(), v.Number())
}

// wordOf is [word] of a value of the enum that d describes.
func wordOf(d protoreflect.EnumDescriptor, n protoreflect.EnumNumber) string {
	value := d.Values().ByNumber(n)
	if value == nil || n == 0 {
		return unknown
	}
	if s, ok := verbs[value.Name()]; ok {
		return s
	}
	prefix := strings.TrimSuffix(string(d.Values().Get(0).Name()), "UNSPECIFIED")
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(string(value.Name()), prefix), "_", " "))
}

// verbs are the values whose names do not read well in a sentence.
var verbs = map[protoreflect.Name]string{
	"APPROVAL_DECISION_APPROVE":         "approved",
	"APPROVAL_DECISION_REJECT":          "rejected",
	"APPROVAL_DECISION_REQUEST_CHANGES": "changes wanted",
	"APPROVAL_DECISION_RETRY":           "try again",
	"APPROVAL_DECISION_SKIP":            "go on without",
	"BEAD_STATUS_WAITING":               "waiting for the CEO",
	"IDENTITY_KIND_ANONYMOUS":           "an unnamed client",
	"IDENTITY_KIND_PUBLISHER":           "a publisher",
	"IDENTITY_KIND_OPERATOR":            "the operator",
	"IDENTITY_KIND_OBSERVER":            "an observer",
	"IDENTITY_KIND_CEO":                 "the CEO",
	"IDENTITY_KIND_HOST":                "the host",
	"IDENTITY_KIND_AGENT":               "an agent",
}

// reserved says what is held back for a model call.
func reserved(r *loomv1.CallReservation) string {
	s := fault.Count(int(r.GetTokens()), "token")
	if m := r.GetMicroUsd(); m > 0 {
		s += fmt.Sprintf(" and %.6f USD", float64(m)/1e6)
	}
	return s
}

// warned tells how much was found in a change, and the kind of the gravest.
func warned(list []*loomv1.PatchWarning) string {
	switch n := len(list); n {
	case 0:
		return ""
	case 1:
		return "; a warning about what the change contains: " + list[0].GetKind()
	default:
		return fmt.Sprintf("; %d warnings about what the change contains, the gravest: %s", n, list[0].GetKind())
	}
}

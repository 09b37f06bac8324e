package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bounds of a result.
const (
	MaxOutput  = 1 << 20 // bytes that are kept
	Shown      = 30_000  // bytes that a model is shown where nobody says otherwise
	MaxSummary = 300     // bytes of the line for people
	MaxChanged = 100     // paths
	MaxRan     = 300     // bytes on how a command ran
)

// Result is how a call ended.
type Result struct {
	Status loomv1.ToolStatus
	// Code says which refusal it was, "area/kebab"; empty when it ran.
	Code string
	// Summary is one line for a person.
	Summary string
	// Output is what came of it: valid UTF-8 without NUL. Of a long one, models are
	// shown the beginning and the end, see [Workspace.Shown].
	Output string
	// ExitCode is that of a command.
	ExitCode int32
	// Changed are the paths that are different now, relative to the workspace.
	Changed []string
	// Ran says how what it started was kept apart; empty when it started nothing.
	Ran string
	// Picture is what was read beside Output; nil for none.
	Picture *Picture
	// Read is what a source gave, at most turn.MaxRead of it.
	Read []Read
	// Todo is the list of steps from then on; nil where the call does not set it.
	Todo *loomv1.TodoList
}

// Read is a page, or an answer of a service, as it came.
type Read struct {
	// Address has no key in it.
	Address, Title string
	MediaType      string
	Body           []byte
	// Text is what can be read of it; empty where that is Body.
	Text string
}

// Picture is an image as it is in its file.
type Picture struct {
	MediaType     string
	Width, Height int // pixels
	Data          []byte
}

// Proto returns r as it is recorded, its output kept under a reference.
func (r Result) Proto(output *loomv1.BlobRef) *loomv1.ToolResult {
	return &loomv1.ToolResult{Status: r.Status, Summary: r.Summary, Output: output, ExitCode: r.ExitCode, Changed: r.Changed, Ran: r.Ran, Todo: r.Todo}
}

// done is the result of a call that did what it was asked.
func done(output, summary string, args ...any) Result {
	return Result{Status: loomv1.ToolStatus_TOOL_STATUS_OK, Output: output, Summary: fmt.Sprintf(summary, args...)}
}

// refused is the result of a call that was not carried out.
func refused(err error) Result {
	e := fault.From(err)
	status := loomv1.ToolStatus_TOOL_STATUS_ERROR
	switch e.Code {
	case "tool/unknown", "tool/denied", "tool/outside", "tool/no-sandbox", "source/denied":
		status = loomv1.ToolStatus_TOOL_STATUS_DENIED
	}
	first := *e
	first.Because(nil)
	return Result{Status: status, Code: e.Code, Summary: e.Code + ": " + first.Error(), Output: explain(e)}
}

// explain lists all that is wrong, for the model.
func explain(e *fault.Error) string {
	var b strings.Builder
	for _, p := range append([]*fault.Error{e}, e.More...) {
		line := *p
		fmt.Fprintf(&b, "%s: %s\n", p.Code, line.Because(nil).Error())
	}
	return b.String()
}

func unknown(why string) Result {
	return Result{
		Status:  loomv1.ToolStatus_TOOL_STATUS_UNKNOWN,
		Summary: "it is not known whether this ran: " + why,
		Output:  "It is not known whether this ran: " + why + ". Look at what is there before you do it again.\n",
	}
}

// bounded makes r fit to be recorded and to be shown.
func (r Result) bounded() Result {
	r.Output = cutMiddle(plain(r.Output), MaxOutput)
	r.Summary = cutEnd(strings.Join(strings.Fields(plain(r.Summary)), " "), MaxSummary)
	r.Ran = cutEnd(plain(r.Ran), MaxRan)
	if len(r.Changed) > MaxChanged {
		r.Output = cutMiddle(fmt.Sprintf("%s[%d paths changed; the first %d are listed]\n", r.Output, len(r.Changed), MaxChanged), MaxOutput)
		r.Changed = r.Changed[:MaxChanged]
	}
	return r
}

func plain(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// cutEnd shortens s to at most n bytes of whole runes.
func cutEnd(s string, n int) string {
	const mark = " [cut]"
	if len(s) <= n {
		return s
	}
	return s[:runeStart(s, n-len(mark))] + mark
}

// cutMiddle shortens s to at most n bytes: its beginning, a word on how much is
// missing, its end.
func cutMiddle(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const room = 64 // for the word
	half := (n - room) / 2
	head, tail := runeStart(s, half), runeStart(s, len(s)-half)
	return fmt.Sprintf("%s\n[%d bytes cut]\n%s", s[:head], tail-head, s[tail:])
}

// runeStart returns the last start of a rune at or before i.
func runeStart(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// Denied is the result of a call that a person, or a permission, refused.
func Denied(why string) Result {
	text := "You may not make this call"
	if why != "" {
		text += ": " + why
	}
	return Result{
		Status: loomv1.ToolStatus_TOOL_STATUS_DENIED, Summary: text,
		Output: text + ".\nGo on without it, another way, or end your turn and say what it was needed for.\n",
	}.bounded()
}

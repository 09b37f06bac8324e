package recording

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Provider plays the recording as a model. It says so in its name, answers a
// request that was recorded as it was answered then, and any other with
// replay/departed.
func (r *Recording) Provider() model.Provider { return player{r} }

type player struct{ *Recording }

// PlayedBy returns the recording that a model plays, or nil.
func PlayedBy(m model.Provider) *Recording {
	if p, ok := m.(player); ok {
		return p.Recording
	}
	return nil
}

func (p player) Name() string   { return "replay:" + p.Header.Model }
func (p player) Scripted() bool { return true }

// Window is what the recorded models took, so that conversations are summarised
// where they were.
func (p player) Window() (least int) {
	for _, a := range p.Asks {
		if a.Window > 0 && (least == 0 || a.Window < least) {
			least = a.Window
		}
	}
	return least
}

// TakesPictures reports whether the recorded models did.
func (p player) TakesPictures() bool {
	return slices.ContainsFunc(p.Asks, func(a *Ask) bool { return a.Pictures })
}

// Summarizes reports whether the summary was asked for when it was recorded.
func (p player) Summarizes(q *model.Request) bool {
	s := taken(q, p.redact)
	return slices.ContainsFunc(p.Asks, func(a *Ask) bool { return a.is(s, q.MaxTokens) })
}

// Ask is documented at [model.Provider].
func (p player) Ask(ctx context.Context, q *model.Request, onChunk func(model.Chunk)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := taken(q, p.redact)
	a := p.find(now, q.MaxTokens)
	if a == nil {
		return nil, p.departed(now, q.MaxTokens)
	}
	usage := &loomv1.Usage{}
	if len(a.Usage) > 0 && protojson.Unmarshal(a.Usage, usage) != nil {
		return nil, fault.New("replay/invalid", "the usage of an answer is not sound")
	}
	answer := &model.Response{Text: a.Text, Stop: a.Stop, Usage: usage, Model: a.Model}
	for _, c := range a.Calls {
		answer.Calls = append(answer.Calls, &loomv1.ToolCall{Id: c.ID, Tool: c.Tool, Arguments: c.Arguments})
	}
	if a.Problem != "" {
		why := fault.New("model/invalid-output", "%s", a.Problem).Want("%s", a.Hint)
		return nil, model.Spent(model.Reject(why, answer), usage)
	}
	if answer.Stop == model.StopLength {
		answer.Cut, answer.Calls = answer.Calls, nil
	}
	if onChunk != nil && answer.Text != "" {
		onChunk(model.Chunk{Text: answer.Text})
	}
	return answer, nil
}

// find returns the first answer to a request that was not given yet, or else the
// last one: who goes on after a crash may ask again.
func (p player) find(s shape, most int) (found *Ask) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.Asks {
		if !a.is(s, most) {
			continue
		}
		if found = a; !p.used[a] {
			break
		}
	}
	if found != nil {
		p.used[found] = true
	}
	return found
}

func (a *Ask) is(s shape, most int) bool {
	return a.Most == most && a.System == s.system && slices.Equal(a.Tools, s.tools) && slices.Equal(a.Messages, s.messages)
}

// departed says where a request differs from the recorded one that is most like
// it.
func (p player) departed(s shape, most int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var near *Ask
	number, best := 0, -1
	for i, a := range p.Asks {
		if n := a.like(s); !p.used[a] && n > best {
			near, number, best = a, i+1, n
		}
	}
	if near == nil {
		return fault.New("replay/ended", "the run asks a model once more, and all %d recorded requests are answered", len(p.Asks))
	}
	where, diff := p.difference(near, s, most)
	return fault.New("replay/departed", "request %d of the recording (%s) is asked otherwise now:\n%s", number, near.Attempt, diff).At(where)
}

// like is how much of a request is the same from its beginning.
func (a *Ask) like(s shape) int {
	n := 0
	for n < len(a.Messages) && n < len(s.messages) && a.Messages[n] == s.messages[n] {
		n++
	}
	n *= 4
	if a.System == s.system {
		n += 2
	}
	if slices.Equal(a.Tools, s.tools) {
		n++
	}
	return n
}

// difference returns the first place that differs, and how.
func (p player) difference(a *Ask, s shape, most int) (where, diff string) {
	now := map[string]json.RawMessage{}
	for _, part := range s.parts {
		now[part.ID] = part.What
	}
	if a.System != s.system {
		return "system", Diff(plain(p.parts[a.System]), plain(now[s.system]))
	}
	for _, list := range []struct {
		name      string
		was, have []string
	}{{"messages", a.Messages, s.messages}, {"tools", a.Tools, s.tools}} {
		for i := range max(len(list.was), len(list.have)) {
			was, have := at(list.was, i), at(list.have, i)
			if was != have {
				return fmt.Sprintf("%s[%d]", list.name, i), Diff(plain(p.parts[was]), plain(now[have]))
			}
		}
	}
	return "max_tokens", Diff(fmt.Sprint(a.Most), fmt.Sprint(most))
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// plain is a part as text with lines.
func plain(what json.RawMessage) string {
	what = differing.ReplaceAll(what, []byte("#"))
	var text string
	if json.Unmarshal(what, &text) == nil {
		return text
	}
	var m struct {
		Role string `json:"role"`
		Text string `json:"text"`
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(what, &m) != nil || json.Unmarshal(what, &fields) != nil || m.Role == "" {
		return string(what)
	}
	delete(fields, "text")
	rest, _ := json.Marshal(fields) // it was just read
	return string(rest) + "\n" + m.Text
}

// shownLines is how many lines of a difference are shown of each side.
const shownLines = 8

// Diff shows the lines from the first that differs to the last: those that were
// with "-", those that are with "+".
func Diff(was, have string) string {
	a, b := strings.Split(was, "\n"), strings.Split(have, "\n")
	first := 0
	for first < len(a) && first < len(b) && a[first] == b[first] {
		first++
	}
	for len(a) > first && len(b) > first && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var out strings.Builder
	fmt.Fprintf(&out, "@@ line %d @@\n", first+1)
	if first > 0 {
		fmt.Fprintf(&out, "  %s\n", short(a, b, first-1))
	}
	side(&out, "-", a[min(first, len(a)):])
	side(&out, "+", b[min(first, len(b)):])
	return strings.TrimSuffix(out.String(), "\n")
}

func short(a, b []string, i int) string {
	if i < len(a) {
		return cut(a[i])
	}
	return cut(b[min(i, len(b)-1)])
}

func side(out *strings.Builder, mark string, lines []string) {
	for i, l := range lines {
		if i == shownLines {
			fmt.Fprintf(out, "%s [%d more lines]\n", mark, len(lines)-i)
			return
		}
		fmt.Fprintf(out, "%s %s\n", mark, cut(l))
	}
}

// cut bounds a line.
func cut(s string) string {
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "…"
	}
	return cmp.Or(s, "(empty line)")
}

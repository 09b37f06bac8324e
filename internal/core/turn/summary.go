package turn

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Summarise writes the summary that stands for the first answers of a turn, c
// says how many, in at most c.Bytes: what the model said, what it called, and
// what came of it, in order and shortened. It is taken from the record and not
// written by a model, so it costs nothing and makes nothing up. said holds the
// texts of the answers, the first at 0. People's words are kept as they are, and
// the list of what is to be done, if its call is among what is summarised, stands
// at the end.
func Summarise(t *loomv1.Turn, c Compact, said []string) string {
	text, _ := summarise(t, c, said)
	return text
}

// summarise also reports whether anything of the record is left: in very few bytes
// nothing is.
func summarise(t *loomv1.Turn, c Compact, said []string) (text string, kept bool) {
	all := rounds(t)
	d := digest{from: plannedRounds(all) + 1, to: min(int(c.Answers), len(all)-1), all: all, said: said}
	list := TodoText(todoOf(all, d.to))
	if list == "" || c.Bytes < leastListed {
		return d.within(c.Bytes)
	}
	const head = "Your list of steps, as it stands:\n"
	list = head + AsData(Clip(list, uint64(c.Bytes/2-len(head)-clipNote)))
	text, kept = d.within(c.Bytes - len(list))
	return text + list, kept
}

// within writes the summary in at most most bytes, the shorter the less there is;
// kept is false where not even what people said has room.
func (d *digest) within(most int) (text string, kept bool) {
	for _, cut := range []shape{{1200, 300, 300}, {500, 120, 200}, {200, 60, 100}, {80, 0, 60}, {40, 0, 0}} {
		if text := d.write(cut, 0); len(text) <= most {
			return text, true
		}
	}
	for out := 1; out < d.to-d.from+1; out++ {
		if text := d.write(shape{40, 0, 0}, out); len(text) <= most {
			return text, true
		}
	}
	if d.all[0].converses { // where people say more than anything else
		d.room = most / 2
		for out := range d.to - d.from + 1 {
			if text := d.write(shape{200, 0, 60}, out); len(text) <= most {
				return text, true
			}
		}
	}
	return Clip("## So far\nThe first answers of this turn are left out to save room.\n", uint64(max(most-2*perMessage, 1))), false
}

func plannedRounds(all []*round) int {
	s := script{all: all}
	return s.plannedAt()
}

// shape is how many bytes are kept of a text, of a call's arguments, and of a
// result.
type shape struct{ text, arguments, result int }

// digest is the rounds that are summarised.
type digest struct {
	from, to int
	all      []*round
	said     []string
	// room bounds what people said, in bytes: the oldest is left out, and long words are
	// cut. 0 keeps all of it.
	room int
}

// write writes the summary, without the oldest rounds but the first where some
// are left out.
func (d *digest) write(s shape, out int) string {
	var b strings.Builder
	var people []*loomv1.Said
	fmt.Fprintf(&b, "## So far\nThis stands for your answers up to number %d and their results. It was taken from the record to save room: your words first, then what you called and what came of it. Files can be read again, and results with output_read by the ids of their calls.\n", d.to)
	var in strings.Builder
	for i := d.from; i <= d.to; i++ {
		if i > d.from && i <= d.from+out {
			if i == d.from+out {
				fmt.Fprintf(&in, "[%d answers are left out]\n", out)
			}
		} else {
			d.round(&in, i, s)
		}
		for _, step := range d.all[i].own {
			if said := step.GetSaid(); said != nil {
				people = append(people, said)
			}
		}
	}
	b.WriteString(AsData(in.String()))
	b.WriteString(d.newest(people))
	return b.String()
}

// newest are the messages of people that there is room for, in their order.
func (d *digest) newest(messages []*loomv1.Said) string {
	text, converses := "", d.all[0].converses
	for i, said := range slices.Backward(messages) {
		if d.room > 0 {
			said = proto.CloneOf(said)
			said.Text = brief(said.Text, d.room/8)
		}
		m := saidMessage(said, converses).Text + "\n"
		if d.room > 0 && len(m)+len(text) > d.room {
			return fmt.Sprintf("[%d earlier messages are left out]\n", i+1) + text
		}
		text = m + text
	}
	return text
}

func (d *digest) round(b *strings.Builder, i int, s shape) {
	r := d.all[i]
	fmt.Fprintf(b, "%d. %s\n", i, brief(d.text(i), s.text))
	if r.unusable != "" {
		b.WriteString("   - it could not be used\n")
		return
	}
	for k, c := range r.answer.GetCalls() {
		fmt.Fprintf(b, "   - %s %s", c.GetId(), c.GetTool())
		if s.arguments > 0 {
			b.WriteString(" " + brief(c.GetArguments(), s.arguments))
		}
		if res := r.steps[k].GetResult(); res != nil {
			fmt.Fprintf(b, ": %s", statusWord(res))
			if s.result > 0 {
				b.WriteString(", " + brief(res.Summary, s.result))
			}
		}
		b.WriteString("\n")
	}
}

func (d *digest) text(i int) string {
	if i-1 < len(d.said) {
		return d.said[i-1]
	}
	return ""
}

func statusWord(r *loomv1.ToolResult) string {
	switch r.GetStatus() {
	case loomv1.ToolStatus_TOOL_STATUS_OK:
		if r.ExitCode != 0 {
			return fmt.Sprintf("exit %d", r.ExitCode)
		}
		return "done"
	case loomv1.ToolStatus_TOOL_STATUS_DENIED:
		return "denied"
	case loomv1.ToolStatus_TOOL_STATUS_UNKNOWN:
		return "not known whether it ran"
	}
	return "failed"
}

// brief is a text on one line, of at most n bytes.
func brief(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= n {
		return s
	}
	return whole(s[:n]) + "…"
}

package recording

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/agents/model/price"
)

// Prompts writes what models were asked in a recording as a Markdown document, for
// people: of each turn the system text, the tools and the conversation, as they
// were sent, and before them how many tokens that was and what it costs at rate,
// the price of the model of that name. Text that was shown above is named, not
// repeated. Tokens are counted as four bytes each.
func (r *Recording) Prompts(out io.Writer, name string, rate price.Rate) error {
	p := &prompts{Recording: r, shown: map[string]string{}}
	for _, t := range byAttempt(r.Turns) {
		if asks := r.Of(t.Attempt).Asks; len(asks) > 0 {
			p.turns = append(p.turns, askedTurn{t, asks})
		}
	}
	p.heading()
	p.figures(name, rate)
	for i := range p.turns {
		p.turn(i)
	}
	_, err := io.WriteString(out, p.text.String())
	return err
}

// prompts is a document in the making.
type prompts struct {
	*Recording
	turns []askedTurn
	shown map[string]string // where a text stands, by its parts
	text  strings.Builder
}

type askedTurn struct {
	*Turn
	asks []*Ask
}

// byAttempt sorts turns as their attempts were made: EXECUTION-aN.
func byAttempt(turns []*Turn) []*Turn {
	key := func(t *Turn) (string, int) {
		at := strings.LastIndex(t.Attempt, "-a")
		if at < 0 {
			return t.Attempt, 0
		}
		n, _ := strconv.Atoi(t.Attempt[at+2:]) // a name of another form sorts as its first
		return t.Attempt[:at], n
	}
	turns = slices.Clone(turns)
	slices.SortStableFunc(turns, func(a, b *Turn) int {
		x, n := key(a)
		y, m := key(b)
		return cmp.Or(strings.Compare(x, y), cmp.Compare(n, m))
	})
	return turns
}

func (p *prompts) heading() {
	h := p.Header
	stands := ""
	if strings.HasPrefix(h.Model, "scripted:") || strings.HasPrefix(h.Model, "replay:") {
		stands = " A script or a recording answered in the place of a language model."
	}
	fmt.Fprintf(&p.text, "# What models were asked\n\nA recording of `%s` with %s.%s\n", h.From, h.Model, stands)
}

// weight is what a request has, in bytes.
type weight struct{ system, tools, messages, answer int }

func (w weight) prompt() int { return w.system + w.tools + w.messages }

func (w weight) plus(v weight) weight {
	return weight{w.system + v.system, w.tools + v.tools, w.messages + v.messages, w.answer + v.answer}
}

func (p *prompts) weigh(a *Ask) weight {
	w := weight{system: p.bytes(a.System), answer: len(a.Text)}
	for _, id := range a.Tools {
		w.tools += p.bytes(id)
	}
	for _, id := range a.Messages {
		w.messages += p.bytes(id)
	}
	for _, c := range a.Calls {
		w.answer += len(c.Tool) + len(c.Arguments)
	}
	return w
}

// bytes is how long a part is as it is sent: a text, or JSON.
func (p *prompts) bytes(id string) int {
	what := p.parts[id]
	var text string
	if json.Unmarshal(what, &text) == nil {
		return len(text)
	}
	var m message
	if json.Unmarshal(what, &m) == nil && m.Role != "" {
		n := len(m.Text)
		for _, c := range m.Calls {
			n += len(c.Tool) + len(c.Arguments)
		}
		return n
	}
	return len(what)
}

// kept is how much of a request the server has from an earlier one, where both
// the end of the system text and the end of each conversation are kept.
func (p *prompts) kept(a *Ask, before []*Ask) (most int) {
	for _, b := range before {
		if a.System != b.System || !slices.Equal(a.Tools, b.Tools) {
			continue
		}
		w := p.weigh(b)
		n := w.system + w.tools
		if len(b.Messages) <= len(a.Messages) && slices.Equal(b.Messages, a.Messages[:len(b.Messages)]) {
			n = w.prompt()
		}
		most = max(most, n)
	}
	return most
}

// tokens is how many tokens so many bytes are counted as.
func tokens(n int) int { return (n + 3) / 4 }

func (p *prompts) figures(name string, rate price.Rate) {
	fmt.Fprint(&p.text, "\n## Tokens\n\nFour bytes are counted as one token. \"Kept\" is what of all prompts of a turn stood in an earlier request at its\nbeginning, up to the end of the system text or of a whole conversation.\n\n",
		"| turn | requests | first prompt | its system text | its tools | its messages | all prompts | kept | answers |\n|---|---|---|---|---|---|---|---|---|\n")
	var before []*Ask
	var all weight
	var keptOfAll, requests int
	for i, t := range p.turns {
		first, sum, kept := p.weigh(t.asks[0]), weight{}, 0
		for _, a := range t.asks {
			sum, kept, before = sum.plus(p.weigh(a)), kept+p.kept(a, before), append(before, a)
		}
		fmt.Fprintf(&p.text, "| [%d. %s](#%s) | %d | %d | %d | %d (%d %%) | %d | %d | %d %% | %d |\n", i+1, t.title(), anchor(i, t), len(t.asks),
			tokens(first.prompt()), tokens(first.system), tokens(first.tools), percent(first.tools, first.prompt()), tokens(first.messages),
			tokens(sum.prompt()), percent(kept, sum.prompt()), tokens(sum.answer))
		all, keptOfAll, requests = all.plus(sum), keptOfAll+kept, requests+len(t.asks)
	}
	fmt.Fprintf(&p.text, "| all | %d | | | | | %d | %d %% | %d |\n", requests, tokens(all.prompt()), percent(keptOfAll, all.prompt()), tokens(all.answer))
	input, kept, answers := uint64(tokens(all.prompt())), uint64(tokens(keptOfAll)), uint64(tokens(all.answer)) //nolint:gosec // no negative counts
	whole := rate.Cost(price.Tokens{Input: input, Output: answers})
	cached := rate.Cost(price.Tokens{CacheRead: kept, CacheWrite: input - kept, Output: answers})
	fmt.Fprintf(&p.text, "\nAt the prices of %s this costs %s USD where the server keeps nothing, and %s USD (%d %%) where it keeps\nthese beginnings.\n", name, usd(whole), usd(cached), percent(int(cached), int(whole))) //nolint:gosec // sums of money
}

func usd(micro uint64) string { return fmt.Sprintf("%d.%04d", micro/1e6, micro%1e6/100) }

func percent(part, whole int) int {
	if whole == 0 {
		return 0
	}
	return (100*part + whole/2) / whole
}

// title names a turn by its node and role.
func (t askedTurn) title() string {
	var node struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(t.Node, &node) // what has none is named by its role alone
	return strings.TrimPrefix(node.ID+", "+t.Role, ", ")
}

// anchor is how the heading of a turn is linked to.
func anchor(i int, t askedTurn) string {
	return strings.ReplaceAll(strings.ReplaceAll(fmt.Sprintf("%d-%s", i+1, t.title()), ",", ""), " ", "-")
}

// turn shows the last request of each conversation of a turn: it has what those
// before it had, unless it was summarised between them.
func (p *prompts) turn(i int) {
	t := p.turns[i]
	fmt.Fprintf(&p.text, "\n## %d. %s\n", i+1, t.title())
	for n, a := range t.asks {
		if n+1 < len(t.asks) && begins(t.asks[n+1], a) {
			continue
		}
		p.once("System text", i, []string{a.System}, func() { p.fence("text", p.plainText(a.System)) })
		p.once("Tools", i, a.Tools, func() {
			for _, id := range a.Tools {
				p.tool(id)
			}
		})
		fmt.Fprintf(&p.text, "\n### Conversation\n")
		for _, id := range a.Messages {
			p.message(id)
		}
		p.said("assistant", a.Text, a.Calls)
	}
}

// begins reports whether a conversation goes on from an earlier request.
func begins(later, earlier *Ask) bool {
	return later.System == earlier.System && slices.Equal(later.Tools, earlier.Tools) && len(later.Messages) > len(earlier.Messages) &&
		slices.Equal(later.Messages[:len(earlier.Messages)], earlier.Messages)
}

// once shows parts, or says where they stand.
func (p *prompts) once(what string, i int, parts []string, show func()) {
	fmt.Fprintf(&p.text, "\n### %s\n", what)
	key := strings.Join(parts, " ")
	if at := p.shown[key]; at != "" {
		fmt.Fprintf(&p.text, "\nAs in %s.\n", at)
		return
	}
	p.shown[key] = "turn " + strconv.Itoa(i+1)
	show()
}

func (p *prompts) plainText(id string) string {
	var text string
	if json.Unmarshal(p.parts[id], &text) != nil {
		return string(p.parts[id])
	}
	return text
}

func (p *prompts) tool(id string) {
	var t struct {
		Name, Description string
		Schema            json.RawMessage
	}
	if json.Unmarshal(p.parts[id], &t) != nil {
		p.fence("json", string(p.parts[id]))
		return
	}
	fmt.Fprintf(&p.text, "\n`%s`, %d tokens:\n", t.Name, tokens(p.bytes(id)))
	p.fence("text", t.Description+"\n"+string(t.Schema))
}

func (p *prompts) message(id string) {
	var m message
	if json.Unmarshal(p.parts[id], &m) != nil {
		p.fence("json", string(p.parts[id]))
		return
	}
	p.said(string(m.Role), m.Text, m.Calls)
}

func (p *prompts) said(who, text string, calls []Call) {
	fmt.Fprintf(&p.text, "\n**%s**\n", who)
	for _, c := range calls {
		text += "\n" + c.Tool + " " + c.Arguments
	}
	if text = strings.Trim(text, "\n"); text != "" {
		p.fence("text", text)
	}
}

// fence shows a text as it is, whatever stands in it.
func (p *prompts) fence(kind, text string) {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	fmt.Fprintf(&p.text, "\n%s%s\n%s\n%s\n", mark, kind, strings.TrimRight(text, "\n"), mark)
}

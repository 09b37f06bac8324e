package scripted

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// conversation is a request as a policy reads it.
type conversation struct {
	node     string
	sections map[string]string // of what came before the first answer, by heading
	tools    map[string]schema // what is offered
	listed   string            // what is offered through one tool, over a wire
	done     []exchange        // tool calls so far, in order
	answers  []string          // the policy's own texts so far
	last     string            // text of the last message
}

// exchange is a tool call and what came of it.
type exchange struct {
	id, tool, arguments string
	text                string // what the tool said
	failed              bool   // it could not do it, or its outcome is not known
}

// schema is what a policy looks at in the schema of a tool's arguments.
type schema struct {
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
	Type       any               `json:"type"`
	Enum       []any             `json:"enum"`
}

// read takes a request apart.
func read(r *model.Request) *conversation {
	c := &conversation{sections: map[string]string{}, tools: map[string]schema{}}
	for _, t := range r.Tools {
		var s schema
		_ = json.Unmarshal(t.Schema, &s) // what cannot be read names no arguments
		c.tools[t.Name] = s
		if t.Name == model.UseName {
			c.listed = t.Description
		}
		for _, b := range t.Behind {
			var s schema
			_ = json.Unmarshal(b.Schema, &s)
			c.tools[b.Name] = s
		}
	}
	for _, m := range r.Messages {
		c.hear(m)
	}
	c.node = c.field("Assignment", "node")
	return c
}

func (c *conversation) hear(m model.Message) {
	c.last = m.Text
	switch m.Role {
	case model.RoleUser:
		if len(c.answers) == 0 { // what the runtime says later is no assignment
			for title, text := range sections(m.Text) {
				c.sections[title] += text
			}
		}
	case model.RoleAssistant:
		c.answers = append(c.answers, m.Text)
		for _, call := range m.Calls {
			call = model.Unwrap(call)
			c.done = append(c.done, exchange{id: call.Id, tool: call.Tool, arguments: call.Arguments, failed: true})
		}
	case model.RoleTool:
		for i := range c.done {
			if c.done[i].id == m.Call {
				c.done[i].text, c.done[i].failed = m.Text, m.Failed
			}
		}
	}
}

// sections splits a prompt at its "## " headings. What stands between <data>
// marks is data, whatever it looks like.
func sections(text string) map[string]string {
	out, heading, data := map[string]string{}, "", false
	for line := range strings.Lines(text) {
		mark := strings.TrimSpace(line)
		data = (data || mark == "<data>") && mark != "</data>"
		if title, ok := strings.CutPrefix(line, "## "); ok && !data {
			heading = strings.TrimSpace(title)
			continue
		}
		out[heading] += line
	}
	return out
}

// field returns the value of a "key: value" line of a section.
func (c *conversation) field(section, key string) string {
	for line := range strings.Lines(c.sections[section]) {
		if value, ok := strings.CutPrefix(line, key+": "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// latest returns the last call of a tool at or after place from that has a
// text argument with text in it, and its place. A call that was cut off, so
// that nobody knows whether it ran, is passed over: what these policies ask
// for may be asked for again.
func (c *conversation) latest(tool, text string, from int) (exchange, int, bool) {
	for i := len(c.done) - 1; i >= from; i-- {
		if e := c.done[i]; e.tool == tool && e.has(text) && !e.cutOff() {
			return e, i, true
		}
	}
	return exchange{}, 0, false
}

// cutOff reports whether it is not known whether the call ran.
func (e exchange) cutOff() bool { return e.failed && strings.Contains(e.text, turn.Unknown().Summary) }

// has reports whether a text argument of the call holds text.
func (e exchange) has(text string) bool {
	if text == "" {
		return true
	}
	for _, v := range e.values() {
		if s, ok := v.(string); ok && strings.Contains(s, text) {
			return true
		}
	}
	return false
}

// value returns a text argument of the call.
func (e exchange) value(name string) string {
	s, _ := e.values()[name].(string)
	return s
}

func (e exchange) values() map[string]any {
	var values map[string]any
	_ = json.Unmarshal([]byte(e.arguments), &values) // our own, so they are an object
	return values
}

// names are the words that tools use for one and the same argument.
var names = map[string][]string{
	"command":     {"command", "cmd", "script"},
	"path":        {"path", "file", "file_path", "filename"},
	"pattern":     {"pattern", "regex", "regexp", "query"},
	"glob":        {"glob", "pattern"},
	"old":         {"old", "old_text", "old_string", "search", "find"},
	"new":         {"new", "new_text", "new_string", "replace", "replacement"},
	"type":        {"type", "kind"},
	"title":       {"title", "summary"},
	"description": {"description", "rationale", "text"},
	"to":          {"to", "node", "id", "target"},
	"why":         {"why", "rationale", "reason"},
}

// named returns the word that properties use for an argument.
func (s schema) named(argument string) string {
	for _, name := range names[argument] {
		if s.has(name) {
			return name
		}
	}
	return argument
}

// call makes a call of a tool with its own words for the arguments.
func (c *conversation) call(tool string, arguments map[string]any) *loomv1.ToolCall {
	named := map[string]any{}
	for k, v := range arguments {
		named[c.tools[tool].named(k)] = v
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // people read it
	if err := e.Encode(named); err != nil {
		panic("scripted: arguments are no JSON: " + err.Error())
	}
	return &loomv1.ToolCall{Tool: tool, Arguments: strings.TrimSpace(text.String())}
}

// offers reports whether a tool may be called.
func (c *conversation) offers(tool string) bool {
	_, ok := c.tools[tool]
	return ok || strings.Contains(c.listed, "\n"+tool+"(")
}

// say answers with a thought and calls. The first call is the one that
// matters: where its tool is not offered, there is no way on. Others are left
// out then.
func (c *conversation) say(thought string, calls ...*loomv1.ToolCall) *model.Response {
	r := &model.Response{Text: thought, Stop: model.StopEnd}
	for i, call := range calls {
		switch {
		case c.offers(call.Tool):
			call.Id = "s" + strconv.Itoa(len(c.done)+len(r.Calls)+1)
			r.Calls = append(r.Calls, call)
		case i == 0 && c.offers("finish"):
			return c.finish("failure", "there is no tool "+call.Tool+" to go on with", "", nil)
		}
	}
	return r
}

// finish ends the turn.
func (c *conversation) finish(status, summary, notes string, fields map[string]any) *model.Response {
	arguments := map[string]any{"status": status, "summary": summary, "notes": notes}
	if fields != nil {
		arguments["fields"] = fields
	}
	return c.say(summary+".", c.call("finish", arguments))
}

// shell calls the shell.
func (c *conversation) shell(command string) *loomv1.ToolCall {
	return c.call("shell", map[string]any{"command": command})
}

// decide calls decision_log.
func (c *conversation) decide(kind, title, description string, confidence int, more ...link) *loomv1.ToolCall {
	arguments := map[string]any{"type": kind, "title": title, "description": description, "confidence": confidence}
	c.link(arguments, more)
	return c.call("decision_log", arguments)
}

// link is an edge between the logged decision and a node of the graph.
type link struct{ kind, id, why string }

// to returns the link to the node that texts name on a line with words, or
// none.
func to(kind, words, why string, texts ...string) []link {
	if id := mentioned(words, texts...); id != "" {
		return []link{{kind, id, why}}
	}
	return nil
}

// link adds links as a list, with the words that the tool has for it. A kind
// that the tool does not have is left out.
func (c *conversation) link(arguments map[string]any, links []link) {
	item := c.tools["decision_log"].Properties["links"].Items
	if item == nil {
		return
	}
	var list []map[string]any
	for _, l := range links {
		edge := map[string]any{item.named("to"): l.id, item.named("type"): l.kind}
		if kinds := item.Properties[item.named("type")].Enum; kinds != nil && !slices.Contains(kinds, any(l.kind)) {
			continue
		}
		if why := item.named("why"); l.why != "" && item.has(why) {
			edge[why] = l.why
		}
		list = append(list, edge)
	}
	if list != nil {
		arguments["links"] = list
	}
}

func (s schema) has(property string) bool {
	_, ok := s.Properties[property]
	return ok
}

var decisionID = regexp.MustCompile(`\bd[0-9]+\b`)

// logged returns the id that decision_log gave to the entry whose title holds
// text.
func (c *conversation) logged(text string) string {
	e, _, ok := c.latest("decision_log", text, 0)
	if !ok || e.failed {
		return ""
	}
	return decisionID.FindString(e.text)
}

// mentioned returns the decision id on the first line of texts that holds
// text, as notes and decision_query name them.
func mentioned(text string, texts ...string) string {
	for _, t := range texts {
		for line := range strings.Lines(t) {
			if id := decisionID.FindString(line); id != "" && strings.Contains(line, text) {
				return id
			}
		}
	}
	return ""
}

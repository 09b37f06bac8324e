package scripted

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// script is a policy as a file: the first answer whose conditions hold is
// given.
type script struct {
	Answers []answer `yaml:"answers"`
}

// answer is what to say, and when.
type answer struct {
	// Node, Step and Contains must all hold. Node is the node of the
	// assignment; empty is any. Step counts the answers given so far plus
	// one; 0 is any. Contains stands in the last message.
	Node     string `yaml:"node"`
	Step     int    `yaml:"step"`
	Contains string `yaml:"contains"`

	Text  string `yaml:"text"`
	Calls []call `yaml:"calls"`
}

type call struct {
	Tool string `yaml:"tool"`
	// Arguments is a JSON object.
	Arguments string `yaml:"arguments"`
	// Content is the argument of that name, for text of many lines.
	Content string `yaml:"content"`
}

// object returns the arguments as JSON.
func (c call) object() string {
	arguments := cmp.Or(c.Arguments, "{}")
	if c.Content == "" {
		return arguments
	}
	var all map[string]any
	_ = json.Unmarshal([]byte(arguments), &all) // check has seen that it is an object
	if all == nil {
		all = map[string]any{}
	}
	all["content"] = c.Content
	data, err := json.Marshal(all)
	if err != nil {
		return arguments
	}
	return string(data)
}

// Parse reads a policy from YAML:
//
//	answers:
//	  - node: triage
//	    step: 1
//	    calls:
//	      - {tool: shell, arguments: '{"command": "go test ./..."}'}
//	  - node: memo
//	    calls:
//	      - tool: file_write
//	        arguments: '{"path": "memo.md"}'
//	        content: |
//	          # Memo
//	  - contains: FAIL
//	    text: It fails.
//
// All that is wrong with it is reported at once, with FILE:LINE:COL.
func Parse(file string, data []byte) (Policy, error) {
	doc, err := strictyaml.Parse(file, data)
	if err != nil {
		return nil, err
	}
	var s script
	doc.Decode(&s)
	if len(s.Answers) == 0 && !doc.Broken("answers") {
		doc.Add(fault.New("yaml/missing-key", "a policy has at least one answer"))
	}
	for i, a := range s.Answers {
		a.check(doc, i)
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return s.policy, nil
}

func (a answer) check(doc *strictyaml.Document, i int) {
	if a.Text == "" && len(a.Calls) == 0 && !doc.Broken("answers", i) {
		doc.Add(fault.New("yaml/missing-key", "an answer has a text or calls"), "answers", i)
	}
	for j, c := range a.Calls {
		var object map[string]any
		if err := json.Unmarshal([]byte(cmp.Or(c.Arguments, "{}")), &object); err != nil {
			doc.Add(fault.New("yaml/type", "arguments are no JSON object").Got(c.Arguments), "answers", i, "calls", j, "arguments")
		}
	}
}

func (s script) policy(r *model.Request) (*model.Response, error) {
	c := read(r)
	for _, a := range s.Answers {
		if a.holds(c) {
			return a.say(c), nil
		}
	}
	return nil, fmt.Errorf("no answer fits node %q, step %d", c.node, len(c.answers)+1)
}

func (a answer) holds(c *conversation) bool {
	return (a.Node == "" || a.Node == c.node) &&
		(a.Step == 0 || a.Step == len(c.answers)+1) &&
		strings.Contains(c.last, a.Contains)
}

func (a answer) say(c *conversation) *model.Response {
	r := &model.Response{Text: a.Text, Stop: model.StopEnd}
	for i, call := range a.Calls {
		r.Calls = append(r.Calls, &loomv1.ToolCall{
			Id: fmt.Sprintf("c%d-%d", len(c.answers)+1, i+1), Tool: call.Tool, Arguments: call.object(),
		})
	}
	return r
}

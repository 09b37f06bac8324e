package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func user(text string) *model.Request {
	return &model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: text}}}
}

// A policy as a file: the first answer that fits is given.
func ExampleParse() {
	policy, err := scripted.Parse("policy.yaml", []byte(`
answers:
  - node: triage
    step: 1
    text: I run the tests.
    calls:
      - {tool: shell, arguments: '{"command": "go test ./..."}'}
  - text: I have nothing to say.
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	p := scripted.New("policy.yaml", policy)
	for _, node := range []string{"triage", "verify"} {
		r, err := p.Ask(context.Background(), user("## Assignment\nnode: "+node+"\n"), nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.Model, r.Text, len(r.Calls))
	}
	// Output:
	// scripted:policy.yaml I run the tests. 1
	// scripted:policy.yaml I have nothing to say. 0
}

func TestAGENT02_ParseReportsPlaces(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"answers: []", "p.yaml:1:"},
		{"answers:\n  - step: 1\n", "p.yaml:2:"},
		{"answers:\n  - calls:\n      - {tool: a, arguments: '[1]'}\n", "p.yaml:3:30"},
		{"answers:\n  - text: a\n    txet: b\n", "p.yaml:3:5"},
		{"answers: [", "p.yaml:1:"},
	} {
		_, err := scripted.Parse("p.yaml", []byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%q): %v, want an error at %s", tt.text, err, tt.want)
		}
	}
}

func TestAGENT02_PolicyWithoutAnswer(t *testing.T) {
	policy, err := scripted.Parse("p.yaml", []byte("answers:\n  - {contains: xyzzy, text: a}\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = scripted.New("p.yaml", policy).Ask(context.Background(), user("hello"), nil)
	if fault.Code(err) != "model/unavailable" || !strings.Contains(err.Error(), "scripted:p.yaml") {
		t.Errorf("no answer fits: %v, want model/unavailable that names the script", err)
	}
}

func TestAGENT02_ScriptedCostsNothingAndSaysSo(t *testing.T) {
	p := scripted.New("echo", func(r *model.Request) (*model.Response, error) {
		return &model.Response{Text: "echo", Model: "claude-opus-4-6"}, nil
	})
	var seen []model.Chunk
	r, err := p.Ask(context.Background(), user("hello"), func(c model.Chunk) { seen = append(seen, c) })
	if err != nil {
		t.Fatal(err)
	}
	if !r.Usage.CostKnown || r.Usage.CostMicroUsd != 0 || !p.Scripted() || r.Model != "scripted:echo" || len(seen) != 1 {
		t.Errorf("answer of %s = %+v, chunks %v", p.Name(), r, seen)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Ask(ctx, user("hello"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancel: %v, want context.Canceled", err)
	}
}

// A policy may give the same response to several who ask at once: each gets its own.
func TestAGENT02_AResponseIsGivenAgain(t *testing.T) {
	said := &model.Response{Calls: []*loomv1.ToolCall{{Tool: "file_read", Arguments: "{}"}}, Stop: model.StopTools}
	p := scripted.New("scripted:again", func(*model.Request) (*model.Response, error) { return said, nil })
	for range 2 {
		got, err := p.Ask(t.Context(), user("read"), nil)
		if err != nil || got.Calls[0].Id == "" {
			t.Fatalf("%v, %v", got, err)
		}
		got.Calls[0].Tool = "changed"
	}
	if c := said.Calls[0]; c.Id != "" || c.Tool != "file_read" || said.Usage != nil {
		t.Errorf("the policy's own response was changed: %v", said)
	}
}

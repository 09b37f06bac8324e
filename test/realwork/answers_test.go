//go:build realwork

package realwork

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// answers are the model's part in mending a repository.
type answers struct {
	// Prompts are the keys of the prompts that the answers were given to, by turn.
	Prompts map[string]string `yaml:"prompts"`
	Turns   []turn            `yaml:"turns"`
}

// turn is what an agent answers at a node.
type turn struct {
	// Name is the node's, with "visit N" and "attempt N" behind it where it is not
	// the first.
	Name  string `yaml:"turn"`
	Steps []step `yaml:"steps"`
}

// step is an answer.
type step struct {
	Text  string `yaml:"text,omitempty"`
	Calls []call `yaml:"calls,omitempty"`
}

// call is a tool call and what must come of it.
type call struct {
	Tool string         `yaml:"tool"`
	With map[string]any `yaml:"with,omitempty"`
	// Gives is a regular expression that matches what the tool gives. What the last
	// answer of a turn leads to is not seen, so nothing stands there.
	Gives string `yaml:"gives,omitempty"`
	// Fails says that the call is a mistake, which the tool refuses.
	Fails bool `yaml:"fails,omitempty"`
}

// readAnswers reads the answers of a repository; none are no error.
func readAnswers(file string) (*answers, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &answers{}, nil
	}
	if err != nil {
		return nil, err
	}
	return parse(file, data)
}

func parse(file string, data []byte) (*answers, error) {
	a := &answers{}
	in := yaml.NewDecoder(bytes.NewReader(data))
	in.KnownFields(true)
	if err := in.Decode(a); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, t := range a.Turns {
		for i, s := range t.Steps {
			if err := s.sound(i == len(t.Steps)-1); err != nil {
				return nil, fmt.Errorf("%s: turn %q, step %d: %w", file, t.Name, i+1, err)
			}
		}
	}
	return a, nil
}

// sound checks that every call says what it must give.
func (s step) sound(last bool) error {
	for _, c := range s.Calls {
		if _, err := regexp.Compile(c.Gives); err != nil {
			return err
		}
		if (c.Gives == "") != last {
			return fmt.Errorf("%s gives %q: want a regular expression, or nothing in the last answer of a turn", c.Tool, c.Gives)
		}
	}
	return nil
}

// write writes answers that were just made.
func (a *answers) write(file, about string) error {
	text, err := encode(a)
	if err != nil {
		return err
	}
	return replace(file, fmt.Appendf(nil, "# %s\n# See doc.go for what this is, and how it is made.\n%s", about, text))
}

var promptLines = regexp.MustCompile(`(?m)^prompts:.*\n(?: .*\n)*`)

// renew writes the keys of prompts into a file of answers, and leaves the rest
// of it as somebody wrote it.
func renewKeys(file string, keys map[string]string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := encode(map[string]any{"prompts": keys})
	if err != nil {
		return err
	}
	if n := len(promptLines.FindAll(data, -1)); n != 1 {
		return fmt.Errorf("%s names its prompts %d times, want once", file, n)
	}
	return replace(file, promptLines.ReplaceAllLiteral(data, text))
}

// encode returns v as YAML.
func encode(v any) ([]byte, error) {
	var text bytes.Buffer
	out := yaml.NewEncoder(&text)
	out.SetIndent(2)
	err := out.Encode(v)
	return text.Bytes(), err
}

// MarshalYAML is that of [yaml.Marshaler].
func (s step) MarshalYAML() (any, error) {
	return struct {
		Text  *yaml.Node `yaml:"text,omitempty"`
		Calls []call     `yaml:"calls,omitempty"`
	}{scalar(s.Text), s.Calls}, nil
}

// MarshalYAML is that of [yaml.Marshaler].
func (c call) MarshalYAML() (any, error) {
	return struct {
		Tool  string     `yaml:"tool"`
		With  any        `yaml:"with,omitempty"`
		Gives *yaml.Node `yaml:"gives,omitempty"`
		Fails bool       `yaml:"fails,omitempty"`
	}{c.Tool, scalars(c.With), scalar(c.Gives), c.Fails}, nil
}

// scalar returns a text as YAML, or nil for none. One with tabs is quoted: of
// such a text the library makes a block that it cannot read.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	if n.SetString(text); text == "" {
		return nil
	}
	if strings.Contains(text, "\t") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// scalars returns v with all its texts as scalar makes them.
func scalars(v any) any {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "\t") {
			return scalar(v)
		}
	case map[string]any:
		m := map[string]any{}
		for key, one := range v {
			m[key] = scalars(one)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = scalars(one)
		}
		return list
	}
	return v
}

// replace writes a file of answers unless it could not be read again.
func replace(file string, data []byte) error {
	if _, err := parse(file, data); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

func (a *answers) turn(name string) *turn {
	i := slices.IndexFunc(a.Turns, func(t turn) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &a.Turns[i]
}

// player gives the kept answers, whatever it is asked, as long as the tools give
// what they gave.
type player struct {
	kept *answers
	stop func(error) // is told where it cannot go on

	mu   sync.Mutex
	keys map[string]string // of the prompts that were asked
}

func (p *player) Name() string   { return "scripted:realwork" }
func (p *player) Scripted() bool { return true }

// Ask is documented at [model.Provider].
func (p *player) Ask(ctx context.Context, q *model.Request, _ func(model.Chunk)) (*model.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name, n := place(q)
	p.note(name, q)
	s, err := p.kept.next(name, n, q)
	if err != nil {
		p.stop(err)
		return nil, fault.New("model/refused", "%s", err)
	}
	r := &model.Response{Text: s.Text, Stop: model.StopEnd, Model: p.Name()}
	for i, c := range s.Calls {
		with, err := json.Marshal(c.With)
		if err != nil {
			return nil, err
		}
		if c.With == nil {
			with = []byte("{}")
		}
		r.Calls = append(r.Calls, &loomv1.ToolCall{Id: fmt.Sprintf("c%d-%d", n, i+1), Tool: c.Tool, Arguments: string(with)})
	}
	r, err = model.Clean(q, r)
	if err == nil {
		r.Usage = &loomv1.Usage{CostKnown: true}
	}
	return r, err
}

func (p *player) note(name string, q *model.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys[name] == "" {
		p.keys[name] = key(q)
	}
}

// changed lists the turns whose prompts are others than those that the answers
// were given to.
func (p *player) changed() (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(p.keys)) {
		if p.keys[name] != p.kept.Prompts[name] {
			names = append(names, name)
		}
	}
	return names
}

// unused lists the turns that nobody asked for.
func (p *player) unused() (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.kept.Turns {
		if p.keys[t.Name] == "" {
			names = append(names, t.Name)
		}
	}
	return names
}

// next returns the n-th answer of a turn, if the one before led to what it did.
func (a *answers) next(name string, n int, q *model.Request) (step, error) {
	t := a.turn(name)
	if t == nil {
		return step{}, fmt.Errorf("no answers are kept for the turn %q, which began with:\n%s", name, text(q.Messages[0]))
	}
	if n > 1 && n-2 < len(t.Steps) {
		if err := t.Steps[n-2].check(given(q)); err != nil {
			return step{}, fmt.Errorf("turn %q, step %d: %w", name, n-1, err)
		}
	}
	if n > len(t.Steps) {
		return step{}, fmt.Errorf("turn %q: %d answers are kept, and it was asked for another after:\n%s", name, len(t.Steps), text(q.Messages[len(q.Messages)-1]))
	}
	return t.Steps[n-1], nil
}

// check compares what the tools gave with what they must give.
func (s step) check(gave []model.Message) error {
	if len(gave) != len(s.Calls) {
		return fmt.Errorf("%d calls have given %d results", len(s.Calls), len(gave))
	}
	for i, c := range s.Calls {
		switch m := gave[i]; {
		case m.Failed != c.Fails:
			return fmt.Errorf("call %d, %s: it failed: %t, want %t; it gave:\n%s", i+1, c.Tool, m.Failed, c.Fails, m.Text)
		case !regexp.MustCompile(c.Gives).MatchString(m.Text):
			return fmt.Errorf("call %d, %s: want something that matches %q; it gave:\n%s", i+1, c.Tool, c.Gives, m.Text)
		}
	}
	return nil
}

// given returns what the tools gave for the newest answer.
func given(q *model.Request) (all []model.Message) {
	for _, m := range slices.Backward(q.Messages) {
		switch m.Role {
		case model.RoleTool:
			all = append(all, m)
		case model.RoleAssistant:
			slices.Reverse(all)
			return all
		}
	}
	return nil
}

var (
	nodeLine    = regexp.MustCompile(`(?m)^node: (.+)$`)
	attemptLine = regexp.MustCompile(`(?m)^attempt: (\d+)`)
	visitLine   = regexp.MustCompile(`(?m)^visit: (\d+)`)
)

// place returns the turn that a request belongs to, and which of its answers it
// asks for, from 1.
func place(q *model.Request) (name string, n int) {
	first := q.Messages[0].Text
	name = field(nodeLine, first)
	if v := field(visitLine, first); v != "" && v != "1" {
		name += " visit " + v
	}
	if a := field(attemptLine, first); a != "" && a != "1" {
		name += " attempt " + a
	}
	n = 1
	for _, m := range q.Messages {
		if m.Role == model.RoleAssistant {
			n++
		}
	}
	return name, n
}

func field(line *regexp.Regexp, in string) string {
	if m := line.FindStringSubmatch(in); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}

// changing is what differs from run to run in a prompt: what stands between data
// marks, and numbers and ids.
var changing = regexp.MustCompile(`(?s)<(?:data|goal)>.*?</(?:data|goal)>|(?-s:(?m:^now: .*$))|[0-9a-f]*[0-9][0-9a-f]*`)

// key is the digest of what a turn was told: role, tools and assignment.
func key(q *model.Request) string {
	all := sha256.New()
	fmt.Fprintln(all, q.System)
	for _, t := range q.Tools {
		fmt.Fprintf(all, "%s %s %s\n", t.Name, t.Description, t.Schema)
	}
	fmt.Fprintln(all, changing.ReplaceAllString(q.Messages[0].Text, "~"))
	return hex.EncodeToString(all.Sum(nil))[:12]
}

func text(m model.Message) string { return m.Text }

// maker asks a model, and keeps its answers and what the tools gave.
type maker struct {
	model.Provider

	mu   sync.Mutex
	made answers
}

// Ask is documented at [model.Provider].
func (m *maker) Ask(ctx context.Context, q *model.Request, onChunk func(model.Chunk)) (*model.Response, error) {
	r, err := m.Provider.Ask(ctx, q, onChunk)
	if err == nil {
		m.keep(q, r)
	}
	return r, err
}

func (m *maker) keep(q *model.Request, r *model.Response) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name, n := place(q)
	if m.made.turn(name) == nil {
		m.made.Turns = append(m.made.Turns, turn{Name: name})
		if m.made.Prompts == nil {
			m.made.Prompts = map[string]string{}
		}
		m.made.Prompts[name] = key(q)
	}
	t := m.made.turn(name)
	if n > 1 && n-1 == len(t.Steps) {
		t.Steps[n-2].keep(given(q))
	}
	s := step{Text: r.Text}
	for _, c := range r.Calls {
		var with map[string]any
		_ = json.Unmarshal([]byte(c.Arguments), &with) // the provider has seen that it is an object
		s.Calls = append(s.Calls, call{Tool: c.Tool, With: with})
	}
	t.Steps = append(t.Steps[:min(n-1, len(t.Steps))], s)
}

// keep notes what the calls gave. Whoever made the answers reads this, and leaves
// what matters.
func (s step) keep(gave []model.Message) {
	for i, m := range gave {
		if i < len(s.Calls) {
			s.Calls[i].Gives, s.Calls[i].Fails = regexp.QuoteMeta(m.Text), m.Failed
		}
	}
}

// What is written can be read again, tabs and all, and new keys leave the rest of
// a file as it was.
func TestREAL02_KeptAnswersCanBeReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	code := "\tif x {\n\t\treturn\n\t}\n"
	made := &answers{Turns: []turn{{Name: "triage", Steps: []step{{Calls: []call{
		{Tool: "file_edit", With: map[string]any{"edits": []any{map[string]any{"old_text": code, "new_text": "  x\n" + code}}}},
	}}}}}}
	if err := made.write(file, "Answers."); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range []map[string]string{{"triage": "1a", "verify": "2b"}, {"triage": "3c"}} {
		if err := renewKeys(file, keys); err != nil {
			t.Fatal(err)
		}
		read, err := readAnswers(file)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(read.Prompts, keys) || !reflect.DeepEqual(read.Turns, made.Turns) {
			t.Errorf("read %+v, want the answers that were written with the keys %v", read, keys)
		}
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if rest := bytes.Replace(after, []byte("prompts:\n  triage: 3c\n"), []byte("prompts: {}\n"), 1); !bytes.Equal(rest, before) {
		t.Errorf("new keys changed more than the keys:\n%s", after)
	}
}

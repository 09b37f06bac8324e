package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// player is the model of an example session: it asks and does what the example has it do.
type player struct {
	mu      sync.Mutex
	example *processes.ExampleSession
	said    int // turns of primacy
	done    map[int]bool
}

func (p *player) plays(e *processes.ExampleSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.example, p.said, p.done = e, 0, map[int]bool{}
}

func (p *player) answer(r *model.Request) (*model.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Tools[0].Name == "ask_clarifying" {
		return p.asks()
	}
	told := ""
	for _, m := range r.Messages {
		told += m.Text + "\n"
	}
	node := nodeLine.FindStringSubmatch(told)
	switch {
	case node == nil:
		return nil, fmt.Errorf("no node is named in %q", told[:min(len(told), 300)])
	case node[1] == processes.CompletionNode:
		return p.judges()
	}
	return p.works(node[1], told), nil
}

var (
	nodeLine   = regexp.MustCompile(`(?m)^node: (\S+)$`)
	leavesLine = regexp.MustCompile(`(?m)^It leaves (.+), and no other file\.$`)
)

// asks is the model's next turn of primacy, finish after the last.
func (p *player) asks() (*model.Response, error) {
	for p.said < len(p.example.Primacy) {
		turn := p.example.Primacy[p.said]
		p.said++
		switch {
		case turn.Ask != "":
			return calls(map[string]any{"question": turn.Ask, "about": turn.About}, "ask_clarifying")
		case turn.Say != "":
			return &model.Response{Text: turn.Say, Stop: model.StopEnd}, nil
		}
	}
	return calls(map[string]any{}, "finish")
}

// judges finds the evidence that the example names.
func (p *player) judges() (*model.Response, error) {
	fields := map[string]any{processes.BrokenField: ""}
	for item, words := range p.example.Completion {
		var n int
		if _, err := fmt.Sscanf(item, "success/%d", &n); err == nil {
			fields[processes.MetField(n)], fields[processes.EvidenceField(n)] = true, words
		}
	}
	for _, item := range p.example.Gaps {
		var n int
		if _, err := fmt.Sscanf(item, "success/%d", &n); err == nil {
			fields[processes.MetField(n)], fields[processes.EvidenceField(n)] = false, ""
		}
	}
	return calls(map[string]any{"status": "success", "summary": "judged", "notes": "", "fields": fields}, "finish")
}

// works does the next run of a step, where the example has one, and finds all well else.
func (p *player) works(node, told string) *model.Response {
	resp := &model.Response{Stop: model.StopTools}
	call := func(tool string, args map[string]any) {
		data, _ := json.Marshal(args)
		resp.Calls = append(resp.Calls, &loomv1.ToolCall{Id: fmt.Sprint("c", len(resp.Calls)), Tool: tool, Arguments: string(data)})
	}
	end := map[string]any{"status": "success", "summary": "done", "notes": ""}
	for i, run := range p.example.Steps {
		if run.Step != node || p.done[i] {
			continue
		}
		p.done[i] = true
		if run.Fails {
			end["status"] = "failure"
		}
		places := map[string]string{}
		if m := leavesLine.FindStringSubmatch(told); m != nil {
			for _, name := range strings.Split(m[1], ", ") {
				places[path.Base(name)] = name
			}
		}
		for name, text := range run.Files {
			call("file_write", map[string]any{"path": places[name], "content": text})
		}
		break
	}
	if node == "verify" {
		end["fields"] = map[string]any{"fault": ""}
	}
	call("finish", end)
	return resp
}

func calls(args map[string]any, tool string) (*model.Response, error) {
	data, err := json.Marshal(args)
	return &model.Response{Stop: model.StopTools, Calls: []*loomv1.ToolCall{{Id: "c", Tool: tool, Arguments: string(data)}}}, err
}

// Each of the patterns that come with Loom is played on a host, from its first question to
// what is left in the project, by its example session: the journal alone shows all eleven
// phases in their order.
func TestPAT01_EveryPatternIsPlayedOnAHost(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*within)
	defer cancel()
	p := &player{}
	h := start(t, config(t, scripted.New("player", p.answer)))
	ops := connect(t, h, "operator")
	played := 0
	for _, e := range processes.Patterns([]processes.Layer{processes.BuiltinLayer()}, roles.Builtin()) {
		if e.Pattern == nil {
			continue
		}
		played++
		t.Run(e.Name, func(t *testing.T) {
			example := exampleOf(t, e)
			p.plays(example)
			open := &loomv1.OpenPattern{Pattern: e.Name, Request: example.Request, WithoutModel: len(example.Primacy) == 0}
			for name, text := range example.Inputs {
				open.Inputs = append(open.Inputs, &loomv1.SessionInput{Name: name, Text: text})
			}
			answer, err := ops.Intent(ctx, &loomv1.IntentRequest{Project: "shop", Verb: &loomv1.IntentRequest_Open{Open: open}})
			if err != nil {
				t.Fatal(err)
			}
			s := attend(ctx, t, ops, example, answer.GetSession().Id)
			if want := len(example.Gaps); len(s.Gaps) != want {
				t.Errorf("it ends with gaps %v, want %d", s.Gaps, want)
			}
			if got := phasesOf(ctx, t, ops, s.Id); !slices.Equal(got, lifecycle) {
				t.Errorf("the journal shows %v, want %v", got, lifecycle)
			}
		})
	}
	if played != 14 {
		t.Errorf("%d patterns were played, want 14", played)
	}
}

// exampleOf reads the first example session of a pattern.
func exampleOf(t *testing.T, e *processes.PatternEntry) *processes.ExampleSession {
	t.Helper()
	files, err := fs.Glob(e.Dir, path.Join(path.Dir(e.Path), "test", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no example session: %v", err)
	}
	data, err := fs.ReadFile(e.Dir, files[0])
	if err != nil {
		t.Fatal(err)
	}
	example, err := processes.ParseExampleSession(files[0], data)
	if err != nil {
		t.Fatal(err)
	}
	return example
}

// attend is a person in a session: it answers as the example does, seals what is shown,
// goes on at each stop and accepts what is not met, until the session has ended.
func attend(ctx context.Context, t *testing.T, c *client.Client, example *processes.ExampleSession, id string) *loomv1.PatternSession {
	t.Helper()
	answered := map[string]int{}
	own, drafted := 0, false
	for _, turn := range example.Primacy {
		for _, field := range intent.Fields {
			if turn.Ask != "" || turn.Answer == "" || turn.About != intent.FieldName(field) {
				continue
			}
			unasked := &loomv1.AnswerQuestion{About: field, Text: turn.Answer}
			if _, err := c.Intent(ctx, &loomv1.IntentRequest{Project: "shop", Session: id, Verb: &loomv1.IntentRequest_Answer{Answer: unasked}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for {
		s := sessionOf(ctx, t, c, id)
		r := &loomv1.IntentRequest{Project: "shop", Session: id}
		switch {
		case s.Ended:
			return s
		case s.Question != nil:
			text := ""
			if s.Question.OfPattern && own < len(example.Own) {
				text = example.Own[own]
				own++
			}
			for i, turn := range example.Primacy {
				if text == "" && turn.Ask == s.Question.Text && answered[turn.Ask] <= i {
					text, answered[turn.Ask] = turn.Answer, i+1
				}
			}
			if text == "" {
				t.Fatalf("the example has no answer to %v", s.Question)
			}
			r.Verb = &loomv1.IntentRequest_Answer{Answer: &loomv1.AnswerQuestion{Question: s.Question.Number, Text: text}}
		case s.Shown != nil && len(example.Envelope) > 0 && !drafted:
			drafted = true
			r.Verb = &loomv1.IntentRequest_Draft{Draft: &loomv1.DraftIntent{
				Goal: quoted(s, example.Envelope["goal"]), Constraints: quoted(s, example.Envelope["constraints"]), Audience: quoted(s, example.Envelope["audience"]),
				Scope: quoted(s, example.Envelope["scope"]), Success: quoted(s, example.Envelope["success"]),
			}}
		case s.Shown != nil:
			r.Verb = &loomv1.IntentRequest_Seal{Seal: &loomv1.SealIntent{Digest: s.Shown.Digest}}
		case len(s.Unmet) > 0:
			if slices.ContainsFunc(s.Unmet, func(item string) bool { return !slices.Contains(example.Gaps, item) }) {
				t.Fatalf("%v are not met: %v", s.Unmet, s.Facts[len(s.Facts)-1])
			}
			r.Verb = &loomv1.IntentRequest_Choose{Choose: &loomv1.ChooseCompletion{Choice: loomv1.CompletionChoice_COMPLETION_CHOICE_GAP}}
		case s.Phase == intent.Steering && s.Stopped:
			step := uint32(0)
			if last := s.Facts[len(s.Facts)-2].GetStepEnded(); last.GetStatus() == loomv1.StepStatus_STEP_STATUS_FAILED {
				if !slices.ContainsFunc(example.Steps, func(r processes.ExampleStep) bool { return r.Fails }) {
					t.Fatalf("step %d has failed: %s", last.Step, last.Summary)
				}
				step = last.Step
			}
			r.Verb = &loomv1.IntentRequest_Proceed{Proceed: &loomv1.Proceed{Step: step}}
		default:
			awaitFacts(ctx, t, c, id, len(s.Facts))
			continue
		}
		if _, err := c.Intent(ctx, r); err != nil {
			t.Fatalf("%T in %s: %v", r.Verb, intent.PhaseName(s.Phase), err)
		}
	}
}

// quoted are texts as quotations of the answers that have them.
func quoted(s *loomv1.PatternSession, texts []string) (list []*loomv1.Quotation) {
	for _, text := range texts {
		for _, a := range s.Answers {
			if strings.Contains(a.Text, text) {
				list = append(list, &loomv1.Quotation{Answer: a.Number, Text: text})
				break
			}
		}
	}
	return list
}

// awaitFacts waits until a session has more facts.
func awaitFacts(ctx context.Context, t *testing.T, c *client.Client, id string, than int) {
	t.Helper()
	followUntil(ctx, t, c, fmt.Sprintf("more of session %s", id), func(e *loomv1.Event) bool {
		return e.GetSessionAdvanced().GetSession() == id && len(sessionOf(ctx, t, c, id).Facts) > than
	})
}

// lifecycle are the phases in their order.
var lifecycle = []string{
	"primacy", "intention-capture", "meta-validation", "activation", "input-preparation", "step-execution", "steering-hooks",
	"completion-check", "output-delivery", "memory-update", "reintegration",
}

// phasesOf reads the phases of a session from the journal, each where it was first entered;
// times must not go back.
func phasesOf(ctx context.Context, t *testing.T, c *client.Client, id string) (phases []string) {
	t.Helper()
	var last *loomv1.IntentFact
	err := c.Follow(ctx, &loomv1.NoticesRequest{Project: "shop", Kinds: []string{"session-advanced"}}, false, func(n *loomv1.Notice) error {
		f := n.Event.GetSessionAdvanced().GetFact()
		if n.Event.GetSessionAdvanced().GetSession() != id || f.GetEntered() == nil {
			return nil
		}
		if last != nil && f.At.AsTime().Before(last.At.AsTime()) {
			t.Errorf("%v comes before %v", f, last)
		}
		last = f
		if name := intent.PhaseName(f.GetEntered().Phase); !slices.Contains(phases, name) {
			phases = append(phases, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return phases
}

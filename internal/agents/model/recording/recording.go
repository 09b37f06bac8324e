// Package recording keeps what models answered and what tools gave in a file,
// and plays it again in their place. A recording says in its first line that it
// is one; secrets that the host knows are taken out before anything is written.
//
// Playing is strict: a request that differs from what was recorded is no
// answer but an error that says where it differs.
package recording

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/redact"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Format is what the first line of a recording says of itself.
const Format = "loom recording 1"

// note is for whoever opens the file.
const note = "what models answered and what tools gave in a run that was recorded; no model answers when it is played"

// Header is the first line.
type Header struct {
	Format string    `json:"format"`
	Note   string    `json:"note"`
	Made   time.Time `json:"made"`
	By     string    `json:"by"`   // the release
	From   string    `json:"from"` // what was recorded: up, demo or run
	Model  string    `json:"model"`
}

// Entry is a further line; one of its fields is set.
type Entry struct {
	Turn *Turn `json:"turn,omitempty"`
	Part *Part `json:"part,omitempty"`
	Ask  *Ask  `json:"ask,omitempty"`
	Step *Step `json:"step,omitempty"`
}

// Turn begins a turn of an agent.
type Turn struct {
	Attempt string          `json:"attempt"`
	Bead    string          `json:"bead"`
	Role    string          `json:"role"`
	Node    json.RawMessage `json:"node"` // as protobuf's JSON
	Prompt  string          `json:"prompt"`
	// Architect says that another model plans.
	Architect string `json:"architect,omitempty"`
	// Without are the role's tools that its host could not carry out.
	Without []string `json:"without,omitempty"`
}

// Part is a piece of requests, told once.
type Part struct {
	ID   string          `json:"id"`
	What json.RawMessage `json:"what"`
}

// Ask is a request and its answer.
type Ask struct {
	Attempt  string          `json:"attempt"`
	Model    string          `json:"model"`
	Window   int             `json:"window,omitempty"`
	Pictures bool            `json:"pictures,omitempty"` // the model takes them
	System   string          `json:"system"`             // id of a part
	Tools    []string        `json:"tools"`              // ids of parts
	Messages []string        `json:"messages"`           // ids of parts
	Most     int             `json:"max_tokens"`
	Text     string          `json:"text,omitempty"`
	Calls    []Call          `json:"calls,omitempty"`
	Stop     model.Stop      `json:"stop,omitempty"`
	Usage    json.RawMessage `json:"usage,omitempty"`
	// Problem is set where the answer was of no use, and Hint says what would be.
	Problem string `json:"problem,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// Call is a tool call.
type Call struct {
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
}

// Step is what came of a tool call, or what a person said.
type Step struct {
	Attempt string          `json:"attempt"`
	Answers uint32          `json:"answers"` // of the turn, so far
	Call    *Call           `json:"call,omitempty"`
	Runtime bool            `json:"runtime,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"` // as protobuf's JSON, without the output
	Output  string          `json:"output,omitempty"`
	Picture []byte          `json:"picture,omitempty"`
	Said    json.RawMessage `json:"said,omitempty"` // as protobuf's JSON
}

// Writer writes a recording. It is safe for concurrent use; what cannot be
// written is reported by Close.
type Writer struct {
	mu     sync.Mutex
	out    *bufio.Writer
	close  io.Closer
	redact func(string) string
	known  map[string]bool
	turns  map[string]bool
	err    error
}

// Create begins a recording in a new file, which only its owner may read.
func Create(file string, h Header, env []string) (*Writer, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fault.New("usage/argument", "the recording cannot be made").At("--record").Got(file).Because(err)
	}
	w := &Writer{out: bufio.NewWriter(f), close: f, redact: redact.Of(env).Text, known: map[string]bool{}, turns: map[string]bool{}}
	h.Format, h.Note = Format, note
	w.line(h)
	return w, nil
}

// Turn begins a turn, unless it is recorded already: then it only goes on.
func (w *Writer) Turn(t *Turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turns[t.Attempt] {
		return
	}
	w.turns[t.Attempt] = true
	w.line(Entry{Turn: t})
}

// Ask records a request and its answer, with why that was of no use, or nil.
func (w *Writer) Ask(attempt string, m model.Provider, q *model.Request, answer *model.Response, problem *fault.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := taken(q, w.redact)
	for _, p := range s.parts {
		if !w.known[p.ID] {
			w.known[p.ID] = true
			w.line(Entry{Part: p})
		}
	}
	a := &Ask{Attempt: attempt, Model: m.Name(), Window: model.WindowOf(m), Pictures: model.TakesPictures(m), System: s.system, Tools: s.tools, Messages: s.messages, Most: q.MaxTokens}
	if problem != nil {
		a.Problem, a.Hint = problem.Message, problem.Hint
	}
	if answer != nil {
		a.Text, a.Stop, a.Usage = answer.Text, answer.Stop, protoText(answer.Usage)
		for _, c := range slices.Concat(answer.Calls, answer.Cut) {
			a.Calls = append(a.Calls, Call{c.Id, c.Tool, c.Arguments})
		}
		if answer.By != "" {
			a.Model = answer.By
		}
	}
	w.line(Entry{Ask: a})
}

// Step records what came of a tool call, or what a person said.
func (w *Writer) Step(s *Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line(Entry{Step: s})
	if w.err == nil {
		w.err = w.out.Flush()
	}
}

// line writes a line of JSON, with secrets taken out of it.
func (w *Writer) line(v any) {
	data, err := json.Marshal(v)
	if err == nil && w.err == nil {
		_, err = w.out.WriteString(w.redact(string(data)) + "\n")
	}
	if w.err == nil {
		w.err = err
	}
}

// Close ends the recording and says whether all of it is there.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.out.Flush(); w.err == nil {
		w.err = err
	}
	if err := w.close.Close(); w.err == nil {
		w.err = err
	}
	if w.err != nil {
		return fmt.Errorf("the recording is not whole: %w", w.err)
	}
	return nil
}

// shape is a request in parts.
type shape struct {
	parts           []*Part
	system          string
	tools, messages []string
}

// message is a message as recordings have it: the ids of calls and what only
// its own provider wants back are left out of nothing a model reads.
type message struct {
	model.Message
	Calls []Call `json:"calls,omitempty"`
}

// taken takes a request apart.
func taken(q *model.Request, redact func(string) string) shape {
	var s shape
	add := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			data = []byte(`"` + err.Error() + `"`)
		}
		data = []byte(redact(string(data)))
		p := &Part{ID: digest(differing.ReplaceAll(data, []byte("#"))), What: data}
		s.parts = append(s.parts, p)
		return p.ID
	}
	s.system = add(q.System)
	for _, t := range q.Tools {
		s.tools = append(s.tools, add(t))
	}
	for _, m := range q.Messages {
		one := message{Message: m}
		for _, c := range m.Calls {
			one.Calls = append(one.Calls, Call{c.Id, c.Tool, c.Arguments})
		}
		s.messages = append(s.messages, add(one))
	}
	return s
}

// differing is what differs from run to run, and is not compared: the names of
// commits and blobs, as the times do that they are made of, and the time of day
// that an assignment begins with.
var differing = regexp.MustCompile(`\b[0-9a-f]{12,64}\b|now: \w{3} \d\d \w{3} \d{4} \d\d:\d\d UTC; this attempt ends at \d\d:\d\d UTC\b`)

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

func protoText(u *loomv1.Usage) json.RawMessage {
	data, err := protojson.Marshal(u)
	if err != nil {
		return nil
	}
	var out bytes.Buffer
	if json.Compact(&out, data) != nil {
		return nil
	}
	return out.Bytes()
}

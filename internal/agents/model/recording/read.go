package recording

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/redact"
)

// Recording is one that was read.
type Recording struct {
	Header Header
	Turns  []*Turn
	Asks   []*Ask

	parts  map[string]json.RawMessage
	steps  map[string][]*Step // by attempt
	redact func(string) string

	mu   sync.Mutex
	used map[*Ask]bool
}

// Roles are the roles whose turns are in the recording, sorted.
func (r *Recording) Roles() []string {
	var names []string
	for _, t := range r.Turns {
		names = append(names, t.Role)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// maxLine is the longest line that is read.
const maxLine = 64 << 20

// Open reads a recording. env has the secrets that were taken out of it, so that
// what has them is known again. A last line that was cut off is passed over.
//
// Errors: replay/invalid.
func Open(file string, env []string) (*Recording, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fault.New("replay/invalid", "the recording cannot be read").Got(file).Because(err)
	}
	defer f.Close()
	r, err := Read(f, env)
	if err != nil {
		return nil, fault.From(err).At(file)
	}
	return r, nil
}

// Read is [Open] for what is read already.
func Read(in io.Reader, env []string) (*Recording, error) {
	r := &Recording{parts: map[string]json.RawMessage{}, steps: map[string][]*Step{}, used: map[*Ask]bool{}, redact: redact.Of(env).Text}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &r.Header) != nil || r.Header.Format != Format {
		return nil, fault.New("replay/invalid", "this is no recording that this release knows").Want("its first line says %q", Format)
	}
	var broken error
	for n := 2; lines.Scan(); n++ {
		if broken != nil {
			return nil, broken
		}
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			broken = fault.New("replay/invalid", "line %d is not sound: %s", n, err) // the last one may be cut off
			continue
		}
		r.take(e)
	}
	if err := lines.Err(); err != nil {
		return nil, fault.New("replay/invalid", "it cannot be read: %s", err)
	}
	return r, nil
}

func (r *Recording) take(e Entry) {
	switch {
	case e.Turn != nil:
		r.Turns = append(r.Turns, e.Turn)
	case e.Part != nil:
		r.parts[e.Part.ID] = e.Part.What
	case e.Ask != nil:
		r.Asks = append(r.Asks, e.Ask)
	case e.Step != nil:
		r.steps[e.Step.Attempt] = append(r.steps[e.Step.Attempt], e.Step)
	}
}

// Steps returns what came of a turn's tool calls and what people said, in order.
func (r *Recording) Steps(attempt string) []*Step { return r.steps[attempt] }

// Result returns what came of a tool call, or nil. The newest counts: a call may
// have been made again after a crash.
func (r *Recording) Result(attempt, call string) *Step {
	list := r.steps[attempt]
	for i := len(list) - 1; i >= 0; i-- {
		if c := list[i].Call; c != nil && c.ID == call {
			return list[i]
		}
	}
	return nil
}

// Of returns the requests of one turn alone. Of a request that was asked again,
// because its answer was not durable, the last answer counts.
func (r *Recording) Of(attempt string) *Recording {
	one := &Recording{Header: r.Header, parts: r.parts, steps: r.steps, redact: r.redact, used: map[*Ask]bool{}}
	for _, a := range r.Asks {
		if a.Attempt != attempt {
			continue
		}
		one.Asks = slices.DeleteFunc(one.Asks, func(old *Ask) bool {
			return old.is(shape{system: a.System, tools: a.Tools, messages: a.Messages}, a.Most)
		})
		one.Asks = append(one.Asks, a)
	}
	return one
}

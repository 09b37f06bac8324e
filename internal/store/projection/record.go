package projection

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// record is what happened in an execution, as its row has it: JSON arrays, which the
// views of the schema show as rows. What is only ever added to is kept as the text.
type record struct {
	transitions, ends rows
	visits            []visit
	figures           []figures
	broken            []broken
}

// rows are the elements of a JSON array, with a comma between two.
type rows []byte

// add appends an array of values: string, json.RawMessage, or an integer.
func (r *rows) add(values ...any) {
	text := *r
	if len(text) > 0 {
		text = append(text, ',')
	}
	text = append(text, '[')
	for i, v := range values {
		if i > 0 {
			text = append(text, ',')
		}
		switch v := v.(type) {
		case string:
			text = quoted(text, v)
		case json.RawMessage:
			text = append(text, v...)
		case uint64:
			text = strconv.AppendUint(text, v, 10)
		case uint32:
			text = strconv.AppendUint(text, uint64(v), 10)
		}
	}
	*r = append(text, ']')
}

// text is the JSON array.
func (r rows) text() string {
	var b strings.Builder
	b.Grow(len(r) + 2)
	b.WriteByte('[')
	b.Write(r)
	b.WriteByte(']')
	return b.String()
}

// elements are the rows of a text.
func elements(text string) rows { return rows(text[1 : len(text)-1]) }

// quoted appends a JSON string.
func quoted(text []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			long, _ := json.Marshal(s) // there is no string that has none
			return append(text, long...)
		}
	}
	text = append(text, '"')
	text = append(text, s...)
	return append(text, '"')
}

// null is what a text is where there is none.
func null(s string) any {
	if s == "" {
		return json.RawMessage("null")
	}
	return s
}

// texts are the columns of a record, in the order of the schema.
func (r *record) texts() []any {
	var visits, list, found rows
	for _, v := range r.visits {
		visits.add(v.node, v.number, v.started, null(v.ended), v.outcome, v.attempts, v.timeouts)
	}
	for _, f := range r.figures {
		list.add(f.node, f.ended, f.failed, f.retries, f.calls, f.input, f.output, f.cost)
	}
	for _, b := range r.broken {
		found.add(b.phase, b.rule, b.tier, b.severity, b.attempts, b.findings)
	}
	return []any{visits.text(), list.text(), found.text(), r.ends.text(), r.transitions.text()}
}

// read is texts backwards.
func (r *record) read(visits, figures, broken, ends, transitions string) error {
	r.ends, r.transitions = elements(ends), elements(transitions)
	for text, into := range map[string]any{visits: &r.visits, figures: &r.figures, broken: &r.broken} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			return err
		}
	}
	return nil
}

// visit is one of a node of an execution.
type visit struct {
	node               string
	number             uint32
	started            string
	ended              string // empty while it is open
	outcome            string
	attempts, timeouts uint32
}

// UnmarshalJSON reads an array.
func (v *visit) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&v.node, &v.number, &v.started, &v.ended, &v.outcome, &v.attempts, &v.timeouts})
}

// figures are how a node of an execution fared.
type figures struct {
	node                       string
	ended, failed, retries     uint64 // attempts
	calls, input, output, cost uint64 // of models
}

// UnmarshalJSON reads an array.
func (f *figures) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&f.node, &f.ended, &f.failed, &f.retries, &f.calls, &f.input, &f.output, &f.cost})
}

// broken is a rule that a phase of an execution did not keep.
type broken struct {
	phase, rule        string
	tier               uint32
	severity           string
	attempts, findings uint64
}

// UnmarshalJSON reads an array.
func (b *broken) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&b.phase, &b.rule, &b.tier, &b.severity, &b.attempts, &b.findings})
}

// actors are the JSON texts of identities, of which there are few.
type actors map[string]json.RawMessage

// mostActors is how many are kept.
const mostActors = 4096

func (a actors) text(who *loomv1.Identity) (json.RawMessage, error) {
	key := who.GetKind().String() + " " + who.GetName()
	if len(who.ProtoReflect().GetUnknown()) == 0 {
		if text := a[key]; text != nil {
			return text, nil
		}
	}
	text, err := toJSON(who)
	if err != nil {
		return nil, err
	}
	if len(a) >= mostActors {
		clear(a)
	}
	a[key] = json.RawMessage(text)
	return a[key], nil
}

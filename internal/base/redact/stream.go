package redact

import "strings"

// Stream takes secrets out of a text that comes in parts, as a model writes it:
// it holds back the end of what came, as long as that may be the beginning of a
// secret. It must be made by [Secrets.Stream], and be used by one goroutine.
type Stream struct {
	secrets *Secrets
	held    string
}

// Stream returns a stream, in which nothing is held back.
func (s *Secrets) Stream() *Stream { return &Stream{secrets: s} }

// Text takes a part and returns what may be told of all that came, without the
// secrets. It may be nothing.
func (t *Stream) Text(part string) string {
	text := t.secrets.Text(t.held + part)
	from := t.secrets.begins(text)
	t.held = text[from:]
	return text[:from]
}

// End returns what is held back, and holds back nothing: no more follows.
func (t *Stream) End() string {
	text := t.held
	t.held = ""
	return text
}

// longestColour is from how many bytes on what looks like the beginning of a
// sequence for a terminal is none.
const longestColour = 32

// begins is where the longest end of a text lies with which a form may begin.
// len(text) means that it ends so.
func (s *Secrets) begins(text string) int {
	if s == nil {
		return len(text)
	}
	if i := strings.LastIndexByte(text, '\x1b'); i >= 0 && len(text)-i < longestColour && colour(text[i:]) == 0 {
		return s.begins(text[:i]) // a sequence for a terminal that goes on
	}
	from := len(text)
	for _, f := range s.forms {
		from = min(from, len(text)-overlap(text, f.form))
	}
	inOne, places := placed(text)
	for _, f := range s.forms {
		if n := overlap(inOne, f.joined); n > 0 {
			from = min(from, places[len(inOne)-n])
		}
	}
	return from
}

// overlap is how many bytes the longest end of a text has that is a beginning of
// a form, and not all of it.
func overlap(text, form string) int {
	for n := min(len(form)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, form[:n]) {
			return n
		}
	}
	return 0
}

package intent

import (
	"slices"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// reason is why a step is done again: what is said to be so, and why.
type reason struct{ said, why string }

func (r reason) String() string {
	if r.why == "" {
		return r.said
	}
	return r.said + ": " + r.why
}

// notMet says of an item of the completion check that it is not met, and why.
func notMet(e *loomv1.IntentEnvelope, v *loomv1.CompletionVerdict) reason {
	said := v.Item
	if words := Criterion(e, v.Item); words != "" {
		said += ", " + words
	}
	return reason{said: said + ": not met", why: v.Evidence}
}

// OpenEnd tells an item of the completion check that is not met, or accepted as a gap: in the
// person's words, where it has some, and with why it is not met, in those of the judge. It is
// the item where neither is there.
func (s *Session) OpenEnd(item string) string {
	var said []string
	for _, words := range []string{Criterion(s.envelope, item), s.why[item]} {
		if strings.TrimSpace(words) != "" {
			said = append(said, words)
		}
	}
	if len(said) == 0 {
		return item
	}
	return strings.Join(said, ": ")
}

// takenBack drops what was said for steps, also where a reason to do one again quotes it.
func (s *Session) takenBack(number uint32) {
	i := slices.IndexFunc(s.steering, func(st *loomv1.Steered) bool { return st.Number == number })
	if i < 0 {
		return
	}
	said := s.steering[i]
	s.steering = slices.Concat(s.steering[:i], s.steering[i+1:])
	s.reasons, s.again = s.without(s.reasons, said), s.without(s.again, said)
}

// without returns reasons without what they say of a word of the operator that was taken
// back: the lines that quote it, and all that was added where nothing else was.
func (s *Session) without(list []reason, said *loomv1.Steered) (kept []reason) {
	added := len(s.pattern.GetConstraints()) > 0 || slices.ContainsFunc(s.steering, func(st *loomv1.Steered) bool { return st.Redirect })
	quoted := strings.ToLower(strings.Trim(said.Text, " .!"))
	for _, r := range list {
		if said.Redirect && !added && strings.HasPrefix(r.said, Added+":") {
			continue
		}
		var lines []string
		for l := range strings.Lines(r.why) {
			if !strings.Contains(strings.ToLower(l), quoted) {
				lines = append(lines, l)
			}
		}
		if why := strings.TrimSpace(strings.Join(lines, "")); why != "" || r.why == "" {
			kept = append(kept, reason{said: r.said, why: why})
		} else if !strings.HasPrefix(r.said, Added+":") { // it stays unmet, and nothing says why any more
			kept = append(kept, reason{said: r.said})
		}
	}
	return kept
}

package redact

import "strings"

// cuts are what stands where a text was cut off, by Loom's own hands.
var cuts = []string{"...", "…"}

// cutOff takes out what is left of a secret at whose middle a text was cut: half
// of a form, or more.
func (s *Secrets) cutOff(text string) string {
	if !s.halves.in(text) { // a text may be full of marks
		return text
	}
	for _, mark := range cuts {
		done := 0
		for {
			i := strings.Index(text[done:], mark)
			if i < 0 {
				break
			}
			before := strings.TrimSuffix(text[:done+i], `"`)
			rest := text[len(before):]
			if place, n := s.endsIn(before); n > 0 {
				before = before[:len(before)-n] + place
				text = before + rest
			}
			done = len(before) + strings.Index(rest, mark) + len(mark)
		}
	}
	return text
}

// endsIn is the most of a form that a text ends with, if that is half of it, and
// what stands in the form's place.
func (s *Secrets) endsIn(text string) (place string, n int) {
	for _, f := range s.forms {
		if got := overlap(text, f.form); got >= half(f.form) && got > n {
			place, n = f.place, got
		}
	}
	return place, n
}

// half is from how many bytes on the beginning of a form is taken for it.
func half(form string) int { return min(max(Shortest, len(form)/2), len(form)) }

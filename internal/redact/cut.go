package redact

import "strings"

// cuts are what stands where a text was cut off, by Loom's own hands.
var cuts = []string{"...", "…"}

// cutOff takes out what is left of a secret at whose middle a text was cut: half
// of a form, or more.
func (s *Secrets) cutOff(text string) string {
	for _, mark := range cuts {
		done := 0
		for {
			i := strings.Index(text[done:], mark)
			if i < 0 {
				break
			}
			before := strings.TrimSuffix(text[:done+i], `"`)
			rest := text[len(before):]
			if name, n := s.half(before); n > 0 {
				before = before[:len(before)-n] + inPlaceOf(name)
				text = before + rest
			}
			done = len(before) + strings.Index(rest, mark) + len(mark)
		}
	}
	return text
}

// half is the most of a form that a text ends with, if that is half of it.
func (s *Secrets) half(text string) (name string, n int) {
	for _, f := range s.forms {
		if got := overlap(text, f.form); got >= max(Shortest, len(f.form)/2) && got > n {
			name, n = f.name, got
		}
	}
	return name, n
}

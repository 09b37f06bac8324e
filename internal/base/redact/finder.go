package redact

import (
	"slices"
	"strings"
)

// finder tells quickly whether a text has any of several forms: a text without
// is read about once every window bytes (Wu and Manber, "A fast algorithm for
// multi-pattern searching", 1994). It must be made by newFinder.
type finder struct {
	window int                 // how many bytes of each form are looked at: as many as the shortest has, at most 8
	forms  map[string][]string // by their first window bytes
	skip   [1 << 16]uint8      // by two bytes: how far the end of the nearest form's window can be
}

func newFinder(forms []string) *finder {
	f := &finder{window: Shortest, forms: map[string][]string{}}
	for _, form := range forms {
		f.window = min(f.window, len(form))
	}
	for i := range f.skip {
		f.skip[i] = uint8(max(f.window-1, 1))
	}
	for _, form := range forms {
		f.forms[form[:f.window]] = append(f.forms[form[:f.window]], form)
		for end := 2; end <= f.window; end++ {
			at := pair(form[end-2], form[end-1])
			f.skip[at] = min(f.skip[at], uint8(f.window-end))
		}
	}
	return f
}

func pair(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

// in reports whether a text has one of the forms.
func (f *finder) in(text string) bool {
	if f.window < 2 { // a form that is nearly nothing: anything may have it
		return true
	}
	for end := f.window; end <= len(text); {
		skip := int(f.skip[pair(text[end-2], text[end-1])])
		if skip == 0 {
			if f.at(text[end-f.window:]) {
				return true
			}
			skip = 1
		}
		end += skip
	}
	return false
}

// at reports whether a text begins with one of the forms.
func (f *finder) at(text string) bool {
	return slices.ContainsFunc(f.forms[text[:f.window]], func(form string) bool { return strings.HasPrefix(text, form) })
}

// joined is a text without line breaks, colours, and all that may stand beside a
// line break.
func joined(text string) string {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i += step(text[i:]) {
		if !between(text[i]) {
			out = append(out, text[i])
		}
	}
	return string(out)
}

// placed is joined, with the place of each byte in the text.
func placed(text string) (inOne string, places []int) {
	for i := 0; i < len(text); i += step(text[i:]) {
		if !between(text[i]) {
			places = append(places, i)
		}
	}
	return joined(text), places
}

// between reports whether joined leaves a byte out.
func between(c byte) bool {
	switch c {
	case '\\', '\r', '\n', ' ', '\t', '\x1b':
		return true
	}
	return false
}

// step is how many bytes of a text are one for joined.
func step(text string) int {
	if text[0] == '\x1b' {
		return max(colour(text), 1)
	}
	return 1
}

// colour is how long the sequence for a terminal is that a text begins with, 0 if
// it is none.
func colour(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	for i := 2; i < len(text); i++ {
		switch c := text[i]; {
		case '0' <= c && c <= '9', c == ';':
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

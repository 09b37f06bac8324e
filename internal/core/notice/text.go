package notice

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/lazy"
)

const (
	most     = 300 // bytes of a summary
	mostPart = 160 // bytes of one quoted text in it, so that what follows it shows
)

// escapes matches what terminals act on: control sequences, operating system
// commands, strings, and the short escapes.
var escapes = lazy.Compile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]?" +
	"|(?:\x1b\\]|\u009d)[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)?" +
	"|(?:\x1b[PX^_]|[\u0090\u0098\u009e\u009f])[^\x1b\u009c]*(?:\x1b\\\\|\u009c)?" +
	"|\x1b[ -/]*[0-~]?")

// clean makes one line of s: escapes, control and formatting characters are
// gone, white space is single blanks.
func clean(s string) string {
	if plain(s) {
		return s
	}
	s = escapes.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// plain reports whether s is one line of printable ASCII without runs of
// blanks, as nearly all texts are.
func plain(s string) bool {
	blank := true
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || c == ' ' && blank {
			return false
		}
		blank = c == ' '
	}
	return !blank || s == ""
}

// cut returns s within limit bytes, on a rune's edge, marked where it ends.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit - len("...")
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimRight(s[:end], " ") + "..."
}

// part cleans and cuts one text of somebody else's.
func part(s string) string { return cut(clean(s), mostPart) }

// after returns s behind a separator, or "" when there is nothing to say.
func after(separator, s string) string {
	if s = part(s); s == "" {
		return ""
	}
	return separator + s
}

// in returns s in round brackets behind a blank, or "".
func in(s string) string {
	if s = part(s); s == "" {
		return ""
	}
	return " (" + s + ")"
}

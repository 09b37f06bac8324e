package turn

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// mark is what could pass for the marks around data and goals.
var mark = regexp.MustCompile(`(?i)<\s*/?\s*(data|goal)\s*>`)

// AsData marks text that must not be taken for an instruction.
func AsData(text string) string { return Marked("data", text) }

// Marked puts a text between marks of its kind, data or goal. Nothing in the text
// passes for a mark.
func Marked(kind, text string) string {
	return fmt.Sprintf("<%[1]s>\n%[2]s\n</%[1]s>\n", kind, mark.ReplaceAllStringFunc(strings.TrimSpace(text), func(m string) string {
		return "[" + strings.ToLower(mark.FindStringSubmatch(m)[1]) + "]"
	}))
}

// Clip returns the beginning and the end of a text, n bytes together at most,
// and says between them what is left out. Zero keeps all.
func Clip(text string, n uint64) string {
	return clip(text, n, func(left int) string { return fmt.Sprintf("%d bytes are left out here to save room", left) })
}

// ClipResult does the same with what came of a call, and says how to get the rest.
func ClipResult(text string, n uint64, call string) string {
	return clip(text, n, func(left int) string {
		return fmt.Sprintf("%d of %d bytes are left out here; output_read with call %q reads or searches all of them", left, len(text), call)
	})
}

func clip(text string, n uint64, say func(left int) string) string {
	if n == 0 || uint64(len(text)) <= n {
		return text
	}
	head, tail := whole(text[:n/2]), text[uint64(len(text))-(n-n/2):]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	if i := strings.LastIndexByte(head, '\n'); i >= 0 && len(head)-i < len(head)/8 { // no half of a number is taken for one
		head = head[:i]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/8 {
		tail = tail[i+1:]
	}
	return fmt.Sprintf("%s\n[%s]\n%s", head, say(len(text)-len(head)-len(tail)), tail)
}

// whole drops a rune that was cut at the end.
func whole(s string) string {
	for i := 1; i <= min(utf8.UTFMax, len(s)); i++ {
		if c := s[len(s)-i]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			return s
		}
	}
	return s
}

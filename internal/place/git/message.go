package git

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// trailers are the lines by which a commit is known again. Their values have
// been parsed; only Loom writes them.
type trailers struct {
	bead, execution, decision string
	token                     uint64
	patch                     string
	hooks                     string // how they ended, as [hookLine] says it; empty where there are none
}

func (t trailers) lines() []string {
	lines := []string{"Loom-Bead: " + t.bead, "Loom-Execution: " + t.execution}
	if t.decision != "" {
		lines = append(lines, "Loom-Decision: "+t.decision)
	}
	lines = append(lines, fmt.Sprintf("Loom-Token: %d", t.token), "Loom-Patch: "+t.patch)
	if t.hooks != "" {
		lines = append(lines, "Loom-Hooks: "+t.hooks)
	}
	return lines
}

// notRun is what a trailer says of a hook that git would not run.
const notRun = "skipped"

// hookLine says in a trailer how the hooks of a commit ended: "pre-commit=0
// commit-msg=skipped".
func hookLine(runs []HookRun) string {
	var words []string
	for _, h := range runs {
		switch {
		case h.Name == SetupName:
		case h.Skipped:
			words = append(words, h.Name+"="+notRun)
		default:
			words = append(words, fmt.Sprintf("%s=%d", h.Name, h.ExitCode))
		}
	}
	return strings.Join(words, " ")
}

// hookResults reads what hookLine wrote. What it cannot read did not pass.
func hookResults(line string) []*loomv1.HookResult {
	var list []*loomv1.HookResult
	for _, word := range strings.Fields(line) {
		name, end, _ := strings.Cut(word, "=")
		h := &loomv1.HookResult{Name: name, Skipped: end == notRun}
		if code, err := strconv.ParseInt(end, 10, 32); err == nil {
			h.ExitCode = int32(code)
		} else if !h.Skipped {
			h.ExitCode = -1
		}
		list = append(list, h)
	}
	return list
}

// readTrailers returns the trailers in the last paragraph of a message.
func readTrailers(message string) trailers {
	var t trailers
	paragraphs := strings.Split(strings.TrimSpace(message), "\n\n")
	for _, line := range strings.Split(paragraphs[len(paragraphs)-1], "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "Loom-Bead":
			t.bead = value
		case "Loom-Execution":
			t.execution = value
		case "Loom-Decision":
			t.decision = value
		case "Loom-Token":
			t.token, _ = strconv.ParseUint(value, 10, 64)
		case "Loom-Patch":
			t.patch = value
		case "Loom-Hooks":
			t.hooks = value
		}
	}
	return t
}

const (
	subjectRunes = 72 // what git's own tools show of a subject
	bodyBytes    = 16 << 10
)

var (
	reserved    = regexp.MustCompile(`(?i)^\s*loom-[a-z0-9-]+\s*:`)
	signature   = regexp.MustCompile(`(?i)^\s*[a-z-]+-by\s*:`)
	trailerLine = regexp.MustCompile(`^[A-Za-z0-9-]+: `)
)

// compose makes the text of a message from what a model wrote: one subject
// line, a body, no control characters, and nothing that could be taken for a
// trailer of Loom's or for somebody's signature.
func compose(subject, body string) string {
	subject = strings.Join(strings.Fields(printable(subject)), " ")
	body = printable(body)
	if whole := subject; utf8.RuneCountInString(whole) > subjectRunes {
		subject = shortSubject(whole)
		body = strings.TrimSpace(whole + "\n\n" + body)
	}
	if len(body) > bodyBytes {
		body = strings.ToValidUTF8(body[:bodyBytes], "") + "\n..."
	}
	return tidy(quote(subject, reserved, signature) + "\n\n" + quote(body, reserved, signature))
}

// shortSubject returns the first sentence of a line where that is short enough, and
// else as many of its words as are.
func shortSubject(line string) string {
	if first, _, more := strings.Cut(line, ". "); more && utf8.RuneCountInString(first) <= subjectRunes {
		return first
	}
	runes := []rune(line)[:subjectRunes-3]
	cut := strings.TrimRight(string(runes), " ")
	if i := strings.LastIndexByte(cut, ' '); i > subjectRunes/2 {
		cut = cut[:i]
	}
	return cut + "..."
}

// printable drops what a terminal would obey.
func printable(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
}

// quote marks the lines that match as words and not as trailers.
func quote(text string, patterns ...*regexp.Regexp) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		for _, p := range patterns {
			if p.MatchString(line) {
				lines[i] = "> " + line
				break
			}
		}
	}
	return strings.Join(lines, "\n")
}

// tidy trims lines and joins runs of empty ones.
func tidy(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRightFunc(lines[i], unicode.IsSpace)
	}
	text = strings.Trim(strings.Join(lines, "\n"), "\n")
	for strings.Contains(text, "\n\n\n") {
		text = strings.ReplaceAll(text, "\n\n\n", "\n\n")
	}
	return text
}

// seal ends a message with the trailers, whatever stood there before. It gives
// "" when nothing but trailers is in it.
func seal(message string, t trailers) string {
	own := map[string]bool{}
	for _, line := range t.lines() {
		own[line] = true
	}
	var kept []string
	for _, line := range strings.Split(message, "\n") {
		if !own[strings.TrimSpace(line)] {
			kept = append(kept, line)
		}
	}
	text := tidy(quote(strings.Join(kept, "\n"), reserved))
	if text == "" {
		return ""
	}
	return text + gap(text) + strings.Join(t.lines(), "\n") + "\n"
}

// gap is what stands between a text and its trailers: a text that ends in
// trailers of its own, as hooks add them, is continued.
func gap(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	if len(paragraphs) == 1 {
		return "\n\n"
	}
	for _, line := range strings.Split(paragraphs[len(paragraphs)-1], "\n") {
		if !trailerLine.MatchString(line) {
			return "\n\n"
		}
	}
	return "\n"
}

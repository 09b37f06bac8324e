// Package redact takes the values of secrets out of texts: out of what models
// are told, what tools gave, what is logged and what is recorded.
//
// It promises that a value which it was given does not stand in a text that
// went through it: as it is, in JSON, in base64 (wherever in a longer one), in
// hexadecimal, in an address, or with line breaks or colours of a terminal in
// between; that the same text always becomes the same; and that a text which
// went through it goes through again unchanged. It never guesses: what it was
// not given, it does not find.
package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// secretName is what the names of variables with secrets look like.
var secretName = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$`)

// Shortest and Longest bound in bytes what is taken for a secret: a shorter
// value would be found everywhere, a longer one is a file.
const (
	Shortest = 8
	Longest  = 4096
)

// Secrets are the values to take out. Nil has none. It may be used by several
// goroutines.
type Secrets struct {
	forms  []secret
	plain  *strings.Replacer
	broken []broken
}

// secret is one form of one secret's value.
type secret struct{ name, form string }

// broken finds a value with something in between.
type broken struct {
	name  string
	first string // its first byte, which texts without it need not be searched for
	value *regexp.Regexp
}

// Of returns the secrets of an environment, "NAME=VALUE" each: those whose name
// ends in KEY, TOKEN, SECRET, PASSWORD, PASSWD or CREDENTIALS, and whose value
// has [Shortest] to [Longest] bytes and is no path.
func Of(env []string) *Secrets {
	s := &Secrets{}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if value = strings.TrimSpace(value); secretName.MatchString(name) && len(value) >= Shortest && len(value) <= Longest && !isPath(value) {
			s.add(name, value)
		}
	}
	slices.SortFunc(s.forms, func(a, b secret) int { // the longest first: one may be part of another
		return cmp.Or(cmp.Compare(len(b.form), len(a.form)), strings.Compare(a.form, b.form), strings.Compare(a.name, b.name))
	})
	var pairs []string
	for _, f := range s.forms {
		pairs = append(pairs, f.form, inPlaceOf(f.name))
	}
	s.plain = strings.NewReplacer(pairs...)
	return s
}

// isPath reports whether a value names a file, as that of SOME_KEY can.
func isPath(value string) bool {
	return strings.HasPrefix(value, "/") && strings.Count(value, "/") > 1
}

func inPlaceOf(name string) string { return "[redacted " + name + "]" }

func (s *Secrets) add(name, value string) {
	for _, form := range forms(value) {
		s.forms = append(s.forms, secret{name, form})
	}
	parts := make([]string, 0, len(value))
	for _, c := range value {
		parts = append(parts, regexp.QuoteMeta(string(c)))
	}
	between := `(?:\x1b\[[0-9;]*[A-Za-z]|\\?\r?\n[ \t]*)*`
	if re, err := regexp.Compile(strings.Join(parts, between)); err == nil { // one that is too large is found as it is
		s.broken = append(s.broken, broken{name, value[:1], re})
	}
}

// Text returns a text without the secrets, each by what stands in its place.
func (s *Secrets) Text(text string) string {
	if s == nil || len(s.forms) == 0 {
		return text
	}
	text = s.plain.Replace(text)
	if !strings.ContainsAny(text, "\n\x1b") {
		return text
	}
	for _, b := range s.broken {
		if strings.Contains(text, b.first) {
			text = b.value.ReplaceAllLiteralString(text, inPlaceOf(b.name))
		}
	}
	return text
}

// In returns the names of the secrets that stand in a text, sorted.
func (s *Secrets) In(text string) []string {
	if s == nil {
		return nil
	}
	var names []string
	for _, f := range s.forms {
		if strings.Contains(text, f.form) {
			names = append(names, f.name)
		}
	}
	for _, b := range s.broken {
		if b.value.MatchString(text) {
			names = append(names, b.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// forms are the ways in which a value is written.
func forms(value string) []string {
	coded := hex.EncodeToString([]byte(value))
	list := []string{value, coded, strings.ToUpper(coded), url.QueryEscape(value), url.PathEscape(value)}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			list = append(list, within(e, value, offset))
		}
	}
	if quoted, err := json.Marshal(value); err == nil {
		list = append(list, string(quoted[1:len(quoted)-1]))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// within is what stays the same of a value's base64 when so many bytes come
// before it, and any after: without the characters that hold bits of those.
func within(e *base64.Encoding, value string, offset int) string {
	text := e.EncodeToString(append(make([]byte, offset), value...))
	text = text[(offset*8+5)/6:]
	if (offset+len(value))%3 != 0 {
		text = text[:len(text)-1]
	}
	return text
}

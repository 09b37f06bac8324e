// Package redact takes the values of secrets out of texts: out of what models
// are told, what tools gave, what is logged and what is recorded.
//
// It promises that a value which it was given does not stand in a text that
// went through it: as it is, in JSON, in base64 (wherever in a longer one), in
// hexadecimal, in an address, with line breaks or colours of a terminal in
// between, or half of it where a text was cut; that the same text always becomes the same; and that a text which
// went through it goes through again unchanged. It never guesses: what it was
// not given, it does not find.
package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
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
	forms  []*secret
	plain  *strings.Replacer
	whole  *finder // of the forms
	joined *finder // of the forms as joined has them
	halves *finder // of what is taken for the first half of a form
}

// secret is one form of one secret's value.
type secret struct {
	name, form string
	place      string // what stands in its place
	joined     string
	broken     func() *regexp.Regexp // finds it with something in between; nil if it is too large for that
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
	slices.SortFunc(s.forms, func(a, b *secret) int { // the longest first: one may be part of another
		return cmp.Or(cmp.Compare(len(b.form), len(a.form)), strings.Compare(a.form, b.form), strings.Compare(a.name, b.name))
	})
	s.ready()
	return s
}

// ready makes what finds the forms, and decides what stands in their places.
func (s *Secrets) ready() {
	var pairs, all, inOne, halves []string
	for _, f := range s.forms {
		all, inOne, halves = append(all, f.form), append(inOne, f.joined), append(halves, f.form[:half(f.form)])
	}
	s.whole, s.joined, s.halves = newFinder(all), newFinder(inOne), newFinder(halves)
	for _, f := range s.forms {
		f.place = s.inPlaceOf(f.name)
		pairs = append(pairs, f.form, f.place)
	}
	s.plain = strings.NewReplacer(pairs...)
}

// isPath reports whether a value names a file, as that of SOME_KEY can.
func isPath(value string) bool {
	return strings.HasPrefix(value, "/") && strings.Count(value, "/") > 1
}

// inPlaceOf is what stands in a secret's place: no secret does, such as a
// variable's own name, and what is shorter than any cannot.
func (s *Secrets) inPlaceOf(name string) string {
	if text := "[redacted " + name + "]"; !s.whole.in(text) {
		return text
	}
	return "[***]"
}

func (s *Secrets) add(name, value string) {
	for _, form := range forms(value) {
		s.forms = append(s.forms, &secret{name: name, form: form, joined: joined(form), broken: sync.OnceValue(func() *regexp.Regexp { return broken(form) })})
	}
}

// broken finds a form with line breaks and colours in between.
func broken(form string) *regexp.Regexp {
	parts := make([]string, 0, len(form))
	for _, c := range form {
		parts = append(parts, regexp.QuoteMeta(string(c)))
	}
	between := `(?:\x1b\[[0-9;]*[A-Za-z]|\\?\r?\n[ \t]*)*`
	re, err := regexp.Compile(strings.Join(parts, between))
	if err != nil {
		return nil
	}
	return re
}

// Text returns a text without the secrets, each by what stands in its place.
func (s *Secrets) Text(text string) string {
	if s == nil || len(s.forms) == 0 {
		return text
	}
	if s.whole.in(text) {
		text = s.plain.Replace(text)
	}
	for _, f := range s.mayBreak(text) {
		if re := f.broken(); re != nil {
			text = re.ReplaceAllLiteralString(text, f.place)
		}
	}
	return s.cutOff(text)
}

// mayBreak returns the forms that may stand in a text with something in
// between: too many rather than too few.
func (s *Secrets) mayBreak(text string) []*secret {
	if !strings.ContainsAny(text, "\n\x1b") {
		return nil
	}
	inOne := joined(text)
	if !s.joined.in(inOne) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.forms), func(f *secret) bool { return !strings.Contains(inOne, f.joined) })
}

// In returns the names of the secrets that stand in a text, sorted.
func (s *Secrets) In(text string) []string {
	if s == nil || len(s.forms) == 0 {
		return nil
	}
	var names []string
	if s.whole.in(text) {
		for _, f := range s.forms {
			if strings.Contains(text, f.form) {
				names = append(names, f.name)
			}
		}
	}
	for _, f := range s.mayBreak(text) {
		if re := f.broken(); re != nil && re.MatchString(text) {
			names = append(names, f.name)
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
	for _, html := range []bool{false, true} {
		once := quoted(value, html)
		list = append(list, once, quoted(once, false), quoted(once, true))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// quoted is a text as it stands in a string of JSON, with HTML's own characters
// escaped or not.
func quoted(text string, html bool) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(html)
	if e.Encode(text) != nil {
		return text
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(out.String()), `"`), `"`)
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

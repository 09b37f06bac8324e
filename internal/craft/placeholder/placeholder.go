// Package placeholder fills templates: {{name}} becomes a value, and
// {{#each list}} ... {{/each}} is repeated for each item of a list, with the
// item's own names, or {{item}} for one that is no object.
//
// It promises that every placeholder is filled and every value is used, or
// that all that is missing, unknown or unused is said at once with line and
// column; and that values are text and nothing else: what looks like a
// placeholder in a value stays as it is, and in HTML it is escaped.
//
// It has no conditions, functions or includes. \{{ stands for {{ itself.
package placeholder

import (
	"fmt"
	"html"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// Limits of a template.
const (
	MaxTemplate = 1 << 20 // bytes
	MaxOutput   = 4 << 20 // bytes of what comes out
	maxDepth    = 4       // levels of each
	maxProblems = 50
)

// Values are text by name, or lists of values: []Values, or []string.
type Values map[string]any

var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

// part is a piece of a template: text, a placeholder, or what is repeated.
type part struct {
	text string
	name string
	each bool
	body []part
	at   string
}

// Fill returns the template with its values. The errors are template/invalid
// and template/value, each with line and column.
func Fill(template string, values Values, asHTML bool) (string, error) {
	if len(template) > MaxTemplate {
		return "", fault.New("template/invalid", "the template has %d bytes; at most %d are read", len(template), MaxTemplate)
	}
	if !utf8.ValidString(template) {
		return "", fault.New("template/invalid", "the template is not UTF-8")
	}
	p := parser{text: template, line: 1, column: 1}
	parts, err := p.parse("", 0)
	if err != nil {
		return "", err
	}
	w := writer{escape: asHTML, used: map[string]bool{}}
	w.write(parts, []Values{values})
	for _, n := range slices.Sorted(maps.Keys(values)) {
		if !w.used[n] {
			w.refuse("", "the template has no placeholder for this value").Got(n)
		}
	}
	if w.out.Len() > MaxOutput {
		return "", fault.New("template/invalid", "what comes out has more than %d bytes", MaxOutput)
	}
	return w.out.String(), fault.Join(w.errs)
}

// parser cuts a template into parts.
type parser struct {
	text         string
	line, column int
}

// take goes over n bytes.
func (p *parser) take(n int) string {
	s := p.text[:n]
	p.text = p.text[n:]
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		p.line += strings.Count(s, "\n")
		p.column = 1
		s = s[i+1:]
	}
	p.column += utf8.RuneCountInString(s)
	return s
}

func (p *parser) place() string { return fmt.Sprintf("%d:%d", p.line, p.column) }

// parse reads until the end, or until the each at the place opened is closed.
func (p *parser) parse(opened string, depth int) (list []part, err error) {
	for {
		i := strings.Index(p.text, "{{")
		if i < 0 {
			list = append(list, part{text: p.text})
			p.take(len(p.text))
			if opened != "" {
				return nil, fault.New("template/invalid", "{{#each}} is not closed by {{/each}}").At(opened)
			}
			return list, nil
		}
		if i > 0 && p.text[i-1] == '\\' {
			list = append(list, part{text: p.text[:i-1] + "{{"})
			p.take(i + 2)
			continue
		}
		list = append(list, part{text: p.text[:i]})
		p.take(i)
		next, closed, err := p.tag(depth)
		if err != nil {
			return nil, err
		}
		if closed != "" {
			if opened == "" {
				return nil, fault.New("template/invalid", "{{/each}} closes nothing").At(closed)
			}
			return list, nil
		}
		list = append(list, next)
	}
}

// tag reads what is between the braces; closed is the place of a {{/each}}.
func (p *parser) tag(depth int) (next part, closed string, err error) {
	at := p.place()
	end := strings.Index(p.text, "}}")
	if end < 0 || strings.Contains(p.text[:end], "\n") {
		return part{}, "", fault.New("template/invalid", "the braces are not closed on this line").At(at).Want("write \\{{ for the braces themselves")
	}
	word := strings.TrimSpace(p.text[2:end])
	p.take(end + 2)
	list, each := strings.CutPrefix(word, "#each ")
	switch list = strings.TrimSpace(list); {
	case word == "/each":
		return part{}, at, nil
	case !name.MatchString(list):
		return part{}, "", fault.New("template/invalid", "it is not a name, #each NAME or /each").At(at).Got(word)
	case !each:
		return part{name: list, at: at}, "", nil
	case depth == maxDepth:
		return part{}, "", fault.New("template/invalid", "more than %d levels of {{#each}}", maxDepth).At(at)
	}
	body, err := p.parse(at, depth+1)
	return part{name: list, at: at, each: true, body: body}, "", err
}

// writer fills parts in.
type writer struct {
	out    strings.Builder
	escape bool
	used   map[string]bool // of the outermost values
	errs   []*fault.Error
	missed map[string]bool
}

func (w *writer) refuse(at, format string, args ...any) *fault.Error {
	e := fault.New("template/value", format, args...).At(at)
	if len(w.errs) < maxProblems {
		w.errs = append(w.errs, e)
	}
	return e
}

// find looks a name up from the innermost values outwards.
func (w *writer) find(p part, scopes []Values) (any, bool) {
	for i := len(scopes) - 1; i >= 0; i-- {
		if v, ok := scopes[i][p.name]; ok {
			if i == 0 {
				w.used[p.name] = true
			}
			return v, true
		}
	}
	if w.missed == nil {
		w.missed = map[string]bool{}
	}
	if !w.missed[p.at] {
		w.missed[p.at] = true
		e := w.refuse(p.at, "there is no value for this placeholder").Got(p.name)
		e.Hint = suggest.Hint(p.name, slices.Sorted(maps.Keys(scopes[len(scopes)-1])))
	}
	return nil, false
}

func (w *writer) write(list []part, scopes []Values) {
	for _, p := range list {
		if w.out.WriteString(p.text); p.name == "" || w.out.Len() > MaxOutput {
			continue
		}
		v, ok := w.find(p, scopes)
		if !ok {
			continue
		}
		switch v := v.(type) {
		case []Values:
			w.each(p, scopes, v)
		case []string:
			items := make([]Values, len(v))
			for i, s := range v {
				items[i] = Values{"item": s}
			}
			w.each(p, scopes, items)
		default:
			w.value(p, v)
		}
	}
}

func (w *writer) each(p part, scopes []Values, items []Values) {
	if !p.each {
		w.refuse(p.at, "the value is a list; repeat what shows it with {{#each %s}}", p.name).Got(p.name)
		return
	}
	for _, item := range items {
		if w.out.Len() > MaxOutput {
			return
		}
		w.write(p.body, append(slices.Clone(scopes), item))
	}
}

func (w *writer) value(p part, v any) {
	text, ok := v.(string)
	switch {
	case p.each:
		w.refuse(p.at, "the value is not a list").Got(p.name)
	case !ok:
		w.refuse(p.at, "the value is neither text nor a list").Got(p.name)
	case w.escape:
		w.out.WriteString(html.EscapeString(text))
	default:
		w.out.WriteString(text)
	}
}

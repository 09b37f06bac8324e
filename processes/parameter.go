package processes

import (
	"regexp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The most that a process may say of its parameters.
const (
	maxParameters = 32
	maxOneOf      = 64
	maxPattern    = 500 // bytes, of a description too
)

var parameterName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

func parameters(files []parameterFile) (list []*loomv1.Parameter) {
	for _, f := range files {
		list = append(list, &loomv1.Parameter{
			Name: f.Name, Description: strings.TrimSpace(f.Description), Kind: f.Kind, Pattern: f.Pattern, OneOf: f.OneOf, Required: f.Required,
		})
	}
	return list
}

func (w *writer) parameters(all []*loomv1.Parameter) {
	if len(all) == 0 {
		return
	}
	w.line("parameters:")
	for _, p := range all {
		w.line("  - name: %s", plain(p.Name))
		w.in("    ", func() {
			w.text("description", p.Description)
			w.key("kind", plain(p.Kind))
			w.key("pattern", plain(p.Pattern))
			w.key("one_of", list(p.OneOf))
			w.key("required", map[bool]string{true: "true"}[p.Required])
		})
	}
}

// parameters checks what a definition says of the context.
func (v *validator) parameters() {
	list := v.def.Parameters
	if len(list) > maxParameters {
		v.refuse("workflow/invalid", at("parameters"), "%d parameters", len(list)).Want("at most %d", maxParameters)
		return
	}
	for i, p := range list {
		v.parameter(i, p)
		if j := slices.IndexFunc(list[:i], func(o *loomv1.Parameter) bool { return o.Name == p.Name }); j >= 0 {
			v.refuse("workflow/invalid", at("parameters", i, "name"), "parameter %q is there already, which is parameters[%d]", p.Name, j)
		}
	}
}

func (v *validator) parameter(i int, p *loomv1.Parameter) {
	here := func(key string) []any { return at("parameters", i, key) }
	if !parameterName.MatchString(p.Name) {
		v.refuse("workflow/invalid", here("name"), "no name of a value in the context").Got(p.Name).Want("small letters, digits and _, a letter first, at most 32")
	}
	if len(p.Description) > maxPattern {
		v.refuse("workflow/invalid", here("description"), "it has %d bytes", len(p.Description)).Want("at most %d", maxPattern)
	}
	if p.Kind != "" && !slices.Contains(verify.ParameterKinds, p.Kind) {
		v.refuse("workflow/invalid", here("kind"), "there is no such kind of parameter").Got(p.Kind).Want("%s", suggest.Among(p.Kind, verify.ParameterKinds))
	}
	isText := p.Kind == "" || p.Kind == "text" || p.Kind == "file"
	switch _, err := regexp.Compile(p.Pattern); {
	case p.Pattern == "":
	case !isText:
		v.refuse("workflow/invalid", here("pattern"), "only a text has a pattern")
	case err != nil || len(p.Pattern) > maxPattern:
		v.refuse("workflow/invalid", here("pattern"), "no pattern in RE2 syntax of at most %d bytes", maxPattern).Got(p.Pattern)
	}
	if len(p.OneOf) > maxOneOf || len(p.OneOf) > 0 && !isText {
		v.refuse("workflow/invalid", here("one_of"), "at most %d texts are named, of a text alone", maxOneOf)
	}
	for k, word := range p.OneOf {
		if word == "" || slices.Contains(p.OneOf[:k], word) {
			v.refuse("workflow/invalid", at("parameters", i, "one_of", k), "a text is named once, and is not empty").Got(word)
		}
	}
}

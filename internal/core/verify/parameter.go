package verify

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ParameterKinds are what a parameter's value can be.
var ParameterKinds = []string{"text", "file", "number", "bool"}

// Parameters holds a context against what a definition takes, and against the names of
// deliverables that come from it, and returns all that does not fit, each at its key.
func Parameters(def *loomv1.Definition, context *structpb.Struct) (errs []*fault.Error) {
	declared := map[string]bool{}
	for _, p := range def.GetParameters() {
		declared[p.Name] = true
		value, given := context.GetFields()[p.Name]
		if err := parameter(p, value, given); err != nil {
			errs = append(errs, err.At("context."+p.Name))
		}
	}
	errs = append(errs, slips(def, context)...)
	for _, m := range inNames(def) {
		if part := Fill(m[0], context); !declared[m[1]] && !nameIsSound(part) {
			declared[m[1]] = true // once
			errs = append(errs, notAFile().At("context."+m[1]).Got(part))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	for _, n := range def.GetNodes() { // each part may be sound, and the whole too long
		if _, err := InContext(n.GetPhase(), context); err != nil {
			return []*fault.Error{fault.New("submit/invalid-field", "a deliverable of %s would be called so: %s", n.Id, fault.From(err).Message).At("context").Got(fault.From(err).Value)}
		}
	}
	return nil
}

// NamedBy returns the values of the context that names of deliverables come from.
func NamedBy(def *loomv1.Definition) (keys []string) {
	for _, m := range inNames(def) {
		keys = append(keys, m[1])
	}
	return keys
}

// inNames are the places in the names of deliverables that the context fills, each with
// the name of its value.
func inNames(def *loomv1.Definition) (list [][]string) {
	for _, n := range def.GetNodes() {
		for _, s := range n.GetPhase().GetDeliverables() {
			list = append(list, place.FindAllStringSubmatch(s, -1)...)
		}
	}
	return list
}

// slips returns the values that no parameter is declared for, and that were most likely
// meant for one that is not given.
func slips(def *loomv1.Definition, context *structpb.Struct) (errs []*fault.Error) {
	var missing []string
	taken := map[string]bool{}
	for _, p := range def.GetParameters() {
		if taken[p.Name] = true; context.GetFields()[p.Name] == nil {
			missing = append(missing, p.Name)
		}
	}
	for _, m := range inNames(def) {
		taken[m[1]] = true
	}
	for _, key := range slices.Sorted(maps.Keys(context.GetFields())) {
		if meant := suggest.Slip(key, missing); meant != "" && !taken[key] {
			errs = append(errs, fault.New("submit/invalid-field", "the process takes no such value").At("context."+key).Got(key).
				Want("did you mean %s? Else choose a name that is less alike", meant))
		}
	}
	return errs
}

func notAFile() *fault.Error {
	return fault.New("submit/invalid-field", "not part of the name of a file in the workspace").Want("letters, digits, '.', '-', '_' and '/'")
}

func parameter(p *loomv1.Parameter, value *structpb.Value, given bool) *fault.Error {
	invalid := func(format string, args ...any) *fault.Error {
		return fault.New("submit/invalid-field", format, args...)
	}
	about := ""
	if p.Description != "" {
		about = ": " + p.Description
	}
	if !given {
		if p.Required {
			return invalid("the process needs this value%s", about).Want("--set %s=VALUE", p.Name)
		}
		return nil
	}
	var fits bool
	switch value.GetKind().(type) {
	case *structpb.Value_NumberValue:
		fits = p.Kind == "number"
	case *structpb.Value_BoolValue:
		fits = p.Kind == "bool"
	case *structpb.Value_StringValue:
		fits = p.Kind == "" || p.Kind == "text" || p.Kind == "file"
	}
	text := value.GetStringValue()
	switch {
	case !fits && (p.Kind == "number" || p.Kind == "bool"):
		return invalid("the value is no %s%s", p.Kind, about).Got(shown(value))
	case !fits:
		return invalid("the value is no text%s", about).Got(shown(value)).Want("a text; what looks like JSON in quotes: '\"%s\"'", shown(value))
	case p.Kind == "number" || p.Kind == "bool":
		return nil
	case len(p.OneOf) > 0 && !slices.Contains(p.OneOf, text):
		return invalid("the process does not take this value%s", about).Got(text).Want("%s", suggest.Among(text, p.OneOf))
	case p.Kind == "file" && !nameIsSound(text):
		return notAFile().Got(text)
	case p.Pattern != "" && !matches(p.Pattern, text):
		return invalid("the value does not match the process's pattern%s", about).Got(text).Want("%s", p.Pattern)
	}
	return nil
}

func matches(pattern, text string) bool {
	re, err := regexp.Compile(`^(?:` + pattern + `)$`)
	return err == nil && re.MatchString(text)
}

func shown(v *structpb.Value) string {
	data, err := v.MarshalJSON()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

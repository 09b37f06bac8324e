package document

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/lazy"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Template is a spec to begin with, whose {places} are filled.
type Template struct {
	ID       string `yaml:"id" loom:"required"`
	Title    string `yaml:"title" loom:"required"`
	Category string `yaml:"category" loom:"required"`
	Purpose  string `yaml:"purpose" loom:"required"`
	// Type is the kind of file that it is meant for.
	Type       string      `yaml:"type" loom:"required"`
	Parameters []Parameter `yaml:"parameters" loom:"required"`
	tree       any
}

// Parameter is a place in a template.
type Parameter struct {
	Name    string `yaml:"name" loom:"required"`
	About   string `yaml:"about" loom:"required"`
	Example string `yaml:"example" loom:"required"`
	// Default is what stands there if nothing is given; without one something must be.
	Default string `yaml:"default"`
}

// Templates are those that come with Loom, by name.
func Templates() []Template {
	dirs, err := fs.ReadDir(files, "templates")
	if err != nil {
		panic(fmt.Sprintf("document: %v", err))
	}
	var list []Template
	for _, d := range dirs {
		dir := path.Join("templates", d.Name())
		t, err := ParseTemplate(dir, builtin(dir+"/manifest.yaml"), builtin(dir+"/spec.json"))
		if err != nil {
			panic(fmt.Sprintf("document: the template %s: %v", d.Name(), err))
		}
		list = append(list, *t)
	}
	return list
}

// ParseTemplate reads a template's manifest and its spec. What the spec has in braces
// must be a parameter, and each parameter must be somewhere in the spec; with its
// examples filled in, the spec must be one that [Read] takes.
func ParseTemplate(dir string, manifest, spec []byte) (*Template, error) {
	t := &Template{}
	doc, err := strictyaml.Parse(dir+"/manifest.yaml", manifest)
	if err != nil {
		return nil, err
	}
	doc.Decode(t)
	if t.tree, err = parse(dir+"/spec.json", spec); err != nil {
		return nil, err
	}
	used := map[string]bool{}
	everyText(t.tree, func(s string) any {
		for _, m := range open.FindAllStringSubmatch(s, -1) {
			used[m[1]] = true
		}
		return s
	})
	values := map[string]string{}
	for i, p := range t.Parameters {
		if !used[p.Name] {
			doc.Add(fault.New("document/rule", "the spec has no {%s}", p.Name).Got(p.Name), "parameters", i, "name")
		}
		delete(used, p.Name)
		values[p.Name] = p.Example
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		doc.Add(fault.New("document/rule", "the spec has {%s}, which is no parameter", name), "parameters")
	}
	if t.ID != "" && !templateID.MatchString(t.ID) {
		doc.Add(fault.New("document/rule", "a template's name has lower-case letters, digits and hyphens, 64 at most").Got(t.ID), "id")
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	m, err := t.Fill(values)
	if err != nil {
		return nil, err
	}
	if kind := KindOf(m).Name; !slices.Contains(typesOf[kind], t.Type) {
		doc.Add(fault.New("document/rule", "the spec is a %s, of which no such file is made", kind).Got(t.Type).Want("%s", suggest.Among(t.Type, typesOf[kind])), "type")
	}
	return t, doc.Err()
}

// templateID is what a template is called: also its directory.
var templateID = lazy.Compile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// typesOf are the kinds of files that are made of a spec, the best first.
var typesOf = map[string][]string{
	"document": {"docx", "pdf", "html", "md", "pptx"}, "sheet": {"xlsx", "docx", "pdf", "html", "md"}, "presentation": {"pptx", "docx", "pdf", "html", "md"},
}

// Example is the spec that the template makes with its own examples.
func (t Template) Example() (proto.Message, error) {
	values := map[string]string{}
	for _, p := range t.Parameters {
		values[p.Name] = p.Example
	}
	return t.Fill(values)
}

// Fill makes a spec of the template. It returns document/invalid for all values that
// are missing or unknown, and for a spec that would be none.
func (t Template) Fill(values map[string]string) (proto.Message, error) {
	var problems []*fault.Error
	full := map[string]string{}
	var names []string
	for _, p := range t.Parameters {
		names = append(names, p.Name)
		full[p.Name] = values[p.Name]
		if full[p.Name] == "" {
			full[p.Name] = p.Default
		}
		if full[p.Name] == "" {
			problems = append(problems, fault.New("document/invalid", "the template %q needs a value for %q: %s", t.ID, p.Name, p.About).Want("for example %s=%q", p.Name, p.Example))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			problems = append(problems, fault.New("document/invalid", "the template %q has no parameter of this name", t.ID).Got(name).Want("%s", suggest.Among(name, names)))
		}
	}
	if len(problems) > 0 {
		return nil, fault.Join(problems)
	}
	tree := everyText(t.tree, func(s string) any {
		return open.ReplaceAllStringFunc(s, func(place string) string {
			if v, ok := full[strings.Trim(place, "{}")]; ok {
				return v
			}
			return place
		})
	})
	m, problems := build(guess(tree), tree)
	return m, fault.Join(problems)
}

// ReadPatches reads a set of patches, or takes those that a review recommends.
func ReadPatches(file string, data []byte) ([]*loomv1.Patch, error) {
	m, err := Read(file, data, "")
	if err != nil {
		return nil, err
	}
	switch m := m.(type) {
	case *loomv1.PatchSet:
		return m.Patches, nil
	case *loomv1.ReviewReport:
		return m.RecommendedPatches, nil
	}
	return nil, fault.New("document/invalid", "a %s has no patches", KindOf(m).Name).At(file).Want("give a set of patches or a review")
}

// ReadStyles reads the part "styles" of a spec out of a file of its own.
func ReadStyles(file string, data []byte) (*loomv1.DocumentStyles, error) {
	tree, err := parse(file, data)
	if err != nil {
		return nil, err
	}
	c := &checker{}
	s := &loomv1.DocumentStyles{}
	if c.message(s.ProtoReflect().Descriptor(), tree, ""); len(c.problems) == 0 {
		text, err := encode(tree)
		if err == nil {
			err = protojson.Unmarshal(text, s)
		}
		if err == nil {
			return s, nil
		}
		c.refuse("", "it is no styles: %s", err)
	}
	for _, p := range c.problems {
		p.Where = place(file, p.Where)
	}
	return nil, fault.Join(c.problems)
}

package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Where the templates of a workspace are, each in a directory of its name, and the files of
// one.
const (
	TemplatesDir     = ".loom/templates"
	TemplateManifest = "manifest.yaml"
	TemplateSpec     = "spec.json"
)

// PlacedTemplate is a template and the place that it comes from.
type PlacedTemplate struct {
	Template
	From string // a directory of the workspace, or "built in"
}

// TemplatesIn are the templates of a workspace and those of Loom, by name; one of the
// workspace stands in the place of Loom's. One that is not sound is an error.
func TemplatesIn(workspace fs.FS) ([]PlacedTemplate, error) {
	names, err := ownTemplates(workspace)
	if err != nil {
		return nil, err
	}
	var list []PlacedTemplate
	for _, name := range names {
		dir := path.Join(TemplatesDir, name)
		t, _, err := ReadTemplate(workspace, dir, dir)
		if err != nil {
			return nil, err
		}
		list = append(list, PlacedTemplate{*t, dir})
	}
	for _, t := range Templates() {
		if !slices.ContainsFunc(list, func(p PlacedTemplate) bool { return p.ID == t.ID }) {
			list = append(list, PlacedTemplate{t, "built in"})
		}
	}
	slices.SortFunc(list, func(a, b PlacedTemplate) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// ownTemplates are the names of a workspace's templates.
func ownTemplates(workspace fs.FS) (names []string, err error) {
	dirs, err := fs.ReadDir(workspace, TemplatesDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New("usage/argument", "cannot be read").At(TemplatesDir).Because(errors.Unwrap(err))
	}
	for _, d := range dirs {
		if _, err := fs.Stat(workspace, path.Join(TemplatesDir, d.Name(), TemplateManifest)); err == nil && !strings.HasPrefix(d.Name(), ".") {
			names = append(names, d.Name()) // none that was not finished
		}
	}
	return names, nil
}

// TemplateOf finds a template by name, one of the workspace before one of Loom's;
// usage/argument with those that are there.
func TemplateOf(workspace fs.FS, id string) (*Template, error) {
	names, err := ownTemplates(workspace)
	if err != nil {
		return nil, err
	}
	if slices.Contains(names, id) {
		dir := path.Join(TemplatesDir, id)
		t, _, err := ReadTemplate(workspace, dir, dir)
		return t, err
	}
	for _, t := range Templates() {
		if t.ID == id {
			return &t, nil
		}
		names = append(names, t.ID)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	want := suggest.Hint(id, names)
	if want == "" {
		want = "there are " + strings.Join(names, ", ")
	}
	return nil, fault.New("usage/argument", "there is no such template").Got(id).Want("%s", want)
}

// ReadTemplate reads and checks the template of a directory, which is told as shown; it also
// returns the two files as they are.
func ReadTemplate(files fs.FS, dir, shown string) (*Template, map[string][]byte, error) {
	read := map[string][]byte{}
	for _, name := range []string{TemplateManifest, TemplateSpec} {
		data, err := readRegular(files, path.Join(dir, name))
		if err != nil {
			return nil, nil, err.At(path.Join(shown, name))
		}
		read[name] = data
	}
	t, err := ParseTemplate(shown, read[TemplateManifest], read[TemplateSpec])
	return t, read, err
}

// readRegular reads a file, of at most the size of an artifact.
func readRegular(files fs.FS, name string) ([]byte, *fault.Error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, fault.New("usage/argument", "cannot be read").Because(errors.Unwrap(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fault.New("usage/argument", "it is no file")
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, fault.New("usage/argument", "cannot be read").Because(errors.Unwrap(err))
	}
	if len(data) > MaxBytes {
		return nil, fault.New("document/limit", "the file has more than %d MiB", MaxBytes>>20)
	}
	return data, nil
}

// Begin is the template's spec with the values that are there filled in, as JSON: what is
// open still stands in braces.
func (t Template) Begin(values map[string]string) []byte {
	data, err := json.MarshalIndent(everyText(t.tree, func(s string) any {
		return open.ReplaceAllStringFunc(s, func(place string) string {
			if v := values[strings.Trim(place, "{}")]; v != "" {
				return v
			}
			return place
		})
	}), "", "  ")
	if err != nil {
		panic(fmt.Sprintf("document: a template without JSON: %v", err)) // it came of JSON
	}
	return data
}

// Becomes says whether a file of a type is made of the template's spec.
func (t Template) Becomes(format string) error {
	if list := typesOf[guess(t.tree).Name]; !slices.Contains(list, format) {
		return fault.New("document/format", "of the template %q no %s is made", t.ID, format).Got(format).Want("%s", suggest.Among(format, list))
	}
	return nil
}

// Styles are those of the template, nil for none.
func (t Template) Styles() *loomv1.DocumentStyles {
	m, err := t.Example()
	if err != nil {
		return nil
	}
	return stylesOf(m)
}

// Outline is what the template plans: its sections, by their ids, for a purpose.
func (t Template) Outline(artifactType, purpose string) *loomv1.PlanningOutline {
	o := Minimal(artifactType, purpose)
	m, err := t.Example()
	if err != nil {
		return o
	}
	o.Sections = nil
	for _, p := range parts(m) {
		s := &loomv1.OutlineSection{Id: p.id, Title: p.heading, Required: proto.Bool(true), SectionType: "narrative"}
		switch {
		case p.table != nil:
			s.SectionType = "table"
			o.DataNeeds = append(o.DataNeeds, &loomv1.DataNeed{Name: p.id, Kind: "table", Columns: p.table.Headers})
		case p.body == "" && len(p.texts) > 0:
			s.SectionType = "list"
		}
		if p.level > 1 {
			s.Level = int32(p.level) //nolint:gosec // from 1 to 6
		}
		o.Sections = append(o.Sections, s)
	}
	return o
}

// Lacks are the template's sections that an outline does not plan, each with its heading.
func (t Template) Lacks(o *loomv1.PlanningOutline) (problems []*fault.Error) {
	for _, s := range t.Outline(o.ArtifactType, o.Purpose).Sections {
		if !slices.ContainsFunc(o.Sections, func(have *loomv1.OutlineSection) bool { return have.Id == s.Id }) {
			problems = append(problems, fault.New("document/invalid", "the template's section %q (%s) is missing", s.Id, s.Title).At("sections"))
		}
	}
	return problems
}

// Open are the texts of a spec in which a place of the template is not filled yet, as
// findings that keep it from becoming a file.
func (t Template) Open(spec proto.Message) (list []*loomv1.ReviewFinding) {
	known := map[string]bool{}
	for _, p := range t.Parameters {
		known[p.Name] = true
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case string:
			for _, m := range open.FindAllStringSubmatch(v, -1) {
				if known[m[1]] {
					list = append(list, &loomv1.ReviewFinding{Rule: "template/place", Path: path, Severity: "error", Message: "the place {" + m[1] + "} of the template is not filled"})
				}
			}
		case []any:
			for i, e := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), e)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(join(path, key), v[key])
			}
		}
	}
	walk("", treeOf(spec))
	return list
}

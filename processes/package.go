package processes

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// unpack adds what a package has beside its process.yaml: examples/*.yaml, each
// a planner example; verification/*.yaml, each a list of rules; texts of
// templates and personas, which {name} stands for; and the names of its tools.
func (r *includer) unpack(dir string) {
	r.packaged, r.fragment = true, map[string]string{}
	for _, file := range r.within(dir, "examples", ".yaml", ".yml") {
		r.example(file)
	}
	for _, file := range r.within(dir, "verification", ".yaml", ".yml") {
		r.ruleSet(file)
	}
	for _, kind := range []string{"templates", "personas"} {
		for _, file := range r.within(dir, kind, ".txt", ".md") {
			r.template(file)
		}
	}
	r.tools(dir)
}

// tools names the files of a package's tools, and takes the digest of all.
func (r *includer) tools(dir string) {
	files, err := Tools(r.source.Dir, dir)
	if err != nil {
		r.main.Add(fault.From(err))
		return
	}
	r.toolkit = ToolsDigest(files)
	for _, f := range files {
		r.toolFiles = append(r.toolFiles, f.Name)
	}
}

// within lists the files of a part of a package by name; without endings, all.
func (r *includer) within(dir, part string, endings ...string) (files []string) {
	entries, _ := fs.ReadDir(r.source.Dir, path.Join(dir, part))
	for _, e := range entries {
		fits := len(endings) == 0 || slices.Contains(endings, path.Ext(e.Name()))
		if fits && e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, path.Join(dir, part, e.Name()))
		}
	}
	return files
}

func (r *includer) example(file string) {
	data, err := readLimited(r.source.Dir, file)
	if err != nil {
		return
	}
	if doc := r.parse(file, data); doc != nil {
		var e exampleFile
		doc.Decode(&e)
		r.PlannerExamples = append(r.PlannerExamples, e)
		r.lists["planner_examples"] = append(r.lists["planner_examples"], place{doc, []any{}})
	}
}

func (r *includer) ruleSet(file string) {
	data, err := readLimited(r.source.Dir, file)
	if err != nil {
		return
	}
	if doc := r.parse(file, data); doc != nil {
		var v verificationFile
		doc.Decode(&v)
		for i, rule := range v.Rules {
			r.Verification.Rules = append(r.Verification.Rules, rule)
			r.lists["verification.rules"] = append(r.lists["verification.rules"], place{doc, []any{"rules", i}})
		}
	}
}

var fragmentName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

func (r *includer) template(file string) {
	name := strings.ReplaceAll(strings.TrimSuffix(path.Base(file), path.Ext(file)), "-", "_")
	data, err := readLimited(r.source.Dir, file)
	_, twice := r.fragment[name]
	switch {
	case err != nil || len(data) > maxFragment || !isPlain(data):
		r.main.Add(fault.New("process/template", "template %s is no text of at most %d bytes", r.source.shown(file), maxFragment))
	case !fragmentName.MatchString(name) || twice:
		r.main.Add(fault.New("process/template", "template %s has no name of its own that {name} could stand for", r.source.shown(file)))
	default:
		r.fragment[name] = strings.TrimSpace(string(data))
	}
}

func isPlain(data []byte) bool {
	return strings.ToValidUTF8(string(data), "") == string(data) && !strings.ContainsRune(string(data), 0)
}

var fragmentMark = regexp.MustCompile(`\{[a-z][a-z0-9_]*\}`)

// fill puts the texts of templates where {name} stands, in a package that has
// any.
func (d *draft) fill() {
	if len(d.fragment) == 0 {
		return
	}
	d.fillIn(&d.Persona, "persona")
	d.fillIn(&d.ToolGuidance, "tool_guidance")
	d.fillIn(&d.Tools.Guidance, "tools", "guidance")
	d.fillIn(&d.Memory.ExtractionGuidance, "memory", "extraction_guidance")
	for i := range d.Phases {
		p := &d.Phases[i]
		d.fillIn(&p.Description, "phases", i, "description")
		d.fillIn(&p.Persona, "phases", i, "persona")
		d.fillIn(&p.AcceptanceCriteria, "phases", i, "acceptance_criteria")
	}
}

func (d *draft) fillIn(text *string, at ...any) {
	var names []string
	for name := range d.fragment {
		names = append(names, name)
	}
	slices.Sort(names)
	*text = fragmentMark.ReplaceAllStringFunc(*text, func(mark string) string {
		name := mark[1 : len(mark)-1]
		with, ok := d.fragment[name]
		if !ok {
			d.refuse("process/template", at, "there is no template for %s", mark).Want("%s", suggest.Among(name, names))
		}
		return with
	})
}

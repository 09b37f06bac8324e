package processes

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/strictyaml"
)

// draft is a process with phases as its files together say it: what it
// includes, then the file itself, then what its package adds. Later values take
// the place of earlier ones, and lists are joined.
type draft struct {
	phasesFile
	main     *strictyaml.Document
	docs     []*strictyaml.Document
	lists    map[string][]place // where the entries of joined lists stand
	texts    map[string]place   // where single values stand
	warnings []*fault.Error
	fragment map[string]string // of the package, by name
	packaged bool
	// the package's tools: digest and names of all files
	toolkit   string
	toolFiles []string
}

// place is a value of one of the files.
type place struct {
	doc  *strictyaml.Document
	path []any
}

// find returns where the value at a path of the joined file stands.
func (d *draft) find(at []any) place {
	key := ""
	for i, step := range at {
		switch s := step.(type) {
		case string:
			key = strings.TrimPrefix(key+"."+s, ".")
			if p, ok := d.texts[key]; ok && len(d.lists[key]) == 0 {
				return place{p.doc, join(p.path, at[i+1:]...)}
			}
		case int:
			if list, ok := d.lists[key]; ok {
				if s >= len(list) {
					return place{d.main, strictPath(key)}
				}
				return place{list[s].doc, join(list[s].path, at[i+1:]...)}
			}
		}
	}
	if list := d.lists[key]; len(list) > 0 {
		p := list[0]
		return place{p.doc, p.path[:len(p.path)-1]}
	}
	return place{d.main, at}
}

func strictPath(key string) (at []any) {
	for part := range strings.SplitSeq(key, ".") {
		at = append(at, part)
	}
	return at
}

// join returns a path with more steps, in memory of its own.
func join(at []any, more ...any) []any { return append(at[:len(at):len(at)], more...) }

// refuse reports a problem of the value at a path of the joined file, unless
// that value is broken already.
func (d *draft) refuse(code string, at []any, format string, args ...any) *fault.Error {
	err := fault.New(code, format, args...)
	if p := d.find(at); !p.doc.Broken(p.path...) {
		p.doc.Add(err, p.path...)
	}
	return err
}

// warn notes what is allowed but probably not meant.
func (d *draft) warn(code string, at []any, format string, args ...any) *fault.Error {
	p := d.find(at)
	err := fault.New(code, format, args...).At(p.doc.Place(p.path...))
	d.warnings = append(d.warnings, err)
	return err
}

// put takes a single value of a file where it is given there.
func (d *draft) put(into *string, value string, doc *strictyaml.Document, at ...any) {
	if doc.Has(at...) {
		*into = value
		d.texts[dotted(at)] = place{doc, at}
	}
}

// note takes one entry of a file's metadata.
func (d *draft) note(name, value string, doc *strictyaml.Document) {
	if d.Metadata == nil {
		d.Metadata = map[string]string{}
	}
	d.put(new(string), value, doc, "metadata", name)
	d.Metadata[name] = value
}

// metadata is what the file notes, its author and tags among it.
func (d *draft) metadata() map[string]string {
	all := map[string]string{}
	if d.Author != "" {
		all["author"] = d.Author
	}
	if len(d.Tags) > 0 {
		all["tags"] = strings.Join(d.Tags, ", ")
	}
	maps.Copy(all, d.Metadata)
	return all
}

// add joins a list of a file to what is there.
func add[T any](d *draft, into *[]T, more []T, doc *strictyaml.Document, at ...any) {
	key := dotted(at)
	for i := range more {
		*into = append(*into, more[i])
		d.lists[key] = append(d.lists[key], place{doc, join(at, i)})
	}
}

func dotted(at []any) string {
	words := make([]string, len(at))
	for i, step := range at {
		words[i], _ = step.(string)
	}
	return strings.Join(words, ".")
}

// take joins a file to the draft.
func (d *draft) take(doc *strictyaml.Document, f *phasesFile) {
	d.put(&d.Name, f.Name, doc, "name")
	d.put(&d.Version, f.Version, doc, "version")
	d.put(&d.Description, f.Description, doc, "description")
	d.put(&d.Author, f.Author, doc, "author")
	add(d, &d.Tags, f.Tags, doc, "tags")
	for _, name := range slices.Sorted(maps.Keys(f.Metadata)) {
		d.note(name, f.Metadata[name], doc)
	}
	d.put(&d.Persona, f.Persona, doc, "persona")
	d.put(&d.ToolGuidance, f.ToolGuidance, doc, "tool_guidance")
	d.put(&d.Tools.Guidance, f.Tools.Guidance, doc, "tools", "guidance")
	add(d, &d.Tools.Required, f.Tools.Required, doc, "tools", "required")
	add(d, &d.Tools.Excluded, f.Tools.Excluded, doc, "tools", "excluded")
	add(d, &d.Tools.Ask, f.Tools.Ask, doc, "tools", "ask")
	d.takeCheckout(doc, f.Checkout)
	add(d, &d.Parameters, f.Parameters, doc, "parameters")
	d.put(&d.PhaseMode, f.PhaseMode, doc, "phase_mode")
	add(d, &d.Phases, f.Phases, doc, "phases")
	add(d, &d.Verification.Rules, f.Verification.Rules, doc, "verification", "rules")
	if doc.Has("memory", "extract") {
		d.Memory.Extract = f.Memory.Extract
	}
	add(d, &d.Memory.ExtractTypes, f.Memory.ExtractTypes, doc, "memory", "extract_types")
	d.put(&d.Memory.ExtractionGuidance, f.Memory.ExtractionGuidance, doc, "memory", "extraction_guidance")
	add(d, &d.WorkspaceAnalysis.ScanFor, f.WorkspaceAnalysis.ScanFor, doc, "workspace_analysis", "scan_for")
	d.put(&d.WorkspaceAnalysis.Guidance, f.WorkspaceAnalysis.Guidance, doc, "workspace_analysis", "guidance")
	add(d, &d.PlannerExamples, f.PlannerExamples, doc, "planner_examples")
	d.put(&d.Replanning.Triggers, f.Replanning.Triggers, doc, "replanning", "triggers")
	d.put(&d.Replanning.Guidance, f.Replanning.Guidance, doc, "replanning", "guidance")
	d.takeHooks(doc, &f.Hooks)
}

func (d *draft) takeCheckout(doc *strictyaml.Document, f *checkoutFile) {
	if f == nil {
		return
	}
	if d.Checkout == nil {
		d.Checkout = &checkoutFile{}
	}
	f.notEmpty(doc)
	add(d, &d.Checkout.Sparse, f.Sparse, doc, "checkout", "sparse")
}

func (d *draft) takeHooks(doc *strictyaml.Document, h *hooksFile) {
	add(d, &d.Hooks.BeforePlan, h.BeforePlan, doc, "hooks", "before_plan")
	add(d, &d.Hooks.AfterPlan, h.AfterPlan, doc, "hooks", "after_plan")
	add(d, &d.Hooks.BetweenPhases, h.BetweenPhases, doc, "hooks", "between_phases")
	add(d, &d.Hooks.AfterComplete, h.AfterComplete, doc, "hooks", "after_complete")
}

// The most that a process may be made of.
const (
	maxIncludes = 32
	maxDepth    = 8
	maxFragment = 16 << 10 // bytes of a template
)

// read makes a draft of a file and of what goes with it.
func (s Source) draft(doc *strictyaml.Document) *draft {
	d := &draft{main: doc, docs: []*strictyaml.Document{doc}, lists: map[string][]place{}, texts: map[string]place{}}
	r := &includer{draft: d, source: s}
	r.file(doc, s.Path, nil)
	if s.Dir != nil && path.Base(s.Path) == "process.yaml" {
		r.unpack(path.Dir(s.Path))
	}
	d.fill()
	return d
}

// includer reads the files that a process is made of.
type includer struct {
	*draft
	source Source
	files  int
}

// file takes a document with all that it includes, which comes before it.
func (r *includer) file(doc *strictyaml.Document, name string, above []string) {
	var f phasesFile
	doc.Decode(&f)
	for i, inc := range f.Includes {
		r.include(doc, []any{"includes", i}, name, inc, append(slices.Clip(above), name))
	}
	r.take(doc, &f)
}

func (r *includer) include(doc *strictyaml.Document, at []any, from, name string, above []string) {
	found, data, err := r.source.open(from, name)
	var bad *fault.Error
	switch {
	case r.source.Dir == nil:
		bad = fault.New("process/include", "a process that is no file on its own can include nothing")
	case err != nil:
		bad = fault.New("process/include", "there is no such file to include").Got(name).
			Want("it lies beside or below this file, or in the directory of all processes")
	case slices.Contains(above, found):
		bad = fault.New("process/include", "files include each other: %s", strings.Join(append(above, found), " -> "))
	case len(above) >= maxDepth || r.files >= maxIncludes:
		bad = fault.New("process/include", "more than %d files, or nested more than %d deep, are included", maxIncludes, maxDepth)
	default:
		r.files++
		r.fragmentFile(found, data, above)
		return
	}
	if !doc.Broken(at...) {
		doc.Add(bad, at...)
	}
}

func (r *includer) fragmentFile(name string, data []byte, above []string) {
	if doc := r.parse(name, data); doc != nil {
		r.file(doc, name, above)
	}
}

// parse reads a further file; one that is no YAML is a problem of the first.
func (r *includer) parse(name string, data []byte) *strictyaml.Document {
	doc, err := strictyaml.Parse(r.source.shown(name), data)
	if err != nil {
		r.warnOrBreak(err)
		return nil
	}
	r.docs = append(r.docs, doc)
	return doc
}

// warnOrBreak reports a file that cannot be read at all, at its own place.
func (r *includer) warnOrBreak(err error) {
	e := *fault.From(err)
	where := e.Where
	r.main.Add(&e)
	e.Where = where
}

// open finds an included file: beside the one that includes it, or in the
// directory of all processes.
func (s Source) open(from, name string) (found string, data []byte, err error) {
	if s.Dir == nil || strings.HasPrefix(name, "/") {
		return "", nil, fs.ErrNotExist
	}
	for _, found = range []string{path.Join(path.Dir(from), name), path.Clean(name)} {
		if !fs.ValidPath(found) {
			err = fs.ErrNotExist
			continue
		}
		if data, err = readLimited(s.Dir, found); err == nil {
			return found, data, nil
		}
	}
	return "", nil, err
}

// readLimited reads a file of at most as many bytes as a document may have.
func readLimited(dir fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(dir, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > strictyaml.MaxBytes {
		return nil, fs.ErrNotExist
	}
	return fs.ReadFile(dir, name)
}

// shown is how a file of the source's directory is called in problems.
func (s Source) shown(name string) string {
	if base, ok := strings.CutSuffix(s.File, s.Path); ok {
		return base + name
	}
	return name
}

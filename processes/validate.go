package processes

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/strictyaml"
	"github.com/loomrun/loom/internal/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// The limits of a definition.
const (
	MaxNodes       = 256
	MaxEdges       = 1024
	maxFields      = 32       // outcome fields of a node
	maxRework      = 16       // rework entries of a node
	maxRoles       = 16       // of roles_any
	maxAttempts    = 100      // dispatches of a visit
	maxReworks     = 100      // of a node in an execution
	maxDescription = 16 << 10 // bytes
)

var (
	idPattern      = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)
	namePattern    = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	fieldPattern   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
	versionPattern = regexp.MustCompile(`^(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})$`)
)

const idForm = "is not 1 to 32 of a-z, 0-9, _ and -, beginning with a letter or digit"

// Validate returns all that is wrong with a definition that came in a message,
// in its order, each with its place as in nodes[3].role. A definition that is
// sound runs as [Complete] makes it. The rules are
//
//   - name, ids, version "1.MINOR", sizes and limits;
//   - exactly one start, at least one end, no edge into the one or out of the
//     other; no cycle; every node can be reached and reaches an end, and has
//     an edge to follow on success; failure edges leave task nodes only;
//   - a task has a role, or roles_any and role_from, that agents play; an
//     approval has a role that people play; other nodes have none, and only
//     tasks have attempts, a timeout, outcome fields, a kind and on_failure;
//   - only engineering-manager commits and lands, only qa-engineer verifies;
//     a verify node comes after a commit node, a land node after a verify node;
//   - conditions compile: on an edge over the outcome fields of the node it
//     leaves, in when over those of the node itself, in role_from over those
//     of its ancestors, by node;
//   - rework goes to an ancestor, and no entry stands after one that always
//     holds.
func Validate(def *loomv1.Definition, rs *roles.Set) []*fault.Error {
	v := newValidator(def, rs)
	var errs []*fault.Error
	v.report = func(err *fault.Error, _ bool, path []any) { errs = append(errs, err.At(spell(path))) }
	v.run()
	return errs
}

// validator walks one definition. For a file, broken nodes and edges are those
// with problems of their own already, which are not looked at again, and shape
// tells whether ids, types and edges are all known.
type validator struct {
	def     *loomv1.Definition
	rs      *roles.Set
	graph   *graph
	report  func(err *fault.Error, atKey bool, path []any)
	badNode []bool
	badEdge []bool
	shape   bool
}

func newValidator(def *loomv1.Definition, rs *roles.Set) *validator {
	return &validator{
		def: def, rs: rs, shape: true,
		badNode: make([]bool, len(def.Nodes)),
		badEdge: make([]bool, len(def.Edges)),
	}
}

// trust makes the validator report to a document, and believe only what the
// document has no problems with.
func (v *validator) trust(doc *strictyaml.Document) {
	sound := func(path ...any) bool { return doc.Has(path...) && !doc.Broken(path...) }
	v.shape = len(v.def.Nodes) > 0 && len(v.def.Edges) > 0 || !doc.Broken()
	for i := range v.def.Nodes {
		v.badNode[i] = doc.Broken("nodes", i)
		v.shape = v.shape && sound("nodes", i, "id") && sound("nodes", i, "type")
	}
	for i := range v.def.Edges {
		v.badEdge[i] = doc.Broken("edges", i)
		v.shape = v.shape && sound("edges", i, "from") && sound("edges", i, "to") && !doc.Broken("edges", i, "outcome")
	}
	v.report = func(err *fault.Error, atKey bool, path []any) {
		if path = inFile(path); atKey {
			doc.AddAtKey(err, path...)
		} else if !doc.Broken(path...) || len(path) == 0 {
			doc.Add(err, path...)
		}
	}
}

// inFile translates a path of the definition to one of the file.
func inFile(path []any) []any {
	if len(path) == 0 {
		return path
	}
	switch before, last := path[:len(path)-1], path[len(path)-1]; last {
	case "kind", "multi_dispatch":
		return append(before[:len(before):len(before)], "config", last)
	case "failure_edge_after_attempts":
		return append(before[:len(before):len(before)], "failure_edge")
	}
	return path
}

// spell writes a path as nodes[3].role.
func spell(path []any) string {
	var b strings.Builder
	for _, step := range path {
		if i, ok := step.(int); ok {
			fmt.Fprintf(&b, "[%d]", i)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		fmt.Fprint(&b, step)
	}
	return b.String()
}

// refuse reports a problem at a path of the definition.
func (v *validator) refuse(code string, path []any, format string, args ...any) *fault.Error {
	err := fault.New(code, format, args...)
	v.report(err, false, path)
	return err
}

func at(path ...any) []any { return path }

// didYouMean sets the nearest known word as the hint, or lists all.
func didYouMean(err *fault.Error, word string, known []string) {
	if hint := suggest.Hint(word, known); hint != "" {
		err.Want("%s", hint)
	} else if len(known) > 0 && len(known) <= 12 {
		err.Want("known are %s", strings.Join(known, ", "))
	}
}

func (v *validator) run() {
	v.graph = newGraph(v.def)
	v.header()
	if len(v.def.Nodes) > MaxNodes || len(v.def.Edges) > MaxEdges {
		return // too many to look at
	}
	v.structure()
	for i, n := range v.def.Nodes {
		if !v.badNode[i] {
			v.node(i, n)
		}
	}
	for i, e := range v.def.Edges {
		if !v.badEdge[i] {
			v.edge(i, e)
		}
	}
}

func (v *validator) header() {
	d := v.def
	if !namePattern.MatchString(d.Name) {
		v.refuse("workflow/invalid", at("name"), "name is not 1 to 64 of a-z, 0-9, _ and -, beginning with a letter or digit").Got(d.Name)
	}
	switch m := versionPattern.FindStringSubmatch(d.Version); {
	case m == nil:
		v.refuse("workflow/version", at("version"), "version is not MAJOR.MINOR").Got(d.Version).Want(`write it as "1.0", with quotes`)
	case m[1] != "1":
		v.refuse("workflow/version", at("version"), "the format's major version is not 1").Got(d.Version).Want("this Loom reads versions 1.0 to 1.999999")
	}
	v.describe(d.Description, at("description"))
	if n := len(d.Nodes); n > MaxNodes {
		v.refuse("workflow/invalid", at("nodes"), "%d nodes, more than %d", n, MaxNodes)
	}
	if n := len(d.Edges); n > MaxEdges {
		v.refuse("workflow/invalid", at("edges"), "%d edges, more than %d", n, MaxEdges)
	}
}

func (v *validator) describe(text string, path []any) {
	if len(text) > maxDescription {
		v.refuse("workflow/invalid", path, "description has %d bytes, more than %d", len(text), maxDescription)
	}
}

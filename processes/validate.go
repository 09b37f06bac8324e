package processes

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
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
	maxPersona     = 2 << 10  // bytes
	maxNotes       = 32       // entries of metadata
	maxNote        = 1 << 10  // bytes of one
)

var (
	idPattern      = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)
	namePattern    = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	fieldPattern   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
	notePattern    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_./-]{0,63}$`)
	versionPattern = regexp.MustCompile(`^(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})$`)
)

const nameForm = "is not 1 to 64 of a-z, 0-9, _ and -, beginning with a letter or digit"

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
//   - conditions compile: on an edge out of a task, and in when, over the
//     task's own outcome fields; on any other edge, and in role_from, over
//     those of the tasks before it, by node;
//   - rework goes to an ancestor, and no entry stands after one that always
//     holds;
//   - a node that a process works for has no role and no other words about who
//     works; a gate has a condition over the tasks before the node, and one
//     that replans names an ancestor and how often; what is a duty is never
//     skipped and never optional.
//
// Whether the processes that nodes name exist, and do not contain each other,
// is what [Compose] says.
func Validate(def *loomv1.Definition, rs *roles.Set) []*fault.Error {
	var errs []*fault.Error
	for _, p := range validate(def, rs, everything) {
		errs = append(errs, p.err.At(spell(p.path)))
	}
	return errs
}

// problem is what is wrong with the value at a path of the definition, or with
// the key that the path ends in.
type problem struct {
	err   *fault.Error
	path  []any
	atKey bool
}

// knowledge tells which parts of a definition are what its author wrote; a
// file may have parts that could not be read.
type knowledge struct {
	ids, types, links bool                   // of all nodes, of all nodes, of all edges
	broken            func(path ...any) bool // whether a value cannot be trusted
}

var everything = knowledge{true, true, true, func(...any) bool { return false }}

// validator walks one definition.
type validator struct {
	knowledge
	def   *loomv1.Definition
	rs    *roles.Set
	graph *graph
	found []problem
}

func validate(def *loomv1.Definition, rs *roles.Set, k knowledge) []problem {
	v := &validator{knowledge: k, def: def, rs: rs}
	v.header()
	if len(def.Nodes) > MaxNodes || len(def.Edges) > MaxEdges {
		return v.found // too many to look at
	}
	v.graph = newGraph(def)
	v.guide()
	v.blueprint()
	v.toolkit()
	v.checkout()
	v.parameters()
	v.structure()
	for i, n := range def.Nodes {
		v.node(i, n)
	}
	for i, e := range def.Edges {
		v.edge(i, e)
	}
	return v.found
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

// refuse reports a problem at a path of the definition, unless the value there
// is broken, or absent from something that is.
func (v *validator) refuse(code string, path []any, format string, args ...any) *fault.Error {
	err := fault.New(code, format, args...)
	if !v.broken(path...) {
		v.found = append(v.found, problem{err: err, path: path})
	}
	return err
}

func at(path ...any) []any { return path }

func (v *validator) header() {
	d := v.def
	if !namePattern.MatchString(d.Name) {
		v.refuse("workflow/invalid", at("name"), "name %s", nameForm).Got(d.Name)
	}
	switch m := versionPattern.FindStringSubmatch(d.Version); {
	case m == nil:
		v.refuse("workflow/version", at("version"), "version is not MAJOR.MINOR").Got(d.Version).Want(`write it as "1.0", with quotes`)
	case m[1] != "1":
		v.refuse("workflow/version", at("version"), "the format's major version is not 1").Got(d.Version).Want("this Loom reads version 1 alone")
	}
	v.describe(d.Description, at("description"))
	v.metadata()
	if n := len(d.Nodes); n > MaxNodes {
		v.refuse("workflow/invalid", at("nodes"), "%d nodes, more than %d", n, MaxNodes)
	}
	if n := len(d.Edges); n > MaxEdges {
		v.refuse("workflow/invalid", at("edges"), "%d edges, more than %d", n, MaxEdges)
	}
}

func (v *validator) metadata() {
	if n := len(v.def.Metadata); n > maxNotes {
		v.refuse("workflow/invalid", at("metadata"), "%d entries of metadata, more than %d", n, maxNotes)
	}
	for _, name := range slices.Sorted(maps.Keys(v.def.Metadata)) {
		path, value := at("metadata", name), v.def.Metadata[name]
		if !notePattern.MatchString(name) {
			v.refuse("workflow/invalid", path, "a name of metadata is 1 to 64 letters, digits, _, -, . and /, a letter or digit first").Got(name)
		}
		if len(value) > maxNote || !utf8.ValidString(value) {
			v.refuse("workflow/invalid", path, "an entry of metadata is UTF-8 text of at most %d bytes, and %q has %d", maxNote, name, len(value))
		}
	}
}

func (v *validator) describe(text string, path []any) {
	if len(text) > maxDescription {
		v.refuse("workflow/invalid", path, "description has %d bytes, more than %d", len(text), maxDescription)
	}
}

package processes

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/strictyaml"
	"github.com/loomrun/loom/internal/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// The shape of a process file.
type (
	processFile struct {
		Name        string     `yaml:"name" loom:"required"`
		Version     string     `yaml:"version" loom:"required"`
		Description string     `yaml:"description"`
		Nodes       []nodeFile `yaml:"nodes" loom:"required"`
		Edges       []edgeFile `yaml:"edges" loom:"required"`
	}
	nodeFile struct {
		ID          string            `yaml:"id" loom:"required"`
		Type        string            `yaml:"type" loom:"required"`
		Role        string            `yaml:"role"`
		RolesAny    []string          `yaml:"roles_any"`
		RoleFrom    string            `yaml:"role_from"`
		MaxAttempts *uint32           `yaml:"max_attempts"`
		Timeout     *time.Duration    `yaml:"timeout"`
		Outcome     map[string]string `yaml:"outcome"`
		OnFailure   *failureFile      `yaml:"on_failure"`
		FailureEdge string            `yaml:"failure_edge"`
		Description string            `yaml:"description"`
		Config      configFile        `yaml:"config"`
	}
	configFile struct {
		Kind          string `yaml:"kind"`
		MultiDispatch bool   `yaml:"multi_dispatch"`
	}
	failureFile struct {
		Max    uint32       `yaml:"max" loom:"required"`
		Rework []reworkFile `yaml:"rework" loom:"required"`
	}
	reworkFile struct {
		To   string `yaml:"to" loom:"required"`
		When string `yaml:"when"`
	}
	edgeFile struct {
		ID        string `yaml:"id" loom:"required"`
		From      string `yaml:"from" loom:"required"`
		To        string `yaml:"to" loom:"required"`
		Outcome   string `yaml:"outcome"`
		Condition string `yaml:"condition"`
	}
)

var (
	nodeTypes = words[loomv1.NodeType]{
		{"start", loomv1.NodeType_NODE_TYPE_START},
		{"end", loomv1.NodeType_NODE_TYPE_END},
		{"task", loomv1.NodeType_NODE_TYPE_TASK},
		{"approval", loomv1.NodeType_NODE_TYPE_APPROVAL},
		{"decision", loomv1.NodeType_NODE_TYPE_DECISION},
		{"merge", loomv1.NodeType_NODE_TYPE_MERGE},
	}
	nodeKinds = words[loomv1.NodeKind]{
		{"commit", loomv1.NodeKind_NODE_KIND_COMMIT},
		{"verify", loomv1.NodeKind_NODE_KIND_VERIFY},
		{"land", loomv1.NodeKind_NODE_KIND_LAND},
	}
	edgeOutcomes = words[loomv1.EdgeOutcome]{
		{"success", loomv1.EdgeOutcome_EDGE_OUTCOME_SUCCESS},
		{"failure", loomv1.EdgeOutcome_EDGE_OUTCOME_FAILURE},
	}
)

// Parse reads a process file, compiles it to a definition with all defaults
// filled in and all role aliases resolved, and validates it as [Validate]
// does. All problems are reported at once as FILE:LINE:COL, with codes yaml/...
// and workflow/...; where a part of the file cannot be understood, nothing is
// said that would depend on it.
func Parse(file string, data []byte, rs *roles.Set) (*loomv1.Definition, error) {
	def, _, errs := parse(file, data, rs)
	if len(errs) > 0 {
		return nil, fault.Join(errs)
	}
	return def, nil
}

func parse(file string, data []byte, rs *roles.Set) (*loomv1.Definition, *strictyaml.Document, []*fault.Error) {
	doc, err := strictyaml.Parse(file, data)
	if err != nil {
		return nil, nil, []*fault.Error{fault.From(err)}
	}
	var f processFile
	doc.Decode(&f)
	def := (&compiler{doc}).definition(&f)
	for _, p := range validate(def, rs, known(doc, def)) {
		if p.atKey {
			doc.AddAtKey(p.err, inFile(p.path)...)
		} else {
			doc.Add(p.err, inFile(p.path)...)
		}
	}
	if errs := doc.Problems(); len(errs) > 0 {
		return nil, doc, errs
	}
	return Complete(def, rs), doc, nil
}

// known says which parts of a file could be read.
func known(doc *strictyaml.Document, def *loomv1.Definition) knowledge {
	if len(def.Nodes) > MaxNodes || len(def.Edges) > MaxEdges {
		return everything // no part will be looked at
	}
	sound := func(path ...any) bool { return doc.Has(path...) && !doc.Broken(path...) }
	k := knowledge{
		ids:   len(def.Nodes) > 0 || sound("nodes"),
		links: len(def.Edges) > 0 || sound("edges"),
	}
	k.types = k.ids
	for i := range def.Nodes {
		k.ids = k.ids && sound("nodes", i, "id")
		k.types = k.types && sound("nodes", i, "type") && !doc.Broken("nodes", i, "config")
	}
	for i := range def.Edges {
		k.links = k.links && sound("edges", i, "from") && sound("edges", i, "to") && !doc.Broken("edges", i, "outcome")
	}
	k.broken = func(path ...any) bool {
		for path = inFile(path); len(path) > 0 && !doc.Has(path...); path = path[:len(path)-1] {
		}
		return doc.Broken(path...)
	}
	return k
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

// compiler makes a definition of a file, and reports words that mean nothing.
type compiler struct{ doc *strictyaml.Document }

func (c *compiler) definition(f *processFile) *loomv1.Definition {
	def := &loomv1.Definition{Name: f.Name, Version: f.Version, Description: strings.TrimSpace(f.Description)}
	for i := range f.Nodes {
		def.Nodes = append(def.Nodes, c.node(&f.Nodes[i], i))
	}
	for i, e := range f.Edges {
		def.Edges = append(def.Edges, &loomv1.EdgeDefinition{
			Id: e.ID, From: e.From, To: e.To, Condition: e.Condition,
			Outcome: lookUp(c, edgeOutcomes, e.Outcome, "workflow/edge", "edges", i, "outcome"),
		})
	}
	return def
}

func (c *compiler) node(n *nodeFile, i int) *loomv1.NodeDefinition {
	def := &loomv1.NodeDefinition{
		Id:            n.ID,
		Type:          lookUp(c, nodeTypes, n.Type, "workflow/type", "nodes", i, "type"),
		Role:          n.Role,
		RolesAny:      n.RolesAny,
		RoleFrom:      n.RoleFrom,
		Kind:          lookUp(c, nodeKinds, n.Config.Kind, "workflow/type", "nodes", i, "config", "kind"),
		MultiDispatch: n.Config.MultiDispatch,
		Outcome:       n.Outcome,
		OnFailure:     failurePolicy(n.OnFailure),
		Description:   strings.TrimSpace(n.Description),
	}
	if n.MaxAttempts != nil {
		def.MaxAttempts = *n.MaxAttempts
		c.notZero(*n.MaxAttempts == 0, "nodes", i, "max_attempts")
	}
	if n.Timeout != nil {
		def.Timeout = durationpb.New(*n.Timeout)
	}
	switch {
	case n.FailureEdge == "after_attempts":
		def.FailureEdgeAfterAttempts = true
	case c.doc.Has("nodes", i, "failure_edge"):
		c.add(fault.New("workflow/invalid", "failure_edge can only be after_attempts").Got(n.FailureEdge), "nodes", i, "failure_edge")
	}
	return def
}

func failurePolicy(f *failureFile) *loomv1.FailurePolicy {
	if f == nil {
		return nil
	}
	p := &loomv1.FailurePolicy{Max: f.Max}
	for _, r := range f.Rework {
		p.Rework = append(p.Rework, &loomv1.ReworkRule{To: r.To, When: r.When})
	}
	return p
}

// notZero refuses a zero that a definition would take for "the default".
func (c *compiler) notZero(zero bool, path ...any) {
	if zero {
		c.add(fault.New("workflow/invalid", "%v is 0", path[len(path)-1]).Want("leave it out for the default"), path...)
	}
}

// add reports a problem unless the value there is broken already.
func (c *compiler) add(err *fault.Error, path ...any) {
	if !c.doc.Broken(path...) {
		c.doc.Add(err, path...)
	}
}

// words spells the values of an enum in a file.
type words[T any] []struct {
	word  string
	value T
}

func (w words[T]) all() []string {
	var all []string
	for _, e := range w {
		all = append(all, e.word)
	}
	return all
}

// lookUp returns the value of a word; an absent one has the zero value.
func lookUp[T any](c *compiler, known words[T], word, code string, path ...any) (value T) {
	all := known.all()
	if i := slices.Index(all, word); i >= 0 {
		return known[i].value
	}
	if c.doc.Has(path...) {
		c.add(fault.New(code, "unknown %v", path[len(path)-1]).Got(word).Want("%s", suggest.Among(word, all)), path...)
	}
	return value
}

package processes

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/strictyaml"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Parse reads a process file, compiles it to a definition with all defaults
// filled in and all role aliases resolved, and validates it as [Validate]
// does. All problems are reported at once as FILE:LINE:COL, with codes yaml/...
// and workflow/...; where a part of the file cannot be understood, nothing is
// said that would depend on it. Which processes there are it does not know;
// [Read] does.
func Parse(file string, data []byte, rs *roles.Set) (*loomv1.Definition, error) {
	r := parse(Source{File: file, Data: data}, rs)
	if errs := r.problems(); len(errs) > 0 {
		return nil, fault.Join(errs)
	}
	return r.def, nil
}

// reading is a file that was read: the definition as far as it is one, and the
// document, or why it is no document.
type reading struct {
	def *loomv1.Definition
	doc *strictyaml.Document
	bad *fault.Error
	w   *weaver // of a file with phases
}

func parse(s Source, rs *roles.Set) *reading {
	doc, err := strictyaml.Parse(s.File, s.Data)
	if err != nil {
		return &reading{bad: fault.From(err)}
	}
	if doc.Has("kind") {
		return &reading{bad: fault.New("pattern/invalid", "it is a pattern, and no process").At(doc.Place("kind")).
			Want("put it into patterns/ beside the processes; \"loom pattern\" reads it there")}
	}
	if hasPhases(doc) {
		return s.phases(doc, rs)
	}
	var f processFile
	doc.Decode(&f)
	r := &reading{def: (&compiler{doc}).definition(&f), doc: doc}
	s.takeTools(r)
	for _, p := range validate(r.def, rs, known(doc, r.def)) {
		r.report(p)
	}
	r.def = Complete(r.def, rs)
	return r
}

// hasPhases says whether a file is one with phases; one that has nodes or edges
// is not.
func hasPhases(doc *strictyaml.Document) bool {
	if doc.Has("nodes") || doc.Has("edges") {
		return false
	}
	for _, key := range []string{"phases", "phase_mode", "persona", "planner_examples", "includes", "hooks", "verification"} {
		if doc.Has(key) {
			return true
		}
	}
	return false
}

// phases reads a file with phases and all that goes with it.
func (s Source) phases(doc *strictyaml.Document, rs *roles.Set) *reading {
	d := s.draft(doc)
	d.check(rs)
	r := &reading{doc: doc, w: d.weave()}
	r.def = r.w.def
	k := everything
	k.broken = func(path ...any) bool {
		doc, at := r.locate(path)
		absent := len(path) == 1 && !doc.Has(at...) // which is said already
		return absent || doc.Broken(at...)
	}
	for _, p := range validate(r.def, rs, k) {
		r.report(p)
	}
	r.def = Complete(r.def, rs)
	return r
}

// locate returns where what stands at a path of the definition was written.
func (r *reading) locate(path []any) (*strictyaml.Document, []any) {
	if r.w == nil {
		return r.doc, inFile(path)
	}
	p := r.w.find(r.w.origin(inFile(path)))
	return p.doc, p.path
}

func (r *reading) report(p problem) {
	doc, at := r.locate(p.path)
	if p.atKey {
		doc.AddAtKey(p.err, at...)
	} else {
		doc.Add(p.err, at...)
	}
}

func (r *reading) problems() []*fault.Error {
	switch {
	case r.bad != nil:
		return []*fault.Error{r.bad}
	case r.w == nil:
		return r.doc.Problems()
	}
	var all []*fault.Error
	for _, doc := range r.w.docs {
		all = append(all, doc.Problems()...)
	}
	return all
}

func (r *reading) warnings() []*fault.Error {
	if r.w == nil {
		return nil
	}
	return r.w.warnings
}

func (r *reading) process() *Process {
	if r.w == nil {
		return nil
	}
	return r.w.process(r.def)
}

// named says whether the file's own name could be read.
func (r *reading) named() bool { return r.def.GetName() != "" && !r.doc.Broken("name") }

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
	k.broken = func(path ...any) bool { return doc.Doubtful(inFile(path)...) }
	return k
}

// inFile translates a path of the definition to one of the file.
func inFile(path []any) []any {
	if len(path) == 0 || path[0] == "guide" {
		return path
	}
	switch before, last := path[:len(path)-1], path[len(path)-1]; last {
	case "kind", "multi_dispatch":
		return append(before[:len(before):len(before)], "config", last)
	case "failure_edge_after_attempts":
		return append(before[:len(before):len(before)], "failure_edge")
	case "criticality":
		return append(before[:len(before):len(before)], "critical")
	}
	return path
}

// compiler makes a definition of a file, and reports words that mean nothing.
type compiler struct{ doc *strictyaml.Document }

func (c *compiler) definition(f *processFile) *loomv1.Definition {
	f.Checkout.notEmpty(c.doc)
	def := &loomv1.Definition{Name: f.Name, Version: f.Version, Description: strings.TrimSpace(f.Description), Metadata: f.Metadata, Guide: c.guide(f.Guide), Blueprint: f.Blueprint.message(), Toolkit: f.Toolkit, Checkout: f.Checkout.message(), Parameters: parameters(f.Parameters)}
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
		Gate:          c.gate(n.Gate, i),
		Criticality:   criticality(n.Critical),
		Process:       n.Process,
		Persona:       strings.TrimSpace(n.Persona),
		Backoff:       backoff(n.Backoff),
		Phase:         c.phase(n.Phase, i),
		Memory:        access(n.Memory),
		Detached:      n.Detached,
	}
	if n.Keys != nil {
		def.Keys = *n.Keys
		c.notZero(*n.Keys == 0, "nodes", i, "keys")
	}
	c.notEmpty(def.Process == "", "nodes", i, "process")
	c.notEmpty(def.Persona == "", "nodes", i, "persona")
	if n.MaxAttempts != nil {
		def.MaxAttempts = *n.MaxAttempts
		c.notZero(*n.MaxAttempts == 0, "nodes", i, "max_attempts")
	}
	def.Timeout = duration(n.Timeout)
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

func (c *compiler) gate(g *gateFile, i int) *loomv1.Gate {
	if g == nil {
		return nil
	}
	gate := &loomv1.Gate{
		Condition: g.Condition, To: g.To, Passes: g.Passes,
		OnFailure: lookUp(c, gateActions, g.OnFailure, "workflow/gate", "nodes", i, "gate", "on_failure"),
	}
	if g.Max != nil {
		gate.Max = *g.Max
		if *g.Max == 0 {
			c.add(fault.New("workflow/gate", "gate.max is 0").Want("it is at least 1"), "nodes", i, "gate", "max")
		}
	}
	return gate
}

// criticality of a node that says nothing is neither.
func criticality(critical *bool) loomv1.Criticality {
	switch {
	case critical == nil:
		return loomv1.Criticality_CRITICALITY_UNSPECIFIED
	case *critical:
		return loomv1.Criticality_CRITICALITY_CRITICAL
	}
	return loomv1.Criticality_CRITICALITY_OPTIONAL
}

func backoff(b *backoffFile) *loomv1.Backoff {
	if b == nil {
		return nil
	}
	return &loomv1.Backoff{Initial: duration(b.Initial), Limit: duration(b.Limit)}
}

func access(a *accessFile) *loomv1.MemoryAccess {
	if a == nil {
		return nil
	}
	return &loomv1.MemoryAccess{Read: a.Read, Write: a.Write}
}

func duration(d *time.Duration) *durationpb.Duration {
	if d == nil {
		return nil
	}
	return durationpb.New(*d)
}

// notEmpty refuses a text that a definition would take for no text.
func (c *compiler) notEmpty(empty bool, path ...any) {
	if empty && c.doc.Has(path...) {
		c.add(fault.New("workflow/invalid", "%v is empty", path[len(path)-1]).Want("give a value or leave the key out"), path...)
	}
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

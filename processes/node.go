package processes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/lang/condition"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (v *validator) node(i int, n *loomv1.NodeDefinition) {
	v.nodeID(i, n)
	v.describe(n.Description, at("nodes", i, "description"))
	if _, known := loomv1.NodeType_name[int32(n.Type)]; !known || n.Type == untyped {
		v.refuse("workflow/type", at("nodes", i, "type"), "unknown type").Got(n.Type.String())
		if _, known := v.rs.Get(n.Role); n.Role != "" && !known { // whatever the type should be
			v.role(n.Role, false, at("nodes", i, "role"))
		}
		return
	}
	v.belongs(i, n)
	v.gate(i, n)
	v.keys(i, n)
	v.detached(i, n)
	switch n.Type {
	case task:
		v.whoWorks(i, n)
		v.kind(i, n)
		v.bounds(i, n)
		v.backoff(i, n)
		v.memory(i, n)
		v.outcomeFields(i, n)
		v.onFailure(i, n)
		v.criticality(i, n)
		v.phase(i, n)
	case approval:
		v.approvalRole(i, n)
	}
}

func (v *validator) nodeID(i int, n *loomv1.NodeDefinition) {
	if !idPattern.MatchString(n.Id) {
		v.refuse("workflow/invalid", at("nodes", i, "id"), "id %s", idForm).Got(n.Id)
	}
	if first := v.graph.index[n.Id]; first != i {
		v.refuse("workflow/duplicate", at("nodes", i, "id"), "nodes[%d] has the id %q already", first, n.Id)
	}
}

// belongs refuses what a node of its type does not have.
func (v *validator) belongs(i int, n *loomv1.NodeDefinition) {
	if n.Type == task {
		return
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"role", n.Role != "" && n.Type != approval},
		{"roles_any", len(n.RolesAny) > 0},
		{"role_from", n.RoleFrom != ""},
		{"max_attempts", n.MaxAttempts != 0},
		{"timeout", n.Timeout != nil},
		{"kind", n.Kind != 0},
		{"multi_dispatch", n.MultiDispatch},
		{"outcome", len(n.Outcome) > 0},
		{"on_failure", n.OnFailure != nil},
		{"failure_edge_after_attempts", n.FailureEdgeAfterAttempts},
		{"process", n.Process != ""},
		{"persona", n.Persona != ""},
		{"backoff", n.Backoff != nil},
		{"memory", n.Memory != nil},
		{"criticality", n.Criticality != 0},
		{"phase", n.Phase != nil},
	} {
		if f.set {
			path := at("nodes", i, f.name)
			key := inFile(path)
			v.refuse("workflow/invalid", path, "node %q is no task, so it has no %v", n.Id, key[len(key)-1])
		}
	}
}

func (v *validator) taskRole(i int, n *loomv1.NodeDefinition) {
	switch {
	case n.Role != "" && (len(n.RolesAny) > 0 || n.RoleFrom != ""):
		v.refuse("workflow/role", at("nodes", i, "role"), "node %q has role as well as roles_any or role_from", n.Id)
	case n.Role != "":
		v.role(n.Role, false, at("nodes", i, "role"))
	case len(n.RolesAny) == 0 && n.RoleFrom == "":
		v.refuse("workflow/role", at("nodes", i), "node %q has no role", n.Id)
	case len(n.RolesAny) == 0:
		v.refuse("workflow/role", at("nodes", i, "role_from"), "node %q has role_from without roles_any", n.Id)
	case n.RoleFrom == "":
		v.refuse("workflow/role", at("nodes", i, "roles_any"), "node %q has roles_any without role_from", n.Id)
	default:
		v.rolesAny(i, n)
		v.roleFrom(i, n)
	}
}

func (v *validator) rolesAny(i int, n *loomv1.NodeDefinition) {
	if len(n.RolesAny) > maxRoles {
		v.refuse("workflow/role", at("nodes", i, "roles_any"), "%d roles, more than %d", len(n.RolesAny), maxRoles)
	}
	seen := map[string]bool{}
	for j, name := range n.RolesAny {
		v.role(name, false, at("nodes", i, "roles_any", j))
		if name = canonical(name, v.rs); seen[name] {
			v.refuse("workflow/role", at("nodes", i, "roles_any", j), "role %q is listed already", name)
		}
		seen[name] = true
	}
}

func (v *validator) approvalRole(i int, n *loomv1.NodeDefinition) {
	if n.Role == "" {
		v.refuse("workflow/role", at("nodes", i), "node %q has no role", n.Id)
		return
	}
	v.role(n.Role, true, at("nodes", i, "role"))
}

func (v *validator) role(name string, human bool, path []any) {
	r, ok := v.rs.Get(name)
	switch {
	case !ok:
		hint := suggest.Among(name, v.rs.Names())
		if near := v.rs.Suggest(name); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near) // an alias, perhaps
		}
		v.refuse("workflow/role", path, "there is no role %q", name).Want("%s", hint)
	case human && !r.Human:
		v.refuse("workflow/role", path, "role %q is played by agents, who cannot approve", r.Name)
	case !human && r.Human:
		v.refuse("workflow/role", path, "role %q is played by people, who get no tasks", r.Name)
	}
}

// duty is what a kind of node demands.
type duty struct {
	role  string
	after loomv1.NodeKind // that some node before it has; 0 for none
}

var duties = map[loomv1.NodeKind]duty{
	loomv1.NodeKind_NODE_KIND_COMMIT: {role: "engineering-manager"},
	loomv1.NodeKind_NODE_KIND_VERIFY: {role: "qa-engineer", after: loomv1.NodeKind_NODE_KIND_COMMIT},
	loomv1.NodeKind_NODE_KIND_LAND:   {role: "engineering-manager", after: loomv1.NodeKind_NODE_KIND_VERIFY},
}

func (v *validator) kind(i int, n *loomv1.NodeDefinition) {
	if n.Kind == 0 || n.Process != "" {
		return
	}
	d, ok := duties[n.Kind]
	if !ok {
		v.refuse("workflow/type", at("nodes", i, "kind"), "unknown kind").Got(n.Kind.String())
		return
	}
	if canonical(n.Role, v.rs) != d.role {
		v.refuse("workflow/role", at("nodes", i, "role"), "node %q has kind %s, which only role %q may have", n.Id, nodeKinds.word(n.Kind), d.role)
	}
	if n.MultiDispatch {
		v.refuse("workflow/invalid", at("nodes", i, "multi_dispatch"), "node %q has kind %s, which is never multi_dispatch", n.Id, nodeKinds.word(n.Kind))
	}
	if d.after != 0 && v.types && v.ids && v.links && !v.hasBefore(i, d.after) {
		v.refuse("workflow/invalid", at("nodes", i, "kind"), "no node of kind %s comes before node %q", nodeKinds.word(d.after), n.Id)
	}
}

func (v *validator) hasBefore(i int, kind loomv1.NodeKind) bool {
	for j, before := range v.graph.ancestors(i) {
		if before && v.def.Nodes[j].Kind == kind {
			return true
		}
	}
	return false
}

func (v *validator) bounds(i int, n *loomv1.NodeDefinition) {
	if n.MaxAttempts > maxAttempts {
		v.refuse("workflow/invalid", at("nodes", i, "max_attempts"), "max_attempts is %d, more than %d", n.MaxAttempts, maxAttempts)
	}
	if t := n.Timeout; t != nil && (t.CheckValid() != nil || t.AsDuration() < time.Second || t.AsDuration() > 7*24*time.Hour) {
		v.refuse("workflow/invalid", at("nodes", i, "timeout"), "timeout is not within 1s and 168h").Got(t.AsDuration().String())
	}
	if n.FailureEdgeAfterAttempts && v.links && !v.hasFailureEdge(n.Id) {
		v.refuse("workflow/edge", at("nodes", i, "failure_edge_after_attempts"), "node %q has no failure edge", n.Id)
	}
}

func (v *validator) hasFailureEdge(id string) bool {
	return slices.ContainsFunc(v.def.Edges, func(e *loomv1.EdgeDefinition) bool { return e.From == id && e.Outcome == failure })
}

// reserved are words that cannot be written as a field in an expression.
var reserved = []string{
	"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in",
	"let", "loop", "namespace", "null", "package", "return", "true", "var", "void", "while",
}

func (v *validator) outcomeFields(i int, n *loomv1.NodeDefinition) {
	if len(n.Outcome) > maxFields {
		v.refuse("workflow/invalid", at("nodes", i, "outcome"), "%d outcome fields, more than %d", len(n.Outcome), maxFields)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Outcome)) {
		path := at("nodes", i, "outcome", name)
		if !fieldPattern.MatchString(name) || slices.Contains(reserved, name) {
			v.badField(name, path)
		}
		if t := n.Outcome[name]; !condition.IsFieldType(t) {
			hint := suggest.Among(t, condition.FieldTypes)
			switch {
			case t == "float":
				hint = `did you mean "double"?`
			case strings.Contains(t, "|"):
				hint = fmt.Sprintf("2 to %d different words of a-z, 0-9, _ and -, as in low | high", condition.MaxChoices)
			}
			v.refuse("workflow/type", path, "outcome field %q has an unknown type", name).Got(t).Want("%s", hint)
		}
	}
}

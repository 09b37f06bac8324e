package workflow

import (
	"maps"
	"reflect"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Copy returns an execution as it is now, which stays so whatever happens to x.
// It shares with x what no fold ever changes: what facts brought, and attempts
// that have ended. So it costs little where much has happened, and must be read
// only.
func Copy(x *loomv1.Execution) *loomv1.Execution {
	out := shallow(x)
	out.Nodes = make(map[string]*loomv1.NodeState, len(x.Nodes))
	for id, st := range x.Nodes {
		st = shallow(st)
		st.Attempt = proto.CloneOf(st.Attempt)
		out.Nodes[id] = st
	}
	out.Edges, out.NamedChecks = maps.Clone(x.Edges), maps.Clone(x.NamedChecks)
	out.Usage = proto.CloneOf(x.Usage)
	if x.Context != nil {
		out.Context = shallow(x.Context)
		out.Context.Fields = maps.Clone(x.Context.Fields)
	}
	return out
}

// shallow returns a message with the same fields, which are shared.
func shallow[M any](m *M) *M {
	out := new(M)
	from, to := reflect.ValueOf(m).Elem(), reflect.ValueOf(out).Elem()
	for i := range to.NumField() {
		if f := to.Field(i); f.CanSet() { // what is not exported is protobuf's own
			f.Set(from.Field(i))
		}
	}
	return out
}

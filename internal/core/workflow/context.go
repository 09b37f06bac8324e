package workflow

import (
	"maps"

	"google.golang.org/protobuf/types/known/structpb"
)

// Values of the context that the engine writes.
const (
	redispatchRequested = "redispatch_requested"
	lastRunAt           = "last_run_at"
)

// Reserved says whether the engine writes a value of the context itself.
func Reserved(key string) bool { return key == redispatchRequested || key == lastRunAt }

// WithValues returns a context with values set, and those that are null taken out. It
// changes none of both.
func WithValues(context, values *structpb.Struct) *structpb.Struct {
	out := &structpb.Struct{Fields: maps.Clone(context.GetFields())}
	if out.Fields == nil {
		out.Fields = map[string]*structpb.Value{}
	}
	for key, v := range values.GetFields() {
		if _, null := v.GetKind().(*structpb.Value_NullValue); null || v.GetKind() == nil {
			delete(out.Fields, key)
			continue
		}
		out.Fields[key] = v
	}
	return out
}

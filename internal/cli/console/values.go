package console

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
)

// Values reads values of a context, each KEY=VALUE where VALUE is JSON, or else text.
// at is where they were given, for errors.
func Values(at string, list []string) (*structpb.Struct, error) {
	m := map[string]any{}
	for _, kv := range list {
		key, text, ok := strings.Cut(kv, "=")
		if !ok || key == "" {
			return nil, fault.New("submit/invalid-field", "not KEY=VALUE").At(at).Got(kv)
		}
		var parsed any
		if json.Unmarshal([]byte(text), &parsed) != nil {
			parsed = text
		}
		m[key] = parsed
	}
	return structpb.NewStruct(m)
}

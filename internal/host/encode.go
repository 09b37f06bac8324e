package host

import (
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
)

// encode answers in the encoding that was asked in: JSON for JSON.
func encode(contentType string, m proto.Message) ([]byte, error) {
	if actors.IsJSON(contentType) {
		return protojson.Marshal(m)
	}
	return proto.Marshal(m)
}

package mcpserver

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomrun/loom/internal/base/endpoint"
)

// verb is one thing that a client can ask of a host.
type verb struct {
	endpoint.Verb
	service *endpoint.Endpoint
}

// verbs are all there are, in the order in which clients see them: that of the
// contract.
var verbs = offered()

func offered() (list []verb) {
	for _, e := range endpoint.All() {
		for _, v := range e.Verbs {
			list = append(list, verb{v, e})
		}
	}
	return list
}

// scope returns the scope that the verb is asked under, of those that a client has, or
// "".
func (v verb) scope(have []string) string {
	for _, s := range v.service.Scopes {
		if slices.Contains(have, s) {
			return s
		}
	}
	return ""
}

// described are the verbs as clients see them, made once: over HTTP each request
// has a server of its own.
var described = sync.OnceValue(func() (list []*mcp.Tool) {
	for _, v := range verbs {
		list = append(list, v.tool())
	}
	return list
})

func (v verb) tool() *mcp.Tool {
	schema, err := json.Marshal(v.schema())
	if err != nil {
		panic(err) // it is made of maps and strings
	}
	closed := false
	return &mcp.Tool{
		Name: v.Name, Title: v.Title, Description: v.Description, InputSchema: json.RawMessage(schema),
		Annotations: &mcp.ToolAnnotations{
			Title: v.Title, ReadOnlyHint: !v.Changes, DestructiveHint: new(v.Destroys), IdempotentHint: v.Idempotent || !v.Changes, OpenWorldHint: &closed,
		},
	}
}

package host

import (
	"context"
	"net/http"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/net/mcpserver"
	"github.com/loomrun/loom/internal/net/web"
)

// protocol serves the Model Context Protocol to a client of HTTP, with what its
// token may do.
func (s *services) protocol(c web.Client) http.Handler {
	ask := func(ctx context.Context, scope, service string, request, reply proto.Message) error {
		body, err := proto.Marshal(request)
		if err != nil {
			return err
		}
		got, err := web.Ask(ctx, s, service, c.Identity(scope), "", body)
		if err != nil {
			return err
		}
		proto.Merge(reply, got)
		return nil
	}
	return mcpserver.Handler(mcpserver.Config{Ask: ask, Scopes: c.Scopes, Version: Version})
}

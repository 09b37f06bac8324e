package host

import (
	"context"
	"net/http"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/mcpserver"
	"github.com/loomrun/loom/internal/web"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// protocol serves the Model Context Protocol to a client of HTTP, with what its
// token may do.
func (s *services) protocol(c web.Client) http.Handler {
	ask := func(ctx context.Context, scope, service string, request, reply proto.Message) error {
		body, err := proto.Marshal(request)
		if err != nil {
			return err
		}
		got := s.Call(ctx, service, c.Identity(scope), "", body)
		if got == nil {
			return fault.New("host/unavailable", "the host does not serve this just now")
		}
		if e, ok := got.(interface{ GetError() *loomv1.Error }); ok && e.GetError() != nil {
			return fault.FromProto(e.GetError())
		}
		proto.Merge(reply, got)
		return nil
	}
	return mcpserver.Handler(mcpserver.Config{Ask: ask, Scopes: c.Scopes, Version: Version})
}

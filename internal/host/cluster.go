package host

import (
	"context"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (h *Host) serveCluster(ctx context.Context, _ call) proto.Message {
	return &loomv1.ClusterReply{Status: h.broker.Status(ctx)}
}

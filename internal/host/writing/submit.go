package writing

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (w *Writer) submit(ctx context.Context, c service.Call) proto.Message {
	if err := w.config.Admit(); err != nil {
		return &loomv1.SubmitReply{Error: fault.From(err).Proto()}
	}
	reply := w.config.Submit(ctx, actors.Letter{Subject: c.Subject, ContentType: c.ContentType, Data: c.Data, From: c.From})
	if reply.Error != nil {
		reply.Error = fault.From(w.config.Known.Suggest(fault.FromProto(reply.Error))).Proto()
	}
	return reply
}

// Package service is how a host's services are written: as functions of a request, which
// are decoded, answered and refused in one place.
package service

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Call is a request to a service, as it came in.
type Call struct {
	Subject     string
	ContentType string
	Data        []byte
	From        *loomv1.Identity
	// Projects are all that a sender may read who is narrowed to some; empty means any.
	Projects []string
}

// Handler answers a call. What is refused is in the answer.
type Handler func(ctx context.Context, c Call) proto.Message

// message is a pointer to M, which is a message.
type message[M any] interface {
	*M
	proto.Message
}

// Of is a handler that decodes the request and has it answered. A refusal is the reply's
// field "error", which every reply has.
func Of[Q, R any, QP message[Q], RP message[R]](answer func(ctx context.Context, q QP, c Call) (RP, error)) Handler {
	return func(ctx context.Context, c Call) proto.Message {
		q := QP(new(Q))
		err := actors.Decode(c.ContentType, c.Data, q)
		if err == nil {
			var reply RP
			if reply, err = answer(ctx, q, c); err == nil {
				return reply
			}
		}
		reply := RP(new(R))
		refuse(ctx, reply, err)
		return reply
	}
}

// Asked is a handler for a service to which it does not matter who asks, and how.
func Asked[Q, R any, QP message[Q], RP message[R]](answer func(ctx context.Context, q QP) (RP, error)) Handler {
	return Of(func(ctx context.Context, q QP, _ Call) (RP, error) { return answer(ctx, q) })
}

// refuse has a reply say why there is none. What a stopping host breaks off is no fault of
// its own: whoever asked asks again, and another host or the next start answers.
func refuse(ctx context.Context, reply proto.Message, err error) {
	if fault.Code(err) == "" && errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = fault.New("host/stopping", "the host is stopping; try again")
	}
	m := reply.ProtoReflect()
	m.Set(m.Descriptor().Fields().ByName("error"), protoreflect.ValueOfMessage(fault.From(err).Proto().ProtoReflect()))
}

package natswire

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
)

// Serve bears a name until stop is called, as [Wire.ServeFunc] does: requests
// to it are sent to an actor, which responds. What an actor loses in a restart
// is asked again; so is what it has not answered within Config.Silence, which
// may come to it twice.
func (w *Wire) Serve(name string, to *actor.PID) (stop func(), err error) {
	return w.bear(name, true, func(ctx context.Context, m proto.Message) (proto.Message, error) {
		return w.request(ctx, to, m)
	})
}

// asker is who asks an actor on behalf of another host; it implements
// [actor.Process].
type asker struct{ got chan any } // of capacity 1

func (a *asker) SendUserMessage(_ *actor.PID, message any) {
	select {
	case a.got <- actor.UnwrapEnvelopeMessage(message):
	default: // it has an answer already
	}
}

func (a *asker) SendSystemMessage(*actor.PID, any) {}

func (a *asker) Stop(*actor.PID) {}

// request asks an actor and waits for its answer until ctx ends.
func (w *Wire) request(ctx context.Context, to *actor.PID, m proto.Message) (proto.Message, error) {
	registry := w.system.ProcessRegistry
	a := &asker{make(chan any, 1)}
	self, _ := registry.Add(a, "asker"+registry.NextId()) // the id is new
	defer registry.Remove(self)
	process, found := registry.Get(to)
	if !found {
		return nil, errDead
	}
	process.SendUserMessage(to, &actor.MessageEnvelope{Header: Headers(ctx), Message: m, Sender: self})
	select {
	case <-ctx.Done():
		return nil, fault.New("wire/unanswered", "the actor has not answered in time")
	case got := <-a.got:
		switch answer := got.(type) {
		case *actor.DeadLetterResponse:
			return nil, errDead
		case proto.Message:
			return answer, nil
		default:
			return nil, fault.New("wire/unknown-type", "the actor answered with %T, which other hosts do not understand", answer)
		}
	}
}

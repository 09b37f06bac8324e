package natswire

import (
	"reflect"
	"unsafe"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// heard takes what other hosts send to the actors of this one.
func (w *Wire) heard(m *nats.Msg) {
	e, err := parse(m.Data)
	if err != nil {
		w.respond(m.Reply, refusal(err))
		return
	}
	switch e.Kind {
	case loomv1.EnvelopeKind_ENVELOPE_KIND_MESSAGE:
		answer := w.deliver(e)
		answer.Serial = e.Serial
		w.respond(m.Reply, answer)
		if m.Reply == "" && answer.Kind != loomv1.EnvelopeKind_ENVELOPE_KIND_ARRIVED {
			w.log.Warn("a message of nobody's was not taken", "actor", e.Target.GetId(), "type", e.Type, "reason", answer.Error.GetMessage())
		}
	case loomv1.EnvelopeKind_ENVELOPE_KIND_DEAD_LETTER:
		w.post(e.Target, &actor.DeadLetterResponse{Target: pid(e.Target)})
	case loomv1.EnvelopeKind_ENVELOPE_KIND_WATCH:
		w.watched(e)
	case loomv1.EnvelopeKind_ENVELOPE_KIND_UNWATCH:
		w.unwatched(e)
	case loomv1.EnvelopeKind_ENVELOPE_KIND_TERMINATED:
		w.terminated(e)
	default:
		w.respond(m.Reply, refusal(fault.New("wire/malformed", "%s is not for actors", e.Kind)))
	}
}

// deliver hands a message to its actor and says what became of it.
func (w *Wire) deliver(e *loomv1.Envelope) *loomv1.Envelope {
	process, found := w.system.ProcessRegistry.GetLocal(e.Target.GetId())
	if !found {
		return &loomv1.Envelope{Kind: loomv1.EnvelopeKind_ENVELOPE_KIND_DEAD_LETTER}
	}
	if n := waiting(process); n >= w.config.Mailbox {
		return refusal(fault.New("wire/busy", "%d messages wait for actor %s", n, e.Target.Id))
	}
	message, err := open(e)
	if err != nil {
		return refusal(err)
	}
	process.SendUserMessage(pid(e.Target), &actor.MessageEnvelope{Header: e.Headers, Message: message, Sender: pid(e.Sender)})
	return &loomv1.Envelope{Kind: loomv1.EnvelopeKind_ENVELOPE_KIND_ARRIVED}
}

// post hands an actor of this host a message of the wire's own.
func (w *Wire) post(to *loomv1.ActorRef, message any) {
	if process, found := w.system.ProcessRegistry.GetLocal(to.GetId()); found {
		process.SendUserMessage(pid(to), message)
	}
}

// actorProcess has the memory of [actor.ActorProcess], which tells nobody how
// full its mailbox is.
type actorProcess struct {
	mailbox actor.Mailbox
	dead    int32
}

// known says whether this release of protoactor is the one that was looked at.
var known = func() bool {
	ours, theirs := reflect.TypeFor[actorProcess](), reflect.TypeFor[actor.ActorProcess]()
	if ours.NumField() != theirs.NumField() || ours.Size() != theirs.Size() {
		return false
	}
	for i := range ours.NumField() {
		a, b := ours.Field(i), theirs.Field(i)
		if a.Name != b.Name || a.Type != b.Type || a.Offset != b.Offset {
			return false
		}
	}
	return true
}()

// waiting returns how many messages are in an actor's mailbox; 0 for what has
// none.
func waiting(p actor.Process) int {
	process, ok := p.(*actor.ActorProcess)
	if !ok || !known {
		return 0
	}
	return (*actorProcess)(unsafe.Pointer(process)).mailbox.UserMessageCount()
}

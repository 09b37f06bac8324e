package natswire

import (
	"fmt"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// remote stands for all actors of one start of another host; it implements
// [actor.Process].
type remote struct {
	w       *Wire
	host    string
	epoch   uint64
	address string
	subj    string

	mu      sync.Mutex
	sent    uint64             // serial of the newest message
	arrived uint64             // of the newest that arrived, or will not
	flights map[string]*flight // by reply; those whose arrival was asked for
}

// flight is a message whose arrival is asked for.
type flight struct {
	serial  uint64
	began   time.Time
	target  *actor.PID
	message proto.Message
	sender  *actor.PID
}

var _ actor.Process = (*remote)(nil)

// resolve is how the actor system finds who is behind a PID of another host.
func (w *Wire) resolve(pid *actor.PID) (actor.Process, bool) {
	host, epoch, ok := parseAddress(pid.Address)
	if !ok {
		return nil, false
	}
	return w.remote(host, epoch), true
}

// remote returns the one process of an address. Of a start that is known to
// be over none is kept.
func (w *Wire) remote(host string, epoch uint64) *remote {
	w.mu.Lock()
	defer w.mu.Unlock()
	address := Address(host, epoch)
	r := w.remotes[address]
	if r == nil {
		r = &remote{
			w: w, host: host, epoch: epoch, address: address, subj: subject.Actor(subject.Must(host), epoch), flights: map[string]*flight{},
		}
		if epoch > w.dead[host] {
			w.remotes[address] = r
		}
	}
	return r
}

// SendUserMessage implements [actor.Process]. It never blocks.
func (r *remote) SendUserMessage(pid *actor.PID, message any) {
	header, body, sender := actor.UnwrapEnvelope(message)
	if _, dead := body.(*actor.DeadLetterResponse); dead {
		_ = r.post(&loomv1.Envelope{Kind: loomv1.EnvelopeKind_ENVELOPE_KIND_DEAD_LETTER, Target: ref(pid)}) // whoever asked has a timeout
		return
	}
	f := &flight{target: pid, sender: sender}
	m, ok := body.(proto.Message)
	if !ok {
		r.w.refused(f, body, fault.New("wire/unknown-type", "%T is not a message that other hosts understand", body))
		return
	}
	f.message = m
	e := &loomv1.Envelope{Kind: loomv1.EnvelopeKind_ENVELOPE_KIND_MESSAGE, Target: ref(pid), Sender: r.w.ref(sender)}
	if header != nil {
		e.Headers = header.ToMap()
	}
	e, err := r.w.seal(e, m)
	if err == nil {
		err = r.send(e, f)
	}
	if err != nil {
		r.w.refused(f, m, err)
	}
}

// send puts a message on its way, if the window is open. Whether it arrived is
// asked for each that has a sender, and for some of the others, so that the
// window moves on.
func (r *remote) send(e *loomv1.Envelope, f *flight) error {
	if r.over() {
		return errDead
	}
	r.mu.Lock()
	if r.sent-r.arrived >= uint64(r.w.config.Window) {
		r.mu.Unlock()
		return fault.New("wire/busy", "%d messages are on their way to %s", r.w.config.Window, r.address)
	}
	r.sent++
	e.Serial, f.serial, f.began = r.sent, r.sent, time.Now()
	defer r.mu.Unlock() // once it is published, so that all keep their order
	if f.sender == nil && r.sent%r.w.every() != 0 {
		return r.post(e)
	}
	reply := r.w.replies.expect(r.heard)
	r.flights[reply] = f
	if err := r.w.nc.PublishRequest(r.subj, reply, encode(e)); err != nil {
		r.forget(reply)
		return fault.New("host/unavailable", "nothing can be sent").Because(err)
	}
	return nil
}

// every says how many messages of no sender come to one whose arrival is
// asked for.
func (w *Wire) every() uint64 { return uint64(max(1, min(64, w.config.Window/4))) }

// post publishes what needs no answer.
func (r *remote) post(e *loomv1.Envelope) error {
	if err := r.w.nc.Publish(r.subj, encode(e)); err != nil {
		return fault.New("host/unavailable", "nothing can be sent").Because(err)
	}
	return nil
}

// forget takes a flight out of those that are waited for; mu is held.
func (r *remote) forget(reply string) *flight {
	f := r.flights[reply]
	delete(r.flights, reply)
	r.w.replies.forget(reply)
	if f != nil {
		r.arrived = max(r.arrived, f.serial)
	}
	return f
}

// heard takes the word of what became of a message.
func (r *remote) heard(m *nats.Msg) {
	r.mu.Lock()
	f := r.forget(m.Subject)
	r.mu.Unlock()
	if f == nil {
		return
	}
	if nobody(m) {
		r.w.refused(f, f.message, errDead)
		return
	}
	e, err := parse(m.Data)
	switch {
	case err != nil:
		r.w.refused(f, f.message, err)
	case e.Kind == loomv1.EnvelopeKind_ENVELOPE_KIND_DEAD_LETTER:
		r.w.refused(f, f.message, errDead)
	case e.Kind == loomv1.EnvelopeKind_ENVELOPE_KIND_REFUSED:
		r.w.refused(f, f.message, fault.FromProto(e.Error))
	}
}

// expire gives up on messages of which nothing was heard: they, or the word
// of them, were lost.
func (r *remote) expire(before time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for reply, f := range r.flights {
		if f.began.Before(before) {
			r.forget(reply)
			r.w.log.Debug("nothing was heard of a message", "to", r.address, "actor", f.target.GetId(), "type", fmt.Sprintf("%T", f.message))
		}
	}
}

// die answers for everything that is on its way.
func (r *remote) die() {
	r.mu.Lock()
	var lost []*flight
	for reply := range r.flights {
		lost = append(lost, r.forget(reply))
	}
	r.mu.Unlock()
	for _, f := range lost {
		r.w.refused(f, f.message, errDead)
	}
}

// over says whether this start of the host is known to have ended.
func (r *remote) over() bool {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	return r.epoch <= r.w.dead[r.host] || r.w.over.Err() != nil
}

// Stop implements [actor.Process]: nobody stops the actors of another host.
func (r *remote) Stop(pid *actor.PID) {
	r.w.log.Warn("actors of other hosts cannot be stopped", "address", r.address, "actor", pid.Id)
}

// errDead says that nobody is behind a PID.
var errDead = fault.New("wire/unanswered", "there is no such actor")

// refused tells the sender what became of its message: a dead letter where
// nobody is there, else the reason, as a message.
func (w *Wire) refused(f *flight, message any, err error) {
	letter := &actor.DeadLetterEvent{PID: f.target, Message: message, Sender: f.sender}
	if err != errDead { //nolint:errorlint // it is this very one or another
		w.log.Warn("a message was not taken", "to", f.target.GetAddress(), "actor", f.target.GetId(), "type", fmt.Sprintf("%T", message), "reason", err)
		if letter.Sender = nil; f.sender != nil {
			w.system.Root.Send(f.sender, fault.From(err).Proto())
		}
	}
	w.system.EventStream.Publish(letter)
}

// ref names an actor to other hosts; nil for none.
func ref(pid *actor.PID) *loomv1.ActorRef {
	if pid == nil {
		return nil
	}
	return &loomv1.ActorRef{Address: pid.Address, Id: pid.Id, RequestId: pid.RequestId}
}

// ref is for an actor that may be one of this host, started before it was on
// the wire.
func (w *Wire) ref(pid *actor.PID) *loomv1.ActorRef {
	r := ref(pid)
	if r != nil && r.Address == local {
		r.Address = w.address
	}
	return r
}

// local is the address of actors that were started before the wire.
const local = "nonhost"

// pid is the opposite of ref.
func pid(r *loomv1.ActorRef) *actor.PID {
	if r == nil {
		return nil
	}
	return &actor.PID{Address: r.Address, Id: r.Id, RequestId: r.RequestId}
}

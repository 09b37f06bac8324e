package natswire

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// name is a name that this host bears.
type name struct {
	w      *Wire
	subj   string
	quiet  bool // there are no signs of life: a request may be lost here
	handle func(ctx context.Context, m proto.Message) (proto.Message, error)
	free   chan struct{} // holds a token for each request that is worked on
	over   context.Context
	stop   context.CancelFunc
	sub    *nats.Subscription

	mu      sync.Mutex
	ending  bool           // nothing is taken any more
	running sync.WaitGroup // what was taken
}

// ServeFunc bears a name until stop is called: each request to it is given to
// f, in a goroutine of its own, at most Config.Requests at once. The context
// ends when whoever asks waits no longer, or with stop or Close; [Headers]
// tells what the caller sent along. f returns the answer and must not return
// nil; if it panics, the caller is told that it failed.
//
// A request may come again, also while it is worked on, and to a host that
// bears the name later; nothing here remembers it. What f does must be
// harmless when it is done twice.
//
// stop gives the name back: it ends the contexts of requests that are worked
// on and waits for f. They, and what comes later, are asked again of the next
// to bear the name. It may be called more than once, and not by f.
//
// It returns id/malformed for a name that is no token, and host/unavailable
// when the connection or the wire is closed.
func (w *Wire) ServeFunc(name string, f func(ctx context.Context, m proto.Message) proto.Message) (stop func(), err error) {
	return w.bear(name, false, func(ctx context.Context, m proto.Message) (proto.Message, error) { return f(ctx, m), nil })
}

func (w *Wire) bear(token string, quiet bool, handle func(context.Context, proto.Message) (proto.Message, error)) (stop func(), err error) {
	t, err := subject.Parse("name", token)
	if err != nil {
		return nil, err
	}
	n := &name{w: w, subj: subject.Name(t), quiet: quiet, handle: handle, free: make(chan struct{}, w.config.Requests)}
	n.over, n.stop = context.WithCancel(w.over)
	// A queue, so that where two bear the name for a moment only one answers.
	if n.sub, err = w.nc.QueueSubscribe(n.subj, "bearer", n.heard); err == nil {
		err = w.nc.Flush()
	}
	if err != nil || !w.keep(n) {
		n.end()
		return nil, fault.New("host/unavailable", "the name %s cannot be borne", token).Because(err)
	}
	return func() { w.drop(n); n.end() }, nil
}

// keep has Close end n; it returns false when it is too late for that.
func (w *Wire) keep(n *name) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over.Err() != nil {
		return false
	}
	w.names[n] = true
	return true
}

func (w *Wire) drop(n *name) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.names, n)
}

// end gives the name back. What has arrived and was not taken is refused, so
// that it is asked again at once.
func (n *name) end() {
	n.mu.Lock()
	first := !n.ending
	n.ending = true
	n.mu.Unlock()
	n.stop()
	if first && n.sub != nil {
		_ = n.sub.Drain() // it fails only when the connection is gone
	}
	n.running.Wait()
}

// begin runs f unless the name is being given back, or too much runs.
func (n *name) begin(f func()) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ending {
		return fault.New("wire/busy", "the name is being given back").At(n.subj)
	}
	select {
	case n.free <- struct{}{}:
		n.running.Go(func() { defer func() { <-n.free }(); f() })
		return nil
	default:
		return fault.New("wire/busy", "%d requests are worked on", cap(n.free)).At(n.subj)
	}
}

// heard takes a request, or refuses it at once.
func (n *name) heard(m *nats.Msg) {
	e, err := parse(m.Data)
	if err == nil && e.Kind != loomv1.EnvelopeKind_ENVELOPE_KIND_REQUEST {
		err = fault.New("wire/malformed", "%s is not a request", e.Kind)
	}
	if err == nil {
		err = n.begin(func() { n.work(m.Reply, e) })
	}
	if err != nil {
		n.w.respond(m.Reply, refusal(err))
	}
}

// longest bounds what a caller asks for.
const longest = time.Hour

// work answers a request, and says now and then that it is at it.
func (n *name) work(reply string, e *loomv1.Envelope) {
	ctx, cancel := context.WithTimeout(withHeaders(n.over, e.Headers), min(max(e.Within.AsDuration(), 0), longest))
	defer cancel()
	done := make(chan *loomv1.Envelope, 1)
	go func() { done <- n.outcome(ctx, e) }()
	alive := time.NewTicker(n.w.config.Silence / 3)
	defer alive.Stop()
	for {
		select {
		case answer := <-done:
			n.w.respond(reply, answer)
			return
		case <-alive.C:
			if n.quiet {
				continue
			}
			n.w.respond(reply, &loomv1.Envelope{Kind: loomv1.EnvelopeKind_ENVELOPE_KIND_WORKING, Request: e.Request})
		}
	}
}

// outcome is the answer to a request, or why there is none.
func (n *name) outcome(ctx context.Context, e *loomv1.Envelope) (answer *loomv1.Envelope) {
	defer func() {
		if p := recover(); p != nil {
			n.w.log.Error("a request panicked", "subject", n.subj, "type", e.Type, "reason", fmt.Sprint(p), "stack", string(debug.Stack()))
			answer = refusal(fault.New("internal/error", "%s has failed", e.Type).At(n.subj))
		}
	}()
	m, err := open(e)
	if err != nil {
		return refusal(err)
	}
	out, err := n.handle(ctx, m)
	if n.over.Err() != nil { // it may have been cut short
		err = fault.New("wire/busy", "the name is being given back").At(n.subj)
	}
	if err != nil {
		return refusal(err)
	}
	answer, err = n.w.seal(&loomv1.Envelope{Kind: loomv1.EnvelopeKind_ENVELOPE_KIND_REPLY, Request: e.Request}, out)
	if err != nil {
		return refusal(err)
	}
	return answer
}

// respond sends an answer; one that is lost is asked for again.
func (w *Wire) respond(reply string, e *loomv1.Envelope) {
	if reply == "" {
		return
	}
	if err := w.nc.Publish(reply, encode(e)); err != nil {
		w.log.Debug("an answer could not be sent", "reason", err)
	}
}

type headersKey struct{}

// Headers returns what the caller of a request sent along, for example
// "traceparent". It must not be changed.
func Headers(ctx context.Context) map[string]string {
	h, _ := ctx.Value(headersKey{}).(map[string]string)
	return h
}

// WithHeaders returns a context whose calls send headers along, at most 8 KiB.
func WithHeaders(ctx context.Context, headers map[string]string) context.Context {
	return withHeaders(ctx, headers)
}

func withHeaders(ctx context.Context, headers map[string]string) context.Context {
	return context.WithValue(ctx, headersKey{}, headers)
}

package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Task is a message of a client that its broker has acknowledged.
type Task struct {
	Subject string
	// Header is the client's own, "Content-Type" and "Nats-Msg-Id" for
	// example. What it says about the sender is not to be believed.
	Header map[string][]string
	Data   []byte
	// Stamp is when the stream took it.
	Stamp time.Time
	// ID is the same at each delivery of this message, and no other's.
	ID string
}

const (
	intake = "intake"
	// together is how many tasks may be handled at once.
	together = 64
	// deliveries is how often a task that fails for no stated reason is tried.
	deliveries = 5
)

// ConsumeTasks calls handle for each submission and error report that was
// published by clients, until ctx ends; it returns ctx's error, or
// host/unavailable. Tasks of one subject are handled one after the other, in
// order, and of several at once; the hosts of a cluster share them. A task is taken off the stream after handle
// has returned nil, so after a crash one may come again, with the same ID.
//
// When handle returns an error whose exit status is Unavailable, or one
// without a code, the task comes again later; the latter at most 5 times. Any
// other error is for good: the task is set aside with it on the DLQ stream.
func (b *Broker) ConsumeTasks(ctx context.Context, handle func(context.Context, Task) error) error {
	err := b.consumeOnce(ctx, handle)
	for b.Clustered() && b.passes(err) && ctx.Err() == nil {
		b.log.Warn("tasks are read anew", "because", err)
		err = b.consumeOnce(ctx, handle)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fault.New("host/unavailable", "tasks cannot be read").Because(err)
}

// consumeOnce makes the consumer, unless it is there, and reads until it fails.
func (b *Broker) consumeOnce(ctx context.Context, handle func(context.Context, Task) error) error {
	var consumer jetstream.Consumer
	err := b.throughElection(ctx, func(ctx context.Context) (err error) {
		consumer, err = b.js[tasked].CreateOrUpdateConsumer(ctx, tasksStream, jetstream.ConsumerConfig{
			Durable: intake, AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: b.taskWait(), MaxDeliver: -1, MaxAckPending: -1,
		})
		return err
	})
	for err == nil && ctx.Err() == nil {
		err = b.consume(ctx, consumer, handle)
	}
	return err
}

// taskWait is how long a task stays with a host that says nothing: in a cluster
// another host takes it soon, at a new start a host that is alone has it at
// once.
func (b *Broker) taskWait() time.Duration {
	if b.Clustered() {
		return 6 * time.Second
	}
	return ackWait
}

// hold says that a task is being handled, until its end is called.
func (b *Broker) hold(msg jetstream.Msg) (end func()) {
	done := make(chan struct{})
	tick := time.NewTicker(b.taskWait() / 4)
	go func() {
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				_ = msg.InProgress()
			}
		}
	}()
	return func() { close(done) }
}

// forgetIntake drops what the server remembers of the last start's deliveries,
// so that tasks which were being handled when the host died come again at
// once and not after ackWait. In a cluster they can be another host's, and are
// left to come again by themselves.
func (b *Broker) forgetIntake(ctx context.Context) error {
	if b.Clustered() {
		return nil
	}
	err := b.slowly(ctx, "what was being read is forgotten", func(ctx context.Context) error {
		return b.js[tasked].DeleteConsumer(ctx, tasksStream, intake)
	})
	if err == nil || errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil
	}
	return fault.New("host/unavailable", "stream %s does not answer", tasksStream).Because(err)
}

// dropRest drops what a kill left of the intake while it was made or removed. The
// server takes it for no consumer, so forgetIntake cannot drop it; but it would
// go on with the deliveries that are noted there, and never complete it.
func (b *Broker) dropRest() error {
	if b.Clustered() {
		return nil
	}
	dir := b.config.Dir.Path("jetstream", tasked, "streams", tasksStream, "obs", intake)
	for _, file := range []string{"meta.inf", "meta.sum"} {
		if _, err := os.Stat(filepath.Join(dir, file)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return fault.New("data/permissions", "what an earlier start left cannot be removed").At(dir).Because(err)
		}
	}
	return nil
}

// unhurried returns a context that ends with ctx and has no deadline: the
// client would make the deadline that of its request to the server, and refuse
// one that is close.
func unhurried(ctx context.Context) (context.Context, context.CancelFunc) {
	asked, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	return asked, func() { stop(); cancel() }
}

// consume waits for a task, and handles it and what else is there.
func (b *Broker) consume(ctx context.Context, consumer jetstream.Consumer, handle func(context.Context, Task) error) error {
	asked, cancel := unhurried(ctx)
	defer cancel()
	first, err := consumer.Fetch(1, jetstream.FetchContext(asked), jetstream.FetchHeartbeat(b.beat()))
	if err != nil {
		return err
	}
	msg := <-first.Messages()
	if msg == nil {
		return overcome(first.Error())
	}
	lanes := map[string][]jetstream.Msg{msg.Subject(): {msg}}
	rest, err := consumer.FetchNoWait(together - 1)
	if err != nil {
		return errors.Join(err, msg.Nak())
	}
	for msg := range rest.Messages() {
		lanes[msg.Subject()] = append(lanes[msg.Subject()], msg)
	}
	var wg sync.WaitGroup
	for _, lane := range lanes {
		wg.Go(func() {
			for _, msg := range lane {
				b.handleTask(ctx, msg, handle)
			}
		})
	}
	wg.Wait()
	return nil
}

// overcome returns nil for an error after which asking again is right.
func overcome(err error) error {
	if errors.Is(err, jetstream.ErrNoHeartbeat) {
		return nil
	}
	return err
}

// handleTask handles one task and settles it.
func (b *Broker) handleTask(ctx context.Context, msg jetstream.Msg, handle func(context.Context, Task) error) {
	meta, err := msg.Metadata()
	if err != nil {
		b.log.Error("a task without metadata", "error", err)
		return
	}
	t := Task{
		Subject: msg.Subject(), Header: msg.Headers(), Data: msg.Data(), Stamp: meta.Timestamp,
		ID: fmt.Sprintf("%d-%d", meta.Sequence.Stream, meta.Timestamp.UnixNano()),
	}
	end := b.hold(msg)
	failed := handle(ctx, t)
	end()
	if err := b.settle(ctx, msg, meta.NumDelivered, t, failed); err != nil {
		b.log.Error("a task could not be settled and comes again", "subject", t.Subject, "id", t.ID, "error", err)
	}
}

// settle acknowledges, gives back or sets aside a task, by what its handler
// returned.
func (b *Broker) settle(ctx context.Context, msg jetstream.Msg, delivered uint64, t Task, failed error) error {
	switch {
	case failed == nil:
		return msg.Ack()
	case ctx.Err() != nil:
		return msg.Nak()
	case again(failed, delivered):
		return msg.NakWithDelay(min(50*time.Millisecond<<min(delivered, 10), ackWait))
	}
	if held, ok := b.asides.take(); ok {
		b.log.Warn("a task is set aside", "subject", t.Subject, "id", t.ID, "error", failed, "others before", held)
	}
	if err := b.SetAside(ctx, tasksStream, t.Subject, t.Data, failed, t.Stamp); err != nil {
		return errors.Join(err, msg.NakWithDelay(time.Second))
	}
	if b.config.Aside != nil {
		b.config.Aside(t.Subject, failed)
	}
	return msg.TermWithReason(fault.From(failed).Code)
}

// again says whether a task that failed is worth another delivery.
func again(failed error, delivered uint64) bool {
	if fault.Code(failed) == "" || fault.Code(failed) == "internal/error" {
		return delivered < deliveries
	}
	return fault.Status(failed) == fault.Unavailable
}

// SetAside keeps a message that could not be handled, with the reason, for the
// operator. It blocks until that is on the disk.
func (b *Broker) SetAside(ctx context.Context, stream, subj string, data []byte, reason error, at time.Time) error {
	kept := &loomv1.SetAside{
		Stream: stream, Subject: strings.ToValidUTF8(subj, "\uFFFD"), Data: data, Error: fault.From(reason).Proto(), Time: timestamppb.New(at),
	}
	if b.config.Clean != nil {
		kept = b.config.Clean(kept)
	}
	body, err := proto.Marshal(kept)
	if err != nil {
		return fault.New("internal/error", "a message cannot be set aside").Because(err)
	}
	if _, err := b.js[core].Publish(ctx, subject.DLQ(dlqToken(stream)), body); err != nil {
		return fault.New("host/unavailable", "a message of %s cannot be set aside", stream).Because(err)
	}
	return nil
}

// dlqToken is the stream's name in the subject.
func dlqToken(stream string) subject.Token {
	return subject.Must(strings.ToLower(stream))
}

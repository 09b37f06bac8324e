package broker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/transient"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

const (
	// ackWait is how long an assignment stays with a puller that says nothing, and
	// jointAckWait where there are several hosts: what goes to one that cannot be
	// reached just then is lost on the way, and waits for so long.
	ackWait      = 30 * time.Second
	jointAckWait = 10 * time.Second
	// perSubject is the server's refusal of a second message of a subject.
	perSubject jetstream.ErrorCode = 10077
)

// anyPlace is where work may be done that every host can do.
var anyPlace = subject.Must("any")

// workSubject is where an assignment is queued.
func workSubject(a *loomv1.Assignment) (string, error) {
	role, err := subject.Parse("role", a.Role)
	if err != nil {
		return "", err
	}
	attempt, err := subject.Parse("attempt", a.Attempt)
	if err != nil {
		return "", err
	}
	return subject.Work(role, anyPlace, priorityToken(a.Priority), attempt, a.Generation), nil
}

// priorityToken is "urgent", "normal" or "low".
func priorityToken(p loomv1.Priority) subject.Token {
	if p == loomv1.Priority_PRIORITY_UNSPECIFIED {
		p = loomv1.Priority_PRIORITY_NORMAL
	}
	return subject.Must(strings.ToLower(strings.TrimPrefix(p.String(), "PRIORITY_")))
}

// PublishWork puts an assignment in the work queue; when it is there already,
// or is with an agent, that is no error and changes nothing. It blocks until
// the queue has it. A queue that is gone is made anew, and Config.WorkLost is
// called. It returns id/malformed for an assignment that no subject can carry,
// and host/unavailable.
func (b *Broker) PublishWork(ctx context.Context, a *loomv1.Assignment) error {
	to, err := workSubject(a)
	if err != nil {
		return err
	}
	data, err := proto.Marshal(a)
	if err != nil {
		return fault.New("internal/error", "assignment %q cannot be encoded", a.Attempt).Because(err)
	}
	err = b.throughElection(ctx, func(ctx context.Context) error {
		err := b.queue(ctx, to, data)
		if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) {
			if err := b.reviveWork(ctx); err != nil {
				return err
			}
			err = b.queue(ctx, to, data)
		}
		return err
	})
	if err != nil {
		return fault.New("host/unavailable", "attempt %q cannot be queued", a.Attempt).Because(err)
	}
	return nil
}

func (b *Broker) queue(ctx context.Context, to string, data []byte) error {
	_, err := b.js[core].Publish(ctx, to, data, jetstream.WithRetryAttempts(0))
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.ErrorCode == perSubject && strings.Contains(api.Description, "per subject") {
		return nil
	}
	return err
}

// reviveWork makes the work queue again, if it is gone, and says so.
func (b *Broker) reviveWork(ctx context.Context) error {
	b.workers.Lock()
	defer b.workers.Unlock()
	_, err := b.js[core].Stream(ctx, workStream)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	clear(b.workers.made)
	if err := b.create(ctx, b.config.row(workStream)); err != nil {
		return err
	}
	b.log.Warn("the work queue was gone and is made anew")
	if b.config.WorkLost != nil {
		go b.config.WorkLost()
	}
	return nil
}

// Delivery is an assignment that was pulled. Until Ack or Nak it is nobody
// else's, as long as InProgress is called more often than every 10 seconds.
type Delivery struct {
	Assignment *loomv1.Assignment
	msg        *nats.Msg
}

// InProgress says that it is still being worked on.
func (d *Delivery) InProgress() error { return d.msg.InProgress() }

// Ack takes the assignment off the queue. It does not wait for the server: an
// acknowledgement that is lost means that the assignment comes again.
func (d *Delivery) Ack() error { return d.msg.Ack() }

// Nak gives the assignment back, to be delivered again after delay.
func (d *Delivery) Nak(delay time.Duration) error { return d.msg.NakWithDelay(delay) }

// PullWork returns the next assignment of a role. It blocks until there is one
// or ctx ends, and then returns ctx's error; it holds no assignment back. An
// assignment comes again when it is not acknowledged, so its receiver claims
// it before it does anything.
func (b *Broker) PullWork(ctx context.Context, role string) (*Delivery, error) {
	token, err := subject.Parse("role", role)
	if err != nil {
		return nil, err
	}
	for {
		msg, err := b.pull(ctx, token)
		if err != nil {
			return nil, err
		}
		if msg == nil {
			continue
		}
		if d := b.delivery(msg); d != nil {
			return d, nil
		}
	}
}

// delivery decodes a message; one that is no assignment is dropped, since the
// journal can make it again.
func (b *Broker) delivery(msg *nats.Msg) *Delivery {
	a := new(loomv1.Assignment)
	if err := proto.Unmarshal(msg.Data, a); err != nil {
		b.log.Error("the work queue held something else", "subject", msg.Subject, "error", err)
		_ = msg.Term()
		return nil
	}
	return &Delivery{a, msg}
}

// pull makes one request for one message. It returns neither message nor error
// when there was none.
func (b *Broker) pull(ctx context.Context, role subject.Token) (*nats.Msg, error) {
	if err := b.worker(ctx, role); err != nil {
		return nil, b.pullFailed(ctx, role, err)
	}
	msg, err := pullOne(ctx, b.Core(), workStream, role.String(), b.beat())
	if err != nil {
		return nil, b.pullFailed(ctx, role, err)
	}
	return msg, nil
}

// passing are the errors after which a pull is tried again, with a new
// consumer, and a new queue if that is gone.
var passing = []error{
	jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDeleted,
	jetstream.ErrNoHeartbeat, nats.ErrNoResponders, jetstream.ErrNoStreamResponse,
}

// passes says whether a pull that ended with err is worth another.
func (b *Broker) passes(err error) bool {
	return slices.ContainsFunc(passing, func(p error) bool { return errors.Is(err, p) }) || b.Clustered() && transient.Is(err)
}

// pullFailed returns nil when err can be overcome.
func (b *Broker) pullFailed(ctx context.Context, role subject.Token, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if b.Core().IsClosed() {
		return fault.New("host/stopping", "the work queue is closed").Because(err)
	}
	if !b.passes(err) {
		return fault.New("host/unavailable", "no work can be pulled for role %q", role).Because(err)
	}
	b.workers.tell(b.log, role.String(), err)
	b.workers.forget(role.String())
	if err := b.throughElection(ctx, b.reviveWork); err != nil {
		return fault.New("host/unavailable", "no work can be pulled for role %q", role).Because(err)
	}
	return nil
}

// workers are the roles whose consumers of the work queue are there.
type workers struct {
	sync.Mutex
	made map[string]bool
	told atomic.Int64 // when a failed pull was last told of
}

// tell logs that a pull failed, once in a while: in a cluster without a quorum
// those of all agents do, again and again.
func (w *workers) tell(log *slog.Logger, role string, err error) {
	level, now := slog.LevelDebug, time.Now().UnixNano()
	if last := w.told.Load(); now-last > int64(progressEvery) && w.told.CompareAndSwap(last, now) {
		level = slog.LevelWarn
	}
	log.Log(context.Background(), level, "a pull for work ended early", "role", role, "error", err)
}

func (w *workers) forget(role string) {
	w.Lock()
	defer w.Unlock()
	delete(w.made, role)
}

// worker makes the role's consumer, when it is first needed.
func (b *Broker) worker(ctx context.Context, role subject.Token) error {
	b.workers.Lock()
	defer b.workers.Unlock()
	if b.workers.made[role.String()] {
		return nil
	}
	err := b.throughElection(ctx, func(ctx context.Context) error {
		// Whatever deadline ctx has: a leader that is gone never answers.
		return within(ctx, answerWithin, func(ctx context.Context) error { return b.createWorker(ctx, role) })
	})
	b.workers.made[role.String()] = err == nil
	return err
}

func (b *Broker) createWorker(ctx context.Context, role subject.Token) error {
	_, err := b.js[core].CreateOrUpdateConsumer(ctx, workStream, jetstream.ConsumerConfig{
		Durable: role.String(), FilterSubject: subject.WorkOf(role), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: b.workWait(), MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: 4096,
	})
	return err
}

// workWait is ackWait or jointAckWait.
func (b *Broker) workWait() time.Duration {
	if b.Clustered() {
		return jointAckWait
	}
	return ackWait
}

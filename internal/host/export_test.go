package host

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host/seat"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/natsjournal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Trouble injects an internal error.
func (h *Host) Trouble(t actors.Trouble) { h.own.note(t) }

// SetAside pretends that a message was set aside.
func (h *Host) SetAside(subject string, why error) { h.own.setAside(subject, why) }

// Queued is how many assignments have ever been in the work queue.
func (h *Host) Queued(ctx context.Context) (uint64, error) {
	js, err := jetstream.New(h.broker.Core())
	if err != nil {
		return 0, err
	}
	s, err := js.Stream(ctx, "WORK")
	if err != nil {
		return 0, err
	}
	return s.CachedInfo().State.LastSeq, nil
}

// Blobs are those that the host keeps.
func (h *Host) Blobs() blob.Store { return h.blobs }

// CutCalls has a function called before each step of a cut.
func CutCalls(h *Host, f func(step string) error) { h.retention.Step = f }

// StopCutAt has cuts stopped before a step.
func StopCutAt(h *Host, step string) {
	h.retention.Step = func(s string) error {
		if s == step {
			return fault.New("host/stopping", "stopped before %s", step)
		}
		return nil
	}
}

// Crash ends a leaf host without a word.
func (l *Leaf) Crash() {
	l.nc.Close()
	l.h.cancel()
}

// AskSeat asks as an agent of a leaf host, once.
func AskSeat(ctx context.Context, nc *nats.Conn, q *loomv1.SeatRequest) (*loomv1.SeatReply, error) {
	return (&seat.Client{Send: asks(nc)}).Request(ctx, q)
}

// FarBlobs are blobs as the agent of a leaf host has them, from a seat.
func FarBlobs(ctx context.Context, nc *nats.Conn, at *loomv1.SeatRequest) (context.Context, blob.Store) {
	return seat.At(ctx, at), (&seat.Client{Send: asks(nc)}).Blobs()
}

// Deafen has the host not hear what others say of whom they hear.
func (h *Host) Deafen(others ...string) {
	h.fleet.Deafen(others...)
}

// Unwritable pretends that a write has failed.
func (h *Host) Unwritable() { h.space.unwritable(h.ctx, h.broker.Clustered()) }

// AwaitSpace waits until there is space.
func (h *Host) AwaitSpace(ctx context.Context) error { return h.space.Space(ctx) }

// Data is the data directory.
func (h *Host) Data() string { return h.dir.Path() }

// FailFirstWrite leaves the journal of a partition as a server does that had no room for
// the first write of it: counted, and not there.
func (h *Host) FailFirstWrite(ctx context.Context, partition int) error {
	js, err := jetstream.New(h.broker.Core())
	if err != nil {
		return err
	}
	if _, err := js.Publish(ctx, subject.Journal(partition), []byte("lost"), jetstream.WithExpectLastSequence(0)); err != nil {
		return err
	}
	s, err := js.Stream(ctx, natsjournal.Stream(partition))
	if err != nil {
		return err
	}
	return s.Purge(ctx)
}

// PartitionOf is the partition of a project, of a host's usual number.
func (h *Host) PartitionOf(project string) int { return h.journals.Partition(project) }

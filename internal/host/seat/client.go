package seat

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host/largebrief"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Client is a leaf host's way to the hosts of its deployment. Its requests are
// idempotent. All methods may be called at the same time.
type Client struct {
	// Send sends a request to some host, once. It returns the answer, the refusal, or
	// an error with the status Unavailable where nobody answers.
	Send func(ctx context.Context, data []byte) ([]byte, error)
}

const (
	// askWithin bounds one request, askAgain is how long a client waits to ask again.
	askWithin = answerWithin + 5*time.Second
	askAgain  = 200 * time.Millisecond
)

// Request asks until a host answers, or ctx ends. A refusal is an error.
func (c *Client) Request(ctx context.Context, q *loomv1.SeatRequest) (*loomv1.SeatReply, error) {
	data, err := proto.Marshal(q)
	if err != nil {
		return nil, fault.New("command/malformed", "what an agent asks cannot be encoded: %s", err)
	}
	for {
		reply, err := c.once(ctx, data)
		if err == nil || fault.Status(err) != fault.Unavailable {
			return reply, err
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return nil, fault.New("host/unavailable", "no host answers").Because(errors.Join(ctx.Err(), err))
		}
	}
}

func (c *Client) once(ctx context.Context, data []byte) (*loomv1.SeatReply, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	answer, err := c.Send(ctx, data)
	if err != nil {
		return nil, err
	}
	reply := &loomv1.SeatReply{}
	if err := proto.Unmarshal(answer, reply); err != nil {
		return nil, fault.New("internal/error", "a host's answer cannot be read").Because(err)
	}
	if reply.Error != nil {
		return nil, fault.FromProto(reply.Error)
	}
	return reply, nil
}

// Sit returns the way of an agent to the project of its attempt, for actors.Pool.
func (c *Client) Sit(project string, who *loomv1.Claimant) actors.Way {
	return &way{Client: c, project: project, who: who}
}

// way is the way of one agent to the project of its attempt.
type way struct {
	*Client
	project string
	who     *loomv1.Claimant

	mu         sync.Mutex
	attempt    string // the one that it has claimed
	generation uint32
}

func (w *way) seat() *loomv1.SeatRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &loomv1.SeatRequest{Claimant: w.who, Project: w.project, Attempt: w.attempt, Generation: w.generation}
}

// Do implements actors.Way.
func (w *way) Do(ctx context.Context, cmd *loomv1.Command) (*loomv1.Answer, error) {
	q := w.seat()
	q.Body = &loomv1.SeatRequest_Command{Command: cmd}
	reply, err := w.Request(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := reply.GetAnswer()
	if reply.Attempt != "" {
		w.took(reply.Attempt, reply.Generation)
	}
	at := w.seat()
	err = largebrief.Unpack(ctx, answer, func(ctx context.Context, ref *loomv1.BlobRef) ([]byte, error) {
		return w.Blobs().Get(At(ctx, at), ref)
	})
	if err != nil { // whoever claims again is given the same
		return nil, fault.New("host/unavailable", "the brief did not come").Because(err)
	}
	return answer, nil
}

func (w *way) took(attempt string, generation uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempt, w.generation = attempt, generation
}

// Ask implements actors.Way.
func (w *way) Ask(ctx context.Context, graph *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	q := w.seat()
	q.Body = &loomv1.SeatRequest_Graph{Graph: graph}
	reply, err := w.Request(ctx, q)
	return reply.GetGraph(), err
}

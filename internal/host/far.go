package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/blob"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// far is a leaf host's way to the hosts of its deployment. All that it asks can
// be asked twice.
type far struct{ nc *nats.Conn }

const (
	// farWithin bounds one request, farPause is how long it waits to ask again.
	farWithin = serveWithin + 5*time.Second
	farPause  = 200 * time.Millisecond
)

// request asks until a host answers, or ctx ends. A refusal is an error.
func (f *far) request(ctx context.Context, q *loomv1.SeatRequest) (*loomv1.SeatReply, error) {
	data, err := proto.Marshal(q)
	if err != nil {
		return nil, fault.New("command/malformed", "what an agent asks cannot be encoded: %s", err)
	}
	for {
		reply, err := f.once(ctx, data)
		if err == nil || fault.Status(err) != fault.Unavailable {
			return reply, err
		}
		select {
		case <-time.After(farPause):
		case <-ctx.Done():
			return nil, fault.New("host/unavailable", "no host answers").Because(errors.Join(ctx.Err(), err))
		}
	}
}

func (f *far) once(ctx context.Context, data []byte) (*loomv1.SeatReply, error) {
	ctx, cancel := context.WithTimeout(ctx, farWithin)
	defer cancel()
	m, err := f.nc.RequestWithContext(ctx, subject.Seat(), data)
	if errors.Is(err, nats.ErrMaxPayload) {
		return nil, fault.New("wire/too-large", "%d bytes are more than the server carries", len(data))
	}
	if errors.Is(err, nats.ErrConnectionClosed) { // for good: it tries again until it is refused
		return nil, fault.New("request/denied", "the deployment does not let this host in any more").Because(err)
	}
	if err != nil {
		return nil, fault.New("host/unavailable", "no host answers").Because(err)
	}
	if refused := broker.Refusal(m); refused != nil {
		return nil, refused
	}
	reply := &loomv1.SeatReply{}
	if err := proto.Unmarshal(m.Data, reply); err != nil {
		return nil, fault.New("internal/error", "a host's answer cannot be read").Because(err)
	}
	if reply.Error != nil {
		return nil, fault.FromProto(reply.Error)
	}
	return reply, nil
}

// sit is actors.Pool.Sit.
func (f *far) sit(project string, who *loomv1.Claimant) actors.Way {
	return &farWay{far: f, project: project, who: who}
}

// farWay is the way of one agent to the project of its attempt.
type farWay struct {
	*far
	project string
	who     *loomv1.Claimant

	mu         sync.Mutex
	attempt    string // the one that it has claimed
	generation uint32
}

func (w *farWay) seat() *loomv1.SeatRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &loomv1.SeatRequest{Claimant: w.who, Project: w.project, Attempt: w.attempt, Generation: w.generation}
}

// Do implements actors.Way.
func (w *farWay) Do(ctx context.Context, cmd *loomv1.Command) (*loomv1.Answer, error) {
	q := w.seat()
	q.Body = &loomv1.SeatRequest_Command{Command: cmd}
	reply, err := w.request(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := reply.GetAnswer()
	if reply.Attempt != "" {
		w.took(reply.Attempt, reply.Generation)
	}
	at := w.seat()
	err = unpack(ctx, answer, func(ctx context.Context, ref *loomv1.BlobRef) ([]byte, error) {
		return farBlobs{w.far}.Get(context.WithValue(ctx, seatKey{}, at), ref)
	})
	if err != nil { // whoever claims again is given the same
		return nil, fault.New("host/unavailable", "the brief did not come").Because(err)
	}
	return answer, nil
}

func (w *farWay) took(attempt string, generation uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempt, w.generation = attempt, generation
}

// Ask implements actors.Way.
func (w *farWay) Ask(ctx context.Context, graph *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	q := w.seat()
	q.Body = &loomv1.SeatRequest_Graph{Graph: graph}
	reply, err := w.request(ctx, q)
	return reply.GetGraph(), err
}

// farQueue pulls assignments with the rights of a worker.
type farQueue struct{ nc *nats.Conn }

// Pull implements actors.Queue.
func (q farQueue) Pull(ctx context.Context, role string) (actors.Delivery, error) {
	d, err := broker.Pull(ctx, q.nc, role)
	if err != nil {
		return nil, err
	}
	return delivery{d}, nil
}

// seatKey is under which a context has the seat that work is done from.
type seatKey struct{}

// seated does the work of an attempt with the attempt's seat in the context,
// because blobs are read and written on behalf of an attempt.
type seated struct{ actors.Worker }

// Work implements actors.Worker.
func (s seated) Work(ctx context.Context, b *loomv1.Brief, seat actors.Seat) (*loomv1.Outcome, error) {
	at := &loomv1.SeatRequest{Claimant: b.Attempt.Claimant, Project: b.Project.GetId(), Attempt: b.Attempt.Id, Generation: b.Attempt.Generation}
	return s.Worker.Work(context.WithValue(ctx, seatKey{}, at), b, seat)
}

// farBlobs keeps blobs on the hosts of the deployment.
type farBlobs struct{ *far }

var _ blob.Store = farBlobs{}

func (b farBlobs) ask(ctx context.Context, body *loomv1.SeatRequest) (*loomv1.SeatReply, error) {
	at, ok := ctx.Value(seatKey{}).(*loomv1.SeatRequest)
	if !ok {
		return nil, fault.New("internal/error", "a blob is asked for outside of an attempt")
	}
	q := &loomv1.SeatRequest{Claimant: at.Claimant, Project: at.Project, Attempt: at.Attempt, Generation: at.Generation, Body: body.Body}
	return b.request(ctx, q)
}

// Put implements blob.Store.
func (b farBlobs) Put(ctx context.Context, data []byte, mediaType string) (*loomv1.BlobRef, error) {
	if len(data) <= part {
		return b.write(ctx, &loomv1.BlobWrite{Data: data, MediaType: mediaType})
	}
	whole := &loomv1.BlobWrite{MediaType: mediaType}
	for rest := data; len(rest) > 0 && len(data) <= blob.MaxBytes; {
		n := min(part, len(rest))
		ref, err := b.write(ctx, &loomv1.BlobWrite{Data: rest[:n], MediaType: "application/octet-stream"})
		if err != nil {
			return nil, err
		}
		whole.Parts, rest = append(whole.Parts, ref), rest[n:]
	}
	if len(whole.Parts) == 0 {
		return nil, fault.New("blob/too-large", "blob has %d bytes, more than %d", len(data), blob.MaxBytes)
	}
	return b.write(ctx, whole)
}

func (b farBlobs) write(ctx context.Context, w *loomv1.BlobWrite) (*loomv1.BlobRef, error) {
	reply, err := b.ask(ctx, &loomv1.SeatRequest{Body: &loomv1.SeatRequest_Write{Write: w}})
	return reply.GetBlob(), err
}

// Get implements blob.Store. What comes is held against the reference.
func (b farBlobs) Get(ctx context.Context, ref *loomv1.BlobRef) ([]byte, error) {
	var data []byte
	for {
		reply, err := b.ask(ctx, &loomv1.SeatRequest{Body: &loomv1.SeatRequest_Read{Read: &loomv1.BlobRead{Blob: ref, Offset: uint64(len(data))}}})
		if err != nil {
			return nil, err
		}
		data = append(data, reply.GetPart()...)
		if uint64(len(data)) >= ref.GetSize() || len(reply.GetPart()) == 0 {
			break
		}
	}
	if got := blob.Ref(data, ref.GetMediaType()); got.Sha256 != ref.GetSha256() {
		return nil, fault.New("blob/corrupt", "blob %s came with another hash", ref.GetSha256())
	}
	return data, nil
}

package seat

import (
	"context"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/blob"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// seatKey is under which a context has the seat that work is done from.
type seatKey struct{}

// At returns a context in which blobs are asked for on behalf of an attempt: that of
// a seat's claimant.
func At(ctx context.Context, seat *loomv1.SeatRequest) context.Context {
	return context.WithValue(ctx, seatKey{}, seat)
}

// Worker returns one that does the work of an attempt as w does, with the attempt's
// seat in the context, see [At].
func Worker(w actors.Worker) actors.Worker { return seated{w} }

type seated struct{ actors.Worker }

// Work implements actors.Worker.
func (s seated) Work(ctx context.Context, b *loomv1.Brief, seat actors.Seat) (*loomv1.Outcome, error) {
	at := &loomv1.SeatRequest{Claimant: b.Attempt.Claimant, Project: b.Project.GetId(), Attempt: b.Attempt.Id, Generation: b.Attempt.Generation}
	return s.Worker.Work(At(ctx, at), b, seat)
}

// Blobs returns the blobs of the deployment, as far as the attempt may have them that
// the context is of, see [At].
func (c *Client) Blobs() blob.Store { return blobs{c} }

type blobs struct{ *Client }

func (b blobs) ask(ctx context.Context, body *loomv1.SeatRequest) (*loomv1.SeatReply, error) {
	at, ok := ctx.Value(seatKey{}).(*loomv1.SeatRequest)
	if !ok {
		return nil, fault.New("internal/error", "a blob is asked for outside of an attempt")
	}
	q := &loomv1.SeatRequest{Claimant: at.Claimant, Project: at.Project, Attempt: at.Attempt, Generation: at.Generation, Body: body.Body}
	return b.Request(ctx, q)
}

// Put implements blob.Store.
func (b blobs) Put(ctx context.Context, data []byte, mediaType string) (*loomv1.BlobRef, error) {
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

func (b blobs) write(ctx context.Context, w *loomv1.BlobWrite) (*loomv1.BlobRef, error) {
	reply, err := b.ask(ctx, &loomv1.SeatRequest{Body: &loomv1.SeatRequest_Write{Write: w}})
	return reply.GetBlob(), err
}

// Get implements blob.Store. What comes is held against the reference.
func (b blobs) Get(ctx context.Context, ref *loomv1.BlobRef) ([]byte, error) {
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

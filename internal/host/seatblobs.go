package host

import (
	"context"
	"fmt"
	"sync"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/blob"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// seats remember which blobs the agents of leaf hosts were given or have made,
// by attempt and claimant. What is forgotten is looked up in the brief again.
type seats struct {
	mu    sync.Mutex
	known map[string]map[string]bool
}

// mostSeats is how many attempts are remembered.
const mostSeats = 1024

func (s *sitting) key() string {
	return fmt.Sprint(s.project, " ", s.attempt, " ", s.who.Agent, " ", s.who.Host, " ", s.who.Epoch)
}

// give notes that an agent may read blobs.
func (t *seats) give(s *sitting, sums []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= mostSeats && t.known[s.key()] == nil {
		t.known = map[string]map[string]bool{}
	}
	if t.known[s.key()] == nil {
		t.known[s.key()] = map[string]bool{"": true}
	}
	for _, sum := range sums {
		t.known[s.key()][sum] = true
	}
}

// forget notes that an agent has its attempt no more.
func (t *seats) forget(s *sitting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, s.key())
}

// has says whether an agent may read a blob; of "", whether it is known here to
// have held its attempt.
func (t *seats) has(s *sitting, sum string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[s.key()][sum]
}

// part is how much of a blob one message carries.
const part = 1 << 20

// read returns a part of a blob that the agent was given or has made.
func (s *sitting) read(ctx context.Context, q *loomv1.BlobRead) (*loomv1.SeatReply, error) {
	data, err := s.blob(ctx, q.GetBlob())
	if err != nil {
		return nil, err
	}
	from := min(q.Offset, uint64(len(data)))
	data = data[from:min(from+part, uint64(len(data)))]
	return &loomv1.SeatReply{Body: &loomv1.SeatReply_Part{Part: data}}, nil
}

func (s *sitting) blob(ctx context.Context, ref *loomv1.BlobRef) ([]byte, error) {
	sum := ref.GetSha256()
	if sum == "" {
		return nil, fault.New("command/malformed", "no blob is named")
	}
	if !s.h.seats.has(s, sum) {
		if _, err := s.held(ctx); err != nil {
			return nil, err
		}
		if !s.h.seats.has(s, sum) {
			return nil, fault.New("request/denied", "the blob is none of attempt %q", s.attempt).At("blob").Got(sum)
		}
	}
	return s.h.blobs.Get(ctx, ref)
}

// write keeps what an agent made, whole or of parts.
func (s *sitting) write(ctx context.Context, q *loomv1.BlobWrite) (*loomv1.SeatReply, error) {
	if !s.h.seats.has(s, "") {
		if _, err := s.held(ctx); err != nil {
			return nil, err
		}
	}
	data := q.Data
	for _, ref := range q.Parts {
		more, err := s.blob(ctx, ref)
		if err != nil {
			return nil, err
		}
		if data = append(data, more...); len(data) > blob.MaxBytes {
			break // refused by who keeps it
		}
	}
	ref, err := s.h.blobs.Put(ctx, data, q.MediaType)
	if err != nil {
		return nil, err
	}
	s.h.seats.give(s, []string{ref.Sha256})
	return &loomv1.SeatReply{Body: &loomv1.SeatReply_Blob{Blob: ref}}, nil
}

// refsIn returns the sums of all blobs that a brief names.
func refsIn(b *loomv1.Brief) []string {
	var sums []string
	blob.Refs(b, func(ref *loomv1.BlobRef) { sums = append(sums, ref.Sha256) })
	return sums
}

package seat

import (
	"context"
	"fmt"
	"sync"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/blob"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// given remembers which blobs the agents of leaf hosts were given or have made,
// by attempt and claimant. What is forgotten is looked up in the brief again.
type given struct {
	mu    sync.Mutex
	known map[string]map[string]bool
}

// mostGiven is how many attempts are remembered.
const mostGiven = 1024

func (s *session) key() string {
	return fmt.Sprint(s.project, " ", s.attempt, " ", s.who.Agent, " ", s.who.Host, " ", s.who.Epoch)
}

// give notes that an agent may read blobs.
func (g *given) give(s *session, sums []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == nil || len(g.known) >= mostGiven && g.known[s.key()] == nil {
		g.known = map[string]map[string]bool{}
	}
	if g.known[s.key()] == nil {
		g.known[s.key()] = map[string]bool{"": true}
	}
	for _, sum := range sums {
		g.known[s.key()][sum] = true
	}
}

// forget notes that an agent has its attempt no more.
func (g *given) forget(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.known, s.key())
}

// has says whether an agent may read a blob; of "", whether it is known here to
// have held its attempt.
func (g *given) has(s *session, sum string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known[s.key()][sum]
}

// part is how much of a blob one message carries.
const part = 1 << 20

// read returns a part of a blob that the agent was given or has made.
func (s *session) read(ctx context.Context, q *loomv1.BlobRead) (*loomv1.SeatReply, error) {
	data, err := s.blob(ctx, q.GetBlob())
	if err != nil {
		return nil, err
	}
	from := min(q.Offset, uint64(len(data)))
	data = data[from:min(from+part, uint64(len(data)))]
	return &loomv1.SeatReply{Body: &loomv1.SeatReply_Part{Part: data}}, nil
}

func (s *session) blob(ctx context.Context, ref *loomv1.BlobRef) ([]byte, error) {
	sum := ref.GetSha256()
	if sum == "" {
		return nil, fault.New("command/malformed", "no blob is named")
	}
	if !s.server.given.has(s, sum) {
		if _, err := s.held(ctx); err != nil {
			return nil, err
		}
		if !s.server.given.has(s, sum) {
			return nil, fault.New("request/denied", "the blob is none of attempt %q", s.attempt).At("blob").Got(sum)
		}
	}
	return s.server.config.Blobs.Get(ctx, ref)
}

// write keeps what an agent made, whole or of parts.
func (s *session) write(ctx context.Context, q *loomv1.BlobWrite) (*loomv1.SeatReply, error) {
	if !s.server.given.has(s, "") {
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
	ref, err := s.server.config.Blobs.Put(ctx, data, q.MediaType)
	if err != nil {
		return nil, err
	}
	s.server.given.give(s, []string{ref.Sha256})
	return &loomv1.SeatReply{Body: &loomv1.SeatReply_Blob{Blob: ref}}, nil
}

// refsIn returns the sums of all blobs that a brief names.
func refsIn(b *loomv1.Brief) []string {
	var sums []string
	blob.Refs(b, func(ref *loomv1.BlobRef) { sums = append(sums, ref.Sha256) })
	return sums
}

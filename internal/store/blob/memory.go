package blob

import (
	"bytes"
	"context"
	"sync"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Memory is a Store in memory, for tests.
type Memory struct {
	mu    sync.Mutex
	blobs map[string][]byte
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{blobs: map[string][]byte{}} }

// Put is that of [Store].
func (m *Memory) Put(ctx context.Context, data []byte, mediaType string) (*loomv1.BlobRef, error) {
	if len(data) > MaxBytes {
		return nil, tooLarge(len(data))
	}
	ref := Ref(data, mediaType)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.blobs[ref.Sha256]; !ok {
		m.blobs[ref.Sha256] = bytes.Clone(data)
	}
	return ref, ctx.Err()
}

// Get is that of [Store].
func (m *Memory) Get(ctx context.Context, ref *loomv1.BlobRef) ([]byte, error) {
	m.mu.Lock()
	data, ok := m.blobs[ref.GetSha256()]
	m.mu.Unlock()
	if !ok {
		return nil, missing(ref)
	}
	if err := verify(ref, data); err != nil {
		return nil, err
	}
	return bytes.Clone(data), ctx.Err()
}

// Corrupt flips a bit of a blob, as damage would; it must hold a byte.
func (m *Memory) Corrupt(ref *loomv1.BlobRef) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data := bytes.Clone(m.blobs[ref.GetSha256()])
	data[0] ^= 1
	m.blobs[ref.GetSha256()] = data
}

// Lose forgets a blob, as damage would.
func (m *Memory) Lose(ref *loomv1.BlobRef) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.blobs, ref.GetSha256())
}

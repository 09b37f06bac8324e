// Package blob keeps bytes outside the journal: prompts, completions, tool
// outputs, diffs. A blob is named by the SHA-256 of its bytes.
//
// It promises that what Put returned a reference for is on the disk, and that
// Get returns exactly those bytes or an error. It never changes or removes a
// blob.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// MaxBytes is the largest blob.
const MaxBytes = 8 << 20

// Store keeps blobs. Its methods may be called from several goroutines.
type Store interface {
	// Put keeps data, at most MaxBytes, and returns its reference once it is
	// on the disk. It keeps no reference to data. Putting the same bytes
	// again stores nothing. It returns blob/too-large or host/unavailable;
	// after an error it is safe to repeat.
	Put(ctx context.Context, data []byte, mediaType string) (*loomv1.BlobRef, error)

	// Get returns the bytes of a blob. It returns blob/missing when there is
	// none of that name, and blob/corrupt when what is there is not it.
	Get(ctx context.Context, ref *loomv1.BlobRef) ([]byte, error)
}

// Ref returns the reference of data.
func Ref(data []byte, mediaType string) *loomv1.BlobRef {
	sum := sha256.Sum256(data)
	return &loomv1.BlobRef{Sha256: hex.EncodeToString(sum[:]), Size: uint64(len(data)), MediaType: mediaType}
}

// verify returns blob/corrupt unless data is what ref names.
func verify(ref *loomv1.BlobRef, data []byte) error {
	if got := Ref(data, ""); got.Sha256 != ref.GetSha256() || got.Size != ref.GetSize() {
		return fault.New("blob/corrupt", "blob %s holds %d bytes with another hash, or another size than %d", short(ref), len(data), ref.GetSize())
	}
	return nil
}

func tooLarge(size int) error {
	return fault.New("blob/too-large", "blob has %d bytes, more than %d", size, MaxBytes)
}

func missing(ref *loomv1.BlobRef) *fault.Error {
	return fault.New("blob/missing", "blob %s is missing", short(ref))
}

// short is enough of a blob's name for a person.
func short(ref *loomv1.BlobRef) string {
	name := ref.GetSha256()
	return name[:min(len(name), 12)]
}

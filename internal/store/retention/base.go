package retention

import (
	"bytes"
	"context"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Blobs is where bases are kept; it is what package blob calls a store.
type Blobs interface {
	Put(ctx context.Context, data []byte, mediaType string) (*loomv1.BlobRef, error)
	Get(ctx context.Context, ref *loomv1.BlobRef) ([]byte, error)
}

const (
	// partBytes is how large a part of a base is, at most.
	partBytes = 4 << 20
	mediaType = "application/vnd.loom.base+zstd"
	// mostBase bounds a base that is read.
	mostBase = 2 << 30
)

// keep puts a base into the store and returns its parts.
func keep(ctx context.Context, blobs Blobs, base *loomv1.JournalBase) ([]*loomv1.BlobRef, error) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(base)
	if err != nil {
		return nil, fault.New("internal/error", "the base of partition %d cannot be encoded", base.Partition).Because(err)
	}
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fault.New("internal/error", "the base of partition %d cannot be encoded", base.Partition).Because(err)
	}
	data = zip.EncodeAll(data, nil)
	var parts []*loomv1.BlobRef
	for len(data) > 0 {
		n := min(len(data), partBytes)
		ref, err := blobs.Put(ctx, data[:n], mediaType)
		if err != nil {
			return nil, err
		}
		parts, data = append(parts, ref), data[n:]
	}
	return parts, nil
}

// Base returns the base that a cut names. It returns blob/missing or
// blob/corrupt when a part is not there or not itself, and archive/invalid when
// the parts together are not the base of that cut.
func Base(ctx context.Context, blobs Blobs, cut *loomv1.JournalCut) (*loomv1.JournalBase, error) {
	var data []byte
	for _, ref := range cut.GetBase() {
		part, err := blobs.Get(ctx, ref)
		if err != nil {
			return nil, err
		}
		data = append(data, part...)
	}
	return Decode(cut, data)
}

// Decode reads a base from its parts, one after the other. Its errors are those
// of [Base].
func Decode(cut *loomv1.JournalCut, data []byte) (*loomv1.JournalBase, error) {
	base := new(loomv1.JournalBase)
	zip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostBase))
	if err == nil {
		defer zip.Close()
		data, err = zip.DecodeAll(data, nil)
	}
	if err == nil {
		err = proto.Unmarshal(data, base)
	}
	if err != nil {
		return nil, fault.New("archive/invalid", "the base of partition %d at %d cannot be read", cut.GetPartition(), cut.GetSequence()).Because(err)
	}
	if base.Partition != cut.GetPartition() || base.Sequence != cut.GetSequence() || !bytes.Equal(base.Hash, cut.GetHash()) {
		return nil, fault.New("archive/invalid", "the base of partition %d is as of %d, and the journal was cut at %d", base.Partition, base.Sequence, cut.GetSequence())
	}
	return base, nil
}

// Package largebrief carries the briefs that are larger than a message across hosts, in
// blobs.
package largebrief

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// large is from how many bytes on a brief crosses hosts as a blob: one message
// carries 2 MiB.
const large = 1 << 20

// Pack returns an answer with a large brief in a blob that put keeps, and any other
// as it is. The answer itself does not change.
func Pack(ctx context.Context, a *loomv1.Answer, put func(context.Context, []byte, string) (*loomv1.BlobRef, error)) (*loomv1.Answer, error) {
	brief := a.GetBrief()
	if brief == nil || proto.Size(brief) < large {
		return a, nil
	}
	data, err := proto.Marshal(brief)
	if err != nil {
		return nil, fault.New("internal/error", "a brief cannot be encoded").Because(err)
	}
	ref, err := put(ctx, data, "application/x-protobuf")
	if err != nil {
		return nil, err
	}
	return &loomv1.Answer{Number: a.Number, Body: &loomv1.Answer_BriefBlob{BriefBlob: ref}}, nil
}

// Unpack puts a large brief into an answer again, from the blob that get returns.
func Unpack(ctx context.Context, a *loomv1.Answer, get func(context.Context, *loomv1.BlobRef) ([]byte, error)) error {
	ref := a.GetBriefBlob()
	if ref == nil {
		return nil
	}
	data, err := get(ctx, ref)
	if err != nil {
		return err
	}
	brief := new(loomv1.Brief)
	if err := proto.Unmarshal(data, brief); err != nil {
		return fault.New("internal/error", "a brief cannot be decoded").Because(err)
	}
	a.Body = &loomv1.Answer_Brief{Brief: brief}
	return nil
}

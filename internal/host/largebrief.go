package host

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// largeBrief is from how many bytes on a brief crosses hosts as a blob: one
// message carries 2 MiB.
const largeBrief = 1 << 20

// pack returns an answer with a large brief in a blob, and any other as it is.
func pack(ctx context.Context, a *loomv1.Answer, put func(context.Context, []byte, string) (*loomv1.BlobRef, error)) (*loomv1.Answer, error) {
	brief := a.GetBrief()
	if brief == nil || proto.Size(brief) < largeBrief {
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

// unpack takes a large brief out of its blob.
func unpack(ctx context.Context, a *loomv1.Answer, get func(context.Context, *loomv1.BlobRef) ([]byte, error)) error {
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

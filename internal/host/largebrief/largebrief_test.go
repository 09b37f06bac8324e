package largebrief

import (
	"context"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/store/blob"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestACT05_ALargeBriefCrossesHosts as a blob, and a small one as it is.
func TestACT05_ALargeBriefCrossesHosts(t *testing.T) {
	kept := map[string][]byte{}
	put := func(_ context.Context, data []byte, kind string) (*loomv1.BlobRef, error) {
		ref := blob.Ref(data, kind)
		kept[ref.Sha256] = data
		return ref, nil
	}
	get := func(_ context.Context, ref *loomv1.BlobRef) ([]byte, error) { return kept[ref.Sha256], nil }
	for size, blobs := range map[int]int{100: 0, 3 << 20: 1} {
		clear(kept)
		comment := strings.Repeat("x", size)
		answer := &loomv1.Answer{Number: 7, Body: &loomv1.Answer_Brief{Brief: &loomv1.Brief{Comment: comment}}}
		packed, err := Pack(t.Context(), answer, put)
		if err != nil || len(kept) != blobs || answer.GetBrief() == nil {
			t.Fatalf("%d bytes: %d blobs, %v", size, len(kept), err)
		}
		if err := Unpack(t.Context(), packed, get); err != nil || packed.GetBrief().GetComment() != comment || packed.Number != 7 {
			t.Errorf("%d bytes came back as %d: %v", size, len(packed.GetBrief().GetComment()), err)
		}
	}
}

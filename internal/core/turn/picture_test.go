package turn_test

import (
	"testing"

	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A picture is counted by its pixels, and no more than models count.
func TestAGENT03_PicturesAreCounted(t *testing.T) {
	bare := turn.Message{Role: turn.Result}.Size()
	for _, tt := range []struct {
		width, height uint32
		tokens        int
	}{{30, 25, 1}, {750, 100, 100}, {1000, 1200, 1600}, {8000, 8000, 1600}} {
		m := turn.Message{Role: turn.Result, Picture: &loomv1.Picture{Width: tt.width, Height: tt.height}}
		if got := m.Size() - bare; got != tt.tokens*3 {
			t.Errorf("%d x %d is counted as %d bytes, want %d tokens of 3", tt.width, tt.height, got, tt.tokens)
		}
	}
}

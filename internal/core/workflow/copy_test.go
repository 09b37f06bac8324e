package workflow_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestWF10_CopyStays holds copies of random executions against what they were
// copies of, once much has happened since.
func TestWF10_CopyStays(t *testing.T) {
	longtest.Skip(t)
	saw := map[string]int{}
	for seed := range uint64(200) {
		m := newSim(t, seed, saw)
		var copies, want []*loomv1.Execution
		for range 12 {
			m.play(5)
			copies, want = append(copies, workflow.Copy(m.x)), append(want, proto.CloneOf(m.x))
		}
		m.finish()
		for i := range copies {
			if !proto.Equal(copies[i], want[i]) {
				t.Fatalf("seed %d: copy %d has changed to\n%s\nit was\n%s", seed, i, copies[i], want[i])
			}
		}
	}
}

func BenchmarkCopy(b *testing.B) {
	x := bug(b, "").x
	b.Run("clone", func(b *testing.B) {
		for b.Loop() {
			proto.CloneOf(x)
		}
	})
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			workflow.Copy(x)
		}
	})
}

package sandbox_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/place/sandbox"
)

// A context that ends while the command is being started takes no descriptor from
// under it: the race detector sees it when one does.
func TestTOOL03_AContextThatEndsDuringTheStart(t *testing.T) {
	longtest.Skip(t)
	if !there(t) {
		return
	}
	dir := t.TempDir()
	for i := range 60 {
		ctx, cancel := context.WithCancel(t.Context())
		cmd, err := sandbox.Command(ctx, sandbox.Spec{Dir: dir, Write: []string{dir}}, "/bin/true")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for range i * 20 {
				runtime.Gosched()
			}
			cancel()
		}()
		if err := cmd.Start(); err == nil {
			_ = cmd.Wait()
		}
		cancel()
	}
}

//go:build unix

package notify_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/ops/notify"
)

// What a command has started ends with it. The pipe is open as long as any of them lives.
func TestHUM03_ACommandIsKilledWithWhatItStarted(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan error)
	go func() {
		sent <- target(t, fmt.Sprintf("command=exec 9> '%s'; echo up >&9; sleep 60 & sleep 60", pipe)).Send(ctx, notify.Message{})
	}()
	f, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if line, err := r.ReadString('\n'); line != "up\n" {
		t.Fatal(line, err)
	}
	began := time.Now()
	cancel()
	if err := <-sent; fault.Status(err) != fault.Unavailable {
		t.Errorf("Send: %v, want what is tried again", err)
	}
	if _, err := io.ReadAll(r); err != nil || time.Since(began) > 30*time.Second {
		t.Errorf("what it started lived on for %s: %v", time.Since(began), err)
	}
}

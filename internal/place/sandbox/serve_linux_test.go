//go:build amd64 || arm64

package sandbox_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/place/sandbox"
)

// What is served to a command is there from its beginning, for it alone, and ends
// with it.
func TestTOOL03_WhatIsServedEndsWithTheCommand(t *testing.T) {
	if !there(t) {
		return
	}
	port := sandbox.ServeAddress[strings.LastIndexByte(sandbox.ServeAddress, ':')+1:]
	ask := "exec 3<>/dev/tcp/127.0.0.1/" + port + " && cat <&3"
	ended := make(chan error, 1)
	serve := func(l net.Listener) {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			fmt.Fprintln(c, "served")
			_ = c.Close()
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	spec := sandbox.Spec{Dir: dir, Write: []string{dir}, Env: []string{"PATH=/usr/bin:/bin"}, Serve: serve}
	cmd, err := sandbox.Command(ctx, spec, "/bin/bash", "-c", ask+"; ls -l /proc/self/fd/")
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "served\n") || strings.Count(string(out), "socket:") != 1 {
		t.Errorf("%v: %s", err, out) // its own socket, and none of the host's
	}
	if out, code := sh(t, "exec /bin/bash -c '"+ask+"'"); code == 0 {
		t.Errorf("another command was served: %s", out)
	}
	if c, err := net.Dial("tcp", sandbox.ServeAddress); err == nil {
		_ = c.Close()
		t.Log("something of this machine's own listens at the address, so that it says nothing of it")
	}
	select {
	case err := <-ended:
		t.Fatalf("it ended before the command's context did: %v", err)
	default:
	}
	cancel()
	<-ended
}

// A command that never begins leaves nothing that waits for it.
func TestTOOL03_WhatIsServedToNobodyEnds(t *testing.T) {
	if !there(t) {
		return
	}
	dir := t.TempDir()
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	spec := sandbox.Spec{Dir: dir, Write: []string{dir}, Serve: func(net.Listener) { t.Error("a listener came") }}
	if _, err := sandbox.Command(ctx, spec, "true"); err != nil {
		t.Fatal(err)
	}
	cancel()
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

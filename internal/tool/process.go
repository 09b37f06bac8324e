package tool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/loomrun/loom/internal/fault"
)

const (
	drained   = 64 << 20               // bytes of output after which a command is killed
	waitDelay = 500 * time.Millisecond // for output that survivors hold open
	markName  = "LOOM_CALL"            // in the environment of all that a call starts
)

// processes is how the system keeps what a command starts together, so that
// nothing of it survives.
type processes struct {
	// prepare sets a command up before it starts; script says how a shell
	// command line is run there.
	prepare func(*exec.Cmd)
	script  func(command string) []string
	// end kills a command that runs, and what it started.
	end func(cmd *exec.Cmd, mark string)
	// sweep kills what is left of a command that has ended.
	sweep func(cmd *exec.Cmd, mark string)
}

// command is a process to run.
type command struct {
	argv []string
	dir  string
	env  []string
	keep int // bytes of output: beginning and end
}

// outcome is how a command ended.
type outcome struct {
	text string // its output; standard error among it
	cut  int64  // bytes missing from the middle of text
	code int
	err  *fault.Error // why it did not end by itself
}

var errTooMuch = errors.New("too much output")

// run runs a command to its end, or to that of ctx, and returns when all that
// it started is gone, or half a second after it was killed.
func (p processes) run(ctx context.Context, c command) (outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := newCapture(c.keep, drained, func() { cancel(errTooMuch) })
	mark := rand.Text()
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, append(c.env, markName+"="+mark)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, out, waitDelay
	p.prepare(cmd)
	cmd.Cancel = func() error {
		p.end(cmd, mark)
		return nil
	}
	// The system kills the command when the thread that started it ends,
	// which is how it learns that this process was killed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return outcome{}, fault.New("tool/failed", "the command cannot be started").Because(err)
	}
	err := cmd.Wait()
	p.sweep(cmd, mark)
	return finished(ctx, cmd, out, err), nil
}

func finished(ctx context.Context, cmd *exec.Cmd, out *capture, err error) outcome {
	o := outcome{code: cmd.ProcessState.ExitCode()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		o.code = 128 + int(ws.Signal()) // as a shell says it
	}
	var head, tail []byte
	head, tail, o.cut = out.parts()
	o.text = string(head) + string(tail)
	if o.cut > 0 {
		o.text = fmt.Sprintf("%s\n[%d bytes of output cut]\n%s", head, o.cut, tail)
	}
	switch {
	case err == nil || ctx.Err() == nil:
	case errors.Is(context.Cause(ctx), errTooMuch):
		o.err = fault.New("tool/too-large", "the command was killed: it wrote more than %d MiB", drained>>20)
	default:
		o.err = ended(ctx)
	}
	return o
}

package tool

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/sandbox"
)

const (
	drained   = 64 << 20               // bytes of output after which a command is killed
	waitDelay = 500 * time.Millisecond // for output that survivors hold open
	markName  = "LOOM_CALL"            // in the environment of all that a call starts
)

// processes is how the system keeps what a command starts together, so that
// nothing of it survives.
type processes struct {
	// prepare makes a command that can be started; script says how a shell
	// command line is run there.
	prepare func(context.Context, command) (*exec.Cmd, error)
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
	more []string // directories that it may change beside dir
	env  []string
	keep int // bytes of output: beginning and end

	input  io.Reader // nil for none
	answer *capture  // has the standard output, where that is kept apart
	output *capture  // has the output, where it is read before the end; keep counts for nothing then
	begun  func()    // called when it runs; nil for nothing
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
	out := c.output
	if out == nil {
		out = newCapture(c.keep, drained, nil)
	}
	out.over = func() { cancel(errTooMuch) }
	mark := rand.Text()
	c.env = append(c.env, markName+"="+mark)
	cmd, err := p.prepare(ctx, c)
	if err != nil {
		return outcome{}, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.input, out, out, waitDelay
	if c.answer != nil {
		c.answer.over = func() { cancel(errTooMuch) }
		cmd.Stdout = c.answer
	}
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
	if c.begun != nil {
		c.begun()
	}
	err = cmd.Wait()
	p.sweep(cmd, mark)
	o := finished(ctx, cmd, err)
	if c.output == nil {
		o.text, o.cut = out.whole()
	}
	return o, nil
}

// contained keeps the processes of a command in a sandbox, which takes all of
// them with it when it ends.
func contained(box Contain) processes {
	return processes{
		prepare: func(ctx context.Context, c command) (*exec.Cmd, error) {
			return box(ctx, c.dir, append([]string{c.dir}, c.more...), c.env, c.argv)
		},
		script: func(command string) []string { return []string{"/bin/sh", "-c", command} },
		end:    func(cmd *exec.Cmd, _ string) { sandbox.End(cmd) },
		sweep:  func(cmd *exec.Cmd, _ string) { sandbox.Sweep(cmd) },
	}
}

// plainly prepares a command that runs on the machine as it is, set up by f.
func plainly(f func(*exec.Cmd)) func(context.Context, command) (*exec.Cmd, error) {
	return func(ctx context.Context, c command) (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
		cmd.Dir, cmd.Env = c.dir, c.env
		f(cmd)
		return cmd, nil
	}
}

// finished is how a command ended, without its output.
func finished(ctx context.Context, cmd *exec.Cmd, err error) outcome {
	o := outcome{code: cmd.ProcessState.ExitCode()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		o.code = 128 + int(ws.Signal()) // as a shell says it
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

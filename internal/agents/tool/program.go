package tool

import (
	"bytes"
	"context"
	"os/exec"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// Program is a program that is asked once: what it writes is its answer.
type Program struct {
	// Argv is started as it is, with no shell.
	Argv []string
	// Dir is where it starts.
	Dir string
	// Env is its whole environment.
	Env   []string
	Input []byte
	// Most is how many bytes of standard output it may write.
	Most int
}

// saidBytes is how much is kept of what a program writes for people.
const saidBytes = 2 << 10

// Ask runs a program to its end, or to that of ctx, in the sandbox that p has;
// where p has none and allows none, it refuses with tool/no-sandbox. It returns
// what the program wrote on standard output. A program that ends with another
// status than 0 has failed (tool/failed), and the error says what it wrote for
// people; one that writes too much is killed (tool/too-large). When it returns,
// all that the program started is gone.
func (p Policy) Ask(ctx context.Context, g Program) ([]byte, error) {
	kept := native()
	switch {
	case p.Contain != nil:
		kept = contained(p.Contain)
	case !p.Allow:
		return nil, fault.New("tool/no-sandbox", "programs do not run here: there is no sandbox for them").
			Want("do without; the operator may allow programs to run unsandboxed")
	}
	answer := newCapture(2*g.Most, int64(g.Most), nil)
	out, err := kept.run(ctx, command{
		argv: g.Argv, dir: g.Dir, env: g.Env, keep: saidBytes, input: bytes.NewReader(g.Input), answer: answer,
	})
	said := strings.TrimSpace(plain(out.text))
	switch head, more, cut := answer.parts(); {
	case err != nil:
		return nil, err
	case cut > 0 || len(more) > 0:
		return nil, fault.New("tool/too-large", "it wrote more than %d bytes", g.Most)
	case ctx.Err() != nil:
		return nil, ended(ctx)
	case out.code != 0:
		return nil, fault.New("tool/failed", "it ended with status %d, and wrote: %s", out.code, cutEnd(said, saidBytes))
	default:
		return head, nil
	}
}

// OnPath reports whether a program is on the PATH of this process.
func OnPath(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// Usable returns why a tool from outside cannot be offered, or nil.
func Usable(o Outside) error {
	_, err := foreign(o)
	return err
}

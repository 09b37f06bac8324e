package console

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/loomrun/loom/internal/base/fault"
)

// Output is where a command writes, and notes what was not written: most of what prints
// does not look. Its methods may be called at the same time.
type Output struct {
	w    io.Writer
	name string
	gone func() // called once nobody reads any more

	mu  sync.Mutex
	err error // the first of a write
}

// NewOutput returns what writes to w, which has a name for people; gone is called when
// its reader has ended.
func NewOutput(w io.Writer, name string, gone func()) *Output {
	return &Output{w: w, name: name, gone: gone}
}

// File is what is written to, nil where it is no file.
func (o *Output) File() *os.File { return fileOf(o.w) }

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.mu.Lock()
		if o.err == nil {
			o.err = err
		}
		o.mu.Unlock()
		if errors.Is(err, syscall.EPIPE) {
			o.gone()
		}
	}
	return n, err
}

// Unread reports whether the reader has ended before everything was written, as the
// other commands of a pipe do.
func (o *Output) Unread() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return errors.Is(o.err, syscall.EPIPE)
}

// Err returns output/unwritten where something was not written.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		return nil
	}
	return fault.New("output/unwritten", "%s could not be written", o.name).Because(o.err)
}

// under is the file below what is written to, or that itself: for another program.
func under(w io.Writer) io.Writer {
	if f := fileOf(w); f != nil {
		return f
	}
	return w
}

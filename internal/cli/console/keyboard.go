package console

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Keyboard reads what a person types.
type Keyboard struct {
	in       *bufio.Reader
	terminal *os.File // nil where there is none
}

// NewKeyboard reads from in.
func NewKeyboard(in io.Reader) *Keyboard {
	k := &Keyboard{in: bufio.NewReader(in)}
	if Terminal(in) {
		k.terminal = in.(*os.File)
	}
	return k
}

// Single reports whether a key counts as soon as it is pressed: at a terminal.
func (k *Keyboard) Single() bool { return k.terminal != nil }

// The keys that a terminal sends for Enter, Ctrl-C and Ctrl-D.
const (
	enter = '\r'
	ctrlC = 3
	ctrlD = 4
)

// Key says a prompt to w, and returns the key that is pressed, or without a terminal the line that is typed; ""
// is Enter alone. It returns io.EOF for Ctrl-C, Ctrl-D and the end of the input.
//
// A key that is pressed as soon as the prompt is seen is not echoed by the terminal: it
// is told not to before.
func (k *Keyboard) Key(ctx context.Context, w io.Writer, prompt string) (string, error) {
	if k.terminal == nil {
		fmt.Fprint(w, prompt)
		return k.Line(ctx)
	}
	fd := int(k.terminal.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(fd, before) }()
	fmt.Fprint(w, prompt)
	return wait(ctx, func() (string, error) {
		switch r, _, err := k.in.ReadRune(); {
		case err != nil:
			return "", err
		case r == ctrlC || r == ctrlD:
			return "", io.EOF
		case r == enter || r == '\n':
			return "", nil
		default:
			return string(r), nil
		}
	})
}

// Line returns the line that is typed, without blanks around it. It returns io.EOF at
// the end of the input.
func (k *Keyboard) Line(ctx context.Context) (string, error) {
	return wait(ctx, func() (string, error) {
		text, err := k.until()
		if err != nil && text == "" {
			return "", err
		}
		return strings.TrimSpace(text), nil
	})
}

// until reads to the end of a line. What was typed while a terminal took keys, and was read
// with one of them, ends with the key Enter.
func (k *Keyboard) until() (string, error) {
	var text strings.Builder
	for {
		switch r, _, err := k.in.ReadRune(); {
		case err != nil || r == '\n' || r == enter && k.terminal != nil:
			return text.String(), err
		default:
			text.WriteRune(r)
		}
	}
}

// Drop forgets what was typed ahead at a terminal: it was meant for something else than
// what is asked now. Lines of a file are kept.
func (k *Keyboard) Drop() {
	if k.terminal == nil {
		return
	}
	_ = FlushTyped(int(k.terminal.Fd()))
	_, _ = k.in.Discard(k.in.Buffered())
}

// wait returns what read does, or ctx's error when that ends before; what is read then
// is lost.
func wait(ctx context.Context, read func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		text, err := read()
		got <- answer{text, err}
	}()
	select {
	case a := <-got:
		return a.text, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Terminal is a pseudo terminal, and what a person sees at it. Its methods may be
// called from many goroutines.
type Terminal struct {
	master, slave *os.File

	mu     sync.Mutex
	seen   *sync.Cond // something was shown
	screen *Screen
	ended  bool // nobody has it open any more
}

// Open returns a terminal of so many columns and rows.
func Open(columns, rows int) (*Terminal, error) {
	t, err := open(columns, rows)
	if err == nil {
		go t.read()
	}
	return t, err
}

// OpenUnread returns a terminal that takes not one byte more: nobody reads it.
func OpenUnread(columns, rows int) (*Terminal, error) {
	t, err := open(columns, rows)
	if err != nil {
		return nil, err
	}
	fd := int(t.slave.Fd())
	for err = unix.SetNonblock(fd, true); err == nil; {
		_, err = unix.Write(fd, []byte("."))
	}
	if !errors.Is(err, unix.EAGAIN) {
		_ = t.Close()
		return nil, fmt.Errorf("fill a terminal: %w", err)
	}
	return t, unix.SetNonblock(fd, false)
}

func open(columns, rows int) (*Terminal, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	slave, err := other(master, columns, rows)
	if err != nil {
		_ = master.Close()
		return nil, err
	}
	t := &Terminal{master: master, slave: slave, screen: NewScreen(columns, rows)}
	t.seen = sync.NewCond(&t.mu)
	return t, nil
}

// other opens the end of a terminal that programs have.
func other(master *os.File, columns, rows int) (*os.File, error) {
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, fmt.Errorf("unlock a terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, fmt.Errorf("number of a terminal: %w", err)
	}
	if err := size(master, columns, rows); err != nil {
		return nil, err
	}
	return os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
}

func size(master *os.File, columns, rows int) error {
	size := &unix.Winsize{Row: uint16(rows), Col: uint16(columns)} //nolint:gosec // a test's own
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, size); err != nil {
		return fmt.Errorf("size of a terminal: %w", err)
	}
	return nil
}

// Resize gives the terminal another size, and tells who runs at it.
func (t *Terminal) Resize(columns, rows int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.screen.Resize(columns, rows)
	return size(t.master, columns, rows)
}

// Start starts a command with the terminal as its own, so that Ctrl-C reaches it.
func (t *Terminal) Start(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.slave, t.slave, t.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return cmd.Start()
}

func (t *Terminal) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := t.master.Read(buffer)
		t.mu.Lock()
		_, _ = t.screen.Write(buffer[:n])
		t.ended = err != nil
		t.seen.Broadcast()
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Type presses keys.
func (t *Terminal) Type(keys string) error {
	_, err := t.master.WriteString(keys)
	return err
}

// Await waits until what is shown holds, and returns its text. It fails with the text
// that is there when ctx ends, or when the terminal is closed.
func (t *Terminal) Await(ctx context.Context, holds func(*Screen) bool) (string, error) {
	stop := context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.seen.Broadcast()
	})
	defer stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for !holds(t.screen) {
		if ctx.Err() != nil || t.ended {
			return "", fmt.Errorf("what was waited for is not shown, but\n%s", t.screen.Text())
		}
		t.seen.Wait()
	}
	return t.screen.Text(), nil
}

// Look hands what is shown to a function.
func (t *Terminal) Look(at func(*Screen)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at(t.screen)
}

// Close closes it; who runs at it is hung up.
func (t *Terminal) Close() error {
	_ = t.slave.Close()
	return t.master.Close()
}

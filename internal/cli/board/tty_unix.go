//go:build linux || darwin

package board

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/loomrun/loom/internal/cli/console"
)

// tty is the terminal that a board stands on. What is typed there while it does is not
// shown: it would push the board away.
type tty struct {
	fd     int
	before *unix.Termios // how it was, while it is silent
}

func newTTY(f *os.File) *tty { return &tty{fd: int(f.Fd())} }

// front reports whether this process is the one in front of the terminal: one behind it
// must leave the screen to others.
func (t *tty) front() bool {
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// silence has the terminal not show what is typed, until restore.
func (t *tty) silence() {
	if t.before != nil || !t.front() {
		return
	}
	was, err := unix.IoctlGetTermios(t.fd, getTermios)
	if err != nil {
		return
	}
	now := *was
	now.Lflag &^= unix.ECHO
	if unix.IoctlSetTermios(t.fd, setTermios, &now) == nil {
		t.before = was
	}
}

// restore has the terminal as it was, without what was typed meanwhile: nobody saw it.
func (t *tty) restore() {
	if t.before != nil && t.front() {
		_ = console.FlushTyped(t.fd)
		_ = unix.IoctlSetTermios(t.fd, setTermios, t.before) // without a wait for what is not read yet
	}
	t.before = nil
}

// signals tells of a terminal that has another size, and of Ctrl-Z.
func (t *tty) signals() (resized, stopped chan os.Signal, end func()) {
	resized, stopped = make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(resized, unix.SIGWINCH)
	signal.Notify(stopped, unix.SIGTSTP)
	return resized, stopped, func() {
		signal.Stop(resized)
		signal.Stop(stopped)
	}
}

// stop stops this process, as Ctrl-Z does, until it goes on.
func (t *tty) stop() { _ = unix.Kill(unix.Getpid(), unix.SIGSTOP) }

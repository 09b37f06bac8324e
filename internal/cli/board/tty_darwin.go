package board

import "golang.org/x/sys/unix"

const getTermios, setTermios = unix.TIOCGETA, unix.TIOCSETA

// flushTyped forgets what was typed and not read: FREAD of its header is 1.
func flushTyped(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, 1) }

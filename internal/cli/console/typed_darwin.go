package console

import "golang.org/x/sys/unix"

// FlushTyped forgets what was typed at a terminal and not read: FREAD of its header is 1.
func FlushTyped(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, 1) }

package console

import "golang.org/x/sys/unix"

// FlushTyped forgets what was typed at a terminal and not read.
func FlushTyped(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }

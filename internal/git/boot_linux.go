package git

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// booted is when the machine was started; what is older was left by a process
// that is gone.
var booted = sync.OnceValue(func() time.Time {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(info.Uptime) * time.Second)
})

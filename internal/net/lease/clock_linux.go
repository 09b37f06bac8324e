package lease

import (
	"time"

	"golang.org/x/sys/unix"
)

// systemClock is CLOCK_BOOTTIME, which counts a suspended machine's sleep.
func systemClock() clock {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return monotonic()
	}
	return func() time.Duration {
		var ts unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // it was there a moment ago
		return time.Duration(ts.Nano())
	}
}

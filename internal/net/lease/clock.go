package lease

import "time"

// clock returns the time since some moment of this process. It never goes
// back and knows nothing of the wall clock; where the system can tell, it
// goes on while process and machine sleep.
type clock func() time.Duration

// monotonic is the clock of package time, which on some systems stands still
// while the machine sleeps.
func monotonic() clock {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

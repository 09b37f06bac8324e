package browser

import "time"

// SetWithin changes how long a command is waited for, and returns what undoes it.
func SetWithin(d time.Duration) func() {
	was := within
	within = d
	return func() { within = was }
}

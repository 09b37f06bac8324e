package notify

import (
	"errors"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

// After is how long a receiver has a message wait that says this.
func After(said string) time.Duration {
	if asked, ok := errors.AsType[*laterError](later(fault.New("host/unavailable", "busy"), said, time.Now())); ok {
		return asked.after
	}
	return 0
}

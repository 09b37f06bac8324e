package actors

import (
	"sync"
	"time"
)

// Clock tells journal time.
type Clock interface {
	// Now returns the journal time: never before an earlier answer.
	Now() time.Time
	// AtLeast moves the clock forward to t, if it is behind.
	AtLeast(t time.Time)
}

// NewClock returns the journal clock of a partition. It starts at the wall
// clock's time and is advanced by monotonic differences alone, so a jump of
// the wall clock ends no lease.
func NewClock() Clock { return NewClockAt(time.Now()) }

// NewClockAt is NewClock of a machine whose wall clock says now.
func NewClockAt(now time.Time) Clock { return &clock{base: now.Round(0), since: time.Now()} }

type clock struct {
	mu    sync.Mutex
	base  time.Time
	since time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base.Add(time.Since(c.since)).UTC()
}

func (c *clock) AtLeast(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.base.Add(time.Since(c.since)); now.Before(t) {
		c.base = c.base.Add(t.Sub(now))
	}
}

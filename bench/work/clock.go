package main

import (
	"slices"
	"sync"
	"time"
)

// clock keeps marks of each execution; the time between two marks is that of
// one step.
type clock struct {
	mu          sync.Mutex
	last, begun map[string]time.Time
	steps, all  []float64 // milliseconds
}

func newClock() *clock {
	return &clock{last: map[string]time.Time{}, begun: map[string]time.Time{}}
}

func (c *clock) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.begun, c.steps, c.all = map[string]time.Time{}, map[string]time.Time{}, nil, nil
}

// start begins an execution that was asked for at a moment.
func (c *clock) start(id string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.last[id]; !ok { // its first step may have been quicker than the answer
		c.last[id] = at
	}
	c.begun[id] = at
}

func (c *clock) mark(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if t, ok := c.last[id]; ok {
		c.steps = append(c.steps, now.Sub(t).Seconds()*1000)
	}
	c.last[id] = now
}

func (c *clock) end(id string) {
	c.mark(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, ok := c.begun[id]; ok {
		c.all = append(c.all, time.Since(t).Seconds()*1000)
	}
	delete(c.last, id)
	delete(c.begun, id)
}

func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return v[int(q*float64(len(v)-1))]
}

package broker

import (
	"sync"
	"time"
)

// budget bounds how much is said about what others can cause as often as they
// like. The zero budget is not valid.
type budget struct {
	lines int           // so many
	every time.Duration // in that time
	now   func() time.Time

	mu    sync.Mutex
	began time.Time
	said  int
	held  int
}

func newBudget(lines int, every time.Duration) *budget {
	return &budget{lines: lines, every: every, now: time.Now}
}

// take says whether a line may be said now, and how many were held back since
// the last that was: who says the line says that too.
func (b *budget) take() (held int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.now(); b.began.IsZero() || now.Sub(b.began) >= b.every || now.Before(b.began) {
		b.began, b.said = now, 0
	}
	if b.said == b.lines {
		b.held++
		return 0, false
	}
	b.said++
	held, b.held = b.held, 0
	return held, true
}

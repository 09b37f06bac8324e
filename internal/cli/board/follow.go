package board

import (
	"context"
	"os"
	"time"
)

// source is what a board shows.
type source interface {
	// look takes what has happened, and returns after how long to look again if nothing
	// happens.
	look(ctx context.Context) time.Duration
	// ages is how long the board can stand as it is.
	ages() time.Duration
	// last says what has happened up to the end.
	last(ctx context.Context)
	// now is how things stand.
	now() State
}

// How often a source is looked at.
const (
	pace   = 500 * time.Millisecond // at most, after something happened
	lookAt = 30 * time.Second       // one of which nothing came
)

// follow shows a source until ctx ends, each time that it wakes.
func (b *Board) follow(ctx context.Context, s source, wake <-chan struct{}) {
	var resized, stopped chan os.Signal
	if b.tty != nil {
		var end func()
		resized, stopped, end = b.tty.signals()
		defer end()
	}
	next := time.NewTimer(0)
	defer next.Stop()
	shown := &rung{}
	for last, size := (time.Time{}), false; ; size = false {
		select {
		case <-ctx.Done():
			s.last(ctx)
			return
		case <-wake:
			rest(ctx, b.pace()-time.Since(last))
		case <-next.C:
		case <-resized:
			size = true
		case <-stopped:
			b.suspend()
		}
		var wait time.Duration
		if size {
			wait = s.ages()
		} else {
			wait = s.look(ctx)
			last = time.Now()
		}
		if b.tty != nil && ctx.Err() == nil {
			b.show(s.now(), shown, size)
		}
		next.Reset(wait)
	}
}

// pace is how long a look is after the one before at least, whatever comes: lines cost
// nothing but their reading.
func (b *Board) pace() time.Duration {
	if b.tty == nil {
		return 0
	}
	return pace
}

// rest waits so long, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// rung is what stands on the board that it has rung for; nil before the first.
type rung struct{ asked map[string]bool }

// take reports whether something waits in a state that was not there before.
func (r *rung) take(s State) (anew bool) {
	asked := map[string]bool{}
	for _, a := range s.Asks {
		asked[a.ID] = true
	}
	for _, m := range s.Mend {
		asked[m] = true
	}
	for what := range asked {
		anew = anew || r.asked != nil && !r.asked[what]
	}
	r.asked = asked
	return anew
}

// show draws the board, and rings once for what waits since it was drawn.
func (b *Board) show(s State, shown *rung, resized bool) {
	ring, now := shown.take(s), time.Now()
	b.draw(func(columns, rows int) []string { return Lines(s, now, columns, rows, b.paint) }, ring, resized)
}

package host

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

const (
	// stopWithin bounds a clean stop.
	stopWithin = 20 * time.Second
	// A host that is spent is followed by another after shortest, and after
	// twice as long each time that one lived for less than steadyFor.
	shortest  = time.Second
	longest   = 10 * time.Second
	steadyFor = time.Minute
)

// Run runs a host until ctx ends and stops it cleanly. A host that is spent is
// stopped, and another one started in its place when there is space, in the same
// process and on the same data: see [Host.Spent]. served is called with each host that serves;
// again is false for the first.
//
// It returns nil when ctx ends, else what [Start] refused, or host/unavailable
// when the embedded server has ended by itself. A host that cannot follow
// another because the disk is full again is tried again.
func Run(ctx context.Context, c Config, served func(h *Host, again bool)) error {
	wait := shortest
	for again := false; ; again = true {
		began := time.Now()
		spent, err := live(ctx, c, again, served)
		if !spent {
			return err
		}
		if time.Since(began) > steadyFor {
			wait = shortest
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
			wait = min(2*wait, longest)
		}
	}
}

// live is the life of one host. It returns whether another should follow.
func live(ctx context.Context, c Config, again bool, served func(*Host, bool)) (spent bool, err error) {
	h, err := Start(ctx, c)
	if err != nil {
		return again && full(err), err
	}
	stop := func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		h.Stop(last)
	}
	defer stop()
	served(h, again)
	select {
	case <-ctx.Done():
		return false, nil
	case <-h.Spent():
		stop()
		return true, h.space.Space(ctx)
	case <-h.Done():
		return false, fault.New("host/unavailable", "the embedded server stopped by itself; the log above says why")
	}
}

// full says whether err comes of a disk that is full.
func full(err error) bool {
	return fault.Code(err) == "data/disk-full" || errors.Is(err, syscall.ENOSPC)
}

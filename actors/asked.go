package actors

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

// silence is how long a project may be silent towards somebody who asks a host of a
// cluster: those that lose a host are served again within seconds, and whoever asks
// rather tries again than waits without a word. It is less than a peer is silent
// before it counts as dead, and with what else a request takes, less than three
// seconds.
const silence = 2800 * time.Millisecond

// asked is what a request from outside has been promised, in its context.
type asked struct {
	request string       // what it is known by, "" if it has no name
	left    atomic.Int64 // of the silence, in nanoseconds
	keyed   atomic.Int64 // how many of its commands were given a key
}

type askedKey struct{}

// Asked returns a context for what somebody outside waits for. In a cluster, commands
// and looks end in it with host/silent as soon as projects have been silent for 2.8 s in
// all. A command that would have its effect again each time it is sent is known by the
// request's name, where it has one: who gives all tries of a request one name repeats
// nothing.
func Asked(ctx context.Context, request string) context.Context {
	a := &asked{request: request}
	a.left.Store(int64(silence))
	return context.WithValue(ctx, askedKey{}, a)
}

func askedOf(ctx context.Context) *asked {
	a, _ := ctx.Value(askedKey{}).(*asked)
	return a
}

// patience returns a channel that tells when ctx has waited long enough for this host
// or another to answer, and what to call when it waits no more, with the moment until
// which nobody has answered.
func (p *Projects) patience(ctx context.Context) (over <-chan time.Time, done func(silentUntil time.Time)) {
	a := askedOf(ctx)
	if a == nil || p.elsewhere == nil {
		return nil, func(time.Time) {}
	}
	began := time.Now()
	t := time.NewTimer(time.Duration(a.left.Load()))
	return t.C, func(until time.Time) {
		t.Stop()
		a.left.Add(-int64(until.Sub(began)))
	}
}

// OnceKey is a key that no other command has: for one of a request that has a name,
// that name and the command's place in the request. So all tries of a request have the
// same keys, if they ask for them in the same order.
func OnceKey(ctx context.Context) string {
	if a := askedOf(ctx); a != nil && a.request != "" {
		return fmt.Sprintf("once-%x", sha256.Sum256(fmt.Appendf(nil, "%d %s", a.keyed.Add(1), a.request)))
	}
	return fmt.Sprintf("once-%016x%016x", rand.Uint64(), rand.Uint64())
}

func unheard() error {
	return fault.New("host/silent", "the host that serves the project does not answer").
		Want("try again in a moment: if it is gone, another takes its place within seconds")
}

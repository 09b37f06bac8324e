package broker

import (
	"context"
	"sync"
	"time"
)

// A request that takes doubtAfter makes its host ask whether the cluster takes writes,
// again and again until it does. An election passes: only what lasts for standing is a
// standstill. Both together are so short that a client, which is there for 10 s, hears
// of it; and the first is shorter than a project is silent before a request is refused
// for that, so that those who ask again hear of it, too.
const (
	doubtAfter  = 2500 * time.Millisecond
	standing    = 5 * time.Second
	doubtAgain  = 250 * time.Millisecond
	doubtAnswer = 2 * time.Second
)

// standstill is since when a cluster takes no writes, as far as this host was made to
// ask. The zero value has not asked.
type standstill struct {
	mu     sync.Mutex
	asking bool
	since  time.Time // the first question of all that had a bad answer since the last good one
	why    error
	end    context.CancelFunc
}

// doubt has quorum asked until it returns nil or the standstill is ended; run runs that
// on a goroutine. While it is asked already, another doubt changes nothing.
func (s *standstill) doubt(run func(func()) bool, quorum func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking {
		return
	}
	ctx, end := context.WithCancel(context.Background())
	if s.asking = run(func() { s.ask(ctx, quorum) }); !s.asking {
		end()
		return
	}
	s.end = end
}

func (s *standstill) ask(ctx context.Context, quorum func(context.Context) error) {
	for {
		began := time.Now()
		within, cancel := context.WithTimeout(ctx, doubtAnswer)
		err := quorum(within)
		cancel()
		if !s.heard(began, err) {
			return
		}
		select {
		case <-time.After(doubtAgain):
		case <-ctx.Done():
			return
		}
	}
}

// heard notes an answer and reports whether to ask again.
func (s *standstill) heard(began time.Time, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why = err; err == nil {
		s.asking, s.since = false, time.Time{}
		s.end()
		return false
	}
	if s.since.IsZero() {
		s.since = began
	}
	return true
}

// verdict returns why the cluster takes no writes, once that has lasted; nil before.
func (s *standstill) verdict() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() || time.Since(s.since) < standing {
		return nil
	}
	return s.why
}

// stop ends the questions.
func (s *standstill) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		s.end()
	}
}

// whileWritable returns a context that also ends, with cluster/no-quorum, when
// the request takes long because the cluster takes no writes: so whoever asks a
// host that is cut off hears why it waits.
func (b *Broker) whileWritable(ctx context.Context) (_ context.Context, done func()) {
	ctx, end := context.WithCancelCause(ctx)
	if !b.Clustered() {
		return ctx, func() { end(nil) }
	}
	doubt := time.AfterFunc(doubtAfter, func() {
		for ctx.Err() == nil {
			b.still.doubt(b.handle, b.Quorum)
			if err := b.still.verdict(); err != nil {
				end(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(doubtAgain):
			}
		}
	})
	return ctx, func() { doubt.Stop(); end(nil) }
}

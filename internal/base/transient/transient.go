// Package transient tells what a cluster of NATS servers cannot do just now
// from what it will never do, and tries the former again: an election of a
// stream's leader takes 4 to 9 seconds as servers come, 1.5 to 3 in a host, and
// what is asked meanwhile is refused or never answered.
//
// It promises that a call which is tried again has failed in a way that passes
// by itself. It never tries again what changes something twice: that is for its
// caller to know.
package transient

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Election is how long an election of a leader may take, with what follows it.
const Election = 20 * time.Second

const (
	pauseFirst = 50 * time.Millisecond
	pauseMost  = time.Second
	// tryFirst and tryMost bound one try: a question that came before there was
	// a leader is never answered, and a busy cluster takes its time.
	tryFirst = 500 * time.Millisecond
	tryMost  = 10 * time.Second
)

// ErrAgain marks an error of a call that should be tried again.
var ErrAgain = errors.New("try again")

// codes are the server's words for what passes.
var codes = []jetstream.ErrorCode{
	10004, // incomplete results
	10005, // no suitable peers for placement
	10008, // temporarily unavailable
	10009, // not the leader
	10076, // JetStream is not enabled yet
	10118, // the stream is offline
}

var passing = []error{
	context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrReconnectBufExceeded,
	jetstream.ErrNoStreamResponse, jetstream.ErrJetStreamNotEnabled,
	jetstream.ErrNoHeartbeat, jetstream.ErrConsumerLeadershipChanged, jetstream.ErrServerShutdown,
}

// Is says whether what err says passes by itself. A call that took too long
// may have been done even so.
func Is(err error) bool {
	if errors.Is(err, ErrAgain) {
		return true
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return slices.Contains(codes, api.ErrorCode)
	}
	return slices.ContainsFunc(passing, func(p error) bool { return errors.Is(err, p) })
}

// Retry calls f, with a context that bounds each try, until it succeeds, fails
// for good, or so much time has gone; or until ctx ends. It returns f's last
// error. f must be harmless to repeat.
func Retry(ctx context.Context, within time.Duration, f func(context.Context) error) error {
	return Watch(ctx, within, f, func(error) {})
}

// Watch is [Retry] that tells failed of each try that will be followed by
// another. Within zero means until ctx ends.
func Watch(ctx context.Context, within time.Duration, f func(context.Context) error, failed func(error)) error {
	began := time.Now()
	for pause, try := pauseFirst, tryFirst; ; pause, try = min(2*pause, pauseMost), min(2*try, tryMost) {
		err := once(ctx, try, f)
		if err == nil || ctx.Err() != nil || !Is(err) || within > 0 && time.Since(began) > within {
			return err
		}
		failed(err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

func once(ctx context.Context, try time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, try)
	defer cancel()
	return f(ctx)
}

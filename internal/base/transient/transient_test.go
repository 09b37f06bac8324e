package transient_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/transient"
)

func TestOPS01_WhatPassesByItself(t *testing.T) {
	for _, tt := range []struct {
		err    error
		passes bool
	}{
		{&jetstream.APIError{ErrorCode: 10008}, true},
		{fmt.Errorf("stream: %w", &jetstream.APIError{ErrorCode: 10118}), true},
		{&jetstream.APIError{ErrorCode: 10071}, false}, // a conflict is an answer
		{&jetstream.APIError{ErrorCode: 10059}, false}, // so is "no such stream"
		{nats.ErrNoResponders, true},
		{context.DeadlineExceeded, true},
		{jetstream.ErrConsumerLeadershipChanged, true},
		{nats.ErrConnectionClosed, false},
		{jetstream.ErrStreamNotFound, false},
		{jetstream.ErrKeyNotFound, false},
		{context.Canceled, false},
		{nil, false},
	} {
		if got := transient.Is(tt.err); got != tt.passes {
			t.Errorf("Is(%v) = %t, want %t", tt.err, got, tt.passes)
		}
	}
}

func TestOPS01_RetryEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		final, calls := errors.New("for good"), 0
		after := func(n int, err error) func(context.Context) error {
			calls = 0
			return func(context.Context) error {
				if calls++; calls > n {
					return err
				}
				return nats.ErrNoResponders
			}
		}
		if err := transient.Retry(t.Context(), time.Minute, after(3, nil)); err != nil || calls != 4 {
			t.Errorf("with success: %v after %d calls", err, calls)
		}
		if err := transient.Retry(t.Context(), time.Minute, after(2, final)); !errors.Is(err, final) || calls != 3 {
			t.Errorf("with what is final: %v after %d calls", err, calls)
		}
		began := time.Now()
		if err := transient.Retry(t.Context(), 10*time.Second, after(1000, nil)); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("with its time: %v", err)
		}
		if took := time.Since(began); took < 10*time.Second || took > 12*time.Second {
			t.Errorf("it gave up after %v, want 10 s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := transient.Watch(ctx, 0, after(1000, nil), func(error) {}); err == nil || ctx.Err() == nil {
			t.Errorf("with its context: %v", err)
		}
	})
}

func TestOPS01_ATryThatIsNeverAnsweredIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		err := transient.Retry(t.Context(), time.Minute, func(ctx context.Context) error {
			if calls++; calls == 2 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if err != nil || calls != 2 {
			t.Errorf("%v after %d calls, want success at the second", err, calls)
		}
	})
}

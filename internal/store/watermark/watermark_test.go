package watermark_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/watermark"
)

const mib = 1 << 20

// TestP24_WorkIsRefusedAndTakenAgainByItself fills and empties a disk.
func TestP24_WorkIsRefusedAndTakenAgainByItself(t *testing.T) {
	var left atomic.Uint64
	looked := make(chan struct{}, 1)
	for _, tt := range []struct {
		name         string
		total, bytes uint64
		free         []uint64
		full         []bool
	}{
		{
			"a large disk", 1 << 40, 0,
			[]uint64{600 * mib, 512 * mib, 512*mib - 1, 0, 512 * mib, 563 * mib, 564 * mib, 600 * mib},
			[]bool{false, false, true, true, true, true, false, false},
		},
		{"a small disk", 100 * mib, 0, []uint64{10 * mib, 10*mib - 1, 11 * mib}, []bool{false, true, false}},
		{"a mark of one's own", 1 << 40, 4 * mib, []uint64{5 * mib, 4*mib - 1, 5 * mib}, []bool{false, true, false}},
	} {
		ticks := make(chan time.Time)
		left.Store(tt.free[0])
		w := watermark.Open(watermark.Config{Path: "/data", Bytes: tt.bytes, Ticks: ticks, Free: func(path string) (uint64, uint64, error) {
			if path != "/data" {
				t.Errorf("asked about %q", path)
			}
			defer func() { looked <- struct{}{} }()
			return left.Load(), tt.total, nil
		}})
		<-looked
		for i, want := range tt.full {
			if i > 0 {
				left.Store(tt.free[i])
				ticks <- time.Time{}
				<-looked
				ticks <- time.Time{} // it has been taken in when the next look begins
				<-looked
			}
			err := w.Admit()
			if (err != nil) != want || err != nil && (fault.Code(err) != "data/disk-full" || fault.Status(err) != fault.Unavailable) {
				t.Errorf("%s, %d bytes free: %v, want full: %t", tt.name, tt.free[i], err, want)
			}
		}
		w.Close()
	}
}

// TestP24_ADiskThatCannotBeAskedRefusesNothing does so from the beginning, and
// later.
func TestP24_ADiskThatCannotBeAskedRefusesNothing(t *testing.T) {
	w := watermark.Open(watermark.Config{Path: "/data", Free: func(string) (uint64, uint64, error) { return 0, 0, errors.New("no") }})
	if err := w.Admit(); err != nil {
		t.Error(err)
	}
	w.Close()
}

// TestP24_SpaceIsAwaited blocks while the disk is full, whenever it last was
// looked at, and no longer than its context.
func TestP24_SpaceIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left atomic.Uint64
		left.Store(600 * mib)
		w := watermark.Open(watermark.Config{
			Path: "/data", Ticks: make(chan time.Time),
			Free: func(string) (uint64, uint64, error) { return left.Load(), 1 << 40, nil },
		})
		defer w.Close()
		if err := w.Space(t.Context()); err != nil {
			t.Errorf("with space: %v", err)
		}
		left.Store(0)
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := w.Space(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("on a full disk: %v", err)
		}
		began := time.Now()
		time.AfterFunc(time.Minute, func() { left.Store(600 * mib) })
		if err := w.Space(t.Context()); err != nil || time.Since(began) < time.Minute || time.Since(began) > time.Minute+2*watermark.Every {
			t.Errorf("space came after a minute, was seen after %s: %v", time.Since(began), err)
		}
	})
}

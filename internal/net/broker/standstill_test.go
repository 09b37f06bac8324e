package broker

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

// TestP6_AStandstillIsSaidOnceItHasLasted: an election is not called a standstill, a
// host that is cut off says so within the 10 s of a client that asks again, and forgets
// it when the others are back.
func TestP6_AStandstillIsSaidOnceItHasLasted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone := fault.New("cluster/no-quorum", "alone")
		var cut atomic.Bool
		cut.Store(true)
		quorum := func(ctx context.Context) error {
			if !cut.Load() {
				return nil
			}
			<-ctx.Done()
			return alone
		}
		run := func(f func()) bool { go f(); return true }
		var s standstill
		s.doubt(run, quorum)
		for at := range 9 { // doubts in between change nothing
			if err := s.verdict(); (err != nil) != (at >= 5) {
				t.Errorf("after %d s: %v", at, err)
			}
			<-time.After(time.Second + time.Millisecond)
			s.doubt(run, quorum)
		}
		cut.Store(false)
		<-time.After(3 * time.Second)
		if err := s.verdict(); err != nil || s.asking {
			t.Errorf("with the others: %v, asks %t", err, s.asking)
		}
		cut.Store(true)
		s.doubt(run, quorum)
		<-time.After(3 * time.Second)
		if err := s.verdict(); err != nil {
			t.Errorf("an election: %v", err)
		}
		s.stop()
		synctest.Wait()
	})
}

// TestP6_NoDoubtIsBegunAtTheEnd: a broker that closes begins nothing, and a doubt that
// was refused is no doubt.
func TestP6_NoDoubtIsBegunAtTheEnd(t *testing.T) {
	var s standstill
	s.doubt(func(func()) bool { return false }, nil)
	if s.asking {
		t.Error("it asks")
	}
	s.stop()
}

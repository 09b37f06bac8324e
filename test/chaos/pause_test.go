package chaos

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A host that is stopped in its tracks for longer than its lock lasts, in the
// middle of committing or landing, wakes up as one that may have been overtaken:
// what it does late counts under a newer grant or not at all.
func TestF3_HostSleepsLongerThanItsLock(t *testing.T) {
	for _, node := range []string{"commit", "land"} {
		t.Run("P6 "+node, func(t *testing.T) {
			c := newChaos(t)
			c.place.flags = []string{"--lock-lease", "1s"}
			j := c.job("shop")
			h := c.place.start(t)
			leave := c.attend(h, j)
			at := starting
			c.record.await(t, h, "shop", func(e *loomv1.Event) bool {
				at = next(at, e)
				return at == node && e.GetLockGranted() != nil
			})
			pause(t, h, 1500*time.Millisecond)
			leave()
			c.finish(h, j)
			if n := c.count(func(e *loomv1.Event) bool { return e.GetLanded() != nil }); n != 1 {
				t.Errorf("landed %d times, want once", n)
			}
			list, _, _ := c.record.from(0, "shop")
			var events []*loomv1.Event
			for _, n := range list {
				events = append(events, n.Event)
			}
			fence := git(t, j.repository, "cat-file", "blob", git(t, j.repository, "for-each-ref", "--format=%(objectname)", "refs/loom/fence"))
			if want := fmt.Sprintf("token %d", newBooks(events).token); fence != want {
				t.Errorf("the fence says %q, the newest grant %q", fence, want)
			}
		})
	}
}

// pause stops a process for a while, as a machine that has too much to do would.
func pause(t *testing.T, h *process, d time.Duration) {
	t.Helper()
	if err := h.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	select {
	case <-time.After(d):
	case <-h.ended:
	}
	if err := h.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

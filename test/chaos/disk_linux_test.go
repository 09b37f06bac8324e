package chaos

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var fills = flag.Int("chaos.fills", 1, "how often the disk of a host becomes full")

// ordersAFill is how many orders are placed around each time.
const ordersAFill = 24

// small is a host whose data directory is on a disk of its own, of 64 MiB.
type small struct {
	lone

	mu      sync.Mutex
	refused map[string]int    // orders, by code
	noted   map[string]string // title of a remark to the id that was acknowledged
}

// TestP24_ADiskThatIsFull fills the disk under a host with work to do, to the
// last byte. What was acknowledged stays, the host reads on, and serves again by
// itself once there is space: nothing is lost, and nothing is done twice.
func TestP24_ADiskThatIsFull(t *testing.T) {
	s := newSmall(t)
	if s == nil {
		return
	}
	var back []time.Duration
	for n := range *fills {
		var press sync.WaitGroup
		press.Go(func() { s.orders(n * ordersAFill) })
		s.remark("before", n)
		fill(t, s.ballast())
		s.wedge(n)
		s.reads()
		began := time.Now()
		remove(t, s.ballast())
		s.await("it serves again", func() bool { return strings.Count(s.host.text(), servesAgain) > n })
		back = append(back, time.Since(began).Round(time.Millisecond))
		s.remark("after", n)
		press.Wait()
	}
	s.await("all is done", func() bool { return s.closed() == *fills*ordersAFill })
	t.Logf("%d times full; orders refused %v; back after %v", *fills, s.refused, back)
	s.judge()
}

// newSmall returns nil where no disk can be mounted.
func newSmall(t *testing.T) *small {
	t.Helper()
	s := &small{lone: newLone(t), refused: map[string]int{}, noted: map[string]string{}}
	if !s.place.mount(t, 64) {
		return nil
	}
	s.begin()
	return s
}

// mount puts the data directory, which is not there yet, on a disk of its own of
// so many MiB. It returns false where that cannot be done.
func (p *place) mount(t *testing.T, size int) bool {
	t.Helper()
	if err := os.Mkdir(p.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", p.data, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=700", size)); err != nil {
		t.Logf("NOT RUN: no small disk can be mounted: %v", err)
		return false
	}
	t.Cleanup(func() { _ = unix.Unmount(p.data, unix.MNT_DETACH) })
	return true
}

func (s *small) ballast() string { return s.place.path("ballast") }

// orders places orders, each until it is acknowledged.
func (s *small) orders(first int) {
	for n := first; n < first+ordersAFill; n++ {
		s.host.until(s.t.Context(), func() bool {
			err := s.order(n)
			if err != nil {
				s.mu.Lock()
				s.refused[fault.Code(err)]++
				s.mu.Unlock()
			}
			return err == nil
		})
	}
}

// fill leaves no byte of the disk that a file is on.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

// note has the host write into its journal, and keeps what it acknowledges.
func (s *small) note(title string) error {
	return s.ask(func(ctx context.Context, c *client.Client) error {
		answer, err := c.Decide(ctx, &loomv1.DecisionRequest{Project: crowd, Verb: &loomv1.DecisionRequest_Add{Add: &loomv1.AddDecision{
			Request: title, Node: &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_OBSERVATION, Title: title, Confidence: 50},
		}}})
		if err == nil {
			s.noted[title] = answer.GetDecision().GetId()
		}
		return err
	})
}

// remark writes a remark until it is acknowledged.
func (s *small) remark(when string, n int) {
	s.t.Helper()
	s.await("a remark is taken", func() bool { return s.note(fmt.Sprintf("remark %s %d", when, n)) == nil })
}

// wedge has the host write until it says that it cannot.
func (s *small) wedge(n int) {
	s.t.Helper()
	tries := 0
	s.await("the host says that it cannot write", func() bool {
		if strings.Count(s.host.text(), "the disk could not be written") > n {
			return true
		}
		tries++
		_ = s.note(fmt.Sprintf("remark %d of %d", tries, n)) // may well fail
		return false
	})
}

// reads checks that a host that cannot write still says what there is.
func (s *small) reads() {
	s.t.Helper()
	s.await("a full host answers", func() bool { return s.closed() >= 0 })
}

// judge holds what is left against what was acknowledged.
func (s *small) judge() {
	s.t.Helper()
	a, titles := newAuditor(), map[string][]string{}
	for _, n := range newRecord().history(s.t, s.host.client()) {
		if n.Event.Project != crowd {
			continue
		}
		a.add(n.Event)
		if d := n.Event.GetDecisionAdded().GetNode(); strings.HasPrefix(d.GetTitle(), "remark ") {
			titles[d.Title] = append(titles[d.Title], d.Id)
		}
	}
	a.end()
	a.ledger(readLedger(s.t, s.place))
	for _, problem := range a.told() {
		s.t.Error(problem)
	}
	for title, id := range s.noted {
		if got := titles[title]; len(got) != 1 || got[0] != id {
			s.t.Errorf("%q was acknowledged as %s, and the graph has %v", title, id, got)
		}
	}
	for line := range strings.Lines(s.host.text()) {
		if strings.Contains(line, "DATA RACE") || strings.Contains(line, "quarantined") {
			s.t.Errorf("the host says: %s", line)
		}
	}
	if err := s.host.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if status := s.host.wait(); status != fault.Done {
		s.t.Errorf("stopped with status %d\n%s", status, s.host.text())
	}
	if out, err := exec.Command(loom, "verify", "--data", s.place.data).CombinedOutput(); err != nil {
		s.t.Errorf("loom verify: %v\n%s", err, out)
	}
}

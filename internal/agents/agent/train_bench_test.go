package agent_test

import (
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// slowly is a check of half a second that passes on what no bad change is in.
const slowly = "sleep 0.5; " + sound

// BenchmarkTwentyWithTwoBad lands twenty verified changes of which two fail
// together with the others: on trains, and each made anew, tested and landed by
// itself. It reports how long all of them take together, and how many land a second.
func BenchmarkTwentyWithTwoBad(b *testing.B) {
	for _, way := range []struct {
		name string
		land func(*yard) int
	}{{"trains", (*yard).onTrains}, {"one-by-one", (*yard).oneByOne}} {
		b.Run(way.name, func(b *testing.B) {
			var took time.Duration
			for range b.N {
				y := newYard(b, 20, 7, 14)
				for _, c := range y.cars {
					c.Checks = []string{slowly}
				}
				begun := time.Now()
				if n := way.land(y); n != 18 {
					b.Fatalf("%d changes landed, want 18", n)
				}
				took += time.Since(begun)
			}
			b.ReportMetric(took.Seconds()/float64(b.N), "s/queue")
			b.ReportMetric(18*float64(b.N)/took.Seconds(), "commits/s")
		})
	}
}

// TestBYD08_TrainsLandWhatOneByOneLands takes a short queue both ways.
func TestBYD08_TrainsLandWhatOneByOneLands(t *testing.T) {
	longtest.Skip(t)
	for name, land := range map[string]func(*yard) int{"trains": (*yard).onTrains, "one by one": (*yard).oneByOne} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if n := land(newYard(t, 3, 2)); n != 2 {
				t.Errorf("%d changes landed, want 2", n)
			}
		})
	}
}

// onTrains has the first of the queue drive, again and again, until nobody waits.
func (y *yard) onTrains() (landed int) {
	token := uint64(1000)
	for len(y.cars) > 0 {
		for i, c := range y.cars {
			c.Token = token + uint64(i)
		}
		y.seat = &seat{token: token, train: &loomv1.Train{Fence: token + uint64(len(y.cars)) - 1, Cars: y.cars}}
		token += 100
		out := y.must(y.landing(1, 50))
		var left []*loomv1.TrainCar
		for i, c := range y.cars {
			car := y.seat.cars[c.Attempt]
			switch {
			case car.GetRefused() != "" || i == 0 && out.Status != success:
			case car != nil || i == 0:
				landed++
			default:
				left = append(left, c)
			}
		}
		y.cars = left
	}
	return landed
}

// oneByOne makes, tests and lands each change on the newest target.
func (y *yard) oneByOne() (landed int) {
	token := uint64(1000)
	for n, c := range y.cars {
		token += 2
		var err error
		if c.Candidate, err = y.candidate(c, token); err != nil {
			y.t.Fatal(err)
		}
		verify := brief("qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY)
		verify.Attempt.Id = c.Attempt
		verify.Execution.Change, verify.Execution.Candidate, verify.Execution.Checks = c.Change, c.Candidate, c.Checks
		y.seat = &seat{}
		if y.must(verify).Status != success {
			continue
		}
		y.seat = &seat{token: token + 1}
		if out := y.must(y.landing(n+1, 1)); out.Status != success {
			y.t.Fatalf("%v", out)
		}
		landed++
	}
	return landed
}

package fleet

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/core/staffing"
)

// spread is what a host knows of the others, to hand partitions over to them: when they
// came, and when each partition was handed over last. Its zero value knows nothing.
type spread struct {
	mu     sync.Mutex
	came   map[string]arrival // other hosts that live
	handed map[int]time.Time
}

// arrival is a start of a host, and when it was first seen here.
type arrival struct {
	epoch uint64
	at    time.Time
}

const (
	// settled is how long another host must have been there before a partition is
	// handed over to it.
	settled = 15 * time.Second
	// handAgain is after how long a partition that came back is handed over again:
	// whoever had it may not be able to serve it.
	handAgain = 5 * time.Minute
)

// since notes when a start of another host was first seen.
func (s *spread) since(host string, epoch uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.came == nil {
		s.came = map[string]arrival{}
	}
	if s.came[host].epoch != epoch {
		s.came[host] = arrival{epoch, time.Now()}
	}
}

// stays says whether a start of another host has been there for a while.
func (s *spread) stays(host string, epoch uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.came[host]
	return a.epoch == epoch && time.Since(a.at) > settled
}

// may says whether a partition may be handed over.
func (s *spread) may(partition int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, was := s.handed[partition]
	return !was || time.Since(at) > handAgain
}

// hands notes that a partition is handed over.
func (s *spread) hands(partition int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handed == nil {
		s.handed = map[int]time.Time{}
	}
	s.handed[partition] = time.Now()
}

// Spread hands a partition over that another host comes first for, one at a
// time: so each of several hosts has some, and a partition whose host went
// comes back to it.
func (f *Fleet) Spread() {
	alive, projects := f.takers(), f.config.Projects()
	names := slices.Collect(maps.Keys(alive))
	for _, n := range projects.Here() {
		for _, other := range names {
			if other != f.config.Host && f.spread.may(n) && staffing.Rank(partitionKey(n), other, names) == 0 && f.spread.stays(other, alive[other]) {
				f.config.Log.Info("a partition is handed over", "partition", n, "to", other)
				f.spread.hands(n)
				projects.HandOver(n)
				return
			}
		}
	}
}

// takers are the hosts that live and leave partitions to nobody.
func (f *Fleet) takers() map[string]uint64 {
	view := f.hearing.now()
	alive := f.members()
	maps.DeleteFunc(alive, func(name string, _ uint64) bool { return view.Back(name) })
	return alive
}

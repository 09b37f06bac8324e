package lease

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// fold is what is known of all leases of a bucket.
type fold struct {
	now clock

	mu      sync.Mutex
	sights  map[string]*sight // by key
	waiters map[*waiter]bool
}

// waiter is told that something about keys with a prefix changed.
type waiter struct {
	prefix string
	kick   chan struct{} // of capacity 1
}

func newFold(now clock) *fold {
	return &fold{now: now, sights: map[string]*sight{}, waiters: map[*waiter]bool{}}
}

// see takes a record in. A renewal that changes nothing wakes nobody.
func (f *fold) see(key string, r record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.take(key, r)
}

func (f *fold) take(key string, r record) {
	if r.revision == 0 {
		return
	}
	s := f.sights[key]
	if s == nil {
		s = &sight{}
		f.sights[key] = s
	}
	before := s.entry(key)
	if s.see(r, f.now()) && !before.same(s.entry(key)) {
		f.wake(key)
	}
}

// confirm takes in that the bucket was asked for key and had r.
func (f *fold) confirm(key string, asked time.Duration, r record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.take(key, r)
	s := f.sights[key]
	if s == nil {
		return
	}
	before := s.entry(key)
	was := s.free()
	if s.confirm(r, asked, f.now()); s.free() != was || !before.same(s.entry(key)) {
		f.wake(key)
	}
}

// doubt takes in that the bucket was away until now.
func (f *fold) doubt(grace time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	for _, s := range f.sights {
		s.doubt(now, grace)
	}
}

// get returns what is known of key; the zero sight if nothing is.
func (f *fold) get(key string) sight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sights[key]; s != nil {
		return *s
	}
	return sight{}
}

// entries returns all leases whose key has the prefix, by key.
func (f *fold) entries(prefix string) (all []Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, s := range f.sights {
		if strings.HasPrefix(key, prefix) {
			all = append(all, s.entry(key))
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// with returns keys, and those that are known besides.
func (f *fold) with(keys []string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.AppendSeq(slices.Clone(keys), maps.Keys(f.sights))
	slices.Sort(all)
	return slices.Compact(all)
}

// lapsing returns the keys that have lapsed unless they were renewed, and how
// long it is until the next may.
func (f *fold) lapsing(most time.Duration) (keys []string, next time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	next = most
	for key, s := range f.sights {
		switch left := s.lapse() - now; {
		case s.free():
		case left <= 0:
			keys = append(keys, key)
		default:
			next = min(next, left)
		}
	}
	return keys, next
}

// wait returns a waiter for the keys with a prefix, kicked at once.
func (f *fold) wait(prefix string) *waiter {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := &waiter{prefix: prefix, kick: make(chan struct{}, 1)}
	w.kick <- struct{}{}
	f.waiters[w] = true
	return w
}

func (f *fold) forget(w *waiter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.waiters, w)
}

func (f *fold) wake(key string) {
	for w := range f.waiters {
		if strings.HasPrefix(key, w.prefix) {
			select {
			case w.kick <- struct{}{}:
			default:
			}
		}
	}
}

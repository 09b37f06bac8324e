package lease

import "time"

// What decides about time is here, without clock, network or goroutine. An
// instant is the time since some moment of one process; instants of two
// processes are never compared.

// tenure is a holder's view of its own lease.
type tenure struct {
	ttl, margin time.Duration
	nonce       string
	revision    uint64                   // newest of ours that is known to be stored
	serial      uint64                   // of the newest write that was sent
	sent        map[uint64]time.Duration // when writes were sent whose outcome is not known
	until       time.Duration            // it is surely ours before this instant
	lost        bool                     // for good
}

func newTenure(ttl, margin time.Duration, nonce string) *tenure {
	return &tenure{ttl: ttl, margin: margin, nonce: nonce, sent: map[uint64]time.Duration{}}
}

// send returns the serial of a write that is sent now, or later.
func (t *tenure) send(now time.Duration) uint64 {
	t.serial++
	t.sent[t.serial] = now
	return t.serial
}

// stored says that the write with this serial is in the bucket, at revision.
// The lease lasts from when it was sent. A lease that has run out stays so:
// somebody may have acted on that.
func (t *tenure) stored(serial, revision uint64, now time.Duration) {
	began, known := t.sent[serial]
	if revision <= t.revision || !known {
		return
	}
	first := t.revision == 0
	t.revision = revision
	for s := range t.sent {
		if s <= serial {
			delete(t.sent, s)
		}
	}
	if first || t.valid(now) {
		t.until = began + t.ttl - t.margin
	}
}

// read is told of the newest record, after a write was refused or its outcome
// was unknown.
func (t *tenure) read(r record, now time.Duration) {
	switch {
	case r.revision == t.revision:
	case r.revision < t.revision: // the bucket was made anew, or this server is far behind
		t.lost = true
	case r.nonce == t.nonce:
		t.stored(r.serial, r.revision, now)
	default:
		t.lost = true
	}
}

// valid says whether nobody else can have the lease yet.
func (t *tenure) valid(now time.Duration) bool { return !t.lost && t.revision != 0 && now < t.until }

// sight is what one who waits has seen of a lease.
type sight struct {
	record record
	since  time.Duration // when this very record was seen first, or later
	dead   bool          // it has lapsed, and the bucket confirmed that it is the newest
}

// see is told of a record that is stored, perhaps again or late. It reports
// whether it is a newer one.
func (s *sight) see(r record, now time.Duration) bool {
	if r.revision <= s.record.revision {
		return false
	}
	*s = sight{record: r, since: now}
	return true
}

// doubt says that until now the bucket did not answer, so that the holder may
// not have been able to renew: it gets grace from now.
func (s *sight) doubt(now, grace time.Duration) {
	s.since = max(s.since, now-s.record.ttl+grace)
}

// lapse is when the lease has run out unless it is renewed.
func (s *sight) lapse() time.Duration { return s.since + s.record.ttl }

// confirm is told that the bucket was asked, not before asked, and that r is
// what it has. An older record, or none, once the known one has lapsed, says
// that the bucket was made anew; somebody may hold a renewal that nobody else
// saw, so all begins again.
func (s *sight) confirm(r record, asked, now time.Duration) {
	switch over := asked >= s.lapse(); {
	case r.revision == s.record.revision:
		s.dead = s.dead || over
	case r.revision < s.record.revision && over:
		r.ttl = max(r.ttl, s.record.ttl)
		*s = sight{record: r, since: now}
	}
}

// free says whether the lease may be taken: it was given back, has lapsed, or
// nobody ever had it.
func (s *sight) free() bool {
	return s.record.released || s.dead || s.record.revision == 0 && s.record.ttl == 0
}

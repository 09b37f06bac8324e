package lease

import (
	"bytes"
	"context"
)

// Entry is a lease as far as it is known here. Value is shared and must not be
// changed.
type Entry struct {
	Key   string
	Value []byte
	// Alive is false once the holder has released the lease or its TTL has
	// passed without a renewal; then the other fields are the last holder's.
	// A lease that is seen for the first time counts as alive for its TTL.
	Alive bool
	// Term is the holder's, see [Held.Term].
	Term uint64
}

func (e Entry) same(other Entry) bool {
	return e.Key == other.Key && e.Alive == other.Alive && e.Term == other.Term && bytes.Equal(e.Value, other.Value)
}

func (s *sight) entry(key string) Entry {
	return Entry{Key: key, Value: s.record.value, Alive: s.record.revision != 0 && !s.free(), Term: s.record.term}
}

// Entries returns the leases whose key begins with prefix, by key; those that
// nobody holds any more too.
func (b *Bucket) Entries(prefix string) []Entry { return b.fold.entries(prefix) }

// Watch calls f with each lease whose key begins with prefix, and again
// whenever another holder has it, its value changes, or it ends, until ctx
// ends or the bucket is closed; then it returns. It calls f from one goroutine
// at a time, for one key in order; of what happens while f runs it tells the
// newest alone. Nothing is missed for good when connections break: it is seen
// within a TTL after they are back.
func (b *Bucket) Watch(ctx context.Context, prefix string, f func(Entry)) {
	w := b.fold.wait(prefix)
	defer b.fold.forget(w)
	told := map[string]Entry{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.over.Done():
			return
		case <-w.kick:
		}
		for _, e := range b.fold.entries(prefix) {
			if last, known := told[e.Key]; known && last.same(e) {
				continue
			}
			told[e.Key] = e
			f(e)
		}
	}
}

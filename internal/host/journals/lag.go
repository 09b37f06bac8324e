package journals

import (
	"sync"
	"time"
)

// lag notes when a host appended to a journal, so that it can be said for how long the
// tables have lacked what it appended. It is exact to markEvery.
type lag struct {
	mu    sync.Mutex
	marks []mark
}

// mark says that the journal had grown to a sequence at some time.
type mark struct {
	sequence uint64
	at       time.Time
}

const (
	markEvery = 50 * time.Millisecond
	mostMarks = 1024
)

// appended notes a batch. Of those that come close together the first is noted.
func (l *lag) appended(sequence uint64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.marks); n > 0 && now.Sub(l.marks[n-1].at) < markEvery {
		return
	}
	if len(l.marks) == mostMarks { // nobody has asked for a while
		l.marks = append(l.marks[:0], l.marks[mostMarks/2:]...)
	}
	l.marks = append(l.marks, mark{sequence, now})
}

// behind returns for how long batches after applied, which end at last, have been in
// the journal; 0 when there are none.
func (l *lag) behind(applied, last uint64, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := 0 // the newest mark that is not after the first batch that is lacking
	for kept+1 < len(l.marks) && l.marks[kept+1].sequence <= applied+1 {
		kept++
	}
	l.marks = l.marks[kept:]
	if applied >= last || len(l.marks) == 0 {
		return 0
	}
	return max(now.Sub(l.marks[0].at), 0)
}

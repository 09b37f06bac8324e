package journals

import (
	"testing"
	"time"
)

func TestOPS04_HowLongTheTablesLackWhatIsAppended(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }
	l := &lag{}
	for i := range 40 { // batches 1 to 40, one each 10 ms
		l.appended(uint64(i+1), at(10*i))
	}
	for _, tt := range []struct {
		applied, last uint64
		now           int
		want          time.Duration
	}{
		{0, 40, 400, 400 * time.Millisecond},
		{20, 40, 400, 200 * time.Millisecond}, // batch 21 came at 200
		{23, 40, 400, 200 * time.Millisecond}, // batch 24 came at 230, within what is noted each 50 ms
		{39, 40, 1000, 650 * time.Millisecond},
		{40, 40, 1000, 0},
		{41, 40, 1000, 0}, // another host's
	} {
		if got := l.behind(tt.applied, tt.last, at(tt.now)); got != tt.want {
			t.Errorf("applied %d of %d at %d ms: behind for %v, want %v", tt.applied, tt.last, tt.now, got, tt.want)
		}
	}
	for i := range 10 * mostMarks {
		l.appended(uint64(41+i), at(1000+60*i))
	}
	if n := len(l.marks); n > mostMarks {
		t.Errorf("%d marks are kept, the most is %d", n, mostMarks)
	}
	if got := (&lag{}).behind(3, 9, noon); got != 0 {
		t.Errorf("behind what another host appended: %v, want 0: it is not known", got)
	}
}

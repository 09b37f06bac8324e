package memory

import (
	"fmt"
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestMEM01_ASearchReadsAsMuchOfManyEntriesAsOfFew wants what a question costs to be
// bounded: of a memory that grows, no more is read than a search may.
func TestMEM01_ASearchReadsAsMuchOfManyEntriesAsOfFew(t *testing.T) {
	const frequent = 60
	var text strings.Builder
	for w := range frequent {
		fmt.Fprintf(&text, "frequent%d ", w)
	}
	x := &index{terms: map[string]int32{}}
	add := func(to int) {
		for i := x.docs; i < to; i++ {
			x.add(int32(i), &loomv1.MemoryEntry{Type: "context", Text: fmt.Sprintf("%s rare%d", text.String(), i/3)})
		}
	}
	question := text.String() + " rare7"
	for _, tt := range []struct{ entries, want int }{
		{100, frequent*100 + 3}, // all that there is
		{3000, 33*3000 + 3},     // as many whole words as fit
		{6000, 16*6000 + 3},
	} {
		add(tt.entries)
		found := 0
		reads := x.search(question, func(int32, float64) { found++ })
		if reads != tt.want || reads > mostReads || found != tt.entries {
			t.Errorf("%d entries: %d places are read, %d entries found, want %d of at most %d", tt.entries, reads, found, tt.want, mostReads)
		}
	}
	rare := 0
	if reads := x.search("rare7", func(int32, float64) { rare++ }); reads != 3 || rare != 3 {
		t.Errorf("a rare word: %d places are read, %d entries found, want 3", reads, rare)
	}
}

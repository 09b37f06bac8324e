package execution

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestPROC05_HistoryShowsWhatRanAtOnce has three phases that one agent and then
// two others take, one that is done again, and one that nobody takes.
func TestPROC05_HistoryShowsWhatRanAtOnce(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	at := func(second int) time.Time { return noon.Add(time.Duration(second) * time.Second) }
	move := func(second int, from, to string) *loomv1.Transition {
		return &loomv1.Transition{Time: timestamppb.New(at(second)), From: from, To: to}
	}
	list := []*loomv1.Transition{
		move(0, "start", "a"), move(0, "start", "b"),
		move(9, "a", "c"), move(9, "a", "d"), // two edges of one visit
		move(10, "b", "c"),
		move(15, "c", "a"), // sent back
		move(20, "a", "c"),
		move(20, "d", "end"), // skipped
	}
	claims := map[string][]time.Time{"a": {at(1), at(5), at(17)}, "b": {at(2)}, "c": {at(11), at(30)}}
	want := []int{-1, -1, 1, 1, 2, 11, 17, -1}
	for i, got := range began(list, claims) {
		if want[i] < 0 && got != nil || want[i] >= 0 && (got == nil || !got.AsTime().Equal(at(want[i]))) {
			t.Errorf("%s -> %s: began %v, want %d s after noon", list[i].From, list[i].To, got.AsTime(), want[i])
		}
	}
	for _, tt := range []struct {
		claims map[string][]time.Time
		began  bool
	}{{claims, true}, {map[string][]time.Time{}, true}, {nil, false}} {
		var out bytes.Buffer
		HistoryTable(&out, list, tt.claims)
		if head, _, _ := strings.Cut(out.String(), "\n"); strings.Contains(head, "BEGAN") != tt.began || strings.Count(out.String(), "\n") != len(list)+1 {
			t.Errorf("the table of %v is\n%s", tt.claims, out.String())
		}
	}
}

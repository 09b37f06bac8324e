package fleet

import (
	"testing"
	"time"
)

// A partition is handed over to a host that has been there for a while, and not again at
// once when it comes back.
func TestACT05_PartitionsAreHandedToWhoStays(t *testing.T) {
	var s spread
	s.since("h2", 4)
	if s.stays("h2", 4) {
		t.Error("a host that has just come stays")
	}
	s.came["h2"] = arrival{4, time.Now().Add(-settled - time.Second)}
	s.since("h2", 4)
	if !s.stays("h2", 4) || s.stays("h2", 5) {
		t.Error("a host that has been there for a while does not stay, or its next start does")
	}
	if !s.may(1) {
		t.Error("a partition that never was handed over may not be")
	}
	s.hands(1)
	if s.may(1) || !s.may(2) {
		t.Error("a partition is handed over twice, or another is not")
	}
	s.handed[1] = time.Now().Add(-handAgain - time.Second)
	if !s.may(1) {
		t.Error("a partition that came back long ago may not be handed over")
	}
}

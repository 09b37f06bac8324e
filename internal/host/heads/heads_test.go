package heads

import (
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A repository has seen the tokens of a train's places, too.
func TestP7_BYD08_PlacesInTrainsAreKnown(t *testing.T) {
	locks := []*loomv1.CommitLock{{LastToken: 7}, {LastToken: 5, LastCar: 9}}
	if got := newestToken(locks); got != 9 {
		t.Errorf("the journal knows of tokens up to %d, want 9", got)
	}
}

package project

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ClocksApart is from when on it matters that journal time and the wall clock
// differ: an event then says both.
const ClocksApart = time.Minute

// Ahead says how far journal time is ahead of the wall clock, less than zero
// where it is behind, from the next command on. What people and other machines
// have dated is judged by the wall clock: signed commands and deadlines. Nothing
// else is, and no fold depends on it. Until it is called the two are the same.
func (s *State) Ahead(d time.Duration) { s.ahead = d }

// wallTime returns what the wall clock says of an event: its time, where it does
// not say more.
func wallTime(e *loomv1.Event) time.Time {
	if e.Wall != nil {
		return asTime(e.Wall)
	}
	return asTime(e.Time)
}

// stampWall notes the wall clock with an event where it is not what the
// journal's says.
func (d *decision) stampWall(e *loomv1.Event) {
	if d.now.Sub(d.wall).Abs() > ClocksApart {
		e.Wall = timestamppb.New(d.wall)
	}
}

// clocks says what time it is, for who is refused because of it.
func (d *decision) clocks() string {
	if d.now.Sub(d.wall).Abs() > ClocksApart {
		return fmt.Sprintf("it is %s by the clock of the host, and %s in the journal", d.wall.UTC().Format(time.RFC3339), d.now.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("it is %s by the clock of the host", d.wall.UTC().Format(time.RFC3339))
}

// due returns by when the bead of an execution that goes on is to be done, by
// the wall clock; of one that waits for the budget of a day, when that ends.
func (s *State) due(execution string) (time.Time, bool) {
	x := s.execution(execution)
	if ends := s.approval(x.GetLimitApproval()).GetDayEnds(); running(x) && ends != nil {
		return asTime(ends), true
	}
	if !running(x) || s.held(x) {
		return time.Time{}, false
	}
	end := s.deadline(x)
	return end, !end.IsZero()
}

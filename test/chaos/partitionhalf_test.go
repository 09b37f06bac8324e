package chaos

import (
	"flag"
	"slices"
	"testing"
	"time"
)

var halves = flag.Int("chaos.half", 0, "how often two of three hosts are cut off from each other, and not from the third, in the middle of a commit; 0 leaves it out")

// TestP5_AHostThatReachesOneOfTwo covers P5, P6 and WF10 where the host that
// serves (every second time the one that commits) and another do not reach each
// other, and both reach the third: the job is done all the same, lands once and
// under the newest grant, and all tell the same afterwards.
func TestP5_AHostThatReachesOneOfTwo(t *testing.T) {
	if *halves == 0 {
		t.Log("NOT RUN: -chaos.half says how often")
		return
	}
	d := newDivision(t, *halves)
	for i := range fleetSize {
		d.fleet.begin(i)
	}
	d.fleet.serve()
	for i := range d.gates {
		d.half(i)
	}
	slices.Sort(d.took)
	t.Logf("%d times, until the job was done: p50 %s, longest %s", len(d.gates), quantile(d.took, 50), quantile(d.took, 100))
}

// half does a job in whose commit two hosts are cut off from each other.
func (d *division) half(i int) {
	d.t.Helper()
	j := d.chaos.jobs[i]
	d.commits(i)
	one := d.victim(i)
	other := (one + 1 + i/2%2) % fleetSize
	between := d.fleet.host(fleetSize - one - other) // 0, 1 and 2 are 3 in all
	began := time.Now()
	d.fleet.wires.part(one, other, d.how(i))
	d.finishes(i, between)
	d.took = append(d.took, time.Since(began))
	d.t.Logf("%s: hosts %d and %d were cut off from each other (%s) for %s", j.project, one, other, d.how(i), time.Since(began).Round(time.Millisecond))
	d.fleet.wires.heal()
	d.together(one, j)
	d.together(other, j)
	d.judge(j)
}

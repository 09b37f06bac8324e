package chaos

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/internal/store/storecheck"
)

var fleetFalls = flag.Int("chaos.fleet-falls", 3, "how often all three hosts are killed at once")

// TestOPS01_P1_AllHostsAreKilledAtOnce kills three hosts together while they work, as a
// power cut does, and starts them again, a few times. A replica then cuts the end of its
// streams that the others do not have: what is left on each disk is whole, and nothing
// that was acknowledged is lost or done twice.
func TestOPS01_P1_AllHostsAreKilledAtOnce(t *testing.T) {
	longtest.Skip(t)
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (-chaos.seed)", *seed)
	f := newFleet(t, false)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f.crowded(program)
	f.run(fleetPatience()+time.Duration(*fleetFalls)*time.Minute, func(ctx context.Context) {
		each := *fleetOrders / (*fleetFalls + 1)
		for range *fleetFalls {
			f.release(each)
			rest(ctx, time.Duration(f.random.Int64N(int64(2*time.Second))))
			f.fall()
		}
		f.release(*fleetOrders - each**fleetFalls)
		for f.closed(ctx) < *fleetOrders {
			if ctx.Err() != nil {
				t.Fatalf("%d of %d orders are done, %d filed", f.closed(t.Context()), *fleetOrders, f.filed.Load())
			}
			rest(ctx, *fleetBeat)
		}
	})
	f.down()
	f.whole()
}

// fall kills all hosts at once, looks at what each has left on its disk, and has them
// serve again.
func (f *fleet) fall() {
	f.t.Helper()
	f.down()
	f.whole()
	for i := range fleetSize {
		f.begin(i)
	}
	f.serve()
}

// down kills all hosts at once.
func (f *fleet) down() {
	for i := range fleetSize {
		_ = f.host(i).cmd.Process.Kill() // it may have ended
	}
	for i := range fleetSize {
		<-f.host(i).ended
	}
}

// whole reads what each host has left of the journals to the end.
func (f *fleet) whole() {
	f.t.Helper()
	for _, p := range f.places {
		dirs, err := filepath.Glob(filepath.Join(p.data, "jetstream", "CORE", "streams", natsjournal.StreamPrefix+"*"))
		if err != nil || len(dirs) == 0 {
			f.t.Fatalf("%s has no journal: %v", p.data, err)
		}
		pass := storecheck.Pass{Path: p.data}
		for _, dir := range dirs {
			pass.Streams = append(pass.Streams, storecheck.Stream{Account: "CORE", Name: filepath.Base(dir), Journal: true})
		}
		report, err := pass.Run(f.t.Context())
		if err := errors.Join(err, report.Err()); err != nil {
			f.t.Fatalf("%s in life %d: %v", p.data, len(f.lives)/fleetSize, err)
		}
	}
}

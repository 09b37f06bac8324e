package chaos

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loomrun/loom/internal/client"
	"github.com/loomrun/loom/internal/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var from = flag.String("chaos.from", "", "the revision of this repository that hosts are upgraded from (default: this tree)")

// newer is the version that a host says once it was upgraded.
const newer = "newer"

// TestOPS01_RollingUpgrade covers P29 and F46: three hosts work on orders that
// keep coming, and are stopped one after the other and started again with
// another build. While one is away the others take orders. All are done, nothing
// is lost, nothing is done twice, and all hosts tell the same journal.
func TestOPS01_RollingUpgrade(t *testing.T) {
	f := newFleet(t, false)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	older := program
	if *from != "" {
		older = build(t, *from)
	}
	f.crowded(older)
	f.run(fleetPatience(), func(ctx context.Context) {
		share := *fleetOrders / (fleetSize + 1)
		f.release(share)
		for i := range fleetSize {
			f.upgrade(ctx, i, program, share)
		}
		f.release(*fleetOrders - (fleetSize+1)*share)
		f.until(ctx, "all orders are done", func() bool { return f.closed(ctx) == *fleetOrders })
	})
	f.agree()
}

// build makes the host of a revision: the program of its tests.
func build(t *testing.T, revision string) string {
	t.Helper()
	tree := t.TempDir()
	program := filepath.Join(tree, "older.test")
	archive := filepath.Join(tree, "archive.tar")
	for _, args := range [][]string{
		{"git", "-C", "../..", "archive", "--format=tar", "-o", archive, revision},
		{"tar", "-x", "-C", tree, "-f", archive},
		{"go", "-C", tree, "test", "-c", "-buildvcs=false", "-o", program, "./test/chaos"},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return program
}

// upgrade stops a host and starts another build in its place, once the hosts
// that are left have taken a share of the orders.
func (f *fleet) upgrade(ctx context.Context, i int, program string, share int) {
	f.t.Helper()
	old, due := f.host(i), f.filed.Load()+int64(share)
	f.kills = append(f.kills, kill{time.Now(), f.serves(ctx) == i, upgraded})
	f.release(share)
	if err := old.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		f.t.Fatal(err)
	}
	if status := old.wait(); status != fault.Done {
		f.t.Errorf("host %d was told to stop, and ended with status %d\n%s", i, status, old.text())
	}
	f.until(ctx, "the others take orders", func() bool { return f.filed.Load() >= due })
	f.places[i].program = program
	f.places[i].env = append(f.places[i].env, crowdVersion+"="+newer)
	f.begin(i).serves()
	f.known(ctx, i)
}

// known waits until each host, asked itself, says that all live, and that those
// up to the last are of the newer build and the others are not.
func (f *fleet) known(ctx context.Context, last int) {
	f.t.Helper()
	said := map[string]bool{}
	f.until(ctx, "all hosts know the build of each", func() bool {
		for i := range fleetSize {
			f.ask(ctx, i, func(ctx context.Context, c *client.Client) error {
				reply, err := c.Hosts(ctx)
				said[reply.GetBy()] = err == nil && f.mixed(reply.GetHosts(), last)
				return err
			})
		}
		for i := range fleetSize {
			if !said[f.name(i)] {
				return false
			}
		}
		return true
	})
}

func (f *fleet) mixed(hosts []*loomv1.HostPresence, last int) bool {
	alive := 0
	for _, p := range hosts {
		if i := f.index(p.Host); p.Alive && i >= 0 && (p.Version == newer) == (i <= last) {
			alive++
		}
	}
	return alive == fleetSize
}

// agree checks that all hosts tell the same journal.
func (f *fleet) agree() {
	f.t.Helper()
	first := f.events(0, crowd)
	for i := 1; i < fleetSize; i++ {
		if diff := cmp.Diff(first, f.events(i, crowd), protocmp.Transform()); diff != "" {
			f.t.Errorf("the journal through host %d (-through host 0):\n%s", i, diff)
		}
	}
}

// until asks again and again until it is so, or the run's time is over.
func (f *fleet) until(ctx context.Context, what string, ok func() bool) {
	f.t.Helper()
	for !ok() {
		if rest(ctx, 50*time.Millisecond); ctx.Err() != nil {
			for i := range fleetSize {
				f.t.Logf("host %d says:\n%s", i, f.host(i).text())
			}
			f.t.Fatalf("%s: not in time; %d orders filed", what, f.filed.Load())
		}
	}
}

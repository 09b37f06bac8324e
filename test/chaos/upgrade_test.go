package chaos

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var from = flag.String("chaos.from", "", "the revision of this repository that hosts are upgraded from (default: this tree)")

// newer is the version that a host says once it was upgraded.
const newer = "newer"

// TestOPS01_RollingUpgrade covers P29 and F46: three hosts work on orders that
// keep coming, and are stopped one after the other and started again with
// another build. While one is away the others take orders. All are done, nothing
// is lost, nothing is done twice, and all hosts tell the same journal. What only
// the newer build reads is refused until the last host is upgraded, also while
// that is away, and taken from then on.
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
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	f.until(ctx, "what is new is written", func() bool { return f.scale(ctx, 0) == nil })
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
	if i == fleetSize-1 {
		f.older(ctx, i)
	}
	f.places[i].program = program
	f.places[i].env = append(f.places[i].env, crowdVersion+"="+newer)
	f.begin(i).serves()
	f.known(ctx, i)
}

// older checks that upgraded hosts do not write what the last one, which is
// away, cannot read, and name it.
func (f *fleet) older(ctx context.Context, last int) {
	f.t.Helper()
	f.until(ctx, "what is new is refused", func() bool {
		err := f.scale(ctx, 0)
		if err == nil {
			f.t.Fatal("what an older host cannot read was written")
		}
		return fault.Code(err) == "deployment/older-host" && fault.From(err).Where == f.name(last)
	})
}

// scale has host i write what only the newer build reads.
func (f *fleet) scale(ctx context.Context, i int) error {
	err := errors.New("nobody was asked")
	f.ask(ctx, i, func(ctx context.Context, c *client.Client) error {
		_, err = c.Scale(ctx, &loomv1.ScaleRole{Role: "researcher", Agents: new(uint32), Reason: "new"})
		return err
	})
	return err
}

// known waits until each host, asked itself, says that all live, and that those
// up to the last are of the newer build and the others are not; those say as well
// in which format all write.
func (f *fleet) known(ctx context.Context, last int) {
	f.t.Helper()
	said := map[string]bool{}
	f.until(ctx, "all hosts know the build of each", func() bool {
		for i := range fleetSize {
			f.ask(ctx, i, func(ctx context.Context, c *client.Client) error {
				reply, err := c.Hosts(ctx, &loomv1.HostsRequest{})
				said[reply.GetBy()] = err == nil && f.mixed(reply.GetHosts(), last) && f.agreed(reply, last)
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

// agreed says whether a host, if it is of the newer build, writes the newer
// format when all read it, and else knows whom it waits for.
func (f *fleet) agreed(reply *loomv1.HostsReply, last int) bool {
	switch {
	case f.index(reply.By) > last:
		return true
	case last == fleetSize-1:
		return reply.Format == nextFormat.Reads
	}
	return reply.Format < nextFormat.Reads && f.index(reply.FormatHeldBy) > last // what the older build reads
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

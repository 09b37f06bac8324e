package recovery

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var (
	startIn = flag.String("start-in", "", "start a host on this directory and measure it; for the benchmarks' own processes")
	waiting = flag.Int("waiting", 0, "with -start-in: first file so many beads that wait for the CEO")
)

// figures is what a process says of its host.
type figures struct {
	Serving    float64 `json:"serving_ms"` // from nothing to serving
	Tables     float64 `json:"tables_ms"`  // until the tables had everything
	Heap       uint64  `json:"heap_bytes"`
	Resident   uint64  `json:"resident_bytes"`
	Settled    uint64  `json:"settled_bytes"` // resident, half a minute later
	Goroutines int     `json:"goroutines"`
	Waiting    int     `json:"waiting"`
	Filing     float64 `json:"filing_ms"`
}

func TestMain(m *testing.M) {
	flag.Parse()
	if *startIn == "" {
		os.Exit(m.Run())
	}
	f, err := child(context.Background(), *startIn)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
		os.Exit(1)
	}
}

// child starts a host and says what that took.
func child(ctx context.Context, dir string) (*figures, error) {
	h, err := host.Start(ctx, config(dir))
	if err != nil {
		return nil, err
	}
	defer h.Stop(ctx)
	began := time.Now().Add(-h.Startup())
	f := &figures{Serving: ms(h.Startup())}
	nc, err := h.Connect("operator")
	if err != nil {
		return nil, err
	}
	c := client.New(nc)
	defer c.Close()
	if *waiting > 0 {
		if f.Filing, err = file(ctx, h, c, dir, *waiting); err != nil {
			return nil, err
		}
	}
	if err := tables(ctx, c); err != nil {
		return nil, err
	}
	f.Tables = ms(time.Since(began))
	if f.Waiting, err = count(ctx, c); err != nil {
		return nil, err
	}
	f.Resident = f.weigh()
	if *waiting > 1 {
		<-time.After(settle)
		f.Settled = f.weigh()
	}
	return f, nil
}

// settle is how long the server keeps the newest messages at hand, and more.
const settle = 30 * time.Second

func config(dir string) host.Config {
	policy, _ := scripted.Named(scripted.Default)
	c := host.Config{
		Data: filepath.Join(dir, "data"), CEOKey: filepath.Join(dir, "ceo.nk"), Model: scripted.New(scripted.Default, policy),
	}
	if *waiting > 0 {
		c.Projects = []host.Project{{ID: shop, Repository: filepath.Join(dir, shop)}}
	}
	return c
}

// tables waits until the tables have all that the journal has: a history is
// answered from them, once they do.
func tables(ctx context.Context, c *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	for {
		_, err := c.History(ctx, &loomv1.HistoryRequest{Execution: shop + "-1-x1"})
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// count counts what is open in the inbox, a page after another.
func count(ctx context.Context, c *client.Client) (n int, err error) {
	q := &loomv1.Query{Project: shop, Limit: 1000, Newest: true}
	for {
		v, err := c.Inbox(ctx, q)
		if err != nil {
			return n, err
		}
		if n += len(v.Approvals); v.Next == "" {
			return n, nil
		}
		q.After = v.Next
	}
}

// weigh notes what the process holds, once garbage is gone, and returns what of
// it is in memory.
func (f *figures) weigh() uint64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f.Heap, f.Goroutines = m.HeapAlloc, runtime.NumGoroutine()
	return resident()
}

// resident returns what of the process is in memory; 0 where nobody tells.
func resident() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// measure starts a host in a process of its own.
func measure(b *testing.B, dir string, flags ...string) *figures {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], append([]string{"-start-in", dir}, flags...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	f := &figures{}
	if err := json.Unmarshal(out, f); err != nil {
		b.Fatalf("%v in %q", err, out)
	}
	return f
}

// bytes returns what lies below a directory whose path has a word in it.
func bytes(b *testing.B, dir, word string) (n int64) {
	b.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, word) {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

const mib = 1 << 20

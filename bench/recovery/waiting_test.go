package recovery

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// question is a workflow that asks the CEO, and nothing else.
var question = &loomv1.Definition{
	Name: "question", Version: "1.0", Description: "Asks the CEO.",
	Nodes: []*loomv1.NodeDefinition{
		{Id: "start", Type: loomv1.NodeType_NODE_TYPE_START},
		{Id: "approve", Type: loomv1.NodeType_NODE_TYPE_APPROVAL, Role: "ceo"},
		{Id: "end", Type: loomv1.NodeType_NODE_TYPE_END},
	},
	Edges: []*loomv1.EdgeDefinition{{Id: "e1", From: "start", To: "approve"}, {Id: "e2", From: "approve", To: "end"}},
}

// BenchmarkWaiting has ten thousand executions wait for the CEO on one host,
// with -million a hundred thousand too, filed by requests of clients, and
// starts the host again on them.
func BenchmarkWaiting(b *testing.B) {
	sizes := []int{10_000}
	if *million {
		sizes = append(sizes, 100_000)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprintf("executions=%d", n), func(b *testing.B) {
			for range b.N {
				wait(b, n)
			}
		})
	}
}

func wait(b *testing.B, executions int) {
	dir := b.TempDir()
	if err := git.Create(b.Context(), filepath.Join(dir, "shop"), "main", "first", []git.File{{Path: "a.txt", Data: []byte("one\n")}}); err != nil {
		b.Fatal(err)
	}
	idle := measure(b, dir, "-waiting", "1")
	full := measure(b, dir, "-waiting", strconv.Itoa(executions-1))
	again := measure(b, dir)
	if full.Waiting != executions || again.Waiting != executions {
		b.Fatalf("%d wait, and %d after the restart, want %d", full.Waiting, again.Waiting, executions)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(full.Filing, "ms-to-file")
	b.ReportMetric(float64(full.Heap-idle.Heap)/float64(executions), "B-heap/execution")
	b.ReportMetric(float64(full.Heap)/mib, "MiB-heap")
	b.ReportMetric(float64(full.Resident)/mib, "MiB-resident")
	b.ReportMetric(float64(full.Settled)/mib, "MiB-resident-settled")
	b.ReportMetric(float64(full.Goroutines), "goroutines")
	b.ReportMetric(float64(full.Goroutines-idle.Goroutines), "goroutines-more")
	b.ReportMetric(again.Serving, "ms-to-restart")
	b.ReportMetric(float64(again.Resident)/mib, "MiB-resident-restarted")
	b.ReportMetric(float64(bytes(b, filepath.Join(dir, "data"), "LOOM_J_"))/mib, "MiB-journal")
	b.ReportMetric(float64(bytes(b, filepath.Join(dir, "data"), "projection.db"))/mib, "MiB-tables")
}

// file files beads that wait, and returns how long that took.
func file(ctx context.Context, h *host.Host, c *client.Client, dir string, n int) (float64, error) {
	if err := define(ctx, h, dir); err != nil {
		return 0, err
	}
	began := time.Now()
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var clients sync.WaitGroup
	for range 64 {
		clients.Go(func() {
			for i := next.Add(1); i <= int64(n) && failed.Load() == nil; i = next.Add(1) {
				_, err := c.Submit(ctx, &loomv1.Submission{Project: shop, Process: question.Name, Goal: fmt.Sprintf("question %d of %d", i, n)})
				if err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	clients.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return ms(time.Since(began)), nil
}

// define has the CEO put the workflow in force.
func define(ctx context.Context, h *host.Host, dir string) error {
	key, err := ceokey.Open(filepath.Join(dir, "ceo.nk"))
	if err != nil {
		return err
	}
	cmd, err := key.Define(h.Deployment(), shop, &loomv1.ChangeDefinition{Definition: question, Reason: "to measure"})
	if err != nil {
		return err
	}
	nc, err := h.Connect("ceo")
	if err != nil {
		return err
	}
	ceo := client.New(nc)
	defer ceo.Close()
	return ceo.Present(ctx, "define", cmd)
}

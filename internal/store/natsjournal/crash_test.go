package natsjournal_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/journal/journaltest"
	"github.com/loomrun/loom/internal/store/natsjournal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestMain lets the test binary stand in for a host: with LOOM_WRITE set it
// appends to the journal of that directory and prints every batch that was
// acknowledged, until it is killed; with LOOM_HOLD it is a host of a cluster.
func TestMain(m *testing.M) {
	if path := os.Getenv("LOOM_HOLD"); path != "" {
		fmt.Println(hold(context.Background(), path))
		os.Exit(1)
	}
	path := os.Getenv("LOOM_WRITE")
	if path == "" {
		os.Exit(m.Run())
	}
	fmt.Println(write(context.Background(), path))
	os.Exit(1)
}

// write appends for ever.
func write(ctx context.Context, path string) error {
	b, err := serve(ctx, path)
	if err != nil {
		return err
	}
	log, err := natsjournal.New(ctx, b.Core(), 0)
	if err != nil {
		return err
	}
	h, err := head(ctx, log)
	for err == nil {
		batch := journaltest.Batch(h, fmt.Sprintf("b-%d", h.Sequence+1), strings.Repeat("x", int(h.Sequence%4000)))
		var seq uint64
		if seq, err = log.Append(ctx, h.Sequence, batch); err == nil {
			fmt.Println(seq, batch.Id)
			h, err = journal.Check(h, seq, batch.Batch)
		}
	}
	return err
}

func serve(ctx context.Context, path string) (*broker.Broker, error) {
	dir, err := datadir.Config{Path: path, Partitions: 1}.Open()
	if err != nil {
		return nil, err
	}
	return broker.Start(ctx, broker.Config{Dir: dir})
}

// head reads and checks the whole log.
func head(ctx context.Context, log journal.Log) (h journal.Head, err error) {
	err = log.Read(ctx, 1, func(seq uint64, b *loomv1.Batch) error {
		h, err = journal.Check(h, seq, b)
		return err
	})
	return h, err
}

func TestWF10_KillLosesNothingAcknowledged(t *testing.T) {
	longtest.Skip(t)
	path := t.TempDir()
	var acked uint64
	for round := range 5 {
		acked = killed(t, path, acked, 40+37*round)
	}
	ctx := t.Context()
	b, err := serve(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.WithoutCancel(ctx)) }()
	log := open(t, b)
	h, err := head(ctx, log)
	if err != nil {
		t.Fatalf("the chain after five kills: %v", err)
	}
	if h.Sequence < acked || h.Sequence > acked+1 {
		t.Errorf("the log ends at %d; %d was acknowledged and at most one more was under way", h.Sequence, acked)
	}
}

// killed runs a writer, kills it after n batches were acknowledged, and
// returns the last of them. What was acknowledged before must still be there.
func killed(t *testing.T, path string, before uint64, n int) (acked uint64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOOM_WRITE="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for i := 0; lines.Scan(); i++ {
		var seq uint64
		var id string
		if _, err := fmt.Sscan(lines.Text(), &seq, &id); err != nil || id != fmt.Sprintf("b-%d", seq) {
			t.Fatalf("the writer says %q", lines.Text())
		}
		if i == 0 && (seq <= before || seq > before+2) {
			t.Fatalf("after %d was acknowledged and a kill, the writer goes on with %d", before, seq)
		}
		if acked = seq; i == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the writer ended by itself")
	}
	return acked
}

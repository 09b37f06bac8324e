package natsjournal_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/base/transient"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/broker/brokertest"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/journal/journaltest"
	"github.com/loomrun/loom/internal/store/natsjournal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// renew makes the stream of partition 0 again, empty, in a cluster.
func renew(t *testing.T, b *broker.Broker) {
	t.Helper()
	js, err := jetstream.New(b.Core())
	if err != nil {
		t.Fatal(err)
	}
	s, err := transient.Find(t.Context(), b.Core(), js, natsjournal.Stream(0))
	if err != nil {
		t.Fatal(err)
	}
	if s.CachedInfo().State.LastSeq == 0 {
		return
	}
	err = transient.Retry(t.Context(), time.Minute, func(ctx context.Context) error {
		return js.DeleteStream(ctx, natsjournal.Stream(0))
	})
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Fatal(err)
	}
	err = transient.Retry(t.Context(), time.Minute, func(ctx context.Context) error {
		_, err := js.CreateStream(ctx, s.CachedInfo().Config)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// purge empties a stream of a cluster.
func purge(t *testing.T, b *broker.Broker, name string) {
	t.Helper()
	js, err := jetstream.New(b.Core())
	if err != nil {
		t.Fatal(err)
	}
	s, err := transient.Find(t.Context(), b.Core(), js, name)
	if err == nil {
		err = s.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWF10_ContractOfThreeHosts runs the contract of the journal and that of
// its snapshots where three hosts keep them, over each of them in turn.
func TestWF10_ContractOfThreeHosts(t *testing.T) {
	c := brokertest.New(t, 1, broker.Config{})
	turn := 0
	next := func() *broker.Broker {
		turn++
		return c.Broker(turn % 3)
	}
	journaltest.Run(t, func(t *testing.T) journal.Log {
		b := next()
		renew(t, b)
		return open(t, b)
	})
	journaltest.RunSnapshots(t, func(t *testing.T) journal.Snapshots {
		b := next()
		purge(t, b, "OBJ_LOOM_SNAP")
		s, err := natsjournal.NewSnapshots(t.Context(), b.Core())
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// hold runs a host until it is killed, and says when it serves.
func hold(ctx context.Context, path string) error {
	dir, err := datadir.Open(path)
	if err != nil {
		return err
	}
	if _, err := broker.Start(ctx, broker.Config{Dir: dir}); err != nil {
		return err
	}
	fmt.Println("serves")
	select {}
}

// process is a host in a process of its own.
type process struct {
	cmd *exec.Cmd
	out *bufio.Scanner
}

func spawn(t *testing.T, path string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOOM_HOLD="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &process{cmd, bufio.NewScanner(out)}
}

func (p *process) ready(t *testing.T) {
	t.Helper()
	if !p.out.Scan() || p.out.Text() != "serves" {
		t.Fatalf("the host says %q", p.out.Text())
	}
}

func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
}

// TestWF10_KillingAHostOfThreeLosesNothing appends as a keeper does while the
// other hosts are killed, each in turn, with the stream's leader there.
func TestWF10_KillingAHostOfThreeLosesNothing(t *testing.T) {
	longtest.Skip(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	paths := joined(t)
	others := []*process{spawn(t, paths[0]), spawn(t, paths[1])}
	dir, err := datadir.Open(paths[2])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	b, err := broker.Start(ctx, broker.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.WithoutCancel(ctx)) }()
	w := &writer{log: open(t, b)}
	for round, p := range others {
		p.ready(t)
		lead(ctx, t, b, dir.Manifest().Host)
		w.append(ctx, t, 20)
		p.kill(t)
		w.append(ctx, t, 20) // through the election, if it was the leader
		others[round] = spawn(t, paths[round])
		others[round].ready(t)
		w.append(ctx, t, 20)
	}
	if got, err := head(ctx, w.log); err != nil || got.Sequence != w.head.Sequence || len(w.acked) != 120 {
		t.Errorf("the log ends at %d (%v), %d batches were acknowledged, and the last is %d", got.Sequence, err, len(w.acked), w.head.Sequence)
	}
	seen := map[string]int{}
	if err := w.log.Read(ctx, 1, func(_ uint64, b *loomv1.Batch) error { seen[b.Id]++; return nil }); err != nil {
		t.Fatal(err)
	}
	for _, id := range w.acked {
		if seen[id] != 1 {
			t.Errorf("batch %s was acknowledged and is there %d times", id, seen[id])
		}
	}
}

// joined returns the directories of three hosts that have joined one cluster.
func joined(t *testing.T) (paths []string) {
	t.Helper()
	join, err := datadir.NewJoin("test", 3, 0, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	addresses := brokertest.Addresses(3)
	for _, listen := range addresses {
		path := t.TempDir()
		d, err := datadir.Config{Path: path, Join: &join}.Open()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(d.SetCluster(listen, "", addresses), d.Close()); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// lead has the stream led by another host than ours. What is asked while there
// is no leader is never answered, so each question has a bound of its own.
func lead(ctx context.Context, t *testing.T, b *broker.Broker, ours string) {
	t.Helper()
	js, err := jetstream.New(b.Core())
	if err != nil {
		t.Fatal(err)
	}
	for ctx.Err() == nil {
		if led, err := leader(ctx, js); err == nil && led != "" && led != ours {
			return
		}
		stepDown(ctx, t, b)
	}
	t.Fatalf("the stream stays with us: %v", ctx.Err())
}

func leader(ctx context.Context, js jetstream.JetStream) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s, err := js.Stream(ctx, natsjournal.Stream(0))
	if err != nil {
		return "", err
	}
	return s.CachedInfo().Cluster.Leader, nil
}

func stepDown(ctx context.Context, t *testing.T, b *broker.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	m, err := b.Core().RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+natsjournal.Stream(0), nil)
	if err == nil && !json.Valid(m.Data) {
		t.Fatalf("stepping down: %s", m.Data)
	}
}

// writer appends one batch after the other and settles what is unknown.
type writer struct {
	log   *natsjournal.Log
	head  journal.Head
	tries int
	acked []string
}

func (w *writer) append(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	for want := len(w.acked) + n; len(w.acked) < want; {
		w.tries++
		b := journaltest.Batch(w.head, fmt.Sprintf("b-%d", w.tries), "")
		seq, err := w.log.Append(ctx, w.head.Sequence, b)
		if err == nil {
			w.head, err = journal.Check(w.head, seq, b.Batch)
		} else if fault.Code(err) == "journal/unknown" {
			err = w.settle(ctx, b)
		}
		if err != nil {
			t.Fatalf("batch %s: %v", b.Id, err)
		}
		if w.head.Sequence == uint64(len(w.acked)+1) {
			w.acked = append(w.acked, b.Id)
		}
	}
}

// settle asks until it knows what became of b. A batch that was not in the log
// may get there still; then the next append says so, and settles it.
func (w *writer) settle(ctx context.Context, b journal.Sealed) error {
	for {
		in, h, err := journal.Settle(ctx, w.log, w.head, b)
		switch {
		case err == nil && in:
			w.head = h
			return nil
		case err == nil:
			if _, err = w.log.Append(ctx, w.head.Sequence, b); err == nil || fault.Code(err) == "journal/unknown" {
				continue // the same batch again: it is there once
			}
			return err
		case fault.Status(err) != fault.Unavailable:
			return err
		}
	}
}

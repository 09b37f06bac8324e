package natsjournal_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/internal/broker"
	"github.com/loomrun/loom/internal/datadir"
	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/journal"
	"github.com/loomrun/loom/internal/journal/journaltest"
	"github.com/loomrun/loom/internal/natsjournal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestMain lets the test binary stand in for a host: with LOOM_WRITE set it
// appends to the journal of that directory and prints every batch that was
// acknowledged, until it is killed.
func TestMain(m *testing.M) {
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
			h, err = journal.Check(h, seq, batch)
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

// block returns the newest block file of the journal.
func block(t *testing.T, path string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(path, "jetstream", "CORE", "streams", "LOOM_J_00", "msgs", "*.blk"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the journal has no block: %v", err)
	}
	return files[len(files)-1]
}

// TestWF10_DamageIsNeverSilent flips a bit of the stored journal in many
// places. JetStream then drops what follows, or hands out what was altered, and
// says nothing: the chain, or the head that is known from elsewhere, must tell.
func TestWF10_DamageIsNeverSilent(t *testing.T) {
	path, known := written(t)
	name := block(t, path)
	sound, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 6; i++ {
		at := len(sound) * i / 7
		t.Run(fmt.Sprintf("byte %d of %d", at, len(sound)), func(t *testing.T) {
			data := append([]byte(nil), sound...)
			data[at] ^= 4
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := verify(t, path, known); err == nil {
				t.Error("the damage was not found")
			} else {
				t.Log(err)
			}
		})
		restore(t, path, sound)
	}
	if err := verify(t, path, known); err != nil {
		t.Errorf("the sound journal: %v", err)
	}
}

// written fills a journal and returns its directory and head.
func written(t *testing.T) (string, journal.Head) {
	t.Helper()
	path := t.TempDir()
	b, err := serve(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	h := journaltest.Fill(t, open(t, b), journal.Head{}, 60)
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	unlock(t, path)
	return path, h
}

// unlock forgets the lock that a stopped host in this process holds, by
// moving the directory's lock file away.
func unlock(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(filepath.Join(path, "lock")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// restore puts the sound journal back.
func restore(t *testing.T, path string, sound []byte) {
	t.Helper()
	dir := filepath.Dir(block(t, path))
	for _, pattern := range []string{"*.blk", "index.db"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, f := range files {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "1.blk"), sound, 0o600); err != nil {
		t.Fatal(err)
	}
}

// verify starts a host on the directory and checks its journal up to the head
// that is known.
func verify(t *testing.T, path string, known journal.Head) error {
	t.Helper()
	b, err := serve(t.Context(), path)
	if err != nil {
		return err
	}
	defer unlock(t, path)
	defer func() { _ = b.Close(context.WithoutCancel(t.Context())) }()
	log := open(t, b)
	if h, err := head(t.Context(), log); err != nil || h.Sequence == known.Sequence {
		return err
	}
	_, _, err = journal.Settle(t.Context(), log, known, &loomv1.Batch{Id: "none"})
	return err
}

func TestWF10_AMissingJournalIsNamed(t *testing.T) {
	b := start(t)
	if _, err := natsjournal.New(t.Context(), b.Core(), 7); fault.Code(err) != "data/stream-missing" || !strings.Contains(err.Error(), "LOOM_J_07") {
		t.Errorf("New: %v, want data/stream-missing of LOOM_J_07", err)
	}
}

func TestWF10_AClosedConnection(t *testing.T) {
	b := start(t)
	log := open(t, b)
	h := journaltest.Fill(t, log, journal.Head{}, 1)
	done := make(chan error, 1)
	seen := make(chan struct{}, 1)
	go func() {
		done <- log.Follow(t.Context(), 1, func(uint64, *loomv1.Batch) error { seen <- struct{}{}; return nil })
	}()
	<-seen
	b.Core().Close()
	select {
	case err := <-done:
		if fault.Code(err) != "journal/closed" {
			t.Errorf("Follow: %v, want journal/closed", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Follow does not end")
	}
	if _, err := log.Append(t.Context(), 1, journaltest.Batch(h, "b", "")); fault.Code(err) != "journal/closed" {
		t.Errorf("Append: %v, want journal/closed", err)
	}
	if _, _, err := log.Last(t.Context()); fault.Code(err) != "journal/closed" {
		t.Errorf("Last: %v, want journal/closed", err)
	}
}

func TestWF10_NoAnswerIsUnknown(t *testing.T) {
	b := start(t)
	log := open(t, b)
	h := journaltest.Fill(t, log, journal.Head{}, 1)
	raw := func(subj string) {
		t.Helper()
		if m, err := b.Core().Request(subj, nil, 5*time.Second); err != nil || !json.Valid(m.Data) {
			t.Fatal(m, err)
		}
	}
	raw("$JS.API.STREAM.DELETE.LOOM_J_00")
	if _, err := log.Append(t.Context(), 1, journaltest.Batch(h, "b", "")); fault.Code(err) != "journal/unknown" || !errors.Is(err, nats.ErrNoResponders) && !strings.Contains(err.Error(), "no response") {
		t.Errorf("Append without a stream: %v, want journal/unknown", err)
	}
	if _, _, err := log.Last(t.Context()); err == nil {
		t.Error("Last of a deleted stream succeeds")
	}
}

func TestWF10_AFullJournalRefuses(t *testing.T) {
	dir, err := datadir.Config{Path: t.TempDir(), Partitions: 1}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	b, err := broker.Start(t.Context(), broker.Config{Dir: dir, JournalBytes: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	log, h := open(t, b), journal.Head{}
	for err == nil {
		batch := journaltest.Batch(h, fmt.Sprint("b-", h.Sequence+1), strings.Repeat("x", 50<<10))
		var seq uint64
		if seq, err = log.Append(t.Context(), h.Sequence, batch); err == nil {
			h, err = journal.Check(h, seq, batch)
		}
	}
	if fault.Code(err) != "journal/full" {
		t.Errorf("Append to a full journal: %v, want journal/full", err)
	}
	if got, err := head(t.Context(), log); err != nil || got.Sequence != h.Sequence || h.Sequence < 3 {
		t.Errorf("what was acknowledged before ends at %d (%v), want %d", got.Sequence, err, h.Sequence)
	}
}

func TestWF10_ReadersLeaveNoConsumersBehind(t *testing.T) {
	b := start(t)
	log := open(t, b)
	journaltest.Fill(t, log, journal.Head{}, 3)
	for range 20 {
		if _, err := head(t.Context(), log); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Core().Request("$JS.API.CONSUMER.NAMES.LOOM_J_00", nil, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var names struct{ Total int }
	if err := json.Unmarshal(m.Data, &names); err != nil || names.Total != 0 {
		t.Errorf("consumers left behind: %s, %v", m.Data, err)
	}
}

func TestWF10_AFollowerOutlivesItsConsumer(t *testing.T) {
	b := start(t)
	log := open(t, b)
	seen := make(chan uint64, 100)
	go func() {
		_ = log.Follow(t.Context(), 1, func(seq uint64, _ *loomv1.Batch) error { seen <- seq; return nil })
	}()
	h := journaltest.Fill(t, log, journal.Head{}, 1)
	<-seen
	m, err := b.Core().Request("$JS.API.CONSUMER.NAMES.LOOM_J_00", nil, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var names struct{ Consumers []string }
	if err := json.Unmarshal(m.Data, &names); err != nil || len(names.Consumers) != 1 {
		t.Fatalf("consumers: %s, %v", m.Data, err)
	}
	if _, err := b.Core().Request("$JS.API.CONSUMER.DELETE.LOOM_J_00."+names.Consumers[0], nil, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	journaltest.Fill(t, log, h, 2)
	for want := uint64(2); want <= 3; want++ {
		select {
		case got := <-seen:
			if got != want {
				t.Fatalf("the follower got %d, want %d", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("the follower did not get %d", want)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	br, err := serve(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = br.Close(context.Background()) }()
	log, err := natsjournal.New(b.Context(), br.Core(), 0)
	if err != nil {
		b.Fatal(err)
	}
	h := journal.Head{}
	for b.Loop() {
		batch := journaltest.Batch(h, fmt.Sprint(h.Sequence), strings.Repeat("x", 200))
		seq, err := log.Append(b.Context(), h.Sequence, batch)
		if err != nil {
			b.Fatal(err)
		}
		h = journal.Head{Sequence: seq, Epoch: 1, Hash: batch.Hash}
	}
}

func BenchmarkRead1000(b *testing.B) {
	br, err := serve(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = br.Close(context.Background()) }()
	log, err := natsjournal.New(b.Context(), br.Core(), 0)
	if err != nil {
		b.Fatal(err)
	}
	h := journal.Head{}
	for range 1000 {
		batch := journaltest.Batch(h, fmt.Sprint(h.Sequence), strings.Repeat("x", 8000))
		seq, err := log.Append(b.Context(), h.Sequence, batch)
		if err != nil {
			b.Fatal(err)
		}
		h = journal.Head{Sequence: seq, Epoch: 1, Hash: batch.Hash}
	}
	for b.Loop() {
		if got, err := head(b.Context(), log); err != nil || got.Sequence != 1000 {
			b.Fatal(got, err)
		}
	}
}

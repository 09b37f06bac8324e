package natsjournal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/journal/journaltest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

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
			} else if fault.Code(err) == "journal/chain" && !strings.Contains(err.Error(), "LOOM_J_00") {
				t.Errorf("%v: it does not name the stream", err)
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
	defer unlock(t, path)
	b, err := serve(t.Context(), path)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close(context.WithoutCancel(t.Context())) }()
	log := open(t, b)
	if h, err := head(t.Context(), log); err != nil || h.Sequence == known.Sequence {
		return err
	}
	_, _, err = journal.Settle(t.Context(), log, known, journal.Again(&loomv1.Batch{Id: "none"}))
	return err
}

// TestP22_AReadOfARunningServerNamesWhatIsDamaged flips a bit under a server that
// has begun, in the middle of the journal: the server leaves the batch out, or
// all that follows, and says nothing. The read names it. A server that has the
// block in memory passes on what was written, so servers are begun until one reads it.
func TestP22_AReadOfARunningServerNamesWhatIsDamaged(t *testing.T) {
	const tries = 30
	for range tries {
		if readsDamaged(t) {
			return
		}
	}
	t.Errorf("%d servers read all: the damage did not take place", tries)
}

// readsDamaged begins a server, flips a bit under it and reads the journal. It
// says whether the damage was met.
func readsDamaged(t *testing.T) bool {
	t.Helper()
	path, known := written(t)
	b, err := serve(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.WithoutCancel(t.Context())) }()
	name := block(t, path)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 4
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var last uint64
	err = open(t, b).Read(t.Context(), 1, func(seq uint64, _ *loomv1.Batch) error {
		if seq != last+1 {
			t.Errorf("%d is passed on after %d", seq, last)
		}
		last = seq
		return nil
	})
	if last == known.Sequence && err == nil {
		return false
	}
	if fault.Code(err) != "journal/chain" {
		t.Errorf("the read ends at %d of %d with %v, and not with what is damaged", last, known.Sequence, err)
	}
	return true
}

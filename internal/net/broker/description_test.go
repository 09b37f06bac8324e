package broker_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/journal/journaltest"
	"github.com/loomrun/loom/internal/store/natsjournal"
)

// TestP2_OPS01_AStreamThatAKillLeftWithoutItsSumIsCompleted leaves a journal as a
// kill does between the two files that describe it, once when it is made for
// the first time and once when it was there before: what is written afterwards
// is there at each later start.
func TestP2_OPS01_AStreamThatAKillLeftWithoutItsSumIsCompleted(t *testing.T) {
	longtest.Skip(t)
	for _, c := range []struct {
		name  string
		first bool // the stream is intended, and nothing is in it
		spoil func(t *testing.T, meta string)
	}{
		{"no sum, at the first start", true, removeSum},
		{"no sum, later", false, removeSum},
		{"the sum of other limits", false, changeLimits},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := t.TempDir()
			head := journal.Head{}
			if c.first {
				leaveHalfMade(t, path)
			} else {
				head = fill(t, path, head, 3)
			}
			meta := filepath.Join(path, "jetstream", "CORE", "streams", natsjournal.Stream(1), "meta.")
			c.spoil(t, meta)
			for range 3 {
				head = fill(t, path, head, 3)
			}
		})
	}
}

// TestP2_OPS01_ADescriptionOfSomethingElseIsNotCompleted changes what a start
// never does: the stream stays refused, and its files as they are.
func TestP2_OPS01_ADescriptionOfSomethingElseIsNotCompleted(t *testing.T) {
	path := t.TempDir()
	fill(t, path, journal.Head{}, 3)
	file := filepath.Join(path, "jetstream", "CORE", "streams", natsjournal.Stream(1), "meta.inf")
	for _, c := range []struct{ old, new string }{
		{`"storage":"file"`, `"storage":"fila"`},
		{`"deny_delete":true`, `"deny_delete":null`},
		{`{`, `[`},
	} {
		had, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		spoilt := bytes.Replace(had, []byte(c.old), []byte(c.new), 1)
		if bytes.Equal(spoilt, had) {
			t.Fatalf("%s is not in %s", c.old, had)
		}
		put(t, file, spoilt)
		if err := reopen(t, path, broker.Config{}); fault.Code(err) != "data/damaged" {
			t.Errorf("%s: Start returns %v, want data/damaged", c.new, err)
		}
		if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, spoilt) {
			t.Errorf("%s: the description is changed: %v", c.new, err)
		}
		put(t, file, had)
	}
	if err := reopen(t, path, broker.Config{}); err != nil {
		t.Errorf("the description as it was: Start: %v", err)
	}
}

func removeSum(t *testing.T, meta string) {
	t.Helper()
	if err := os.Remove(meta + "sum"); err != nil {
		t.Fatal(err)
	}
}

// changeLimits gives a description other limits than the sum beside it is of.
func changeLimits(t *testing.T, meta string) {
	t.Helper()
	had, err := os.ReadFile(meta + "inf")
	if err != nil {
		t.Fatal(err)
	}
	other := regexp.MustCompile(`"max_bytes":\d+`).ReplaceAll(had, []byte(`"max_bytes":4194304`))
	if bytes.Equal(other, had) {
		t.Fatalf("no limit in %s", had)
	}
	put(t, meta+"inf", other)
}

func put(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// leaveHalfMade makes a directory whose streams are intended and of which one
// was described by a start on another.
func leaveHalfMade(t *testing.T, path string) {
	t.Helper()
	whole := t.TempDir()
	fill(t, whole, journal.Head{}, 0)
	dir, err := datadir.Config{Path: path, Partitions: 2}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	if err := dir.Intend("DLQ", natsjournal.Stream(0), natsjournal.Stream(1), "OBJ_LOOM_BLOB", "TASKS"); err != nil {
		t.Fatal(err)
	}
	stream := filepath.Join("jetstream", "CORE", "streams", natsjournal.Stream(1))
	if err := os.MkdirAll(filepath.Join(path, stream, "msgs"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"meta.inf", "meta.sum"} {
		data, err := os.ReadFile(filepath.Join(whole, stream, name))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(path, stream, name), data)
	}
}

// fill runs a broker on a directory, finds the journal to end with head, and
// appends n events.
func fill(t *testing.T, path string, head journal.Head, n int) journal.Head {
	t.Helper()
	dir, err := datadir.Config{Path: path, Partitions: 2}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	b, err := broker.Start(t.Context(), broker.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, b)
	log, err := natsjournal.New(t.Context(), b.Core(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if seq, _, err := log.Last(t.Context()); seq != head.Sequence || err != nil {
		t.Fatalf("the journal ends with %d, %v; want %d", seq, err, head.Sequence)
	}
	return journaltest.Fill(t, log, head, n)
}

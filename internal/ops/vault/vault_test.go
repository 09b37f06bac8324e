package vault_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/ops/vault"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// fill makes a data directory with a journal whose last batch names a blob, a
// task that waits, and a file of tokens. Of the blob only the name is there
// when it is to be missing.
func fill(t *testing.T, missing bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	dir, err := datadir.Config{Path: path, Partitions: 1}.Open()
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(t.Context(), broker.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ref := put(t, b, missing)
	log, err := natsjournal.New(t.Context(), b.Core(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var h journal.Head
	for i := range uint64(5) {
		e := &loomv1.Event{Number: i + 1, Project: "shop", Fact: &loomv1.Event_LockGranted{LockGranted: &loomv1.LockGranted{Token: i + 1}}}
		if i == 4 {
			e.Fact = &loomv1.Event_ToolFinished{ToolFinished: &loomv1.ToolFinished{Result: &loomv1.ToolResult{Output: ref}}}
		}
		batch := journal.Seal(h, 0, 1, dir.Manifest().Host+".1.1", string('a'+rune(i)), []*loomv1.Event{e})
		seq, err := log.Append(t.Context(), h.Sequence, batch)
		if err != nil {
			t.Fatal(err)
		}
		h = journal.Head{Sequence: seq, Epoch: 1, Hash: batch.Hash}
	}
	task(t, b)
	if err := dir.WriteFile([]byte("[]\n"), "tokens.json"); err != nil {
		t.Fatal(err)
	}
	closeAll(t, b, dir)
	return path
}

func put(t *testing.T, b *broker.Broker, missing bool) *loomv1.BlobRef {
	t.Helper()
	data := bytes.Repeat([]byte("x"), 3<<20)
	if missing {
		return blob.Ref(data, "text/plain")
	}
	store, err := blob.New(t.Context(), b.Core())
	if err != nil {
		t.Fatal(err)
	}
	ref, err := store.Put(t.Context(), data, "text/plain")
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// task publishes one that nobody consumes.
func task(t *testing.T, b *broker.Broker) {
	t.Helper()
	js, err := jetstream.New(b.Tasked())
	if err != nil {
		t.Fatal(err)
	}
	msg := &nats.Msg{Subject: subject.Task(subject.Must("shop")), Data: []byte("later"), Header: nats.Header{"Loom-Some": {"one", "two"}, "Nats-Msg-Id": {"id-1"}}}
	if _, err := js.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

func closeAll(t *testing.T, b *broker.Broker, dir *datadir.Dir) {
	t.Helper()
	if err := b.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
}

func backup(t *testing.T, path string, salvage bool) (string, *vault.Contents, error) {
	t.Helper()
	s, err := vault.OpenBeside(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	to := filepath.Join(t.TempDir(), "b.loom")
	found, err := s.Backup(t.Context(), to, salvage, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return to, found, err
}

// TestF48_OPS03_ABackupComesBackWhole takes a backup of everything that a
// directory can hold, and compares what a restore makes of it.
func TestF48_OPS03_ABackupComesBackWhole(t *testing.T) {
	from, found, err := backup(t, fill(t, false), false)
	if err != nil {
		t.Fatal(err)
	}
	if found.End.Blobs != 1 || found.End.Messages != 1 || found.Grants["shop"] != 4 || found.End.Journals[0].Last != 5 {
		t.Errorf("the backup holds %+v, grants %v", found.End, found.Grants)
	}
	to := filepath.Join(t.TempDir(), "again")
	made, err := vault.Restoring{From: from, To: to}.Restore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if made.Epoch != 2 || made.Before != 1 || len(made.Lost) != 0 {
		t.Errorf("restored: %+v", made)
	}
	if data, err := os.ReadFile(filepath.Join(to, "tokens.json")); err != nil || string(data) != "[]\n" {
		t.Errorf("tokens: %q, %v", data, err)
	}
	if _, err := os.Stat(to + ".restoring"); !os.IsNotExist(err) {
		t.Errorf("the restore left something behind: %v", err)
	}
	waiting(t, to)
}

// waiting demands the one task of a directory, as it was published.
func waiting(t *testing.T, path string) {
	t.Helper()
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(t.Context(), broker.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(t, b, dir)
	js, err := jetstream.New(b.Tasked())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "TASKS")
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetLastMsgForSubject(t.Context(), subject.Task(subject.Must("shop")))
	if err != nil || string(msg.Data) != "later" || len(msg.Header.Values("Loom-Some")) != 2 || msg.Header.Get("Nats-Msg-Id") != "id-1" {
		t.Errorf("the task that waited: %v, %v", msg, err)
	}
}

// TestP3_ABlobThatIsGoneIsNamed is found by verification, refused by a backup,
// and left out by one that salvages.
func TestP3_ABlobThatIsGoneIsNamed(t *testing.T) {
	path := fill(t, true)
	s, err := vault.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	report, err := s.Verify(t.Context())
	if err != nil || report.Sound || fault.Code(report.Err()) != "blob/missing" || fault.Status(report.Err()) != fault.Integrity {
		t.Errorf("Verify: %v, %v", report.Err(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := backup(t, path, false); fault.Code(err) != "blob/missing" {
		t.Errorf("Backup: %v", err)
	}
	from, found, err := backup(t, path, true)
	if err != nil || len(found.End.Lost) != 1 {
		t.Fatalf("salvage: %+v, %v", found, err)
	}
	made, err := vault.Restoring{From: from, To: filepath.Join(t.TempDir(), "again")}.Restore(t.Context())
	if err != nil || len(made.Lost) != 1 {
		t.Errorf("restored: %+v, %v", made, err)
	}
}

// TestP7_ARestoreGoesAboveWhatRepositoriesHaveSeen asks a repository that has
// seen tokens of epoch 6.
func TestP7_ARestoreGoesAboveWhatRepositoriesHaveSeen(t *testing.T) {
	longtest.Skip(t)
	from, _, err := backup(t, withProject(t), false)
	if err != nil {
		t.Fatal(err)
	}
	made, err := vault.Restoring{
		From: from, To: filepath.Join(t.TempDir(), "again"),
		Fence: func(_ context.Context, path, _ string) (uint64, error) {
			if path != "/src/shop" {
				t.Errorf("asked about %q", path)
			}
			return 6<<40 | 17, nil
		},
	}.Restore(t.Context())
	if err != nil || made.Epoch != 7 || len(made.Lost) != 1 {
		t.Errorf("restored: %+v, %v", made, err)
	}
}

// withProject makes a directory whose journal registers a repository.
func withProject(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	dir, err := datadir.Config{Path: path, Partitions: 1}.Open()
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(t.Context(), broker.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	log, err := natsjournal.New(t.Context(), b.Core(), 0)
	if err != nil {
		t.Fatal(err)
	}
	batch := journal.Seal(journal.Head{}, 0, 1, "h.1.1", "a", []*loomv1.Event{{Number: 1, Project: "shop", Fact: &loomv1.Event_ProjectRegistered{
		ProjectRegistered: &loomv1.ProjectRegistered{Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop"}},
	}}})
	if _, err := log.Append(t.Context(), 0, batch); err != nil {
		t.Fatal(err)
	}
	closeAll(t, b, dir)
	return path
}

// TestOPS03_NoPartOfABackupIsTakenForTheWhole cuts a backup everywhere, and
// flips bits of it.
func TestOPS03_NoPartOfABackupIsTakenForTheWhole(t *testing.T) {
	longtest.Skip(t)
	from, _, err := backup(t, withProject(t), false)
	if err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.loom")
	look := func(what string, at int, data []byte) {
		if err := os.WriteFile(bad, data, 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := vault.Read(t.Context(), bad)
		if err == nil && found.End.Journals[0].Last != 1 {
			t.Errorf("%s %d: read as %+v", what, at, found.End)
		}
		if err == nil && what == "cut at" && at < len(sound)-16 {
			t.Errorf("%s %d of %d: taken for the whole", what, at, len(sound))
		}
		if err != nil && fault.Status(err) != fault.Integrity {
			t.Errorf("%s %d: %v", what, at, err)
		}
	}
	for at := range sound {
		look("cut at", at, sound[:at])
		flipped := bytes.Clone(sound)
		flipped[at] ^= 1 << (at % 8)
		look("flipped", at, flipped)
	}
}

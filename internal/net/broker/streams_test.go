package broker_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/journal/journaltest"
	"github.com/loomrun/loom/internal/store/natsjournal"
)

// warnings fails the test when anything is logged above info.
func warnings(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(failing{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

type failing struct{ t *testing.T }

func (f failing) Write(line []byte) (int, error) {
	f.t.Errorf("logged: %s", line)
	return len(line), nil
}

// reopen starts a broker on a directory and returns why it would not, if so.
func reopen(t *testing.T, path string, config broker.Config) error {
	t.Helper()
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	config.Dir = dir
	b, err := broker.Start(t.Context(), config)
	if err == nil {
		stop(t, b)
	}
	return err
}

func TestOPS01_ASecondStartFindsEverythingAsItWas(t *testing.T) {
	path := t.TempDir()
	b, dir := start(t, path, broker.Config{Logger: warnings(t)})
	log, err := natsjournal.New(t.Context(), b.Core(), 1)
	if err != nil {
		t.Fatal(err)
	}
	journaltest.Fill(t, log, journal.Head{}, 3)
	want := []string{"DLQ", "LOOM_J_00", "LOOM_J_01", "OBJ_LOOM_BLOB", "TASKS"}
	if got := dir.Manifest(); strings.Join(got.Truth, " ") != strings.Join(want, " ") || len(got.Intended) != 0 {
		t.Errorf("the manifest says truth %v, intended %v; want %v", got.Truth, got.Intended, want)
	}
	stop(t, b)
	_ = dir.Close()
	b, _ = start(t, path, broker.Config{Logger: warnings(t)})
	if log, err = natsjournal.New(t.Context(), b.Core(), 1); err != nil {
		t.Fatal(err)
	}
	if seq, last, err := log.Last(t.Context()); seq != 3 || err != nil || last.Id != "b-3" {
		t.Errorf("after a restart the journal ends with %d, %v, %v", seq, last, err)
	}
}

func TestOPS01_MissingAndDriftedStreams(t *testing.T) {
	update := func(name string, change func(*jetstream.StreamConfig)) func(*testing.T, jetstream.JetStream) {
		return func(t *testing.T, js jetstream.JetStream) {
			s, err := js.Stream(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			c := s.CachedInfo().Config
			change(&c)
			if _, err := js.UpdateStream(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(*testing.T, jetstream.JetStream) {
		return func(t *testing.T, js jetstream.JetStream) {
			if err := js.DeleteStream(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name    string
		account string
		harm    func(*testing.T, jetstream.JetStream)
		code    string
		says    []string
	}{
		{"nothing", "CORE", func(*testing.T, jetstream.JetStream) {}, "", nil},
		{"a journal is gone", "CORE", remove("LOOM_J_01"), "data/stream-missing", []string{"LOOM_J_01"}},
		{"the tasks are gone", "TASKS", remove("TASKS"), "data/stream-missing", []string{"TASKS"}},
		{"the blobs are gone", "CORE", remove("OBJ_LOOM_BLOB"), "data/stream-missing", []string{"OBJ_LOOM_BLOB"}},
		{"what was set aside is gone", "CORE", remove("DLQ"), "data/stream-missing", []string{"DLQ"}},
		{"the work queue is gone", "CORE", remove("WORK"), "", nil},
		{"the snapshots are gone", "CORE", remove("OBJ_LOOM_SNAP"), "", nil},
		{"a journal drops old batches", "CORE", update("LOOM_J_00", func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }), "data/stream-drift", []string{"LOOM_J_00", "discard"}},
		{"a journal answers directly", "CORE", update("LOOM_J_00", func(c *jetstream.StreamConfig) { c.AllowDirect = true }), "data/stream-drift", []string{"LOOM_J_00", "allow_direct"}},
		{"a journal has another subject", "CORE", update("LOOM_J_00", func(c *jetstream.StreamConfig) { c.Subjects = []string{"else"}; c.AllowDirect = true }), "data/stream-drift", []string{"allow_direct, subjects"}},
		{"a journal has another size", "CORE", update("LOOM_J_00", func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }), "", nil},
		{"the snapshots keep less", "CORE", update("OBJ_LOOM_SNAP", func(c *jetstream.StreamConfig) { c.MaxMsgs = 1 }), "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := t.TempDir()
			b, dir := start(t, path, broker.Config{})
			nc := map[string]*nats.Conn{"CORE": b.Core(), "TASKS": b.Tasked()}[tt.account]
			js, err := jetstream.New(nc)
			if err != nil {
				t.Fatal(err)
			}
			tt.harm(t, js)
			stop(t, b)
			_ = dir.Close()
			err = reopen(t, path, broker.Config{})
			if fault.Code(err) != tt.code {
				t.Fatalf("Start: %v, want %q", err, tt.code)
			}
			for _, word := range tt.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("Start: %v, want %q in it", err, word)
				}
			}
			if err == nil {
				err = reopen(t, path, broker.Config{Logger: warnings(t)})
			}
			if fault.Code(err) != tt.code {
				t.Errorf("the next Start: %v, want %q again", err, tt.code)
			}
		})
	}
}

func TestOPS01_ACrashDuringTheFirstStartIsNoDamage(t *testing.T) {
	path := t.TempDir()
	b, dir := start(t, path, broker.Config{})
	js, err := jetstream.New(b.Core())
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), "LOOM_J_01"); err != nil {
		t.Fatal(err)
	}
	stop(t, b)
	_ = dir.Close()
	// As if the process had died after it created some streams, and before
	// it could write that down.
	edit(t, path, func(m *datadir.Manifest) { m.Truth, m.Intended = nil, m.Truth })
	if err := reopen(t, path, broker.Config{}); err != nil {
		t.Errorf("Start: %v", err)
	}
	d, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if m := d.Manifest(); len(m.Truth) != 5 || len(m.Intended) != 0 {
		t.Errorf("the manifest says truth %v, intended %v", m.Truth, m.Intended)
	}
}

func TestOPS01_AnotherDirectorysManifestIsRefused(t *testing.T) {
	path := t.TempDir()
	b, dir := start(t, path, broker.Config{})
	stop(t, b)
	_ = dir.Close()
	edit(t, path, func(m *datadir.Manifest) { m.Truth, m.Deployment = nil, "dp-other" })
	for range 2 { // and it stays refused
		if err := reopen(t, path, broker.Config{}); fault.Code(err) != "data/manifest" {
			t.Errorf("Start: %v, want data/manifest", err)
		}
	}
}

// edit changes a manifest on the disk.
func edit(t *testing.T, path string, change func(*datadir.Manifest)) {
	t.Helper()
	name := filepath.Join(path, "manifest.json")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var m datadir.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	change(&m)
	m.Sum = ""
	if data, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOPS01_APortInUseIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	err = reopen(t, t.TempDir(), broker.Config{Listen: l.Addr().String()})
	if fault.Code(err) != "host/port" || fault.Status(err) != fault.Conflict {
		t.Fatalf("Start: %v, want host/port", err)
	}
	for _, word := range []string{l.Addr().String(), "127.0.0.1:", "is free"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("Start: %v, want %q in it", err, word)
		}
	}
	if _, linux := os.Stat("/proc/net/tcp"); linux == nil && !strings.Contains(err.Error(), "by process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("Start: %v, want our process %d in it", err, os.Getpid())
	}
}

func TestOPS01_BadAddresses(t *testing.T) {
	for _, listen := range []string{"4222", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "::1:2:3"} {
		if err := reopen(t, t.TempDir(), broker.Config{Listen: listen}); fault.Code(err) != "usage/argument" {
			t.Errorf("Listen %q: %v, want usage/argument", listen, err)
		}
	}
}

func TestOPS01_BadSizes(t *testing.T) {
	for _, c := range []broker.Config{{JournalBytes: -1}, {JournalBytes: 1}, {BlobBytes: -1}, {BlobBytes: 1}} {
		if err := reopen(t, t.TempDir(), c); fault.Code(err) != "usage/argument" {
			t.Errorf("%+v: %v, want usage/argument", c, err)
		}
	}
}

func TestOPS01_WithoutAListenerNobodyConnects(t *testing.T) {
	path := t.TempDir()
	b, dir := start(t, path, broker.Config{})
	if b.URL() != "" {
		t.Errorf("URL() = %q, want none", b.URL())
	}
	if _, err := broker.Dial(path); fault.Code(err) != "host/not-running" || !strings.Contains(err.Error(), "does not listen") {
		t.Errorf("Dial: %v, want host/not-running", err)
	}
	stop(t, b)
	_ = dir.Close()
	if _, err := broker.Dial(path); fault.Code(err) != "host/not-running" || !strings.Contains(err.Error(), "no host runs") {
		t.Errorf("Dial after Close: %v, want host/not-running", err)
	}
}

func TestOPS01_DialFindsTheHost(t *testing.T) {
	path := t.TempDir()
	b, dir := start(t, path, broker.Config{Listen: "127.0.0.1:0"})
	running, err := broker.Find(path)
	if err != nil || running.URL != b.URL() || running.PID != os.Getpid() || running.Deployment != dir.Manifest().Deployment {
		t.Errorf("Find: %+v, %v", running, err)
	}
	if err := b.Serve("host", func(context.Context, broker.Request) ([]byte, error) { return []byte("yes"), nil }); err != nil {
		t.Fatal(err)
	}
	nc, err := broker.Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if answer, err := nc.Request("loom.v1.svc.host", nil, 5*time.Second); err != nil || string(answer.Data) != "yes" {
		t.Errorf("svc.host: %v, %v", answer, err)
	}
}

func TestOPS01_KeysOutliveARestart(t *testing.T) {
	path := t.TempDir()
	b, dir := start(t, path, broker.Config{Listen: "127.0.0.1:0"})
	stop(t, b)
	_ = dir.Close()
	before, err := os.ReadFile(filepath.Join(path, "creds", "operator.nk"))
	if err != nil {
		t.Fatal(err)
	}
	start(t, path, broker.Config{Listen: "127.0.0.1:0"})
	after, err := os.ReadFile(filepath.Join(path, "creds", "operator.nk"))
	if err != nil || string(before) != string(after) {
		t.Errorf("the operator's key changed with a restart: %v", err)
	}
}

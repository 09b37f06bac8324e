package broker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/datadir"
)

// unproven returns a broker whose server syncs only if always says so.
func unproven(t *testing.T, always bool) *Broker {
	t.Helper()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.NewServer(&server.Options{
		DontListen: true, NoSigs: true, JetStream: true, StoreDir: dir.Path(), SyncAlways: always, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not come up")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close(); s.Shutdown(); s.WaitForShutdown(); _ = dir.Close() })
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return &Broker{
		config: Config{Dir: dir}.withDefaults(), log: Config{}.withDefaults().Logger,
		server: s, js: map[string]jetstream.JetStream{core: js},
	}
}

func TestOPS01_AServerThatDoesNotSyncIsRefused(t *testing.T) {
	if err := unproven(t, false).proveSync(t.Context()); fault.Code(err) != "data/sync" {
		t.Errorf("proveSync: %v, want data/sync", err)
	}
	// It says that it syncs, and the store has nothing of the default account's.
	if err := unproven(t, true).proveSync(t.Context()); fault.Code(err) != "data/sync" {
		t.Errorf("proveSync of a store that holds nothing: %v, want data/sync", err)
	}
}

// sight skips nothing: where the system cannot tell, that is what must be said.
func sight(t *testing.T, dir string) bool {
	t.Helper()
	sighted, err := calibrate(dir)
	if err != nil {
		t.Fatal(err)
	}
	return sighted
}

func TestOPS01_WhatIsNotOnTheDiskIsSeen(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "1.blk")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	sighted := sight(t, dir)
	for _, tt := range []struct {
		name string
		do   func() error
		code string
	}{
		{"written", func() error { _, err := f.WriteString("x"); return err }, "data/sync"},
		{"synced", f.Sync, ""},
		{"written again", func() error { _, err := f.WriteString("y"); return err }, "data/sync"},
	} {
		if err := tt.do(); err != nil {
			t.Fatal(err)
		}
		seen, err := observe(dir)
		if want := tt.code; sighted && fault.Code(err) != want || seen != sighted {
			t.Errorf("%s: seen %t, %v; want seen %t, code %q", tt.name, seen, err, sighted, want)
		}
	}
}

func TestOPS01_AnUnsyncedStreamIsSeen(t *testing.T) {
	b := unproven(t, false)
	if _, err := b.js[core].CreateStream(t.Context(), proof()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.js[core].Publish(t.Context(), proofSubject, []byte("x")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(b.server.JetStreamConfig().StoreDir, "$G", "streams", proofStream, "msgs")
	seen, err := observe(dir)
	if sighted := sight(t, dir); seen != sighted || sighted && fault.Code(err) != "data/sync" {
		t.Errorf("observe: seen %t, %v; want data/sync where the system can tell (%t)", seen, err, sighted)
	}
}

func TestOPS01_TheListOfListeners(t *testing.T) {
	table := `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:107E 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 101 1
   1: 0100007F:107E 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 102 1
   2: 0100007F:107F 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 103 1
   short line
`
	inodes := map[string]bool{}
	listening(table, 4222, inodes)
	if len(inodes) != 1 || !inodes["101"] {
		t.Errorf("sockets that listen on 4222: %v, want 101", inodes)
	}
}

func TestOPS01_AServerThatGivesUpSaysWhy(t *testing.T) {
	l := newServerLog(Config{}.withDefaults().Logger, make(chan struct{}))
	if err := l.reason(); err != nil {
		t.Errorf("reason before: %v", err)
	}
	l.Fatalf("no %s", "disk")
	if err := l.reason(); err == nil || err.Error() != "no disk" || errors.Unwrap(err) != nil {
		t.Errorf("reason: %v, want no disk", err)
	}
}

package broker_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/broker/brokertest"
	"github.com/loomrun/loom/internal/store/datadir"
)

// TestOPS01_AChosenPortIsKept starts brokers on one directory, one after the
// other: those who know where it was find it there, unless somebody else is.
func TestOPS01_AChosenPortIsKept(t *testing.T) {
	path := t.TempDir()
	mine, _, _ := net.SplitHostPort(brokertest.Addresses(1)[0]) // nobody else has ports of it
	at := func() (address string) {
		t.Helper()
		dir, err := datadir.Config{Path: path, Partitions: 1}.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = dir.Close() }()
		b, err := broker.Start(t.Context(), broker.Config{Dir: dir, Listen: mine + ":0"})
		if err != nil {
			t.Fatal(err)
		}
		defer stop(t, b)
		return strings.TrimPrefix(b.URL(), "nats://")
	}
	first := at()
	if second := at(); second != first {
		t.Errorf("it was at %s and is at %s", first, second)
	}
	other, err := net.Listen("tcp", first)
	if err != nil {
		t.Fatal(err)
	}
	moved := at()
	_ = other.Close()
	if moved == first {
		t.Errorf("it is at %s, where somebody else is", moved)
	}
	if again := at(); again != moved {
		t.Errorf("it has moved to %s and is at %s", moved, again)
	}
	for _, text := range []string{"", "x", "0", "99999"} { // as if it were the first start
		if err := os.WriteFile(filepath.Join(path, "port"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at()
	}
}

package broker_test

import (
	"context"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/datadir"
)

// start runs a broker on a directory and stops it with the test.
func start(t *testing.T, path string, config broker.Config) (*broker.Broker, *datadir.Dir) {
	t.Helper()
	longtest.Skip(t)
	dir, err := datadir.Config{Path: path, Partitions: 2}.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	config.Dir = dir
	b, err := broker.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, b) })
	return b, dir
}

func stop(t *testing.T, b *broker.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestStart(t *testing.T) {
	path := t.TempDir()
	for range 2 {
		t0 := time.Now()
		b, dir := start(t, path, broker.Config{Listen: "127.0.0.1:0"})
		t.Log(time.Since(t0), b.URL())
		t0 = time.Now()
		stop(t, b)
		dir.Close()
		t.Log("stop", time.Since(t0))
	}
}

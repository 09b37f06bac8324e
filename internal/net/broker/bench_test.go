package broker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// run is start for benchmarks.
func run(b *testing.B, path string) (*broker.Broker, func()) {
	b.Helper()
	dir, err := datadir.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	br, err := broker.Start(b.Context(), broker.Config{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	return br, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := br.Close(ctx); err != nil {
			b.Error(err)
		}
		_ = dir.Close()
	}
}

// BenchmarkStart starts and stops a host's broker: "first" on an empty
// directory, "again" on one that has all streams.
func BenchmarkStart(b *testing.B) {
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			_, stop := run(b, b.TempDir())
			stop()
		}
	})
	b.Run("again", func(b *testing.B) {
		path := b.TempDir()
		for b.Loop() {
			_, stop := run(b, path)
			stop()
		}
	})
}

// BenchmarkWork queues an assignment, pulls it and acknowledges it: by one
// puller, then by many.
func BenchmarkWork(b *testing.B) {
	for _, pullers := range []int{1, 32} {
		b.Run(fmt.Sprint(pullers), func(b *testing.B) {
			br, stop := run(b, b.TempDir())
			defer stop()
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan struct{}, pullers)
			var wg sync.WaitGroup
			for range pullers {
				wg.Go(func() {
					for {
						d, err := br.PullWork(ctx, "lead")
						if err != nil {
							return
						}
						_ = d.Ack()
						done <- struct{}{}
					}
				})
			}
			inFlight := 0
			for i := 0; b.Loop(); i++ {
				a := &loomv1.Assignment{Project: "p", Attempt: fmt.Sprint("a", i), Role: "lead"}
				if err := br.PublishWork(ctx, a); err != nil {
					b.Fatal(err)
				}
				if inFlight++; inFlight == pullers {
					<-done
					inFlight--
				}
			}
			for ; inFlight > 0; inFlight-- {
				<-done
			}
			cancel()
			wg.Wait()
		})
	}
}

func BenchmarkNotice(b *testing.B) {
	br, stop := run(b, b.TempDir())
	defer stop()
	for i := uint64(1); b.Loop(); i++ {
		if err := br.PublishNotice(b.Context(), event(i)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRequest asks a service from the edge account.
func BenchmarkRequest(b *testing.B) {
	br, stop := run(b, b.TempDir())
	defer stop()
	if err := br.Serve("host", func(context.Context, broker.Request) ([]byte, error) { return []byte("x"), nil }); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := br.Edge().Request("loom.v1.svc.host", nil, 5*time.Second); err != nil {
			b.Fatal(err)
		}
	}
}

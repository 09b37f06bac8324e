package lease_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/net/lease"
)

// stream returns a connection to a server in this process, and what ends both.
func stream() (js jetstream.JetStream, end func()) {
	dir, err := os.MkdirTemp("", "lease")
	if err != nil {
		panic(err)
	}
	s, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir})
	if err != nil {
		panic(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		panic("the server is not ready")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		panic(err)
	}
	if js, err = jetstream.New(nc); err != nil {
		panic(err)
	}
	return js, func() { nc.Close(); s.Shutdown(); s.WaitForShutdown(); _ = os.RemoveAll(dir) }
}

// Two hosts want to serve one partition; the second follows the first.
func ExampleBucket_Acquire() {
	js, end := stream()
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	bucket, err := lease.Open(ctx, js, lease.Config{Bucket: "LEASES"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bucket.Close()

	first, err := bucket.Acquire(ctx, "partition.01", []byte("h1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("h1 holds it:", first.Valid())

	done := make(chan struct{})
	go func() {
		defer close(done)
		second, err := bucket.Acquire(ctx, "partition.01", []byte("h2"))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("h2 holds it:", second.Valid(), "in a later term:", second.Term() > first.Term())
	}()
	if err := first.Release(ctx); err != nil {
		fmt.Println(err)
	}
	<-done
	fmt.Println("h1 holds it:", first.Valid())
	// Output:
	// h1 holds it: true
	// h2 holds it: true in a later term: true
	// h1 holds it: false
}

// A table of who lives: each host holds a lease of its own name.
func ExampleBucket_Watch() {
	js, end := stream()
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	bucket, err := lease.Open(ctx, js, lease.Config{Bucket: "LEASES"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bucket.Close()
	host, err := bucket.Acquire(ctx, "host.h1", []byte("epoch 7"))
	if err != nil {
		fmt.Println(err)
		return
	}
	var released sync.WaitGroup
	defer released.Wait() // others may see the end before the one who gave it
	bucket.Watch(ctx, "host.", func(e lease.Entry) {
		fmt.Printf("%s (%s) alive: %t\n", e.Key, e.Value, e.Alive)
		if !e.Alive {
			cancel()
			return
		}
		released.Go(func() {
			if err := host.Release(context.WithoutCancel(ctx)); err != nil {
				fmt.Println(err)
			}
		})
	})
	// Output:
	// host.h1 (epoch 7) alive: true
	// host.h1 (epoch 7) alive: false
}

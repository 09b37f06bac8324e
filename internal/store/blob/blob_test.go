package blob_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func serve(t testing.TB) *broker.Broker {
	t.Helper()
	dir, err := datadir.Config{Path: t.TempDir(), Partitions: 1}.Open()
	if err != nil {
		t.Fatal(err)
	}
	b, err := broker.Start(context.Background(), broker.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		_ = b.Close(ctx)
		_ = dir.Close()
	})
	return b
}

func objects(t testing.TB, b *broker.Broker) *blob.Objects {
	t.Helper()
	s, err := blob.New(context.Background(), b.Core())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWF10_ContractOfBlobs(t *testing.T) {
	for name, s := range map[string]blob.Store{"memory": blob.NewMemory(), "objects": objects(t, serve(t))} {
		t.Run(name, func(t *testing.T) { contract(t, s) })
	}
}

func contract(t *testing.T, s blob.Store) {
	for _, size := range []int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, blob.MaxBytes} {
		data := bytes.Repeat([]byte{byte(size), 7}, size/2+1)[:size]
		for range 2 { // the second stores nothing
			ref, err := s.Put(t.Context(), data, "text/plain")
			if err != nil || ref.Size != uint64(size) || ref.MediaType != "text/plain" || len(ref.Sha256) != 64 {
				t.Fatalf("Put(%d bytes): %v, %v", size, ref, err)
			}
			got, err := s.Get(t.Context(), ref)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("Get(%d bytes): %d bytes, %v", size, len(got), err)
			}
		}
	}
	if _, err := s.Put(t.Context(), make([]byte, blob.MaxBytes+1), ""); fault.Code(err) != "blob/too-large" {
		t.Errorf("Put of 8 MiB and a byte: %v, want blob/too-large", err)
	}
	for _, ref := range []*loomv1.BlobRef{nil, {}, blob.Ref([]byte("never put"), "")} {
		if _, err := s.Get(t.Context(), ref); fault.Code(err) != "blob/missing" {
			t.Errorf("Get(%v): %v, want blob/missing", ref, err)
		}
	}
	ref, err := s.Put(t.Context(), []byte("abc"), "")
	if err != nil || ref.Sha256 != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("Put(abc): %v, %v", ref, err)
	}
	ref.Size = 4
	if _, err := s.Get(t.Context(), ref); fault.Code(err) != "blob/corrupt" {
		t.Errorf("Get with another size: %v, want blob/corrupt", err)
	}
	together(t, s)
}

// TestWF10_TwoHostsPutTheSameBlob does so over one server, at once.
func TestWF10_TwoHostsPutTheSameBlob(t *testing.T) {
	b := serve(t)
	hosts := []blob.Store{objects(t, b), objects(t, b), objects(t, b)}
	var wg sync.WaitGroup
	for _, s := range hosts {
		wg.Go(func() { together(t, s) })
	}
	wg.Wait()
}

// together puts the same blobs from several goroutines at once.
func together(t *testing.T, s blob.Store) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 10 {
				data := []byte(fmt.Sprint("blob ", i))
				ref, err := s.Put(t.Context(), data, "")
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := s.Get(t.Context(), ref); err != nil || !bytes.Equal(got, data) {
					t.Errorf("Get: %q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestWF10_DamagedMemory(t *testing.T) {
	m := blob.NewMemory()
	ref, err := m.Put(t.Context(), []byte("abc"), "")
	if err != nil {
		t.Fatal(err)
	}
	m.Corrupt(ref)
	if _, err := m.Get(t.Context(), ref); fault.Code(err) != "blob/corrupt" {
		t.Errorf("Get of a corrupt blob: %v", err)
	}
	m.Lose(ref)
	if _, err := m.Get(t.Context(), ref); fault.Code(err) != "blob/missing" {
		t.Errorf("Get of a lost blob: %v", err)
	}
}

func TestWF10_DamagedObjects(t *testing.T) {
	b := serve(t)
	s := objects(t, b)
	js, err := jetstream.New(b.Core())
	if err != nil {
		t.Fatal(err)
	}
	store, err := js.ObjectStore(t.Context(), blob.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "OBJ_"+blob.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		harm func(*loomv1.BlobRef) error
		code string
	}{
		{"other bytes", func(ref *loomv1.BlobRef) error {
			_, err := store.PutBytes(t.Context(), ref.Sha256, []byte("xyz"))
			return err
		}, "blob/corrupt"},
		{"bytes gone", func(*loomv1.BlobRef) error {
			return stream.Purge(t.Context(), jetstream.WithPurgeSubject("$O.LOOM_BLOB.C.>"))
		}, "blob/corrupt"},
		{"all gone", func(*loomv1.BlobRef) error { return stream.Purge(t.Context()) }, "blob/missing"},
	} {
		ref, err := s.Put(t.Context(), []byte("abc "+tt.name), "")
		if err != nil {
			t.Fatal(err)
		}
		if err := tt.harm(ref); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		if _, err := s.Get(ctx, ref); fault.Code(err) != tt.code || ctx.Err() != nil {
			t.Errorf("%s: %v, %v, want %s", tt.name, err, ctx.Err(), tt.code)
		}
		cancel()
	}
}

func BenchmarkPutGet(b *testing.B) {
	s := objects(b, serve(b))
	data := make([]byte, 4000)
	for i := 0; b.Loop(); i++ {
		copy(data, fmt.Sprint(i))
		ref, err := s.Put(context.Background(), data, "")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Get(context.Background(), ref); err != nil {
			b.Fatal(err)
		}
	}
}

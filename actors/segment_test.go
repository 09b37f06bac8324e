package actors_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// divided is a store of snapshots that tells when one with segments is kept, and may
// give their records with a bit that flipped.
type divided struct {
	journal.Snapshots
	kept chan struct{} // closed when one is
	some atomic.Bool   // a segment of ended work is stored
	work sync.Map      // names of segments of ended work
	bad  atomic.Bool
	read atomic.Int32
}

func (d *divided) SaveIndex(ctx context.Context, index *loomv1.SnapshotIndex) error {
	err := d.Snapshots.SaveIndex(ctx, index)
	if err == nil && d.some.Load() {
		select {
		case <-d.kept:
		default:
			close(d.kept)
		}
	}
	return err
}

func (d *divided) SaveSegment(ctx context.Context, s journal.Segment) error {
	index := &loomv1.SegmentIndex{}
	if err := proto.Unmarshal(s.Index, index); err != nil {
		return err
	}
	if len(index.Entries) > 0 {
		d.some.Store(true)
		d.work.Store(s.Name, true)
	}
	return d.Snapshots.SaveSegment(ctx, s)
}

func (d *divided) LoadSegment(ctx context.Context, name string, records bool) ([]byte, error) {
	data, err := d.Snapshots.LoadSegment(ctx, name, records)
	if _, work := d.work.Load(name); work && records && err == nil {
		d.read.Add(1)
		if d.bad.Load() {
			data = slices.Clone(data)
			data[len(data)/2] ^= 1
		}
	}
	return data, err
}

// TestP21_EndedWorkInADamagedSegmentIsFoldedAnew has ended work moved into segments,
// reads it from there, and then flips a bit in one: whoever asks next is refused, the
// project is folded from its journal without the segment, and answers. So does a start
// that finds the segment as it is.
func TestP21_EndedWorkInADamagedSegmentIsFoldedAnew(t *testing.T) {
	longtest.Skip(t)
	r := newRig(t)
	store := &divided{Snapshots: r.snaps, kept: make(chan struct{})}
	r.snaps, r.config.SnapshotEvery = store, 50
	r.start().register("shop", "researcher")
	r.agents("researcher", 8, done)
	const n = 400
	for i := range n {
		r.must(file("shop", fmt.Sprint("k", i)))
	}
	for i := range n {
		r.ended(fmt.Sprint("shop-", i+1))
	}
	for i := 0; ; i++ { // the newest events ask for a snapshot
		r.must(observe(fmt.Sprint("o", i)))
		select {
		case <-store.kept:
		default:
			continue
		}
		break
	}
	look := func() error {
		t.Helper()
		v, err := r.projects.Look(r.ctx, "bead", &loomv1.Query{Project: "shop", Id: "shop-3"})
		if err == nil && (len(v.Beads) != 1 || v.Beads[0].Status != loomv1.BeadStatus_BEAD_STATUS_CLOSED || v.Beads[0].Goal == "") {
			t.Errorf("shop-3 is %v, want a bead that is closed", v.Beads)
		}
		return err
	}
	if err := look(); err != nil {
		t.Fatal(err)
	}
	r.stop()
	store.bad.Store(true)
	r.start()
	r.must(observe("recovered"))
	life := r.projects.Life("shop")
	before := store.read.Load()
	err := look()
	if store.read.Load() == before {
		t.Fatal("the bead was not in a segment")
	}
	if fault.Code(err) != "internal/error" && fault.Code(err) != "host/unavailable" {
		t.Errorf("a record with another bit: %v, want a refusal", err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for err = look(); err != nil; err = look() {
		if time.Now().After(deadline) {
			t.Fatalf("the project does not come back: %v", err)
		}
	}
	if r.projects.Life("shop") == life {
		t.Error("the project has the same life")
	}
}

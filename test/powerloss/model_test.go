package powerloss

import (
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestP2_TheDiskForgetsWhatWasNotSynced holds the model of the disk against
// what is promised: what was synced is there after any cut, and what is there
// was written at some time.
func TestP2_TheDiskForgetsWhatWasNotSynced(t *testing.T) {
	for _, p := range []promise{journal, own, posix} {
		t.Run(string(p), func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				d := newDisk(p)
				f := d.create(0o100644)
				d.rename(edit{entry{d.root, "a"}, f})
				synced := 0
				for i := range rapid.IntRange(1, 8).Draw(r, "writes") {
					f.put(write{at: int64(i) * 700, data: []byte(strings.Repeat("x", 700))})
					if rapid.Bool().Draw(r, "sync") {
						d.sync(f)
						synced = (i + 1) * 700
					}
				}
				named := p != posix && synced > 0
				if rapid.Bool().Draw(r, "sync of the directory") {
					d.sync(d.root)
					named = true
				}
				next, _ := d.restart(rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0)))
				g := next.root.names["a"]
				switch {
				case g == nil && named:
					r.Fatal("its name was durable, and is gone")
				case g == nil:
					return
				case len(g.now) < synced || len(g.now) > len(f.now):
					r.Fatalf("%d bytes, of %d that were synced and %d that were written", len(g.now), synced, len(f.now))
				}
				if i := strings.IndexFunc(string(g.now[:synced]), func(c rune) bool { return c != 'x' }); i >= 0 {
					r.Fatalf("byte %d was synced, and is lost", i)
				}
			})
		})
	}
}

// TestP2_WhatIsNotSyncedCanBeLost sees the disk lose a name, a write and a
// sector: a disk that forgot nothing would prove nothing.
func TestP2_WhatIsNotSyncedCanBeLost(t *testing.T) {
	var name, all, part, kept int
	for seed := range uint64(200) {
		d := newDisk(own)
		f, g := d.create(0o100644), d.create(0o100644)
		d.rename(edit{entry{d.root, "synced"}, f})
		f.put(write{data: []byte("first")})
		d.sync(f)
		f.put(write{at: sector, data: []byte(strings.Repeat("y", 3*sector))})
		d.rename(edit{entry{d.root, "new"}, g})
		next, _ := d.restart(rand.New(rand.NewPCG(seed, 0)))
		if next.root.names["new"] == nil {
			name++
		}
		switch n := strings.Count(string(next.root.names["synced"].now), "y"); n {
		case 0:
			all++
		case 3 * sector:
			kept++
		default:
			part++
		}
	}
	if name == 0 || name == 200 || all == 0 || part == 0 || kept == 0 {
		t.Errorf("of 200 cuts %d lost the name, %d the write, %d a part of it, and %d kept it", name, all, part, kept)
	}
}

// TestP2_ARenameIsWholeOrNot moves a file over another that is in use.
func TestP2_ARenameIsWholeOrNot(t *testing.T) {
	for _, p := range []promise{journal, own, posix} {
		for seed := range uint64(50) {
			d := newDisk(p)
			before, after := d.create(0o100644), d.create(0o100644)
			before.put(write{data: []byte("old")})
			after.put(write{data: []byte("new")})
			d.rename(edit{entry{d.root, "f"}, before})
			d.rename(edit{entry{d.root, "f.tmp"}, after})
			d.settle()
			d.rename(edit{entry{d.root, "f"}, after}, edit{entry{d.root, "f.tmp"}, nil})
			next, _ := d.restart(rand.New(rand.NewPCG(seed, 0)))
			f, tmp := next.root.names["f"], next.root.names["f.tmp"]
			if f == nil || string(f.now) == "old" && tmp == nil || string(f.now) == "new" && tmp != nil {
				t.Fatalf("%s: after seed %d f is %v and f.tmp %v", p, seed, f, tmp)
			}
		}
	}
}

package lease

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	modelTTL    = 1000 * time.Millisecond
	modelMargin = 100 * time.Millisecond
)

// world is three hosts and a bucket, and everything that is on its way between
// them. Messages are lost, late and out of order, clocks run at different
// rates and stand at different hours, hosts do anything at any time.
type world struct {
	now    time.Duration
	hosts  []*modelHost
	bucket record
	way    []func(*rapid.T) // what has not arrived
	taken  int
}

type modelHost struct {
	w       *world
	name    string
	offset  time.Duration
	rate    float64 // of its clock
	sight   sight
	tenures []*tenure // all it ever began
}

func (h *modelHost) clock() time.Duration {
	return h.offset + time.Duration(float64(h.w.now)*h.rate)
}

// write sends a record of a tenure, to be stored if last is the newest.
func (h *modelHost) write(t *tenure, last uint64, released bool) {
	w := h.w
	r := record{nonce: t.nonce, serial: t.send(h.clock()), ttl: modelTTL, released: released}
	w.send(func(*rapid.T) {
		if last != w.bucket.revision {
			w.send(func(*rapid.T) { h.read(t) })
			return
		}
		r.revision = w.bucket.revision + 1
		w.bucket = r
		w.send(func(*rapid.T) { t.stored(r.serial, r.revision, h.clock()) })
		for _, other := range w.hosts {
			w.send(func(*rapid.T) { other.sight.see(r, other.clock()) })
		}
	})
}

// read asks for the newest record, on behalf of a tenure or of one who waits.
func (h *modelHost) read(t *tenure) {
	asked := h.clock()
	h.w.send(func(*rapid.T) {
		r := h.w.bucket
		h.w.send(func(*rapid.T) {
			if t != nil {
				t.read(r, h.clock())
			}
			h.sight.see(r, h.clock())
			h.sight.confirm(r, asked, h.clock())
		})
	})
}

func (w *world) send(arrive func(*rapid.T)) { w.way = append(w.way, arrive) }

func (w *world) host(t *rapid.T) *modelHost { return rapid.SampledFrom(w.hosts).Draw(t, "host") }

// newest returns the tenure that a host would renew.
func (h *modelHost) newest() *tenure {
	if len(h.tenures) == 0 {
		return nil
	}
	return h.tenures[len(h.tenures)-1]
}

func (w *world) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"time passes": func(t *rapid.T) {
			w.now += time.Duration(rapid.IntRange(1, 400).Draw(t, "ms")) * time.Millisecond
		},
		"arrives": func(t *rapid.T) { w.arrive(t, true) },
		"next":    func(t *rapid.T) { w.arrive(t, true) },
		"is lost": func(t *rapid.T) { w.arrive(t, false) },
		"renew": func(t *rapid.T) {
			if h := w.host(t); h.newest() != nil && h.newest().valid(h.clock()) {
				h.write(h.newest(), h.newest().revision, false)
			}
		},
		"release": func(t *rapid.T) {
			if h := w.host(t); h.newest() != nil && h.newest().revision != 0 && rapid.IntRange(0, 9).Draw(t, "rarely") == 0 {
				h.newest().lost = true
				h.write(h.newest(), h.newest().revision, true)
			}
		},
		"look": func(t *rapid.T) { w.host(t).read(nil) },
		"doubt": func(t *rapid.T) {
			h := w.host(t)
			h.sight.doubt(h.clock(), modelTTL/5)
		},
		"take": func(t *rapid.T) {
			h := w.host(t)
			if !h.sight.free() {
				return
			}
			if w.taken++; h.newest() != nil {
				h.newest().lost = true
			}
			h.tenures = append(h.tenures, newTenure(modelTTL, modelMargin, fmt.Sprint(h.name, len(h.tenures))))
			h.write(h.newest(), h.sight.record.revision, false)
		},
		"": func(t *rapid.T) { w.check(t) },
	}
}

func (w *world) arrive(t *rapid.T, arrives bool) {
	if len(w.way) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.way)-1).Draw(t, "which")
	message := w.way[i]
	w.way = append(w.way[:i], w.way[i+1:]...)
	if arrives {
		message(t)
	}
}

// check wants at most one holder that is sure of itself, and that the bucket
// has its record or one that it sent.
func (w *world) check(t *rapid.T) {
	var sure []string
	for _, h := range w.hosts {
		for _, tenure := range h.tenures {
			if tenure.valid(h.clock()) {
				sure = append(sure, tenure.nonce)
			}
		}
	}
	if len(sure) > 1 {
		t.Fatalf("at %v %v are all sure", w.now, sure)
	}
	if len(sure) == 1 && w.bucket.nonce != sure[0] {
		t.Fatalf("at %v %s is sure and the bucket has %+v", w.now, sure[0], w.bucket)
	}
}

func TestACT05_NeverTwoSureHolders(t *testing.T) {
	taken := 0
	run := func(t *rapid.T) {
		w := &world{}
		for i := range 3 {
			w.hosts = append(w.hosts, &modelHost{
				w: w, name: string(rune('a' + i)), rate: rapid.Float64Range(0.97, 1.03).Draw(t, "rate"),
				offset: time.Duration(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "offset")),
			})
		}
		for range 4 { // of 30 steps each
			t.Repeat(w.actions())
		}
		taken += w.taken
	}
	for range 80 {
		rapid.Check(t, run)
	}
	if taken == 0 {
		t.Error("nobody ever took the lease")
	}
}

func TestTenure(t *testing.T) {
	const s = time.Second
	held := func() *tenure {
		h := newTenure(5*s, s/2, "me")
		h.send(10 * s)
		h.stored(1, 7, 11*s)
		return h
	}
	for _, tt := range []struct {
		what string
		do   func(h *tenure)
		at   time.Duration
		want bool
	}{
		{"counted from when it was sent", func(*tenure) {}, 14*s + s/2 - 1, true},
		{"ends a margin early", func(*tenure) {}, 14*s + s/2, false},
		{"renewed", func(h *tenure) { h.send(12 * s); h.stored(2, 8, 13*s) }, 16 * s, true},
		{"a renewal without an answer adds nothing", func(h *tenure) { h.send(12 * s) }, 16 * s, false},
		{"an answer that comes after the end revives nothing", func(h *tenure) { h.send(14 * s); h.stored(2, 8, 15*s) }, 16 * s, false},
		{"stored after all", func(h *tenure) {
			h.send(12 * s)
			h.send(13 * s)
			h.read(record{revision: 8, nonce: "me", serial: 2}, 14*s)
		}, 16 * s, true},
		{"somebody else's", func(h *tenure) { h.read(record{revision: 8, nonce: "you", serial: 2}, 12*s) }, 12 * s, false},
		{"nothing newer", func(h *tenure) { h.read(record{revision: 7, nonce: "me"}, 12*s) }, 12 * s, true},
		{"an older one: the bucket is another", func(h *tenure) { h.read(record{revision: 6, nonce: "you"}, 12*s) }, 12 * s, false},
		{"none at all", func(h *tenure) { h.read(record{}, 12*s) }, 12 * s, false},
	} {
		h := held()
		if tt.do(h); h.valid(tt.at) != tt.want {
			t.Errorf("%s: valid at %v: %t", tt.what, tt.at, !tt.want)
		}
	}
}

func TestSight(t *testing.T) {
	const s = time.Second
	confirm := func(v *sight, at time.Duration) { v.confirm(v.record, at, at) }
	for _, tt := range []struct {
		what string
		do   func(v *sight)
		want bool
	}{
		{"asked at the end of the TTL", func(v *sight) { confirm(v, 15*s) }, true},
		{"asked a moment before", func(v *sight) { confirm(v, 15*s-1) }, false},
		{"asked before, answered after the end", func(v *sight) { v.confirm(v.record, 15*s-1, 17*s) }, false},
		{"made anew, asked before, answered after the end", func(v *sight) { v.confirm(record{}, 15*s-1, 17*s); confirm(v, 17*s) }, true},
		{"renewed", func(v *sight) { v.see(record{revision: 8, ttl: 5 * s}, 12*s); confirm(v, 15*s) }, false},
		{"seen again", func(v *sight) { v.see(record{revision: 7, ttl: 5 * s}, 12*s); confirm(v, 15*s) }, true},
		{"released", func(v *sight) { v.see(record{revision: 8, ttl: 5 * s, released: true}, 12*s) }, true},
		{"taken after its end", func(v *sight) { confirm(v, 15*s); v.see(record{revision: 8, ttl: 5 * s}, 16*s) }, false},
		{"the bucket was away", func(v *sight) { v.doubt(14*s, 2*s); confirm(v, 16*s-1) }, false},
		{"grace is over", func(v *sight) { v.doubt(14*s, 2*s); confirm(v, 16*s) }, true},
		{"made anew: not at once", func(v *sight) { v.confirm(record{}, 15*s, 15*s) }, false},
		{"made anew: after a TTL", func(v *sight) { v.confirm(record{}, 15*s, 15*s); confirm(v, 20*s) }, true},
		{"made anew, and held", func(v *sight) { v.confirm(record{revision: 3, ttl: s}, 15*s, 15*s); confirm(v, 20*s-1) }, false},
		{"an older one before the end", func(v *sight) { v.confirm(record{revision: 3, ttl: s}, 14*s, 14*s); confirm(v, 15*s) }, true},
		{"grace shortens nothing", func(v *sight) { v.doubt(11*s, 2*s); confirm(v, 15*s-1) }, false},
	} {
		v := &sight{}
		v.see(record{revision: 7, ttl: 5 * s}, 10*s)
		if tt.do(v); v.free() != tt.want {
			t.Errorf("%s: free: %t", tt.what, !tt.want)
		}
	}
}

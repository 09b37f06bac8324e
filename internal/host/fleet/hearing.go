package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/core/reach"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// hearing is what this host knows of who hears whom. One that does not hear
// everybody leaves its partitions to one that does: see package reach. The zero
// value, of a host that is alone, leaves nothing to anybody.
type hearing struct {
	mu    sync.Mutex
	table *reach.Table
	view  reach.View      // as it was looked at last
	back  bool            // this host leaves partitions to others
	looks int             // how often in a row back should be another
	moved chan struct{}   // closed when back becomes another; nil on a host that is alone
	deaf  map[string]bool // whom it does not hear whatever they say, in tests

	yields atomic.Bool // the server is giving up what it leads

	config *Config
	done   *sync.WaitGroup // of what runs beside
}

// surely is how many looks in a row must say the same before a host acts on it:
// one that went on after a sleep hears of the others one after the other.
const surely = 3

// start says from now on whom this host hears, and listens to the others.
func (r *hearing) start(c *Config, done *sync.WaitGroup) error {
	r.mu.Lock()
	r.table, r.moved = reach.New(c.Host), make(chan struct{})
	r.mu.Unlock()
	r.config, r.done = c, done
	if err := c.Listen(r.hear); err != nil {
		return fmt.Errorf("host: the others cannot be listened to: %w", err)
	}
	done.Go(func() { r.stay(c.Running) })
	return nil
}

// hear takes in what another host says.
func (r *hearing) hear(data []byte) {
	said := &loomv1.HostHears{}
	if proto.Unmarshal(data, said) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.deaf[said.Host] {
		r.table.Take(heardOf(said), time.Now())
	}
}

// deafen has this host not hear what others say, whatever they say.
func (r *hearing) deafen(others []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deaf = map[string]bool{}
	for _, name := range others {
		r.deaf[name] = true
	}
}

// stay says whom this host hears, and acts on what the others say, until ctx ends.
func (r *hearing) stay(ctx context.Context) {
	again := time.NewTicker(reach.Every)
	defer again.Stop()
	for {
		word, view, turned := r.look(r.config.Host, time.Now())
		if data, err := proto.Marshal(toldOf(word)); err == nil {
			r.config.Say(data)
		}
		r.leaveToOthers(ctx, view, turned)
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// look looks at who hears whom. turned says that this host begins, or ceases, to
// leave partitions to others.
func (r *hearing) look(self string, now time.Time) (say reach.Word, v reach.View, turned bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.view = r.table.Look(now)
	if r.view.Back(self) == r.back {
		r.looks = 0
	} else if r.looks++; r.looks >= surely {
		r.back, r.looks, turned = !r.back, 0, true
		close(r.moved)
		r.moved = make(chan struct{})
	}
	return r.table.Say(now), r.view, turned
}

// leaveToOthers hands over what this host serves, and has its server lead
// nothing, while it does not hear all and another does.
func (r *hearing) leaveToOthers(ctx context.Context, v reach.View, turned bool) {
	back := r.standsBack()
	if turned && back {
		r.config.Log.Warn("hosts are cut off from each other, and this is one of them; partitions are left to those that hear everybody", "broken", broken(v), "whole", v.Whole)
	} else if turned {
		r.config.Log.Info("this host takes partitions again", "broken", broken(v))
	}
	projects := r.config.Projects()
	if !back || projects == nil {
		return
	}
	r.yield(ctx, v.Whole)
	for _, n := range projects.Here() {
		projects.HandOver(n)
	}
}

// yield has the server give up what it leads, beside: where that takes long, this
// host must not fall silent. It does nothing while it is at it.
func (r *hearing) yield(ctx context.Context, to []string) {
	if !r.yields.CompareAndSwap(false, true) {
		return
	}
	r.done.Go(func() {
		defer r.yields.Store(false)
		r.config.Broker.Yield(ctx, to)
	})
}

func (r *hearing) standsBack() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.back
}

// now is how the hosts heard each other when it was looked last.
func (r *hearing) now() reach.View {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.view
}

// mayServe waits until this host need not leave partitions to others, or ctx
// ends.
func (r *hearing) mayServe(ctx context.Context) error {
	for {
		r.mu.Lock()
		back, moved := r.back, r.moved
		r.mu.Unlock()
		if !back {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// broken tells of pairs of hosts, for people.
func broken(v reach.View) string {
	var pairs []string
	for _, p := range v.Broken {
		pairs = append(pairs, p.One+" and "+p.Other)
	}
	return strings.Join(pairs, ", ")
}

// heardOf is a message as a word.
func heardOf(m *loomv1.HostHears) reach.Word {
	w := reach.Word{Host: m.GetHost(), Hears: m.GetHears(), Age: m.GetAge().AsDuration()}
	for _, other := range m.GetOthers() {
		w.Others = append(w.Others, heardOf(other))
	}
	return w
}

// toldOf is a word as a message.
func toldOf(w reach.Word) *loomv1.HostHears {
	m := &loomv1.HostHears{Host: w.Host, Hears: slices.Clone(w.Hears)}
	if w.Age > 0 {
		m.Age = durationpb.New(w.Age)
	}
	for _, other := range w.Others {
		m.Others = append(m.Others, toldOf(other))
	}
	return m
}

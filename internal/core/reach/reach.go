// Package reach is the pure core that says which hosts of a deployment hear
// each other, and which of them leave partitions to others because of it.
//
// A partition is served by one host and asked by all, and what one host says to
// another goes no way round. So where two hosts are cut off from each other and
// both are heard by a third, work that one of them serves stands still at the
// other, though both live and can write. Then those that do not hear everybody
// stand back as long as there is a host that does.
//
// It promises that a host stands back only for another that lives and that
// hears everybody; that a host which hears everybody never does; and that a
// host which died keeps nobody from anything. It reads no clock and talks to
// nobody: who uses it tells it what was heard, and when.
package reach

import (
	"maps"
	"slices"
	"time"
)

const (
	// Every is how often a host says whom it hears.
	Every = 500 * time.Millisecond
	// Alive is how long a host lives that was heard of, by whomever.
	Alive = 3 * time.Second
	// Heard is how long a host is heard that was heard itself. It is longer than
	// Alive, so that a host which dies is gone before it is missed.
	Heard = 4 * time.Second
)

// Word is what a host says: whom it hears, and what it heard of others.
type Word struct {
	Host  string
	Hears []string
	// Age is how long ago the host said so.
	Age time.Duration
	// Others are what it heard itself of others, without what those heard.
	Others []Word
}

// Table is what a host has heard of all. Its zero value is not one; it may not
// be used from several goroutines.
type Table struct {
	self string
	all  map[string]*entry
}

// entry is what is known of another host.
type entry struct {
	heard time.Time // when it was heard itself; zero if it never was
	known time.Time // when it said hears, as far as is known
	hears []string
}

// New returns the table of a host that has heard of nobody.
func New(self string) *Table { return &Table{self: self, all: map[string]*entry{}} }

// Take takes in what another host says, when it is heard.
func (t *Table) Take(w Word, now time.Time) {
	if w.Host == t.self || w.Host == "" {
		return
	}
	e := t.learn(w, now)
	e.heard = now
	for _, other := range w.Others {
		if other.Host != t.self && other.Host != "" {
			t.learn(other, now)
		}
	}
}

// learn keeps what a host said, if nothing newer is known of it.
func (t *Table) learn(w Word, now time.Time) *entry {
	e := t.all[w.Host]
	if e == nil {
		e = &entry{}
		t.all[w.Host] = e
	}
	if said := now.Add(-max(w.Age, 0)); said.After(e.known) {
		e.known, e.hears = said, w.Hears
	}
	return e
}

// Say is what this host has to say.
func (t *Table) Say(now time.Time) Word {
	w := Word{Host: t.self}
	for _, name := range slices.Sorted(maps.Keys(t.all)) {
		if e := t.all[name]; now.Sub(e.heard) < Heard {
			w.Hears = append(w.Hears, name)
			w.Others = append(w.Others, Word{Host: name, Hears: e.hears, Age: now.Sub(e.known)})
		}
	}
	return w
}

// Pair is two hosts of which at least one does not hear the other, by name.
type Pair struct{ One, Other string }

// View is how the hosts hear each other, as one of them knows it.
type View struct {
	// Broken are the pairs of living hosts that do not hear each other.
	Broken []Pair
	// Whole are the hosts that live and hear everybody who does, both ways.
	Whole []string
}

// Look says how the hosts hear each other, and forgets those that are gone.
func (t *Table) Look(now time.Time) View {
	maps.DeleteFunc(t.all, func(_ string, e *entry) bool { return now.Sub(e.known) >= Heard && now.Sub(e.heard) >= Heard })
	hears := map[string][]string{t.self: t.Say(now).Hears}
	for name, e := range t.all {
		if now.Sub(e.known) < Alive {
			hears[name] = e.hears
		}
	}
	return view(hears)
}

// view sums up who hears whom; only those that have a say live.
func view(hears map[string][]string) (v View) {
	broken := map[string]bool{}
	names := slices.Sorted(maps.Keys(hears))
	for i, one := range names {
		for _, other := range names[i+1:] {
			if !slices.Contains(hears[one], other) || !slices.Contains(hears[other], one) {
				v.Broken = append(v.Broken, Pair{one, other})
				broken[one], broken[other] = true, true
			}
		}
	}
	v.Whole = slices.DeleteFunc(names, func(name string) bool { return broken[name] })
	return v
}

// Back says whether a host is to leave partitions to others. Of one that says
// nothing, as an older build does, nobody knows that it should.
func (v View) Back(host string) bool {
	return len(v.Whole) > 0 && slices.ContainsFunc(v.Broken, func(p Pair) bool { return p.One == host || p.Other == host })
}

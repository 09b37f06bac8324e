package actors_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var cells = []loomv1.Core{loomv1.Core_CORE_PROJECT, loomv1.Core_CORE_GRAPH, loomv1.Core_CORE_LOCK, loomv1.Core_CORE_MEMORY}

func observe(key string) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{
		Request: key, Node: &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_OBSERVATION, Title: key, Confidence: 50},
	}}}
}

// requests returns how often each request of a kind is in the journal.
func (r *rig) requests(of func(*loomv1.Event) string) map[string]int {
	seen := map[string]int{}
	for _, e := range r.events() {
		if key := of(e); key != "" {
			seen[key]++
		}
	}
	return seen
}

// TestACT05_ACellIsRestartedAlone has each cell of a project fail again and again
// while all of them are asked: everybody is answered, each command is carried out
// once, and the project's state is not folded anew.
func TestACT05_ACellIsRestartedAlone(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	life := r.projects.Life("shop")
	var all sync.WaitGroup
	for n := range 6 {
		all.Go(func() {
			for i := range 40 {
				key := fmt.Sprintf("k%d-%d", n, i)
				if _, err := r.do(observe(key)); err != nil {
					t.Errorf("decision %s: %v", key, err)
				}
				if _, err := r.do(file("shop", key)); err != nil {
					t.Errorf("bead %s: %v", key, err)
				}
				if _, err := r.projects.Look(r.ctx, "lock", q("shop")); err != nil {
					t.Errorf("lock: %v", err)
				}
				if n == 0 && i%4 == 0 {
					r.projects.FailCell("shop", cells[i/4%len(cells)])
				}
			}
		})
	}
	all.Wait()
	if now := r.projects.Life("shop"); now != life {
		t.Errorf("the project has life %d, want %d: its cells fail alone", now, life)
	}
	r.once(t, 6*40)
}

func q(project string) *loomv1.Query { return &loomv1.Query{Project: project} }

// once checks that so many decisions and beads are in the journal, each once.
func (r *rig) once(t *testing.T, want int) {
	t.Helper()
	decisions := r.requests(func(e *loomv1.Event) string { return e.GetDecisionAdded().GetRequest() })
	beads := r.requests(func(e *loomv1.Event) string { return e.GetBeadFiled().GetRequest() })
	for what, seen := range map[string]map[string]int{"decisions": decisions, "beads": beads} {
		if len(seen) != want {
			t.Errorf("%d %s in the journal, want %d", len(seen), what, want)
		}
		for key, n := range seen {
			if n != 1 {
				t.Errorf("%s: %.16s is in the journal %d times", what, key, n)
			}
		}
	}
}

// TestACT05_ADomainThatFailsComesBackAlone has the cores of a project fail while
// proposals of it are being appended and others wait: those in the append count, the
// waiting ones are proposed again, and another project of the partition goes on.
func TestACT05_ADomainThatFailsComesBackAlone(t *testing.T) {
	r := newRig(t)
	var served atomic.Int32
	r.config.Open = func() func() { served.Add(1); return func() {} }
	poisoned := make(chan struct{}, 100)
	r.config.Trouble = func(actors.Trouble) { poisoned <- struct{}{} }
	r.start().register("shop", "researcher").register("farm", "researcher")
	var failures atomic.Int32
	failed := func(what string, err error) {
		switch fault.Code(err) {
		case "", "graph/unknown-node":
		case "internal/error":
			failures.Add(1)
		default:
			t.Errorf("%s: %v", what, err)
		}
	}
	farm, shop := r.projects.Life("farm"), r.projects.Life("shop")
	const rounds, each = 8, 10
	for round := range rounds {
		entered, release := r.log.hold()
		var all sync.WaitGroup
		for i := range each {
			key := fmt.Sprintf("k%d-%d", round, i)
			all.Go(func() {
				_, err := r.do(observe(key))
				failed("decision "+key, err)
				_, err = r.do(file("shop", key))
				failed("bead "+key, err)
			})
		}
		<-entered
		r.clock.boom(1)
		all.Go(func() { // the cores fail at this one, or at another that is decided then
			bad := &loomv1.CastVote{Decision: fmt.Sprint("d", 1000+round)}
			_, err := r.do(&loomv1.Command{Project: "shop", Body: &loomv1.Command_CastVote{CastVote: bad}})
			failed(fmt.Sprint("a vote on ", bad.Decision), err)
		})
		<-poisoned
		release()
		r.must(file("farm", fmt.Sprint("f", round)))
		all.Wait()
	}
	if r.projects.Life("farm") != farm {
		t.Error("the other project was folded anew")
	}
	if r.projects.Life("shop") == shop {
		t.Error("the project was not folded anew")
	}
	if n := served.Load(); n != 1 {
		t.Errorf("the partition was opened %d times, want once", n)
	}
	if n := failures.Load(); n != rounds {
		t.Errorf("%d commands were set aside, want %d", n, rounds)
	}
	kept := 0
	for _, of := range []func(*loomv1.Event) string{
		func(e *loomv1.Event) string { return e.GetDecisionAdded().GetRequest() },
		func(e *loomv1.Event) string { return e.GetBeadFiled().GetRequest() },
	} {
		for key, n := range r.requests(of) {
			if kept++; n != 1 {
				t.Errorf("%.16s is in the journal %d times", key, n)
			}
		}
	}
	if least := 2 * rounds * each; kept < least { // the other project's beads are as many as could be set aside
		t.Errorf("%d decisions and beads are in the journal, want %d at least", kept, least)
	}
}

// TestACT05_ATurnThatDoesNotEndIsGivenUp stalls the graph cell in its turn: the
// project comes back, and what the turn comes to later is in no journal.
func TestACT05_ATurnThatDoesNotEndIsGivenUp(t *testing.T) {
	r := newRig(t)
	r.config.TurnMost = 50 * time.Millisecond
	r.start().register("shop", "researcher").register("farm", "researcher")
	farm := r.projects.Life("farm")
	stalled, over := r.clock.hold(), make(chan error, 1)
	go func() {
		_, err := r.do(observe("endless"))
		over <- err
	}()
	free := <-stalled
	for i := range 5 {
		r.must(file("shop", fmt.Sprint("k", i)))
		r.must(observe(fmt.Sprint("d", i)))
	}
	close(free)
	wantCode(t, "the command whose turn did not end", <-over, "internal/error")
	r.must(observe("last"))
	seen := r.requests(func(e *loomv1.Event) string { return e.GetDecisionAdded().GetNode().GetTitle() })
	if seen["endless"] != 0 || seen["last"] != 1 || seen["d4"] != 1 {
		t.Errorf("decisions in the journal: %v", seen)
	}
	if r.projects.Life("farm") != farm {
		t.Error("the other project was folded anew")
	}
}

// TestACT05_AProjectThatCannotBeFoldedIsSetAside has the journal damaged while the
// project works from memory; its next life cannot begin, and the others go on.
func TestACT05_AProjectThatCannotBeFoldedIsSetAside(t *testing.T) {
	r := newRig(t)
	told := make(chan string, 10)
	unreadable := &unreadableLog{gate: r.log}
	r.config.Log = unreadable
	r.config.Trouble = func(t actors.Trouble) { told <- t.Kind }
	r.start().register("shop", "researcher").register("farm", "researcher")
	unreadable.bad.Store(true)
	r.clock.boom(1)
	_, err := r.do(file("shop", "k"))
	wantCode(t, "poison", err, "internal/error")
	for kind := range told {
		if kind == "quarantined" {
			break
		}
	}
	_, err = r.do(file("shop", "k2"))
	wantCode(t, "a project that cannot be folded", err, "project/quarantined")
	r.must(file("farm", "k"))
}

// unreadableLog is a log whose batches are damaged when they are read again.
type unreadableLog struct {
	*gate
	bad atomic.Bool
}

func (l *unreadableLog) Read(ctx context.Context, from uint64, fn func(uint64, *loomv1.Batch) error) error {
	if l.bad.Load() {
		return fault.New("journal/chain", "batch %d does not follow", from)
	}
	return l.gate.Read(ctx, from, fn)
}

// TestACT01_AProjectThatHasNotBegunIsWatched has the turns of projects looked at
// between the moment in which a project has an address and that of its first life.
func TestACT01_AProjectThatHasNotBegunIsWatched(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	actors.WatchUnbegun(ctx)
}

package lives

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A crash loop of many agents is counted in full and bounded in the journal.
func TestSUB04_ACrashLoopDoesNotFloodTheJournal(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	l := New(Config{Host: "h1", Epoch: 3}, now)
	counted, records, last := 0, 0, uint64(0)
	take := func() {
		for {
			list, _ := l.take(now)
			if len(list) == 0 {
				return
			}
			if len(list) > batch {
				t.Fatalf("%d records in one command", len(list))
			}
			for _, r := range list {
				if r.Life.Sequence != last+1 || r.Life.Host != "h1" || r.Life.Epoch != 3 || r.Life.Role == "" || r.Life.Agents == 0 {
					t.Fatalf("record %v after %d", r, last)
				}
				counted, records, last = counted+int(r.Life.Times), records+1, r.Life.Sequence
			}
		}
	}
	const crashes, seconds = 60_000, 60
	for i := range crashes {
		agent := fmt.Sprintf("researcher/%d", i%300)
		l.Note(now, loomv1.LifeKind_LIFE_KIND_CRASHED, "researcher", agent, "index out of range")
		if i%(crashes/seconds) == 0 {
			now = now.Add(time.Second)
			take()
		}
	}
	if records > burst+seconds+1 {
		t.Errorf("%d records in a minute, at most %d", records, burst+seconds+1)
	}
	for range 300 {
		now = now.Add(time.Second)
		take()
	}
	if counted != crashes {
		t.Errorf("%d crashes are told of %d", counted, crashes)
	}
}

// What few agents do in their lives is told one by one.
func TestSUB04_LivesAreToldOneByOne(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	l := New(Config{Host: "h1", Epoch: 1}, now)
	l.Note(now, loomv1.LifeKind_LIFE_KIND_STARTED, "lead", "lead/1", "")
	l.Note(now, loomv1.LifeKind_LIFE_KIND_STARTED, "lead", "lead/2", "")
	for range 3 {
		l.Note(now, loomv1.LifeKind_LIFE_KIND_CRASHED, "lead", "lead/1", "nil map")
	}
	list, wait := l.take(now)
	if len(list) != 3 || wait != 0 || list[0].Life.Agent != "lead/1" || list[1].Life.Agent != "lead/2" || list[2].Life.Times != 3 || list[2].Life.Reason != "nil map" {
		t.Errorf("told are %v", list)
	}
	if list, _ := l.take(now); len(list) != 0 {
		t.Errorf("told again: %v", list)
	}
}

// Whatever happens to agents and whenever it is told: what is told of an agent last is
// what happened to it last, times rise, and nothing is told twice or not at all.
func TestSUB04_WhatIsToldLastIsHowAnAgentIs(t *testing.T) {
	kinds := []loomv1.LifeKind{loomv1.LifeKind_LIFE_KIND_STARTED, loomv1.LifeKind_LIFE_KIND_CRASHED, loomv1.LifeKind_LIFE_KIND_RESTARTED, loomv1.LifeKind_LIFE_KIND_GIVEN_UP}
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
		l := New(Config{Host: "h1", Epoch: 1}, now)
		was, told := map[string]loomv1.LifeKind{}, map[string]loomv1.LifeKind{}
		noted, counted, at := map[loomv1.LifeKind]int{}, map[loomv1.LifeKind]int{}, time.Time{}
		take := func() {
			list, _ := l.take(now)
			for _, r := range list {
				if r.Life.At.AsTime().Before(at) {
					t.Fatalf("%s of %s is told after %s", r.Kind, r.Life.At.AsTime(), at)
				}
				at, told[r.Life.Agent] = r.Life.At.AsTime(), r.Kind
				counted[r.Kind] += int(r.Life.Times)
			}
		}
		for range rapid.IntRange(1, 100).Draw(t, "things") {
			now = now.Add(time.Millisecond)
			agent := rapid.SampledFrom([]string{"lead/1", "lead/2", "analyst/1"}).Draw(t, "agent")
			kind := rapid.SampledFrom(kinds).Draw(t, "kind")
			role, _, _ := strings.Cut(agent, "/")
			l.Note(now, kind, role, agent, "so it is")
			was[agent] = kind
			noted[kind]++
			if rapid.IntRange(0, 9).Draw(t, "tells") == 0 {
				take()
			}
		}
		for len(l.pending) > 0 {
			now = now.Add(time.Second)
			take()
		}
		if !maps.Equal(was, told) || !maps.Equal(noted, counted) {
			t.Fatalf("told are %v, counted %v; it is %v, noted %v", told, counted, was, noted)
		}
	})
}

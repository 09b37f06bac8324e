package memory_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/core/memory"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var vocabulary = []string{"cache", "tests", "not", "deploy", "5432", "8080", "never", "the", "parser", "a"}

func someText(t *rapid.T) string {
	text := ""
	for range rapid.IntRange(1, 4).Draw(t, "words") {
		text += rapid.SampledFrom(vocabulary).Draw(t, "word") + " "
	}
	return text
}

// step does something at random.
func step(t *rapid.T, w *world) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 7200).Draw(t, "seconds")) * time.Second)
	id := fmt.Sprintf("m%d", rapid.IntRange(1, 12).Draw(t, "id"))
	who := w.as(rapid.SampledFrom([]loomv1.MemoryTrust{agent, person, runtime}).Draw(t, "who"))
	who.Outside = rapid.Bool().Draw(t, "outside")
	if who.Trust == agent {
		who.Execution = rapid.SampledFrom([]string{"x1", "x2"}).Draw(t, "execution")
		who.Attempt = fmt.Sprintf("%s-a%d", who.Execution, rapid.IntRange(1, 3).Draw(t, "attempt"))
	}
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0, 1, 2, 3:
		e := entry(rapid.SampledFrom([]string{"decision", "metric", "rumour"}).Draw(t, "type"), someText(t))
		e.Layer = loomv1.MemoryLayer(rapid.IntRange(0, 3).Draw(t, "layer"))
		e.Confidence = uint32(rapid.IntRange(0, 101).Draw(t, "confidence"))
		if rapid.Bool().Draw(t, "expires") {
			e.Expires = timestamppb.New(w.now.Add(time.Duration(rapid.IntRange(0, 9000).Draw(t, "after")) * time.Second))
		}
		if rapid.Bool().Draw(t, "tagged") {
			e.Tags = []string{"t" + id}
		}
		_, _ = w.tryKeep(who, e)
	case 4:
		c := &loomv1.ChangeMemory{Id: id, Trust: rapid.Bool().Draw(t, "trust"), Promote: rapid.Bool().Draw(t, "promote"), ClearExpires: rapid.Bool().Draw(t, "for good")}
		if rapid.Bool().Draw(t, "other text") {
			c.Text = proto.String(someText(t))
		}
		_, _ = w.change(who, c)
	case 5:
		_, _ = w.forget(who, id)
	case 6, 7:
		if who.Trust == agent {
			w.offer(who, &loomv1.OfferMemory{Text: someText(t), Tokens: uint32(rapid.IntRange(1, 60).Draw(t, "tokens"))})
		}
	case 8:
		w.end(rapid.Bool().Draw(t, "completed"))
	case 9:
		if err := w.Tick(w.as(runtime)); err != nil {
			t.Fatalf("tick: %v", err)
		}
	}
}

// Two copies that read the same log never differ, nor does one that begins with a
// snapshot; what they find is the same.
func TestMEM01_Replay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		steps, half := rapid.IntRange(1, 40).Draw(t, "steps"), 0
		var snapshot *loomv1.MemoryState
		for i := range steps {
			if i == steps/2 {
				snapshot, half = proto.CloneOf(w.Snapshot()), len(w.log)
			}
			step(t, w)
		}
		replayed := memory.New()
		restored, err := memory.Restore(snapshot)
		if err != nil {
			t.Fatalf("restore: %v", err)
		}
		for i, e := range w.log {
			if err := replayed.Apply(proto.CloneOf(e)); err != nil {
				t.Fatalf("replay of event %d: %v", i+1, err)
			}
			if i >= half {
				if err := restored.Apply(proto.CloneOf(e)); err != nil {
					t.Fatalf("event %d after a snapshot: %v", i+1, err)
				}
			}
		}
		q := memory.Question{Text: someText(t), Execution: "x1", Now: w.now, Tokens: 100}
		want := w.Retrieve(q)
		for name, copied := range map[string]*memory.Memory{"replayed": replayed, "restored": restored} {
			if copied.Hash() != w.Hash() {
				t.Fatalf("%s: another state:\n%v\n%v", name, copied.Snapshot(), w.Snapshot())
			}
			if got := copied.Retrieve(q); !proto.Equal(got, want) {
				t.Fatalf("%s: finds %q, want %q", name, got.Text, want.Text)
			}
			at, ok := copied.Next()
			if wantAt, wantOK := w.Next(); ok != wantOK || !at.Equal(wantAt) {
				t.Fatalf("%s: next at %v, want %v", name, at, wantAt)
			}
		}
	})
}

// What holds after every step.
func TestMEM01_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			step(t, w)
			said, counted := map[string]string{}, 0
			for _, e := range w.Snapshot().Entries {
				gone := e.Status != loomv1.MemoryStatus_MEMORY_STATUS_ACTIVE
				switch {
				case gone && (e.Text != "" || len(e.Tags)+len(e.Sources)+len(e.Contradicts) > 0):
					t.Fatalf("%s is gone and says something", e.Id)
				case gone:
					continue
				case e.Trust == alien && e.Layer == l2:
					t.Fatalf("%s is untrusted and durable", e.Id)
				}
				counted++
				key := fmt.Sprint(e.Type, e.Namespace, e.Layer, e.Execution, e.Trust == alien, e.Text)
				if e.Layer == l2 {
					key = fmt.Sprint(e.Type, e.Namespace, e.Layer, e.Trust == alien, e.Text)
				}
				if other, ok := said[key]; ok {
					t.Fatalf("%s says what %s says: %q", e.Id, other, e.Text)
				}
				said[key] = e.Id
			}
			if counted != w.Len() {
				t.Fatalf("%d entries count, and Len says %d", counted, w.Len())
			}
			q := memory.Question{
				Text: someText(t), Execution: rapid.SampledFrom([]string{"x1", "x2", ""}).Draw(t, "reader"),
				Now: w.now, Tokens: rapid.IntRange(0, 60).Draw(t, "budget"),
			}
			found := w.Retrieve(q)
			if int(found.Tokens) > q.Tokens || (len(found.Text)+3)/4 > q.Tokens && found.Text != "" {
				t.Fatalf("%d tokens and %d bytes in a budget of %d", found.Tokens, len(found.Text), q.Tokens)
			}
			for _, i := range found.Items {
				if i.Entry.Status != loomv1.MemoryStatus_MEMORY_STATUS_ACTIVE || i.Entry.Layer == l1 && i.Entry.Execution != q.Execution {
					t.Fatalf("%q is found by %q", i.Entry, q.Execution)
				}
			}
			if again := w.Retrieve(q); !proto.Equal(again, found) {
				t.Fatalf("asked again: %q, was %q", again.Text, found.Text)
			}
		}
	})
}

// An event that cannot follow changes nothing, whatever it says.
func TestMEM01_ApplyRefusesWhatCannotFollow(t *testing.T) {
	w := newWorld(t)
	w.keep(w.as(person), entry("decision", "one"))
	gone := w.keep(w.as(person), entry("decision", "two"))
	if _, err := w.forget(w.as(person), gone.Id); err != nil {
		t.Fatal(err)
	}
	full := func(id, text string) *loomv1.MemoryEntry {
		return &loomv1.MemoryEntry{Id: id, Type: "decision", Text: text, Layer: l2, Trust: person, Status: loomv1.MemoryStatus_MEMORY_STATUS_ACTIVE, Count: 1}
	}
	session := full("m3", "three")
	session.Layer = l1
	for name, e := range map[string]*loomv1.Event{
		"a gap":                   {Fact: &loomv1.Event_MemoryKept{MemoryKept: &loomv1.MemoryKept{Entry: full("m4", "three")}}},
		"the same again":          {Fact: &loomv1.Event_MemoryKept{MemoryKept: &loomv1.MemoryKept{Entry: full("m3", "One!")}}},
		"a session of nobody":     {Fact: &loomv1.Event_MemoryKept{MemoryKept: &loomv1.MemoryKept{Entry: session}}},
		"nothing":                 {Fact: &loomv1.Event_MemoryKept{MemoryKept: &loomv1.MemoryKept{}}},
		"a merge with nobody":     {Fact: &loomv1.Event_MemoryMerged{MemoryMerged: &loomv1.MemoryMerged{Id: "m9", Count: 2}}},
		"a merge that counts not": {Fact: &loomv1.Event_MemoryMerged{MemoryMerged: &loomv1.MemoryMerged{Id: "m1", Count: 1}}},
		"a change of a tombstone": {Fact: &loomv1.Event_MemoryChanged{MemoryChanged: &loomv1.MemoryChanged{Entry: full("m2", "x")}}},
		"a tombstone once more":   {Fact: &loomv1.Event_MemoryForgotten{MemoryForgotten: &loomv1.MemoryForgotten{Id: "m2"}}},
		"twice in one":            {Fact: &loomv1.Event_MemoryExpired{MemoryExpired: &loomv1.MemoryExpired{Ids: []string{"m1", "m1"}}}},
		"an offer of nothing":     {Fact: &loomv1.Event_MemoryOffered{MemoryOffered: &loomv1.MemoryOffered{Offer: &loomv1.MemoryOffer{Attempt: "a", Entries: []string{"m8"}}}}},
		"an offer to nobody":      {Fact: &loomv1.Event_MemoryOffered{MemoryOffered: &loomv1.MemoryOffered{}}},
	} {
		before := w.Hash()
		e.Time = timestamppb.New(noon)
		codeOf(t, name, w.Apply(e), "memory/inconsistent")
		if w.Hash() != before {
			t.Errorf("%s: changed the memory", name)
		}
	}
}

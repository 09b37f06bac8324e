package reading

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What an execution was is the same by position, by number and by time, with a
// snapshot that may be used, with one that may not, and with none.
func TestWF16_StateAsOfAnyMoment(t *testing.T) {
	longtest.Skip(t)
	for seed := range uint64(4) {
		c := newChronicle(t, seed, 24)
		p := c.pasts()
		switch seed % 4 {
		case 1:
			b, err := batchAt(t.Context(), c.logs[0], c.heads[0].Sequence/2)
			if err != nil {
				t.Fatal(err)
			}
			c.keep("store", 0, c.heads[0].Sequence/2, b.Hash)
		case 2:
			c.keep("store", 0, c.heads[0].Sequence/2, []byte("another journal's"))
		case 3:
			c.keep("store", 0, c.heads[0].Sequence, c.heads[0].Hash)
		}
		for id, all := range c.live("store") {
			for i, w := range all {
				moments := []moment{{at: w.at}, {number: w.event.Number}}
				if i+1 == len(all) || all[i+1].event.Time.AsTime().After(w.event.Time.AsTime()) {
					moments = append(moments, moment{time: w.event.Time.AsTime()})
				}
				if i+1 == len(all) {
					moments = append(moments, moment{})
				}
				for _, m := range moments {
					got, err := p.state(t.Context(), id, m)
					if err != nil || !proto.Equal(got.Execution, w.state) || got.Number != w.event.Number || !proto.Equal(got.Time, w.event.Time) {
						t.Fatalf("seed %d: %s as of %+v: %v, %v\nwant event %d at %v:\n%v", seed, id, m, got, err, w.event.Number, w.at, w.state)
					}
					again, err := p.state(t.Context(), id, moment{at: got.Position})
					if err != nil || !proto.Equal(again.Execution, got.Execution) || again.Number != got.Number || seed == 0 && !proto.Equal(got.Position, w.at) {
						t.Fatalf("seed %d: %s as of the place %v that was answered for %v: %v, %v", seed, id, got.Position, w.at, again, err)
					}
				}
			}
		}
	}
}

func TestWF16_MomentsThatHistoryDoesNotHave(t *testing.T) {
	c := newChronicle(t, 5, 30)
	p := c.pasts()
	last, newest, err := c.logs[0].Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var count uint64
	for _, e := range c.told {
		if e.event.Project == "store" {
			count = e.event.Number
		}
	}
	for _, tt := range []struct {
		name string
		m    moment
		want string
	}{
		{"the first event", moment{number: 1}, "position/before"},
		{"the first position", moment{at: &loomv1.Position{Epoch: 1, Sequence: 1}}, "position/before"},
		{"long ago", moment{time: noon.Add(-time.Hour)}, "position/before"},
		{"the newest number", moment{number: count}, ""},
		{"the next number", moment{number: count + 1}, "position/beyond"},
		{"the next batch", moment{at: &loomv1.Position{Epoch: 1, Sequence: last + 1}}, "position/beyond"},
		{"a batch's next event", moment{at: &loomv1.Position{Epoch: 1, Sequence: last, Index: uint32(len(newest.Events))}}, "position/beyond"},
		{"no batch", moment{at: &loomv1.Position{Epoch: 1}}, "position/beyond"},
		{"tomorrow", moment{time: time.Now().Add(24 * time.Hour)}, "position/beyond"},
		{"another epoch", moment{at: &loomv1.Position{Epoch: 3, Sequence: last}}, "position/elsewhere"},
		{"another partition", moment{at: &loomv1.Position{Partition: 1, Epoch: 1, Sequence: 1}}, "position/elsewhere"},
	} {
		if got, err := p.state(t.Context(), "store-1-x1", tt.m); fault.Code(err) != tt.want {
			t.Errorf("as of %s: %v, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestWF16_OneMomentIsAsked(t *testing.T) {
	at := &loomv1.Position{Sequence: 1}
	now := timestamppb.New(noon)
	for _, tt := range []struct {
		q  *loomv1.StateRequest
		ok bool
	}{
		{&loomv1.StateRequest{}, true},
		{&loomv1.StateRequest{At: at}, true},
		{&loomv1.StateRequest{Time: now}, true},
		{&loomv1.StateRequest{Number: 1}, true},
		{&loomv1.StateRequest{At: at, Time: now}, false},
		{&loomv1.StateRequest{At: at, Number: 1}, false},
		{&loomv1.StateRequest{Time: now, Number: 1}, false},
	} {
		if _, err := momentOf(tt.q.At, tt.q.Time, tt.q.Number); (err == nil) != tt.ok {
			t.Errorf("momentOf(%v) = %v, want it taken: %t", tt.q, err, tt.ok)
		}
	}
}

// A journal whose history does not fold is named, not shown.
func TestWF16_AHistoryThatDoesNotFoldIsRefused(t *testing.T) {
	c := newChronicle(t, 6, 5)
	bad := &loomv1.Event{
		Number: 1 << 40, Project: "store", Bead: "store-1", Execution: "store-1-x1", Node: "triage", Time: c.told[len(c.told)-1].event.Time,
		Fact: &loomv1.Event_AttemptClaimed{AttemptClaimed: &loomv1.AttemptClaimed{}},
	}
	b := journal.Seal(c.heads[0], 0, 1, "h1.1", "bad", []*loomv1.Event{bad, bad, bad})
	if _, err := c.logs[0].Append(t.Context(), c.heads[0].Sequence, b); err != nil {
		t.Fatal(err)
	}
	p := c.pasts()
	if got, err := p.state(t.Context(), "store-1-x1", moment{}); fault.Code(err) != "project/quarantined" {
		t.Errorf("state = %v, %v, want project/quarantined", got, err)
	}
}

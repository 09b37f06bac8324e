package journal_test

import (
	"crypto/sha256"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// newer encodes a batch as a later build would: with events of which each is
// the known fields of e with a field that this build does not know among them,
// before its fact if number is small, and as its fact if it has none.
func newer(t *testing.T, number protowire.Number, e *loomv1.Event) []byte {
	t.Helper()
	known := proto.CloneOf(e)
	fact, err := proto.Marshal(&loomv1.Event{Fact: e.Fact})
	known.Fact = nil
	data, merr := proto.MarshalOptions{Deterministic: true}.Marshal(known)
	if err != nil || merr != nil {
		t.Fatal(err, merr)
	}
	data = protowire.AppendString(protowire.AppendTag(data, number, protowire.BytesType), "what is new")
	data = append(data, fact...)
	batch := journal.Encode(&loomv1.Batch{Epoch: 1, Writer: "h.1", Id: "b"})
	events := protowire.AppendBytes(protowire.AppendTag(nil, 7, protowire.BytesType), data)
	sum := sha256.Sum256(append(append([]byte(nil), batch...), events...))
	batch = protowire.AppendBytes(protowire.AppendTag(batch, 6, protowire.BytesType), sum[:])
	return append(batch, events...)
}

// TestP29_WhatIsNewerIsNotDamage reads batches of a later build, whole and with
// each bit flipped.
func TestP29_WhatIsNewerIsNotDamage(t *testing.T) {
	fact := &loomv1.Event_BeadStatusChanged{BeadStatusChanged: &loomv1.BeadStatusChanged{Reason: "why"}}
	for _, tt := range []struct {
		name        string
		number      protowire.Number
		event       *loomv1.Event
		chain, kind string // what the chain and the kind of the event are told as
	}{
		{"a field after the fact's number", 19, &loomv1.Event{Number: 1, Project: "shop"}, "", "journal/newer"},
		{"a kind of event", 669, &loomv1.Event{Number: 1, Project: "shop"}, "", "journal/newer"},
		{"a field before the fact", 19, &loomv1.Event{Number: 1, Project: "shop", Fact: fact}, "journal/newer", ""},
	} {
		data := newer(t, tt.number, tt.event)
		check := func(data []byte) (*loomv1.Batch, error) {
			b, err := journal.Decode(1, data)
			if err == nil {
				_, err = journal.Check(journal.Head{}, 1, b)
			}
			return b, journal.Told(1, data, err)
		}
		b, err := check(data)
		if fault.Code(err) != tt.chain {
			t.Errorf("%s: the chain: %v, want %q", tt.name, err, tt.chain)
		}
		if err := journal.Newer(b.Events[0]); fault.Code(err) != tt.kind {
			t.Errorf("%s: the event: %v, want %q", tt.name, err, tt.kind)
		}
		for bit := range len(data) * 8 {
			spoilt := append([]byte(nil), data...)
			spoilt[bit/8] ^= 1 << (bit % 8)
			if _, err := check(spoilt); fault.Code(err) != "journal/chain" {
				t.Errorf("%s: bit %d is flipped: %v, want journal/chain", tt.name, bit, err)
			}
		}
	}
}

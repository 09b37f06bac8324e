package lease

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// record is what the bucket holds for a key. The zero record stands for none.
type record struct {
	revision uint64
	nonce    string
	term     uint64
	serial   uint64
	ttl      time.Duration
	value    []byte
	released bool
}

func (r record) encode() []byte {
	m := &loomv1.LeaseRecord{
		Nonce: []byte(r.nonce), Term: r.term, Serial: r.serial, Ttl: durationpb.New(r.ttl), Value: r.value, Released: r.released,
	}
	data, _ := proto.Marshal(m) // fails only for text that is not UTF-8, of which it has none
	return data
}

// longest bounds the TTL of a record that somebody else wrote.
const longest = time.Hour

// decode reads what is stored at revision. What cannot be read is a record of
// nobody's that lapses like any other.
func decode(data []byte, revision uint64) record {
	var m loomv1.LeaseRecord
	if err := proto.Unmarshal(data, &m); err != nil {
		return record{revision: revision, term: revision, ttl: time.Minute}
	}
	r := record{
		revision: revision, nonce: string(m.Nonce), term: m.Term, serial: m.Serial, value: m.Value, released: m.Released,
		ttl: min(max(m.Ttl.AsDuration(), 0), longest),
	}
	if r.term == 0 {
		r.term = revision
	}
	return r
}

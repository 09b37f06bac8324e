package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Head is the end of a chain: the newest batch that was checked or written.
// The zero Head is the beginning of an empty log.
type Head struct {
	Sequence uint64
	Epoch    uint64
	Hash     []byte
}

// Sealed is a batch that continues a chain, with its encoding. Neither may be
// changed.
type Sealed struct {
	*loomv1.Batch
	encoding []byte
}

// Encoding is what a log stores of the batch: what [Encode] makes of it.
func (s Sealed) Encoding() []byte { return s.encoding }

// Again returns a batch that was sealed before, to be appended to another log.
func Again(b *loomv1.Batch) Sealed { return Sealed{b, Encode(b)} }

// Seal returns the batch that continues the chain at h. It keeps events and
// does not change them; they must not change afterwards. They are encoded once,
// with room for the hash, which is that of the bytes around it.
func Seal(h Head, partition int, epoch uint64, writer, id string, events []*loomv1.Event) Sealed {
	b := &loomv1.Batch{
		Partition: uint32(partition), Epoch: epoch, Writer: writer, Id: id,
		Previous: h.Hash, Hash: make([]byte, sha256.Size), Events: events,
	}
	data := Encode(b)
	room := hashOf(data)
	sum := sha256.New()
	sum.Write(data[:room-hashHead])
	sum.Write(data[room+sha256.Size:])
	b.Hash = sum.Sum(b.Hash[:0])
	copy(data[room:], b.Hash)
	return Sealed{b, data}
}

// hashHead is how many bytes the tag and the length of a hash take.
var hashHead = protowire.SizeTag(hashField) + protowire.SizeVarint(sha256.Size)

// hashOf returns where in the encoding of a batch its hash begins.
func hashOf(data []byte) int {
	for at := 0; ; {
		number, kind, tag := protowire.ConsumeTag(data[at:])
		if number == hashField {
			return at + hashHead
		}
		at += tag + protowire.ConsumeFieldValue(number, kind, data[at+tag:])
	}
}

// hash returns the SHA-256 of all fields of b but its hash.
func hash(b *loomv1.Batch) []byte {
	c := &loomv1.Batch{
		Partition: b.Partition, Epoch: b.Epoch, Writer: b.Writer, Id: b.Id,
		Previous: b.Previous, Events: b.Events,
	}
	c.ProtoReflect().SetUnknown(b.ProtoReflect().GetUnknown())
	sum := sha256.Sum256(Encode(c))
	return sum[:]
}

// Encode returns the deterministic encoding of b, which is what a log stores.
// It panics on a batch that cannot be encoded, which only text that is not
// UTF-8 can bring about: such an event should never have been decided.
func Encode(b *loomv1.Batch) []byte {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(b)
	if err != nil {
		panic("journal: batch " + b.Id + " by " + b.Writer + ": " + err.Error())
	}
	return data
}

// Decode returns the batch that Encode made data of, or journal/chain.
func Decode(seq uint64, data []byte) (*loomv1.Batch, error) {
	b := new(loomv1.Batch)
	if err := proto.Unmarshal(data, b); err != nil {
		return nil, broken(seq, "the batch cannot be decoded").Because(err)
	}
	return b, nil
}

// Check returns the head after b, which the log holds at seq, or journal/chain
// that names seq when b does not continue the chain at h: when a batch is
// missing before it, when it was altered, or when its epoch goes backwards.
func Check(h Head, seq uint64, b *loomv1.Batch) (Head, error) {
	switch {
	case seq != h.Sequence+1:
		return h, broken(seq, "the batch after %d is missing", h.Sequence)
	case !bytes.Equal(b.Hash, hash(b)):
		return h, broken(seq, "batch %d was altered: its hash is not that of its content", seq)
	case !bytes.Equal(b.Previous, h.Hash):
		return h, broken(seq, "batch %d does not continue batch %d", seq, h.Sequence)
	case b.Epoch < h.Epoch:
		return h, broken(seq, "batch %d is of epoch %d, after epoch %d", seq, b.Epoch, h.Epoch)
	}
	return Head{Sequence: seq, Epoch: b.Epoch, Hash: b.Hash}, nil
}

func broken(seq uint64, format string, args ...any) *fault.Error {
	e := fault.New("journal/chain", format, args...)
	e.Message = fault.New("journal/chain", "journal sequence %d: %s", seq, e.Message).Message
	return e
}

// errFound ends a Read that has seen enough.
var errFound = errors.New("found")

// Settle says whether b, appended to log at h with an unknown outcome, is in
// the log, and returns the head that follows from it. It blocks as Last does.
//
// When committed is false and err is nil, b is not in the log, but a write
// that is still on its way may land: it is out for good as soon as another
// batch has been appended at h, and that append returns journal/moved if b was
// faster. So tell callers of b that its outcome is unknown, never that it was
// refused. Settle returns journal/moved when another writer has appended since
// (b may be committed even so), and journal/behind when the log ends before h.
func Settle(ctx context.Context, log Log, h Head, b Sealed) (committed bool, head Head, err error) {
	last, newest, err := log.Last(ctx)
	if err != nil {
		return false, h, err
	}
	ours := Head{Sequence: h.Sequence + 1, Epoch: b.Epoch, Hash: b.Hash}
	switch {
	case last < h.Sequence:
		return false, h, fault.New("journal/behind", "journal of partition %d ends at %d, before %d", log.Partition(), last, h.Sequence)
	case last == h.Sequence:
		return false, h, same(h, newest)
	case last == ours.Sequence && newest.Id == b.Id:
		return true, ours, nil
	case last == ours.Sequence:
		return false, h, moved(h, newest)
	}
	var next *loomv1.Batch
	err = log.Read(ctx, ours.Sequence, func(seq uint64, b *loomv1.Batch) error {
		if seq == ours.Sequence {
			next = b
		}
		return errFound
	})
	if !errors.Is(err, errFound) {
		return false, h, err
	}
	if next != nil && next.Id == b.Id {
		return true, ours, moved(ours, newest)
	}
	return false, h, moved(h, newest)
}

// same returns journal/chain when the newest batch is not the one at h.
func same(h Head, newest *loomv1.Batch) error {
	if newest != nil && !bytes.Equal(newest.Hash, h.Hash) {
		return broken(h.Sequence, "batch %d is not the one that was checked", h.Sequence)
	}
	return nil
}

func moved(h Head, newest *loomv1.Batch) error {
	return fault.New("journal/moved", "journal of partition %d was extended past %d by %s", newest.Partition, h.Sequence, newest.Writer)
}

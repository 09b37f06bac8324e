package journal

import (
	"bytes"
	"crypto/sha256"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// CheckStored is [Check] of a batch in the encoding that the log holds at seq.
// It decodes no event, and takes a batch of a newer build for what it is: whole.
// It keeps no reference to data.
func CheckStored(h Head, seq uint64, data []byte) (Head, error) {
	s, err := seen(seq, data)
	switch {
	case err != nil:
		return h, err
	case seq != h.Sequence+1:
		return h, broken(seq, "the batch after %d is missing", h.Sequence)
	case !bytes.Equal(s.previous, h.Hash):
		return h, broken(seq, "batch %d does not continue batch %d", seq, h.Sequence)
	case s.epoch < h.Epoch:
		return h, broken(seq, "batch %d is of epoch %d, after epoch %d", seq, s.epoch, h.Epoch)
	}
	return Head{Sequence: seq, Epoch: s.epoch, Hash: bytes.Clone(s.hash)}, nil
}

// Reading checks what one read of a log passes on, batch by batch, from
// wherever it begins. The zero Reading has read nothing.
type Reading struct {
	at    Head
	begun bool
}

// Next takes the batch that the log holds at seq. It returns journal/chain when
// the batch was altered, and unless it is the first, when it does not continue
// the one before it: a batch in between is missing then, or was replaced.
func (r *Reading) Next(seq uint64, data []byte) error {
	if !r.begun {
		s, err := seen(seq, data)
		if err != nil {
			return err
		}
		r.at, r.begun = Head{Sequence: seq - 1, Epoch: s.epoch, Hash: s.previous}, true
	}
	at, err := CheckStored(r.at, seq, data)
	if err != nil {
		return err
	}
	r.at = at
	return nil
}

// Head is where the read has come to: the newest batch that was checked.
func (r *Reading) Head() Head { return r.at }

// stored is what the chain needs to know of an encoded batch.
type stored struct {
	epoch          uint64
	previous, hash []byte
}

// The numbers of the fields that make the chain.
var (
	epochField    = numberOf("epoch")
	previousField = numberOf("previous")
	hashField     = numberOf("hash")
)

func numberOf(field protoreflect.Name) protowire.Number {
	return (&loomv1.Batch{}).ProtoReflect().Descriptor().Fields().ByName(field).Number()
}

// seen reads an encoded batch, and returns journal/chain unless its hash is that
// of all its other bytes. The slices of what it returns are data's.
func seen(seq uint64, data []byte) (s stored, err error) {
	sum := sha256.New()
	for rest := data; len(rest) > 0; {
		number, kind, tag := protowire.ConsumeTag(rest)
		if tag < 0 {
			return s, broken(seq, "the batch cannot be decoded")
		}
		size := protowire.ConsumeFieldValue(number, kind, rest[tag:])
		if size < 0 {
			return s, broken(seq, "the batch cannot be decoded")
		}
		field, value := rest[:tag+size], rest[tag:tag+size]
		rest = rest[tag+size:]
		switch {
		case number == hashField && kind == protowire.BytesType:
			s.hash, _ = protowire.ConsumeBytes(value)
			continue
		case number == epochField && kind == protowire.VarintType:
			s.epoch, _ = protowire.ConsumeVarint(value)
		case number == previousField && kind == protowire.BytesType:
			s.previous, _ = protowire.ConsumeBytes(value)
		}
		sum.Write(field)
	}
	if !bytes.Equal(s.hash, sum.Sum(nil)) {
		return s, broken(seq, "batch %d was altered: its hash is not that of its content", seq)
	}
	return s, nil
}

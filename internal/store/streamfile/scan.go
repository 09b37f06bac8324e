package streamfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/loomrun/loom/internal/base/fault"
)

// Record is a message as it is stored. Its slices are valid during the call
// that passes it on.
type Record struct {
	Sequence uint64
	Block    uint32 // that holds it, for [Stream.ScanBlocks]
	Time     time.Time
	Subject  string
	Header   []byte // as on the wire, or nil
	Data     []byte
}

// Damage is a place whose bytes are not what the server wrote.
type Damage struct {
	// Block is the file, relative to the stream's directory.
	Block string
	// Offset is where in the file it begins, in bytes.
	Offset int
	// After is the last sequence before it that is sound, or 0.
	After uint64
	// Torn says that the file ends within the record: what a write that was
	// cut off, and never acknowledged, leaves behind. Cut files look so too.
	Torn bool
	// Reason is a few words for a person.
	Reason string
}

// Fault is what the damage is called, stream and sequence included.
func (d Damage) Fault(stream string) *fault.Error {
	return damaged(stream, "sequence %d: %s at byte %d: %s", d.After+1, d.Block, d.Offset, d.Reason)
}

// Scan is what reading a stream found, beside its records.
type Scan struct {
	stream string
	// Last is the newest sound sequence, that of a deleted message included.
	Last uint64
	// Deleted are sequences that were deleted behind their block.
	Deleted map[uint64]bool
	// Damage lists what is not sound, in order.
	Damage []Damage
}

// Err returns data/damaged with the first place of damage, other than a torn
// end of the newest block, or nil.
func (s Scan) Err() error {
	for i, d := range s.Damage {
		if !d.Torn || i < len(s.Damage)-1 {
			return d.Fault(s.stream)
		}
	}
	return nil
}

// Torn returns the torn end of the newest block, if it has one.
func (s Scan) Torn() (Damage, bool) {
	if n := len(s.Damage); n > 0 && s.Damage[n-1].Torn {
		return s.Damage[n-1], true
	}
	return Damage{}, false
}

// Scan passes every sound record to fn, in the order of the log, and says what
// is not sound: behind a bad record it goes on with the next block. Records
// that were deleted since may still be passed on; Scan.Deleted names them. It
// returns fn's error as it is. It holds one block in memory, at most some
// 10 MiB.
func (s *Stream) Scan(fn func(Record) error) (Scan, error) {
	blocks, err := s.Blocks()
	if err != nil {
		return Scan{}, err
	}
	return s.scan(blocks, fn)
}

// Tail is Scan of the newest block alone.
func (s *Stream) Tail(fn func(Record) error) (Scan, error) {
	blocks, err := s.Blocks()
	if err != nil {
		return Scan{}, err
	}
	return s.scan(blocks[max(0, len(blocks)-1):], fn)
}

// ScanBlocks is Scan of some blocks alone, in the order that is given; it names damage
// in these.
func (s *Stream) ScanBlocks(blocks []uint32, fn func(Record) error) (Scan, error) {
	return s.scan(blocks, fn)
}

func (s *Stream) scan(blocks []uint32, fn func(Record) error) (Scan, error) {
	found := Scan{stream: s.name, Deleted: map[uint64]bool{}}
	unpacker := s2.NewReader(nil)
	for i, number := range blocks {
		data, err := os.ReadFile(s.block(number))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was dropped while we read
		}
		if err != nil {
			return found, damaged(s.name, "block %d cannot be read", number).Because(err)
		}
		b := block{number: number, data: data, unpacker: unpacker, digest: digestOf(fmt.Sprintf("%s-%d", s.name, number)), found: &found}
		if err := b.read(fn); err != nil {
			return found, err
		}
		if n := len(found.Damage); n > 0 && i < len(blocks)-1 {
			found.Damage[n-1].Torn = false // something was written after it
		}
	}
	return found, nil
}

// The layout of a record: a head of 22 bytes (length with a bit for "has
// headers", sequence, time, length of the subject), the subject, with headers
// their length and they, the data, and a checksum.
const (
	headBytes = 22
	sumBytes  = 8
	hasHeader = 1 << 31
	erased    = 1 << 63
	tombstone = 1 << 62
	mostBytes = 32 << 20
)

// block is a block that is being read.
type block struct {
	number uint32
	data   []byte
	digest hash.Hash // of its records, to be reset
	// unpacker reads compressed blocks, to be reset.
	unpacker *s2.Reader
	found    *Scan
}

// read passes the block's records on.
func (b *block) read(fn func(Record) error) error {
	cut := b.unpack()
	for at := 0; at < len(b.data); {
		raw, reason, torn := b.record(at)
		if reason != "" && cut == nil {
			b.damage(at, torn, reason)
			return nil
		}
		if reason != "" {
			break // it ends there because the rest cannot be unpacked
		}
		if err := b.pass(raw, fn); err != nil {
			return err
		}
		at += len(raw)
	}
	if cut != nil {
		b.damage(0, false, "what is compressed cannot be read behind it: "+cut.Error())
	}
	return nil
}

// packed begins a block that the server has compressed with S2, as it does when
// a block is full: the size it had follows, the records but for the checksum of
// the last one, and that.
var packed = []byte("cmp\x01")

// unpack puts the records of a compressed block in the place of what is stored.
// With an error they are those before the place that is damaged.
func (b *block) unpack() error {
	if !bytes.HasPrefix(b.data, packed) {
		return nil
	}
	stored := b.data[len(packed):]
	size, n := binary.Uvarint(stored)
	if n <= 0 || len(stored) < n+sumBytes || size > mostBytes {
		b.data = nil
		return errors.New("its head makes no sense")
	}
	body, sum := stored[n:len(stored)-sumBytes], stored[len(stored)-sumBytes:]
	if size < sumBytes {
		b.data = nil
		return errors.New("its head makes no sense")
	}
	b.unpacker.Reset(bytes.NewReader(body))
	records := make([]byte, size)
	got, err := io.ReadFull(b.unpacker, records[:size-sumBytes])
	if err != nil {
		b.data = records[:got]
		return err
	}
	if more, err := b.unpacker.Read(records[size-sumBytes:]); more > 0 || !errors.Is(err, io.EOF) {
		b.data = records[:got]
		return errors.Join(errors.New("it has more than there was"), err)
	}
	copy(records[size-sumBytes:], sum)
	b.data = records
	return nil
}

func (b *block) damage(at int, torn bool, reason string) {
	name := filepath.Join("msgs", fmt.Sprintf("%d.blk", b.number))
	b.found.Damage = append(b.found.Damage, Damage{Block: name, Offset: at, After: b.found.Last, Torn: torn, Reason: reason})
}

// record returns the bytes of the record at an offset, or what is wrong.
func (b *block) record(at int) (raw []byte, reason string, torn bool) {
	rest := b.data[at:]
	if len(rest) < headBytes {
		return nil, "the record is cut off", true
	}
	length := binary.LittleEndian.Uint32(rest)
	size := int(length &^ hasHeader)
	switch {
	case size > mostBytes || size < headBytes+sumBytes+subjectBytes(rest):
		return nil, "the record's length makes no sense", false
	case size > len(rest):
		return nil, "the record is cut off", true
	}
	raw = rest[:size]
	if !bytes.Equal(b.sum(raw), raw[size-sumBytes:]) {
		return nil, "the record's checksum is wrong", false
	}
	if !headed(raw) {
		return nil, "the length of the record's headers makes no sense", false
	}
	return raw, "", false
}

// headed says whether a record's headers end where they should: their length
// is not part of the checksum.
func headed(raw []byte) bool {
	if binary.LittleEndian.Uint32(raw)&hasHeader == 0 {
		return true
	}
	header, _ := split(raw, headBytes+int(binary.LittleEndian.Uint16(raw[20:])))
	return bytes.HasPrefix(header, []byte("NATS/1.0")) && bytes.HasSuffix(header, []byte("\r\n\r\n"))
}

// subjectBytes is how long the subject is, with the length of the headers.
func subjectBytes(raw []byte) int {
	n := int(binary.LittleEndian.Uint16(raw[20:]))
	if binary.LittleEndian.Uint32(raw)&hasHeader != 0 {
		n += 4
	}
	return n
}

// sum computes a record's checksum.
func (b *block) sum(raw []byte) []byte {
	subject := int(binary.LittleEndian.Uint16(raw[20:]))
	b.digest.Reset()
	for _, part := range [][]byte{raw[4:20], raw[headBytes : headBytes+subject], raw[headBytes+subjectBytes(raw) : len(raw)-sumBytes]} {
		_, _ = b.digest.Write(part)
	}
	var sum [sumBytes]byte
	return b.digest.Sum(sum[:0])
}

// pass gives a sound record to fn, unless it stands for a deletion.
func (b *block) pass(raw []byte, fn func(Record) error) error {
	seq := binary.LittleEndian.Uint64(raw[4:])
	switch {
	case seq&tombstone != 0:
		b.found.Deleted[seq&^tombstone] = true
		b.found.Last = max(b.found.Last, seq&^tombstone)
		return nil
	case seq == 0 || seq&erased != 0:
		b.found.Last = max(b.found.Last, seq&^erased)
		return nil
	case seq <= b.found.Last:
		return nil // it was written again since
	}
	b.found.Last = seq
	r := Record{Sequence: seq, Block: b.number, Time: time.Unix(0, int64(binary.LittleEndian.Uint64(raw[12:])))}
	subject := int(binary.LittleEndian.Uint16(raw[20:]))
	r.Subject = string(raw[headBytes : headBytes+subject])
	r.Header, r.Data = split(raw, headBytes+subject)
	return fn(r)
}

// split returns the headers and the data of a record whose subject ends at an
// offset.
func split(raw []byte, at int) (header, data []byte) {
	end := len(raw) - sumBytes
	if binary.LittleEndian.Uint32(raw)&hasHeader == 0 {
		return nil, raw[at:end]
	}
	n := int(binary.LittleEndian.Uint32(raw[at:]))
	if n > end-at-4 {
		return nil, nil
	}
	return raw[at+4 : at+4+n], raw[at+4+n : end]
}

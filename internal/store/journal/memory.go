package journal

import (
	"context"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Fault is what goes wrong with an append to a [Memory].
type Fault int

const (
	// Refuse answers journal/full and writes nothing.
	Refuse Fault = iota + 1
	// LoseReply writes and answers journal/unknown.
	LoseReply
	// LoseWrite writes nothing and answers journal/unknown.
	LoseWrite
	// LandLate answers journal/unknown and writes after the next Last, unless
	// something else was appended by then.
	LandLate
	// Corrupt writes with one bit of the writer's name flipped and answers
	// as if all were well.
	Corrupt
)

// Memory is a Log in memory, for tests. It keeps encoded batches, so what is
// read back shares nothing with what was appended.
type Memory struct {
	partition int
	// turn is the lock: who holds its token may touch what follows.
	turn    chan struct{}
	batches [][]byte
	cut     uint64        // how many of them are purged
	grown   chan struct{} // closed when batches grow
	faults  []Fault
	late    *lateBatch
	closed  bool
}

type lateBatch struct {
	last uint64
	data []byte
}

// NewMemory returns an empty log of a partition.
func NewMemory(partition int) *Memory {
	m := &Memory{partition: partition, turn: make(chan struct{}, 1), grown: make(chan struct{})}
	m.turn <- struct{}{}
	return m
}

func (m *Memory) acquire() { <-m.turn }
func (m *Memory) release() { m.turn <- struct{}{} }

// FailNext makes the appends that follow fail, one for each kind, in order.
func (m *Memory) FailNext(kinds ...Fault) {
	m.acquire()
	defer m.release()
	m.faults = append(m.faults, kinds...)
}

// Truncate forgets every batch after sequence last, as damage would.
func (m *Memory) Truncate(last uint64) {
	m.acquire()
	defer m.release()
	m.batches = m.batches[:min(last, uint64(len(m.batches)))]
}

// Purge forgets every batch up to sequence last, as a cut does.
func (m *Memory) Purge(_ context.Context, last uint64) error {
	m.acquire()
	defer m.release()
	m.cut = max(m.cut, last)
	return nil
}

// Close makes every later call return journal/closed.
func (m *Memory) Close() {
	m.acquire()
	defer m.release()
	m.closed = true
	m.announce()
}

// Partition returns the number that NewMemory was given.
func (m *Memory) Partition() int { return m.partition }

// Append is that of [Log].
func (m *Memory) Append(ctx context.Context, last uint64, b Sealed) (uint64, error) {
	data := b.Encoding()
	if len(data) > MaxBytes {
		return 0, TooLarge(m.partition, len(data))
	}
	m.acquire()
	defer m.release()
	if err := m.open(ctx); err != nil {
		return 0, err
	}
	if seq := uint64(len(m.batches)); last != seq {
		if last+1 == seq && m.decode(seq).Id == b.Id {
			return seq, nil
		}
		return 0, moved(Head{Sequence: last}, m.decodeOr(seq, b.Batch))
	}
	return m.write(last, data)
}

// write appends data, subject to the next fault.
func (m *Memory) write(last uint64, data []byte) (uint64, error) {
	switch m.fault() {
	case Refuse:
		return 0, fault.New("journal/full", "journal of partition %d is full", m.partition)
	case LoseWrite:
		return 0, m.unknown()
	case LandLate:
		m.late = &lateBatch{last, data}
		return 0, m.unknown()
	case LoseReply:
		m.grow(data)
		return 0, m.unknown()
	case Corrupt:
		b, _ := Decode(last+1, data)
		b.Writer = string(append([]byte{b.Writer[0] ^ 1}, b.Writer[1:]...))
		data = Encode(b)
	}
	m.grow(data)
	return last + 1, nil
}

func (m *Memory) fault() Fault {
	if len(m.faults) == 0 {
		return 0
	}
	f := m.faults[0]
	m.faults = m.faults[1:]
	return f
}

func (m *Memory) unknown() error {
	return fault.New("journal/unknown", "journal of partition %d: the outcome of an append is unknown", m.partition)
}

func (m *Memory) grow(data []byte) {
	m.batches = append(m.batches, data)
	m.announce()
}

func (m *Memory) announce() {
	close(m.grown)
	m.grown = make(chan struct{})
}

// open returns why the log cannot be used, if so.
func (m *Memory) open(ctx context.Context) error {
	if m.closed {
		return fault.New("journal/closed", "journal of partition %d is closed", m.partition)
	}
	return ctx.Err()
}

// Last is that of [Log].
func (m *Memory) Last(ctx context.Context) (uint64, *loomv1.Batch, error) {
	m.acquire()
	defer m.release()
	if err := m.open(ctx); err != nil {
		return 0, nil, err
	}
	seq := uint64(len(m.batches))
	b := m.decodeOr(seq, nil)
	m.land()
	return seq, b, nil
}

// land writes what was still on its way.
func (m *Memory) land() {
	if m.late != nil && m.late.last == uint64(len(m.batches)) {
		m.grow(m.late.data)
	}
	m.late = nil
}

func (m *Memory) decode(seq uint64) *loomv1.Batch {
	b, err := Decode(seq, m.batches[seq-1])
	if err != nil {
		panic(err)
	}
	return b
}

func (m *Memory) decodeOr(seq uint64, none *loomv1.Batch) *loomv1.Batch {
	if seq == 0 {
		return none
	}
	return m.decode(seq)
}

// Read is that of [Log].
func (m *Memory) Read(ctx context.Context, from uint64, fn func(uint64, *loomv1.Batch) error) error {
	_, err := m.read(ctx, new(Reading), max(from, 1), fn)
	return err
}

// read returns the sequence that would be next.
func (m *Memory) read(ctx context.Context, r *Reading, seq uint64, fn func(uint64, *loomv1.Batch) error) (uint64, error) {
	for seq = max(seq, m.oldest()); ; seq++ {
		data, err := m.at(ctx, seq)
		if data == nil || err != nil {
			return seq, err
		}
		if err := r.Next(seq, data); err != nil {
			return seq, err
		}
		b, err := Decode(seq, data)
		if err != nil {
			return seq, err
		}
		if err := fn(seq, b); err != nil {
			return seq, err
		}
	}
}

func (m *Memory) oldest() uint64 {
	m.acquire()
	defer m.release()
	return m.cut + 1
}

func (m *Memory) at(ctx context.Context, seq uint64) ([]byte, error) {
	m.acquire()
	defer m.release()
	if err := m.open(ctx); err != nil || seq > uint64(len(m.batches)) {
		return nil, err
	}
	return m.batches[seq-1], nil
}

// Follow is that of [Log].
func (m *Memory) Follow(ctx context.Context, from uint64, fn func(uint64, *loomv1.Batch) error) error {
	r := new(Reading)
	for seq := max(from, 1); ; {
		m.acquire()
		grown := m.grown
		m.release()
		next, err := m.read(ctx, r, seq, fn)
		if err != nil {
			return err
		}
		seq = next
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TooLarge returns the journal/too-large of a batch of size bytes.
func TooLarge(partition, size int) error {
	return fault.New("journal/too-large", "batch for partition %d has %d bytes, more than %d", partition, size, MaxBytes)
}

// Package journal is the contract of the log that everything Loom knows is
// folded from: what an append promises, how batches are chained by their
// hashes, and what to do when the outcome of an append is not known. It also
// holds the log's in-memory twin, for tests.
//
// It promises that a batch which was altered, moved, left out or written by a
// stale writer is found by [Check]. It never talks to a server and never reads
// the clock; the log on JetStream is package natsjournal.
package journal

import (
	"context"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// MaxBytes is the largest encoded batch that a log takes. A writer aims at a
// quarter of it.
const MaxBytes = 1 << 20

// Log is the journal of one partition. Its methods may be called from several
// goroutines.
type Log interface {
	// Partition returns the number of the partition, from 0.
	Partition() int

	// Append writes b after the batch whose sequence is last, 0 for an empty
	// log, and returns the sequence of b. It blocks until the log has b on
	// its disk or ctx ends, and keeps no reference to b. A batch is at most
	// MaxBytes when encoded.
	//
	// It returns journal/moved if the log has grown past last: read on,
	// decide again, append again. After journal/unknown the batch may be in
	// the log, or get there later: call [Settle] before appending anything.
	// The batch is not in the log after any other error: journal/too-large,
	// journal/full, journal/closed. Appending a batch that already is the
	// newest again returns its sequence.
	Append(ctx context.Context, last uint64, b Sealed) (uint64, error)

	// Last returns the newest batch and its sequence, or 0 and nil from an
	// empty log. It sees everything that was acknowledged before the call.
	Last(ctx context.Context) (uint64, *loomv1.Batch, error)

	// Read calls fn for every batch from sequence from on, in order, and
	// returns when the log has no more just now. Where the log was cut, it
	// begins with the first batch that is left. It passes on no batch that was
	// altered, nor one behind a gap: it returns journal/chain, which names the
	// sequence, in its place. It returns fn's error as it is, and ctx's when it
	// ends.
	Read(ctx context.Context, from uint64, fn func(seq uint64, b *loomv1.Batch) error) error

	// Follow is Read that goes on for ever: it waits for batches to come and
	// returns only fn's error, ctx's, journal/chain or journal/closed. It
	// delivers each batch once.
	Follow(ctx context.Context, from uint64, fn func(seq uint64, b *loomv1.Batch) error) error
}

// Snapshots keeps snapshots of projects. They can always be made again from
// the log, so one that is missing or unreadable is not an error: the reader
// gets nil and replays from the beginning. Its methods may be called from
// several goroutines.
type Snapshots interface {
	// Save keeps s and returns where. It blocks until s is stored. Saving
	// the same project and sequence again replaces it.
	Save(ctx context.Context, s *loomv1.Snapshot) (*loomv1.SnapshotRef, error)

	// Load returns the snapshot that ref names, or nil when it is not there,
	// cannot be read, or is not as of the position that ref says.
	Load(ctx context.Context, ref *loomv1.SnapshotRef) (*loomv1.Snapshot, error)

	// Index returns the partition's index, or nil when there is none that
	// can be read.
	Index(ctx context.Context, partition int) (*loomv1.SnapshotIndex, error)

	// SaveIndex replaces the partition's index, and then drops the snapshots
	// and segments that only the old one named. It is safe to repeat.
	SaveIndex(ctx context.Context, index *loomv1.SnapshotIndex) error

	// SaveSegment keeps a segment of ended work. It blocks until it is stored.
	// It is safe to repeat.
	SaveSegment(ctx context.Context, s Segment) error

	// LoadSegment returns the index of a segment, or its records, as they are
	// stored: see [Segments].
	LoadSegment(ctx context.Context, name string, records bool) ([]byte, error)
}

// Package storecheck reads the files of streams to their end and compares them
// with the checksums of the server that wrote them and, for journals, with
// their chain.
//
// A server that rebuilds what it knows of a stream cuts the file at the first
// record whose checksum is wrong. So a host runs a pass before its server opens
// the files, and passes beside the server from then on. A pass promises that
// every flipped bit in a block of the streams that it was given is named, with
// stream and sequence, and that it changes nothing.
package storecheck

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/headmark"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/streamfile"
)

// Stream is a stream to be read.
type Stream struct {
	Account, Name string
	// Journal says that its records are the batches of a journal, which must
	// continue each other.
	Journal bool
	// Mark is what is known of the journal from elsewhere: it must reach the
	// mark's head, and have that batch there. The zero Mark demands nothing.
	Mark headmark.Mark
}

// Pass is one reading of the streams of a data directory.
type Pass struct {
	// Path is the data directory.
	Path    string
	Streams []Stream
	// Beside says that a server runs on the files: the end of the newest block
	// may be read while it is written, and is damaged where it stays torn.
	Beside bool
	// Advice says in the errors what would be right.
	Advice string
}

// Damage is what is wrong with one stream.
type Damage struct {
	Stream string
	Err    *fault.Error
}

// Report is what a pass has found.
type Report struct {
	Damage []Damage
	// Bytes is how many were read, in Took.
	Bytes int64
	Took  time.Duration
}

// Err returns all damage as one error of status [fault.Integrity], or nil.
func (r Report) Err() error {
	var all []*fault.Error
	for _, d := range r.Damage {
		all = append(all, d.Err)
	}
	return fault.Join(all)
}

// Run reads all streams, as many at once as there are processors, each with one
// block in memory. Streams that are not there are left out: whether one may be
// missing is for others to say. The error is ctx's, when that ends first.
func (p Pass) Run(ctx context.Context) (Report, error) {
	began := time.Now()
	found := make([]*fault.Error, len(p.Streams))
	read := make([]int64, len(p.Streams))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range p.Streams {
		group.Go(func() (err error) {
			read[i], found[i], err = p.stream(ctx, s)
			return err
		})
	}
	err := group.Wait()
	report := Report{Took: time.Since(began)}
	for i, s := range p.Streams {
		report.Bytes += read[i]
		if found[i] != nil {
			report.Damage = append(report.Damage, Damage{s.Name, found[i]})
		}
	}
	return report, err
}

// settled is longer than a server takes to write what it has begun to write.
const settled = 100 * time.Millisecond

// stream reads one stream. What a server is writing can look like damage, so
// beside one it counts only when the next reading finds it too, in the same place.
func (p Pass) stream(ctx context.Context, s Stream) (read int64, damage *fault.Error, err error) {
	read, damage, err = p.once(ctx, s)
	for same := !p.Beside; damage != nil && err == nil && !same; {
		select {
		case <-time.After(settled):
		case <-ctx.Done():
			return read, nil, ctx.Err()
		}
		before := damage
		read, damage, err = p.once(ctx, s)
		same = damage != nil && damage.Message == before.Message
	}
	if damage == nil || err != nil {
		return read, nil, err
	}
	if damage.Hint == "" && p.Advice != "" {
		damage = damage.Want("%s", p.Advice)
	}
	return read, damage, nil
}

func (p Pass) once(ctx context.Context, s Stream) (read int64, damage *fault.Error, err error) {
	files, err := streamfile.Open(filepath.Join(p.Path, "jetstream", s.Account, "streams", s.Name))
	if fault.Code(err) == "data/stream-missing" {
		return 0, nil, nil
	}
	if err != nil {
		return 0, fault.From(err), nil
	}
	c := chain{ctx: ctx, mark: s.Mark}
	visit := c.record
	if s.Journal {
		visit = c.batch
	}
	scan, err := files.Scan(visit)
	read = files.Bytes()
	if ctx.Err() != nil {
		return read, nil, ctx.Err()
	}
	if err != nil && !errors.Is(err, errBroken) {
		return read, fault.From(err), nil
	}
	return read, p.judge(s, scan, c), nil
}

// judge says what is wrong with a stream that was read, the first place of it.
func (p Pass) judge(s Stream, scan streamfile.Scan, c chain) *fault.Error {
	if torn, ok := scan.Torn(); ok && p.Beside && len(scan.Damage) == 1 && c.broken == nil {
		return torn.Fault(s.Name)
	}
	if err := scan.Err(); err != nil && (c.broken == nil || scan.Damage[0].After <= c.last) {
		return fault.From(err)
	}
	if c.broken != nil {
		broken := *fault.From(c.broken)
		return broken.At(s.Name)
	}
	if seen := s.Mark.Head.Sequence; s.Journal && !p.Beside && c.last < seen {
		behind := headmark.Behind(s.Name, c.last, seen)
		if torn, ok := scan.Torn(); ok {
			behind.Message += "; " + torn.Block + " ends within a record"
		}
		return behind
	}
	return nil
}

// chain follows a journal.
type chain struct {
	ctx     context.Context
	mark    headmark.Mark
	reading journal.Reading
	last    uint64
	broken  error
}

// errBroken ends a reading whose chain does not go on.
var errBroken = errors.New("the chain ends here")

func (c *chain) record(streamfile.Record) error { return c.ctx.Err() }

func (c *chain) batch(r streamfile.Record) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if r.Sequence <= c.mark.Cut.Sequence {
		return nil // it was cut off, and the server has not dropped it yet
	}
	if c.broken = c.reading.Next(r.Sequence, r.Data); c.broken != nil {
		return errBroken
	}
	c.last = r.Sequence
	if m := c.mark.Head; r.Sequence == m.Sequence && !bytes.Equal(c.reading.Head().Hash, m.Hash) {
		c.broken = fault.New("journal/chain", "sequence %d is not the batch that was acknowledged there", r.Sequence)
		return errBroken
	}
	return nil
}

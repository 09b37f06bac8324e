package retention

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// An archive is compressed with zstandard. In it, each length as a varint:
//
//	"loom-archive\n"
//	length, About as JSON
//	for each batch: its sequence, length, the batch as the journal had it
//	0, length, End as JSON
//
// so one that was cut off is known to be.
const (
	magic  = "loom-archive\n"
	format = 1
	// mostJSON bounds what is read of About and End.
	mostJSON = 1 << 20
)

// About says what an archive is of.
type About struct {
	Format     int    `json:"format"`
	Deployment string `json:"deployment"`
	Partition  int    `json:"partition"`
	// First is the sequence of the oldest batch, Previous the hash of the one
	// before it, which the archive before ends with; empty for the first.
	First    uint64 `json:"first"`
	Previous string `json:"previous,omitempty"`
}

// End says how far an archive reaches.
type End struct {
	Last    uint64    `json:"last"`
	Epoch   uint64    `json:"epoch"`
	Hash    string    `json:"hash"`
	Batches uint64    `json:"batches"`
	Events  uint64    `json:"events"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
}

// Archive is an archive file that was read to its end.
type Archive struct {
	About
	End
	// SHA256 is that of the file, in lower-case hex, and Bytes its size.
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// writer writes an archive under a name that it has until it is whole.
type writer struct {
	path string
	file *os.File
	zip  *zstd.Encoder
	end  End
}

// create begins an archive at path.
func create(path string, about About) (*writer, error) {
	file, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, unwritable(path, err)
	}
	zip, err := zstd.NewWriter(file, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, errors.Join(unwritable(path, err), file.Close())
	}
	about.Format = format
	w := &writer{path: path, file: file, zip: zip, end: End{Last: about.First - 1, Hash: about.Previous}}
	if _, err = zip.Write([]byte(magic)); err == nil {
		err = w.putJSON(about)
	}
	if err != nil {
		w.abandon()
		return nil, unwritable(path, err)
	}
	return w, nil
}

func unwritable(path string, err error) error {
	return fault.New("data/permissions", "the archive cannot be written").At(path).Because(err)
}

func (w *writer) put(data []byte) error {
	_, err := w.zip.Write(append(binary.AppendUvarint(nil, uint64(len(data))), data...))
	return err
}

func (w *writer) putJSON(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.put(data)
}

// batch adds the next batch.
func (w *writer) batch(seq uint64, b *loomv1.Batch) error {
	if w.end.Batches++; w.end.Batches == 1 && len(b.Events) > 0 {
		w.end.From = b.Events[0].Time.AsTime()
	}
	if n := len(b.Events); n > 0 {
		w.end.To = b.Events[n-1].Time.AsTime()
	}
	w.end.Last, w.end.Epoch, w.end.Hash = seq, b.Epoch, hex.EncodeToString(b.Hash)
	w.end.Events += uint64(len(b.Events))
	_, err := w.zip.Write(binary.AppendUvarint(nil, seq))
	if err = errors.Join(err, w.put(journal.Encode(b))); err != nil {
		return unwritable(w.path, err)
	}
	return nil
}

// finish ends the archive, durably and under its name.
func (w *writer) finish() error {
	_, err := w.zip.Write([]byte{0})
	err = errors.Join(err, w.putJSON(w.end), w.zip.Close(), w.file.Sync(), w.file.Close())
	if err == nil {
		err = durable.Rename(w.path+".tmp", w.path)
	}
	if err != nil {
		return unwritable(w.path, err)
	}
	return nil
}

// abandon removes what was written. It may be called after finish.
func (w *writer) abandon() {
	_ = w.file.Close()
	_ = os.Remove(w.path + ".tmp")
}

// Read reads the archive at path to its end, passes every batch to visit, if
// that is not nil, and says what it holds. It returns archive/invalid, or
// journal/chain, when the archive is not whole or not what was written, and
// visit's error as it is.
func Read(ctx context.Context, path string, visit func(seq uint64, b *loomv1.Batch) error) (*Archive, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, invalid("it cannot be read").At(path).Because(err)
	}
	defer func() { _ = file.Close() }()
	sum := &counted{r: file, sum: sha256.New()}
	zip, err := zstd.NewReader(sum, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		return nil, invalid("it cannot be read").At(path).Because(err)
	}
	defer zip.Close()
	r := &reading{ctx: ctx, in: bufio.NewReader(zip), visit: visit, found: &Archive{}}
	if err := r.read(); err != nil {
		return nil, placed(path, err)
	}
	if _, err := io.Copy(io.Discard, sum); err != nil {
		return nil, invalid("it cannot be read").At(path).Because(err)
	}
	r.found.SHA256, r.found.Bytes = hex.EncodeToString(sum.sum.Sum(nil)), sum.n
	return r.found, nil
}

// placed names the archive that an error is about.
func placed(path string, err error) error {
	e := *fault.From(err)
	if e.Code == "archive/invalid" || e.Code == "journal/chain" {
		return e.At(path)
	}
	return err
}

func invalid(format string, args ...any) *fault.Error {
	e := fault.New("archive/invalid", format, args...)
	e.Message = "the archive is not whole, or not what was written: " + e.Message
	return e
}

// counted counts and sums what is read of a file.
type counted struct {
	r   io.Reader
	sum hash.Hash
	n   int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.sum.Write(p[:n])
	c.n += int64(n)
	return n, err
}

// reading is an archive that is being read.
type reading struct {
	ctx     context.Context
	in      *bufio.Reader
	visit   func(seq uint64, b *loomv1.Batch) error
	found   *Archive
	head    journal.Head
	batches uint64
	events  uint64
}

func (r *reading) read() error {
	if err := r.begin(); err != nil {
		return err
	}
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		seq, err := binary.ReadUvarint(r.in)
		if err != nil {
			return invalid("it ends before its end").Because(err)
		}
		if seq == 0 {
			return r.ended()
		}
		if err := r.batch(seq); err != nil {
			return err
		}
	}
}

func (r *reading) begin() error {
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(r.in, start); err != nil || string(start) != magic {
		return invalid("it does not begin as one").Because(err)
	}
	if err := r.json(&r.found.About); err != nil {
		return err
	}
	a := r.found.About
	previous, err := hex.DecodeString(a.Previous)
	if err != nil || a.Format != format || a.First == 0 {
		return invalid("it is of format %d, and this build reads %d", a.Format, format)
	}
	r.head = journal.Head{Sequence: a.First - 1, Hash: previous}
	return nil
}

// part reads what has its length before it.
func (r *reading) part(most uint64) ([]byte, error) {
	n, err := binary.ReadUvarint(r.in)
	if err != nil || n > most {
		return nil, invalid("a part has %d bytes", n).Because(err)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r.in, data); err != nil {
		return nil, invalid("it ends before its end").Because(err)
	}
	return data, nil
}

func (r *reading) json(v any) error {
	data, err := r.part(mostJSON)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return invalid("what it says of itself cannot be read").Because(err)
	}
	return nil
}

func (r *reading) batch(seq uint64) error {
	data, err := r.part(journal.MaxBytes)
	if err != nil {
		return err
	}
	b, err := journal.Decode(seq, data)
	if err == nil {
		r.head, err = journal.Check(r.head, seq, b)
	}
	if err == nil && int(b.Partition) != r.found.Partition {
		err = invalid("batch %d is of partition %d", seq, b.Partition)
	}
	if err != nil {
		return err
	}
	r.batches++
	r.events += uint64(len(b.Events))
	if r.visit == nil {
		return nil
	}
	return r.visit(seq, b)
}

// ended compares what was read with what the end says.
func (r *reading) ended() error {
	if err := r.json(&r.found.End); err != nil {
		return err
	}
	e := r.found.End
	if e.Last != r.head.Sequence || e.Hash != hex.EncodeToString(r.head.Hash) || e.Batches != r.batches || e.Events != r.events {
		return invalid("it holds %d batches up to %d, and should %d up to %d", r.batches, r.head.Sequence, e.Batches, e.Last)
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return invalid("it goes on after its end")
	}
	return nil
}

// Name returns the name of an archive's file, which tells what is in it.
func Name(partition int, first, last uint64) string {
	return fmt.Sprintf("journal-%02d-%012d-%012d%s", partition, first, last, suffix)
}

const suffix = ".loomarchive"

// named reads what Name wrote.
func named(name string) (partition int, first, last uint64, ok bool) {
	if !strings.HasSuffix(name, suffix) {
		return 0, 0, 0, false
	}
	_, err := fmt.Sscanf(strings.TrimSuffix(name, suffix), "journal-%02d-%012d-%012d", &partition, &first, &last)
	return partition, first, last, err == nil && name == Name(partition, first, last)
}

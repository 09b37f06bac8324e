package vault

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/datadir"
)

// A backup is a tar archive, compressed with zstandard. It begins with
// "backup.json", goes on with what the streams hold, and ends with "end.json",
// so that one that was cut off is known to be:
//
//	backup.json                     what it is of: About
//	message/STREAM/NUMBER           a message of a stream that is no journal, as JSON
//	snapshot/...  index/NN          snapshots of projects and where they are
//	journal/NN/SEQUENCE             batches, each as sequence, length and bytes
//	blob/SHA256                     a blob
//	file/NAME                       a file of the data directory
//	end.json                        how far each journal reaches: End
const (
	beginName = "backup.json"
	endName   = "end.json"
	format    = 1
	// entryBytes is about how much of a journal is one entry.
	entryBytes = 4 << 20
	// mostEntry bounds an entry that is read into memory.
	mostEntry = 256 << 20
)

// About says what a backup is of.
type About struct {
	Format   int              `json:"format"`
	MadeAt   time.Time        `json:"made_at"`
	Manifest datadir.Manifest `json:"manifest"`
}

// End says how far a backup reaches.
type End struct {
	Journals []Journal `json:"journals"`
	Blobs    int       `json:"blobs"`
	Messages int       `json:"messages"`
	// Lost tells of damage that a backup with salvage left out.
	Lost []string `json:"lost,omitempty"`
}

// message is a message of a stream.
type message struct {
	Subject string    `json:"subject"`
	Header  []byte    `json:"header,omitempty"`
	Data    []byte    `json:"data"`
	Time    time.Time `json:"time"`
}

// writer writes a backup.
type writer struct {
	zip *zstd.Encoder
	tar *tar.Writer
}

func newWriter(w io.Writer) (*writer, error) {
	zip, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return &writer{zip: zip, tar: tar.NewWriter(zip)}, nil
}

func (w *writer) put(name string, data []byte) error {
	head := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o600, Format: tar.FormatPAX}
	if err := w.tar.WriteHeader(head); err != nil {
		return err
	}
	_, err := w.tar.Write(data)
	return err
}

func (w *writer) putJSON(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.put(name, data)
}

func (w *writer) close() error { return errors.Join(w.tar.Close(), w.zip.Close()) }

// entries passes every entry of a backup to visit.
func entries(r io.Reader, visit func(name string, data []byte) error) error {
	zip, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		return notWhole(err)
	}
	defer zip.Close()
	archive := tar.NewReader(zip)
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return notWhole(err)
		}
		if head.Typeflag != tar.TypeReg || head.Size > mostEntry {
			return fault.New("backup/invalid", "the backup holds what no backup holds").At(head.Name)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return notWhole(err)
		}
		if err := visit(head.Name, data); err != nil {
			return err
		}
	}
}

func notWhole(err error) error {
	return fault.New("backup/invalid", "the backup cannot be read to its end").Because(err)
}

// appendBatch adds a batch to an entry.
func appendBatch(entry []byte, seq uint64, data []byte) []byte {
	entry = binary.AppendUvarint(entry, seq)
	entry = binary.AppendUvarint(entry, uint64(len(data)))
	return append(entry, data...)
}

// batches passes the batches of an entry on.
func batches(entry []byte, visit func(seq uint64, data []byte) error) error {
	for r := bytes.NewReader(entry); r.Len() > 0; {
		seq, err1 := binary.ReadUvarint(r)
		size, err2 := binary.ReadUvarint(r)
		if err1 != nil || err2 != nil || size > uint64(r.Len()) {
			return fault.New("backup/invalid", "batches of a journal are cut off")
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(r, data); err != nil {
			return notWhole(err)
		}
		if err := visit(seq, data); err != nil {
			return err
		}
	}
	return nil
}

package headmark

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
)

const (
	// Every is how long a mark waits to be written, at most.
	Every = time.Second
	// mostBytes is how large the file grows before it is written anew.
	mostBytes = 1 << 20
)

// Keeper keeps the file of a host. Its methods may be called from several
// goroutines.
type Keeper struct {
	path    string
	log     *slog.Logger
	kick    chan struct{} // write at once
	stop    chan struct{}
	stopped chan struct{}

	mu    sync.Mutex
	marks Marks
	dirty map[int]bool

	writing sync.Mutex // held by who writes
	file    *os.File
	size    int64
	broken  bool // the last write failed; the next one begins a new file
}

// Open opens the file of the data directory dir and keeps it until Close. The
// caller holds the directory's lock. Lines that are no marks are logged and
// dropped.
func Open(dir string, log *slog.Logger) (*Keeper, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	path := filepath.Join(dir, Name)
	marks, unsound, err := Read(path)
	if err != nil {
		return nil, err
	}
	if unsound > 0 {
		log.Warn("marks of the journals are damaged, or the last was not written to its end; the others count", "lines", unsound, "file", path)
	}
	k := &Keeper{
		path: path, log: log, marks: marks, dirty: map[int]bool{},
		kick: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	if err := k.renew(); err != nil {
		return nil, err
	}
	go k.run()
	return k, nil
}

// Known returns the mark of a partition; without one it is the zero head.
func (k *Keeper) Known(partition int) Mark {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := k.marks[partition]
	m.Partition = partition
	return m
}

// Note remembers that the journal of a partition has reached h. It returns at
// once; the mark is on the disk within [Every]. An older head changes nothing.
func (k *Keeper) Note(partition int, h journal.Head) { k.note(Mark{Partition: partition, Head: h}) }

// Cut remembers that the journal of a partition was cut up to h, and returns
// when that is on the disk.
func (k *Keeper) Cut(partition int, h journal.Head) error {
	k.note(Mark{Partition: partition, Cut: h})
	return k.Flush()
}

func (k *Keeper) note(m Mark) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.marks.add(m)
	k.dirty[m.Partition] = true
}

// Soon has what is noted written now, without waiting for it.
func (k *Keeper) Soon() {
	select {
	case k.kick <- struct{}{}:
	default:
	}
}

// run writes what was noted, until Close.
func (k *Keeper) run() {
	defer close(k.stopped)
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		select {
		case <-k.stop:
			return
		case <-tick.C:
		case <-k.kick:
		}
		if err := k.Flush(); err != nil {
			k.log.Error("the marks of the journals are not written", "error", err)
		}
	}
}

// Flush writes what was noted and returns when it is on the disk. It is safe
// to repeat.
func (k *Keeper) Flush() error {
	k.writing.Lock()
	defer k.writing.Unlock()
	text := k.changed()
	if len(text) == 0 && !k.broken {
		return nil
	}
	if k.broken || k.size+int64(len(text)) > mostBytes {
		return k.renew()
	}
	_, err := k.file.Write(text)
	if err = errors.Join(err, k.file.Sync()); err != nil {
		k.broken = true
		return fault.New("data/permissions", "the marks of the journals cannot be written").At(k.path).Because(err)
	}
	k.size += int64(len(text))
	return nil
}

// changed returns the lines of the marks that were noted since it was called.
func (k *Keeper) changed() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	some := Marks{}
	for p := range k.dirty {
		some[p] = k.marks[p]
	}
	clear(k.dirty)
	return encode(some)
}

// renew begins a new file with the newest marks alone.
func (k *Keeper) renew() error {
	k.mu.Lock()
	text := encode(k.marks)
	k.mu.Unlock()
	file, err := replace(k.path, text)
	if err != nil {
		k.broken = true
		return fault.New("data/permissions", "the marks of the journals cannot be written").At(k.path).Because(err)
	}
	if k.file != nil {
		_ = k.file.Close()
	}
	k.file, k.size, k.broken = file, int64(len(text)), false
	return nil
}

// replace puts a file in the place of another, whole or not at all, and
// returns it open.
func replace(path string, data []byte) (*os.File, error) {
	file, err := os.OpenFile(path+".tmp", os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync()); err == nil {
		err = durable.Rename(path+".tmp", path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Close writes what was noted and closes the file.
func (k *Keeper) Close() error {
	close(k.stop)
	<-k.stopped
	return errors.Join(k.Flush(), k.file.Close())
}

// Package watermark watches how much space is left on the disk of a data
// directory, so that new work is refused while there still is some for what is
// under way: a journal that cannot be written stops everything.
//
// It promises that work is refused before the space is used up as long as less
// than the mark is written between two looks, and taken again, by itself, when
// there is space. It never deletes anything.
package watermark

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

const (
	// DefaultBytes is how much must be free on a large disk.
	DefaultBytes = 512 << 20
	// part is which part of a small disk must be free: a tenth.
	part = 10
	// Every is how often the disk is looked at.
	Every = time.Second
)

// Config says what to watch. Only Path is required.
type Config struct {
	// Path is a directory on the disk.
	Path string

	// Bytes is how much must be free, at most a tenth of the disk. Zero means
	// DefaultBytes.
	Bytes uint64

	// Free returns how many bytes are free, and how many there are. Nil asks
	// the system.
	Free func(path string) (free, total uint64, err error)

	// Ticks says when to look, beside the beginning. Nil means Every.
	Ticks <-chan time.Time

	// Logger is told when work is refused, and taken again. Nil discards it.
	Logger *slog.Logger
}

// Watch watches a disk until Close. Its methods may be called from several
// goroutines.
type Watch struct {
	config Config
	stop   chan struct{}
	ended  chan struct{}

	mu   sync.Mutex
	full *fault.Error // nil while there is space
}

// Open looks once and goes on looking. It returns no error: a disk that cannot
// be asked is not watched, which is logged.
func Open(c Config) *Watch {
	if c.Bytes == 0 {
		c.Bytes = DefaultBytes
	}
	if c.Free == nil {
		c.Free = free
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	w := &Watch{config: c, stop: make(chan struct{}), ended: make(chan struct{})}
	if err := w.look(); err != nil {
		c.Logger.Warn("how much space is left cannot be seen, so nothing is refused for the lack of it", "error", err)
		close(w.ended)
		return w
	}
	go w.run()
	return w
}

func (w *Watch) run() {
	defer close(w.ended)
	ticks := w.config.Ticks
	if ticks == nil {
		ticker := time.NewTicker(Every)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		select {
		case <-w.stop:
			return
		case <-ticks:
			_ = w.look() // one that fails changes nothing
		}
	}
}

// look asks how much is free and remembers what follows.
func (w *Watch) look() error {
	left, total, err := w.config.Free(w.config.Path)
	if err != nil {
		return err
	}
	mark := min(w.config.Bytes, total/part)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch was := w.full != nil; {
	case left < mark:
		w.full = fault.New("data/disk-full", "%s free on the disk of the data directory; nothing new is taken below %s", size(left), size(mark)).
			Want("make space; it goes on by itself")
		if !was {
			w.config.Logger.Error("the disk is nearly full, so nothing new is taken", "free", size(left), "mark", size(mark), "path", w.config.Path)
		}
	case was && left >= mark+mark/part: // a little more, so that it does not flutter
		w.full = nil
		w.config.Logger.Info("there is space again, so new work is taken", "free", size(left), "path", w.config.Path)
	}
	return nil
}

// size is a number of bytes for a person.
func size(n uint64) string {
	const unit = 1 << 20
	if n < 10*unit {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n/unit)
}

// Admit returns data/disk-full while the disk is nearly full.
func (w *Watch) Admit() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.full == nil {
		return nil
	}
	e := *w.full
	return &e
}

// Now looks at once, and returns what Admit does.
func (w *Watch) Now() error {
	_ = w.look() // one that fails changes nothing
	return w.Admit()
}

// Space looks at once, and blocks until there is space or ctx ends. A disk that
// cannot be asked has space.
func (w *Watch) Space(ctx context.Context) error {
	ticker := time.NewTicker(Every)
	defer ticker.Stop()
	for {
		if w.Now() == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends the watching; Admit goes on to say what was seen last.
func (w *Watch) Close() {
	close(w.stop)
	<-w.ended
}

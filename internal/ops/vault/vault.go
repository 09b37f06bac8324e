// Package vault looks after what a data directory holds while no host, or
// beside the host that, runs on it: it verifies every journal from its first
// batch to its last, audits what people did, makes backups, and restores them.
//
// It promises that verifying and backing up change nothing, because they read
// the files without a server; that what it calls sound is whole, in order,
// unaltered, and reaches every mark that is known of it; that a backup is a
// prefix of each journal with all that its events name; and that after a
// restore every fencing token is above all that were ever given. It never
// repairs: a damaged directory is evidence.
package vault

import (
	"bytes"
	"path/filepath"

	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/headmark"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/internal/store/streamfile"
)

// Store is a data directory that is being read.
type Store struct {
	// Manifest says what must be in it.
	Manifest datadir.Manifest

	path    string
	beside  bool
	marks   headmark.Marks
	unsound int
	release func() error
	// Progress is told what is being read, a line each time. Nil tells nobody.
	Progress func(line string)
}

// Open opens the directory at path and holds its lock until Close, so that no
// host starts meanwhile. It returns data/locked, naming the process, when a
// host runs on it, and data/manifest when it is none.
func Open(path string) (*Store, error) {
	m, release, err := datadir.Hold(path)
	if err != nil {
		return nil, err
	}
	return open(path, m, release)
}

// OpenBeside is Open without the lock: a host may run on the directory. What
// it writes meanwhile may be read or not.
func OpenBeside(path string) (*Store, error) {
	m, err := datadir.Peek(path)
	if err != nil {
		return nil, err
	}
	return open(path, m, nil)
}

func open(path string, m datadir.Manifest, release func() error) (*Store, error) {
	s := &Store{Manifest: m, path: path, beside: release == nil, release: release}
	var err error
	// The marks are read first: what they say was in the journals before.
	if s.marks, s.unsound, err = headmark.Read(filepath.Join(path, headmark.Name)); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Close gives the lock up, if there is one.
func (s *Store) Close() error {
	if s.release == nil {
		return nil
	}
	return s.release()
}

func (s *Store) say(line string) {
	if s.Progress != nil {
		s.Progress(line)
	}
}

// account returns the account that keeps a stream of truth.
func account(stream string) string {
	if stream == tasks {
		return "TASKS"
	}
	return "CORE"
}

const tasks = "TASKS"

// stream opens a stream's files.
func (s *Store) stream(name string) (*streamfile.Stream, error) {
	return streamfile.Open(filepath.Join(s.path, "jetstream", account(name), "streams", name))
}

// partitionOf returns the partition whose journal a stream keeps.
func (s *Store) partitionOf(stream string) (int, bool) {
	for p := range s.Manifest.Partitions {
		if natsjournal.Stream(p) == stream {
			return p, true
		}
	}
	return 0, false
}

// equal compares hashes, of which one that is missing equals none.
func equal(a, b []byte) bool { return len(a) > 0 && bytes.Equal(a, b) }

package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Peek returns the manifest of the directory at path without locking or
// changing anything; a host may run on it. It returns data/manifest when there
// is none that is sound.
func Peek(path string) (Manifest, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Manifest{}, fault.New("usage/argument", "no data directory is named").Because(err)
	}
	m, err := (&Dir{path: abs}).load()
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, fault.New("data/manifest", "there is no data directory: it holds no %s", manifestName).At(abs).
			Want("name the one of \"loom up\" with --data")
	}
	return m, err
}

// Hold is Peek that takes the directory's lock, as a host would, and keeps it
// until release is called. It writes nothing but its process id into the lock.
// Within a second it returns data/locked, naming the holder's process id, when
// a host has the directory.
func Hold(path string) (m Manifest, release func() error, err error) {
	if m, err = Peek(path); err != nil {
		return m, nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return m, nil, fault.New("usage/argument", "no data directory is named").Because(err)
	}
	lock, err := acquire(abs)
	if err != nil {
		return m, nil, err
	}
	return m, lock.Close, nil
}

// OpenAtRest opens the directory at path for reading while no host runs on it, and has
// none start until Close. Several may read at once. It returns data/locked when a host
// has the directory, and data/manifest when it is none; it changes nothing.
func OpenAtRest(path string) (*Dir, error) {
	m, err := Peek(path)
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fault.New("usage/argument", "no data directory is named").Because(err)
	}
	lock := flock.New(filepath.Join(abs, lockName), flock.SetPermissions(0o600))
	free, err := lock.TryRLock()
	if err != nil {
		return nil, fault.New("data/permissions", "the lock cannot be taken").At(abs).Because(err)
	}
	if !free {
		return nil, locked(abs)
	}
	return &Dir{path: abs, lock: lock, manifest: m}, nil
}

// Create makes a directory with the manifest m, which must hold nothing yet,
// and opens it. It returns data/not-empty when something is there.
func Create(path string, m Manifest) (*Dir, error) {
	abs, err := prepare(path)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		return nil, fault.New("data/permissions", "data directory cannot be read").At(abs).Because(err)
	}
	if len(entries) > 0 {
		return nil, fault.New("data/not-empty", "the directory holds %q", entries[0].Name()).At(abs).Want("name an empty directory, or a new one")
	}
	lock, err := acquire(abs)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: abs, lock: lock, manifest: m}
	if err := errors.Join(m.check(), d.store()); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

// Older returns data/manifest when a batch was written by a later epoch than
// the manifest's, or by a later start of its host: an older manifest was put
// back, and would give both out again. The nil batch is older than everything.
func (m Manifest) Older(b *loomv1.Batch) error {
	if b.GetEpoch() > m.Epoch {
		return fault.New("data/manifest", "the manifest is of epoch %d, and batches are of epoch %d: an older manifest was put back", m.Epoch, b.Epoch)
	}
	rest, ours := strings.CutPrefix(b.GetWriter(), m.Host+".")
	count, _, _ := strings.Cut(rest, ".")
	if n, err := strconv.ParseUint(count, 10, 64); ours && err == nil && n > m.Starts {
		return fault.New("data/manifest", "the manifest counts start %d, and start %d has written: an older manifest was put back", m.Starts, n)
	}
	return nil
}

// Package datadir owns a host's data directory: the lock that lets one process
// at a time use it, the manifest that says what must be in it, and the join
// file that makes its host one of a deployment's.
//
// It promises that two processes never have one directory open, that what the
// manifest says survives a crash at any instant, and that a directory whose
// manifest is gone or unreadable is refused instead of begun anew. It never
// looks into the streams that others keep below it.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gofrs/flock"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
)

// DefaultPartitions is how many partitions a directory gets at its creation.
const DefaultPartitions = 4

// Config says how to open a directory. Only Path is required.
type Config struct {
	// Path is the directory; it is created, readable by its owner alone, if
	// it is absent.
	Path string

	// Partitions is how many journals the deployment has; it is fixed when
	// the directory is created and ignored afterwards. Zero means
	// DefaultPartitions; the most is 64.
	Partitions int

	// Mode is what the directory is wanted as, ModeSingle, ModeCluster or
	// ModeLeaf.
	// Empty means whatever it is, and ModeSingle for a new one.
	Mode string

	// Join makes a new directory that of a host of the join file's deployment;
	// a directory of that deployment takes its secrets anew. Nil is needed for
	// any other.
	Join *Join

	// External makes a new directory that of a host on NATS servers that
	// somebody else runs; it is needed at each start of such a directory, and
	// refused for any other.
	External *External
}

// Dir is an open data directory; the process holds its lock until Close. Its
// methods may be called from several goroutines.
type Dir struct {
	path string
	lock *flock.Flock

	mu       sync.Mutex
	manifest Manifest
}

// Open opens the directory at path with the defaults of [Config].
func Open(path string) (*Dir, error) { return Config{Path: path}.Open() }

// Open takes the directory's lock, before it reads or writes anything else,
// reads or makes the manifest, and counts this start in it. Within a second it
// returns data/locked, naming the holder's process id, when another process
// has the directory; data/manifest when the manifest is unreadable, of a newer
// format, or gone while there is data; data/permissions when others may write
// into the directory.
func (c Config) Open() (*Dir, error) {
	if c.Partitions == 0 {
		c.Partitions = DefaultPartitions
	}
	if c.Partitions < 1 || c.Partitions > 64 {
		return nil, fault.New("usage/argument", "a deployment has 1 to 64 partitions, not %d", c.Partitions)
	}
	path, err := prepare(c.Path)
	if err != nil {
		return nil, err
	}
	lock, err := acquire(path)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, lock: lock}
	if err := d.begin(c); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

// prepare makes the directory if need be and returns its absolute path.
func prepare(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil || path == "" {
		return "", fault.New("usage/argument", "no data directory is named").Because(err)
	}
	if err := durable.MakeAll(abs, 0o700); err != nil {
		return "", fault.New("data/permissions", "data directory cannot be made").At(abs).Because(err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", fault.New("data/permissions", "data directory cannot be read").At(abs).Because(err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return "", fault.New("data/permissions", "others may write into the data directory (mode %04o)", info.Mode().Perm()).
			At(abs).Want("chmod 700 it, or name another")
	}
	return abs, nil
}

// begin loads the manifest, or makes the first one, and counts the start.
func (d *Dir) begin(c Config) error {
	m, err := d.load()
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.empty(); err != nil {
			return err
		}
		m, err = d.found(c)
	}
	if err != nil {
		return err
	}
	if err := c.suits(d.path, m); err != nil {
		return err
	}
	if c.Join != nil {
		if err := d.admit(*c.Join, m.Host); err != nil {
			return err
		}
	}
	m.Starts++
	d.manifest = m
	return d.store()
}

// found returns the manifest of a directory that is empty.
func (d *Dir) found(c Config) (Manifest, error) {
	switch {
	case c.Join != nil:
		return joined(*c.Join), nil
	case c.External != nil:
		return external(*c.External), nil
	case c.Mode == ModeCluster:
		return Manifest{}, fault.New("cluster/mode", "the data directory is new, and a host joins a cluster with a join file").At(d.path).
			Want("loom up --join FILE; loom cluster init makes one")
	}
	m := first(c.Partitions)
	if c.Mode == ModeLeaf {
		m.Mode = ModeLeaf
	}
	return m, nil
}

// suits returns why the directory at path, whose manifest is m, is not what is
// wanted.
func (c Config) suits(path string, m Manifest) error {
	wanted := c.Mode
	if c.Join != nil || c.External != nil {
		wanted = ModeCluster
	}
	switch elsewhere := m.Cluster != nil && m.Cluster.External; {
	case elsewhere && c.External == nil:
		return fault.New("cluster/mode", "the data directory is that of a host on NATS servers that somebody else runs").At(path).
			Want("loom up --nats URL --creds FILE, or another directory, --data DIR")
	case !elsewhere && c.External != nil:
		return fault.New("cluster/mode", "the data directory is that of a host with a NATS server of its own").At(path).
			Want("begin with an empty directory, --data DIR")
	case c.External != nil && c.External.Deployment != m.Deployment:
		return fault.New("cluster/deployment", "the data directory belongs to deployment %s and the credentials to %s", m.Deployment, c.External.Deployment).At(path).
			Want("begin with an empty directory, --data DIR")
	case m.Moved != "":
		return fault.New("cluster/moved", "the deployment of this data directory was moved into a cluster").At(path).
			Want("start that; if it has never run, \"loom cluster init --from\" makes its files again")
	case wanted == ModeCluster && m.Mode == ModeSingle:
		return fault.New("cluster/mode", "the data directory is that of a host that is alone: in a cluster its streams would be deleted").At(path).
			Want("join with an empty directory, --data DIR")
	case wanted == "" && m.Mode == ModeLeaf:
		return fault.New("cluster/mode", "the data directory is that of a host that only runs agents").At(path).
			Want("loom up --agents-only, or another directory, --data DIR")
	case wanted != "" && wanted != m.Mode:
		return fault.New("cluster/mode", "the data directory is of mode %q, not %q", m.Mode, wanted).At(path)
	case c.Join != nil && c.Join.Deployment != m.Deployment:
		return fault.New("cluster/deployment", "the data directory belongs to deployment %s and the join file to %s", m.Deployment, c.Join.Deployment).At(path).
			Want("join with an empty directory, --data DIR")
	}
	return nil
}

// TLSName is where a host's certificate is kept, which is made before its first
// start.
const TLSName = "tls"

// leavings are what may be there before the first start, or what an interrupted
// one leaves.
var leavings = []string{lockName, manifestName + ".tmp", memberName, memberName + ".tmp", listName, listName + ".tmp", TLSName}

// empty returns data/manifest when the directory holds more than the lock and
// the leavings of an interrupted first start.
func (d *Dir) empty() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fault.New("data/permissions", "data directory cannot be read").At(d.path).Because(err)
	}
	for _, e := range entries {
		if !slices.Contains(leavings, e.Name()) {
			return fault.New("data/manifest", "the directory holds %q but no %s", e.Name(), manifestName).
				At(d.path).Want("name an empty directory, or restore the manifest")
		}
	}
	return nil
}

// Path returns the path of a file or directory below the data directory.
func (d *Dir) Path(parts ...string) string {
	return filepath.Join(append([]string{d.path}, parts...)...)
}

// Manifest returns a copy of what the manifest says now.
func (d *Dir) Manifest() Manifest {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.manifest
	return m.clone()
}

// SetCEO records the public key of the CEO, "U...", and returns when it is on
// the disk. One that was there before is kept as a former one.
func (d *Dir) SetCEO(public string) error {
	return d.update(func(m *Manifest) { m.enrol(public) })
}

// enrol makes a key the CEO's.
func (m *Manifest) enrol(public string) {
	if m.CEO != "" && m.CEO != public {
		m.Former = append(slices.Clone(m.Former), m.CEO)
	}
	m.CEO = public
}

// SetCluster records where the host listens for the others of its cluster, how
// they reach it, and where they are; a directory that is none of a cluster is
// left as it is.
func (d *Dir) SetCluster(listen, advertise string, routes []string) error {
	return d.update(func(m *Manifest) {
		if m.Cluster != nil {
			m.Cluster.Listen, m.Cluster.Advertise, m.Cluster.Routes = listen, advertise, slices.Clone(routes)
		}
	})
}

// Move records that the deployment of the directory at path, whose manifest is
// m, goes on in a cluster that begins with the named backup: from then on the
// directory cannot be opened. The caller has the lock, by [Hold]. A directory
// that was moved before may be moved again.
func Move(path string, m Manifest, seed string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return fault.New("usage/argument", "no data directory is named").Because(err)
	}
	d := &Dir{path: abs, manifest: m}
	return d.update(func(m *Manifest) { m.Moved = seed })
}

// Agree records what the hosts of a deployment have agreed on: which start of
// it this is, its epoch, and its CEO.
func (d *Dir) Agree(lineage string, epoch uint64, ceo string) error {
	return d.update(func(m *Manifest) {
		m.Lineage, m.Epoch = lineage, epoch
		m.enrol(ceo)
	})
}

// Intend records that the named truth streams are about to be created, and
// returns when that is on the disk. A stream that is intended and not yet
// [Dir.Created] may be absent without being damage.
func (d *Dir) Intend(streams ...string) error {
	return d.update(func(m *Manifest) { m.Intended = merge(m.Intended, streams) })
}

// Created records that the named truth streams exist: from now on they must.
func (d *Dir) Created(streams ...string) error {
	return d.update(func(m *Manifest) {
		m.Truth = merge(m.Truth, streams)
		m.Intended = slices.DeleteFunc(slices.Clone(m.Intended), func(s string) bool { return slices.Contains(streams, s) })
	})
}

// Renewing records that the named truth streams, in which nothing was ever written, are
// about to be made anew: they may be absent again until they are [Dir.Created].
func (d *Dir) Renewing(streams ...string) error {
	return d.update(func(m *Manifest) {
		m.Intended = merge(m.Intended, streams)
		m.Truth = slices.DeleteFunc(slices.Clone(m.Truth), func(s string) bool { return slices.Contains(streams, s) })
	})
}

// WriteFile puts a file of mode 0600 below the data directory, whole or not at
// all, and returns when it is on the disk.
func (d *Dir) WriteFile(data []byte, parts ...string) error {
	path := d.Path(parts...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return writeAtomic(path, data)
}

// Close gives the lock up. The directory may be opened again afterwards.
func (d *Dir) Close() error { return d.lock.Close() }

// merge returns the sorted union of two lists.
func merge(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

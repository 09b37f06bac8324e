package datadir

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
)

const (
	manifestName = "manifest.json"
	// format is the newest manifest that this build reads.
	format = 1
	// ModeSingle is a directory of a host that is alone.
	ModeSingle = "single"
	// ModeCluster is a directory of a host that keeps its deployment's streams
	// together with others.
	ModeCluster = "cluster"
	// ModeLeaf is a directory of a host that only runs agents: workspaces, and
	// no streams.
	ModeLeaf = "leaf"
)

// Manifest says what a data directory is and what must be in it.
type Manifest struct {
	// Format is the version of this file's format.
	Format int `json:"format"`
	// Deployment names the deployment for good: a token, "dp-...".
	Deployment string `json:"deployment"`
	// Host names this directory's host for good: a token, "h-...".
	Host string `json:"host"`
	// Mode is ModeSingle, ModeCluster or ModeLeaf. It never changes: the server deletes
	// the streams of one mode when it runs in the other.
	Mode string `json:"mode"`
	// Partitions is how many journals there are.
	Partitions int `json:"partitions"`
	// Epoch is the partitions' epoch, from 1; a restore raises it.
	Epoch uint64 `json:"epoch"`
	// Starts counts how often the directory was opened: the epoch of the
	// host's claims.
	Starts uint64 `json:"starts"`
	// CEO is the public key of the CEO, empty until there is one.
	CEO string `json:"ceo,omitempty"`
	// Former are the CEO's public keys before that one, oldest first: what they
	// have signed stays signed.
	Former []string `json:"former,omitempty"`
	// Truth lists the streams that must exist, sorted.
	Truth []string `json:"truth"`
	// Intended lists streams whose creation was begun, sorted.
	Intended []string `json:"intended,omitempty"`
	// Cluster says which cluster the host belongs to; nil unless Mode is
	// ModeCluster.
	Cluster *Cluster `json:"cluster,omitempty"`
	// Lineage names the beginning of a deployment of several hosts, empty until
	// they have agreed on it: one that began anew has another.
	Lineage string `json:"lineage,omitempty"`
	// Seed names the backup that a deployment of several hosts begins with;
	// empty for one that begins with nothing.
	Seed string `json:"seed,omitempty"`
	// Moved names the seed that this directory's deployment was moved into: it
	// goes on in a cluster, and no host starts here any more.
	Moved string `json:"moved,omitempty"`
	// Sum is the checksum of everything else. One that is missing is not
	// missed: who edits the file by hand removes it.
	Sum string `json:"sum,omitempty"`
}

// summed returns m with the sum of everything else in it.
func (m Manifest) summed() (Manifest, error) {
	m.Sum = ""
	data, err := json.Marshal(m)
	if err != nil {
		return m, fmt.Errorf("data directory: manifest: %w", err)
	}
	sum := sha256.Sum256(data)
	m.Sum = hex.EncodeToString(sum[:8])
	return m, nil
}

// Cluster is what a host knows of its cluster.
type Cluster struct {
	// Name is the one that people gave it.
	Name string `json:"name"`
	// Hosts is how many hosts there are, Replicas how many keep each stream.
	Hosts    int `json:"hosts"`
	Replicas int `json:"replicas"`
	// Listen is where the host listens for the others, Advertise how they
	// reach it if that is another address, and Routes are all hosts'
	// addresses: what the last start was given.
	Listen    string   `json:"listen,omitempty"`
	Advertise string   `json:"advertise,omitempty"`
	Routes    []string `json:"routes,omitempty"`
	// External says that NATS servers keep the streams that somebody else runs;
	// then there is no Hosts, Listen, Advertise or Routes.
	External bool `json:"external,omitempty"`
}

// clone returns a copy that shares nothing with m.
func (m Manifest) clone() Manifest {
	m.Truth, m.Intended, m.Former = slices.Clone(m.Truth), slices.Clone(m.Intended), slices.Clone(m.Former)
	if m.Cluster != nil {
		c := *m.Cluster
		c.Routes = slices.Clone(c.Routes)
		m.Cluster = &c
	}
	return m
}

// first returns the manifest of a new directory.
func first(partitions int) Manifest {
	return Manifest{
		Format: format, Deployment: "dp-" + random(), Host: "h-" + random(),
		Mode: ModeSingle, Partitions: partitions, Epoch: 1, Truth: []string{},
	}
}

// joined returns the manifest of a new directory of a host that joins.
func joined(j Join) Manifest {
	return Manifest{
		Format: format, Deployment: j.Deployment, Host: "h-" + random(), Mode: ModeCluster,
		Partitions: j.Partitions, Epoch: j.Epoch, CEO: j.CEO, Truth: []string{},
		Lineage: j.lineage(), Seed: j.Seed, Former: slices.Clone(j.Former),
		Cluster: &Cluster{Name: j.Cluster, Hosts: j.Hosts, Replicas: j.Replicas, Routes: slices.Clone(j.Routes)},
	}
}

// External is a deployment on NATS servers that somebody else runs, as a host
// that comes to it must know it.
type External struct {
	Deployment string
	// Name is the one that people gave it.
	Name                 string
	Partitions, Replicas int
	Epoch                uint64
	// CEO is the CEO's public key, "U...".
	CEO string
}

// external returns the manifest of a new directory of a host on other servers.
func external(e External) Manifest {
	return Manifest{
		Format: format, Deployment: e.Deployment, Host: "h-" + random(), Mode: ModeCluster,
		Partitions: e.Partitions, Epoch: e.Epoch, CEO: e.CEO, Truth: []string{},
		Cluster: &Cluster{Name: e.Name, Replicas: e.Replicas, External: true},
	}
}

// NewDeployment returns the id of a new deployment.
func NewDeployment() string { return "dp-" + random() }

// random returns 16 characters of a token.
func random() string { return strings.ToLower(rand.Text()[:16]) }

// check returns what is wrong with a manifest that was read.
func (m Manifest) check() error {
	switch {
	case m.Format > format:
		return fmt.Errorf("it is of format %d and this build reads up to %d", m.Format, format)
	case m.Format < 1 || m.Deployment == "" || m.Host == "":
		return errors.New("it names no format, deployment or host")
	case m.Mode != ModeSingle && m.Mode != ModeCluster && m.Mode != ModeLeaf:
		return fmt.Errorf("mode %q is not %q, %q or %q", m.Mode, ModeSingle, ModeCluster, ModeLeaf)
	case (m.Mode == ModeCluster) != (m.Cluster != nil):
		return fmt.Errorf("mode %q and what it says of a cluster do not match", m.Mode)
	case m.Partitions < 1 || m.Partitions > 64 || m.Epoch < 1:
		return fmt.Errorf("%d partitions of epoch %d", m.Partitions, m.Epoch)
	}
	return nil
}

// load reads the manifest; the error is fs.ErrNotExist when there is none.
func (d *Dir) load() (Manifest, error) {
	data, err := os.ReadFile(d.Path(manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, err
	}
	if err != nil {
		return Manifest{}, fault.New("data/permissions", "the manifest cannot be read").At(d.Path(manifestName)).Because(err)
	}
	m, err := decode(data)
	if err != nil {
		return Manifest{}, fault.New("data/manifest", "the manifest is not sound").At(d.Path(manifestName)).Because(err)
	}
	return m, nil
}

// decode reads a manifest and refuses fields that it does not know.
func decode(data []byte) (Manifest, error) {
	var m Manifest
	if err := strictly(data, format, &m); err != nil {
		return Manifest{}, err
	}
	if want, err := m.summed(); err != nil || m.Sum != "" && m.Sum != want.Sum {
		return Manifest{}, errors.Join(err, errors.New(`its sum is wrong; who edits it by hand removes the line "sum"`))
	}
	m.Sum = ""
	return m, m.check()
}

// update changes the manifest in memory and on the disk, or in neither.
func (d *Dir) update(change func(*Manifest)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.manifest.clone()
	change(&d.manifest)
	if err := d.store(); err != nil {
		d.manifest = old
		return err
	}
	return nil
}

// store puts the manifest on the disk.
func (d *Dir) store() error {
	m, err := d.manifest.summed()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("data directory: manifest: %w", err)
	}
	return writeAtomic(d.Path(manifestName), append(data, '\n'))
}

// writeAtomic replaces a file: temporary file, fsync, rename, fsync of the
// directory. A crash leaves the old file or the new one.
func writeAtomic(path string, data []byte) error {
	temp := path + ".tmp"
	if err := writeSynced(temp, data); err != nil {
		return fault.New("data/permissions", "a file cannot be written").At(path).Because(err)
	}
	if err := durable.Rename(temp, path); err != nil {
		return fault.New("data/permissions", "a file cannot be replaced").At(path).Because(err)
	}
	return nil
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

package datadir

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/membership"
)

// joinFormat is the newest join file that this build reads.
const joinFormat = 1

// Join is what a host needs to become one of a deployment's: the content of a
// join file. Whoever has it can join, so it is kept like a key.
type Join struct {
	// Format is the version of this file's format.
	Format int `json:"format"`
	// Deployment names the deployment for good: a token, "dp-...".
	Deployment string `json:"deployment"`
	// Cluster is the name that people gave it.
	Cluster string `json:"cluster"`
	// Hosts is how many hosts the deployment has: 3 or 5.
	Hosts int `json:"hosts"`
	// Replicas is how many hosts keep each stream: 3 or 5, at most Hosts.
	Replicas int `json:"replicas"`
	// Partitions is how many journals there are, 1 to 64.
	Partitions int `json:"partitions"`
	// Epoch is that of the journals, from 1.
	Epoch uint64 `json:"epoch"`
	// CEO is the CEO's public key, "U...", or empty when it is not known yet.
	CEO string `json:"ceo,omitempty"`
	// Routes are where the hosts meet each other, HOST:PORT; none when nobody
	// has said.
	Routes []string `json:"routes,omitempty"`
	// List are the hosts of a deployment that runs already; nil for one that
	// begins.
	List *membership.List `json:"list,omitempty"`
	// Seed names the backup that a deployment begins with; empty for one that
	// begins with nothing.
	Seed string `json:"seed,omitempty"`
	// Former are the CEO's public keys before that one, oldest first.
	Former []string `json:"former,omitempty"`
	// Secret is what hosts tell each other beside their certificates.
	Secret string `json:"secret"`
	// Authority and AuthorityKey are the deployment's own authority for
	// certificates, in PEM. A host signs its certificate with it and does not
	// keep the key.
	Authority    string `json:"authority"`
	AuthorityKey string `json:"authority_key"`
}

var clusterName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// NewJoin returns the join file of a new deployment. Replicas zero means as
// many as hosts, partitions zero DefaultPartitions. It returns usage/argument.
func NewJoin(cluster string, hosts, replicas, partitions int, ceo string) (Join, error) {
	if replicas == 0 {
		replicas = hosts
	}
	if partitions == 0 {
		partitions = DefaultPartitions
	}
	j := Join{
		Format: joinFormat, Deployment: "dp-" + random(), Cluster: cluster, Hosts: hosts, Replicas: replicas,
		Partitions: partitions, Epoch: 1, CEO: ceo, Secret: rand.Text() + rand.Text(),
	}
	if err := j.checkShape(); err != nil {
		return Join{}, fault.New("usage/argument", "%s", err)
	}
	var err error
	j.Authority, j.AuthorityKey, err = newAuthority(j.Deployment)
	return j, err
}

// Seeded returns j as the join file of a deployment that is there already, with
// its id and partitions, and begins as a cluster of that epoch with the backup
// that seed names.
func (j Join) Seeded(deployment string, partitions int, epoch uint64, seed string) (Join, error) {
	j.Deployment, j.Partitions, j.Epoch, j.Seed = deployment, partitions, epoch, seed
	if err := j.checkShape(); err != nil {
		return Join{}, fault.New("usage/argument", "%s", err)
	}
	var err error
	j.Authority, j.AuthorityKey, err = newAuthority(j.Deployment)
	return j, err
}

// Invitation is what makes the join file of a host that comes to a deployment
// that runs: an authority of its own, which the deployment is told of, and the
// deployment's secret.
type Invitation struct{ authority, key, secret string }

// NewInvitation begins to invite a host into the deployment of the data
// directory at path, on which a host may run. It returns cluster/mode when the
// directory is that of a host that is alone.
func NewInvitation(path string) (Invitation, error) {
	m, err := Peek(path)
	if err != nil {
		return Invitation{}, err
	}
	if m.Mode != ModeCluster {
		return Invitation{}, fault.New("cluster/mode", "the data directory is that of a host that is alone").At(path).
			Want("make it a cluster: loom cluster init --from DATA")
	}
	member, err := MemberAt(path)
	if err != nil {
		return Invitation{}, err
	}
	authority, key, err := newAuthority(m.Deployment)
	return Invitation{authority, key, member.Secret}, err
}

// Authority is what the deployment must know before anybody comes with the
// invitation, in PEM.
func (i Invitation) Authority() string { return i.authority }

// Join returns the join file of the invitation, for a deployment that says of
// itself what is in j.
func (i Invitation) Join(j Join) (Join, error) {
	j.Format, j.Authority, j.AuthorityKey, j.Secret = joinFormat, i.authority, i.key, i.secret
	if err := j.check(); err != nil {
		return Join{}, fault.New("cluster/join-file", "the deployment's word makes no join file").Because(err)
	}
	return j, nil
}

// lineage is that of the deployment, if it runs already.
func (j Join) lineage() string {
	if j.List == nil {
		return ""
	}
	return j.List.Lineage
}

// checkShape returns what is wrong with the figures of j.
func (j Join) checkShape() error {
	odd := func(n int) bool { return n == 3 || n == 5 }
	switch {
	case j.Hosts == 1:
		return errors.New("a cluster of one host cannot elect anybody: a host that is alone needs no join file")
	case !odd(j.Hosts):
		return fmt.Errorf("a cluster has 3 or 5 hosts, not %d", j.Hosts)
	case !odd(j.Replicas) || j.Replicas > j.Hosts:
		return fmt.Errorf("a cluster of %d hosts keeps 3 or 5 replicas, at most one a host, not %d", j.Hosts, j.Replicas)
	case j.Partitions < 1 || j.Partitions > 64:
		return fmt.Errorf("a deployment has 1 to 64 partitions, not %d", j.Partitions)
	case !clusterName.MatchString(j.Cluster):
		return fmt.Errorf("the cluster's name %q is not lower-case letters, digits, - and _, at most 64", j.Cluster)
	}
	return nil
}

// check returns what is wrong with a join file that was read.
func (j Join) check() error {
	switch {
	case j.Format < 1 || j.Deployment == "" || j.Epoch < 1:
		return errors.New("it names no format, deployment or epoch")
	case len(j.Secret) < 32:
		return errors.New("its secret is shorter than 32 characters")
	}
	if err := j.checkShape(); err != nil {
		return err
	}
	if j.List != nil {
		if _, err := membership.Decode(j.List.Encode()); err != nil {
			return err
		}
	}
	_, _, err := j.authority()
	return err
}

// ReadJoin reads a join file. It returns cluster/join-file when it is not one
// that this build understands, and data/permissions when others may read it.
func ReadJoin(path string) (Join, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Join{}, fault.New("cluster/join-file", "the join file cannot be read").At(path).Because(err).
			Want("make one with: loom cluster init")
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return Join{}, fault.New("data/permissions", "others may read the join file (mode %04o), and it admits whoever has it", mode).
			At(path).Want("chmod 600 it")
	}
	if info.Size() > 64<<10 {
		return Join{}, fault.New("cluster/join-file", "%d bytes are too many for a join file", info.Size()).At(path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Join{}, fault.New("cluster/join-file", "the join file cannot be read").At(path).Because(err)
	}
	j, err := decodeJoin(data)
	if err != nil {
		return Join{}, fault.New("cluster/join-file", "the join file is not sound").At(path).Because(err)
	}
	return j, nil
}

// decodeJoin reads a join file and refuses fields that it does not know.
func decodeJoin(data []byte) (Join, error) {
	var j Join
	if err := strictly(data, joinFormat, &j); err != nil {
		return Join{}, err
	}
	return j, j.check()
}

// strictly decodes JSON that begins with a format. A newer format is named
// before the fields that only it knows are.
func strictly(data []byte, newest int, into any) error {
	var probe struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return err
	}
	if probe.Format > newest {
		return fmt.Errorf("it is of format %d and this build reads up to %d", probe.Format, newest)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// Write makes a join file of mode 0600, and returns when it is on the disk. It
// returns usage/argument when there is a file of that name.
func (j Join) Write(path string) error {
	if err := FreeForJoin(path); err != nil {
		return err
	}
	data, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return fmt.Errorf("join file: %w", err)
	}
	return writeAtomic(path, append(data, '\n'))
}

// FreeForJoin refuses a path at which there is something already, so that it can
// be refused before anything is changed.
func FreeForJoin(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fault.New("usage/argument", "the file is there already").At(path).Want("name another: a join file is made once").Because(err)
	}
	return nil
}

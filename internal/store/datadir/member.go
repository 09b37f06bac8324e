package datadir

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
	"github.com/loomrun/loom/internal/core/membership"
)

const (
	memberName   = "member.json"
	memberFormat = 1
)

// Member is how a host proves to the others of its cluster that it is one of
// them. It is kept in the data directory, 0600.
type Member struct {
	Format int `json:"format"`
	// Secret is the deployment's.
	Secret string `json:"secret"`
	// Authority is the deployment's certificate, Certificate and Key are the
	// host's own, in PEM.
	Authority   string `json:"authority"`
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
}

// Peer is a host that shows its certificate.
type Peer struct {
	// Host is its name, as its certificate says, and Key the fingerprint of its
	// public key, which its handshake has proven.
	Host, Key string

	certificate *x509.Certificate
}

// SignedBy says whether an authority, in PEM, has signed the certificate.
func (p Peer) SignedBy(authority string) bool {
	pool := x509.NewCertPool()
	if p.certificate == nil || !pool.AppendCertsFromPEM([]byte(authority)) {
		return false
	}
	_, err := p.certificate.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err == nil
}

func peerOf(c *x509.Certificate) Peer {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return Peer{Host: c.Subject.CommonName, Key: hex.EncodeToString(sum[:]), certificate: c}
}

// pair returns the host's own certificate and key.
func (m Member) pair() (tls.Certificate, error) {
	pair, err := tls.X509KeyPair([]byte(m.Certificate), []byte(m.Key))
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM([]byte(m.Authority)) {
		err = errors.New("no authority")
	}
	return pair, err
}

// Self returns this host as the others see it.
func (m Member) Self() (Peer, error) {
	pair, err := m.pair()
	if err != nil {
		return Peer{}, err
	}
	return peerOf(pair.Leaf), nil
}

// TLS returns what routes are opened and accepted with: both ends show their
// certificates, and known says about each other end whether it may come in. Nil
// lets those in that the authority of m has signed.
func (m Member) TLS(known func(Peer) error) (*tls.Config, error) {
	pair, err := m.pair()
	if err != nil {
		return nil, fmt.Errorf("no certificate, key and authority that match: %w", err)
	}
	if known == nil {
		known = m.signed
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, ServerName: routeName,
		// Both ends check everything in VerifyConnection: whom a deployment
		// trusts changes while it runs, and a pool of authorities cannot.
		InsecureSkipVerify: true, ClientAuth: tls.RequireAnyClientCert,
		VerifyConnection: func(s tls.ConnectionState) error { return verify(s, known) },
	}, nil
}

// signed is cluster/deployment for a host of another deployment.
func (m Member) signed(p Peer) error {
	if p.SignedBy(m.Authority) {
		return nil
	}
	return fault.New("cluster/deployment", "host %q has no certificate of this deployment", p.Host)
}

// verify checks what the other end of a connection shows.
func verify(s tls.ConnectionState, known func(Peer) error) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the other end shows no certificate")
	}
	c := s.PeerCertificates[0]
	if now := time.Now(); now.Before(c.NotBefore) || now.After(c.NotAfter) {
		return fmt.Errorf("the certificate of host %q is for another time", c.Subject.CommonName)
	}
	if err := c.VerifyHostname(routeName); err != nil {
		return err
	}
	return known(peerOf(c))
}

// Member returns how this host proves that it belongs to its cluster, or
// data/manifest when that is gone.
func (d *Dir) Member() (Member, error) {
	var m Member
	data, err := os.ReadFile(d.Path(memberName))
	if err == nil {
		data, err = privatefile.Whole(data)
	}
	if err == nil {
		err = strictly(data, memberFormat, &m)
	}
	if err == nil {
		_, err = m.pair()
	}
	if err != nil {
		return m, fault.New("data/manifest", "the host's proof that it belongs to the cluster cannot be read").
			At(d.Path(memberName)).Want("give the join file again: loom up --join FILE").Because(err)
	}
	return m, nil
}

// admit keeps what the host needs of a join file. A certificate that it has
// already, and that is sound, stays: by its key the others know the host.
func (d *Dir) admit(j Join, host string) error {
	if j.List != nil {
		if err := d.learn(*j.List); err != nil {
			return err
		}
	}
	if have, err := d.Member(); err == nil && have.Secret == j.Secret {
		if self, err := have.Self(); err == nil && self.Host == host {
			return nil
		}
	}
	certificate, key, err := j.issue(host)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(Member{
		Format: memberFormat, Secret: j.Secret, Authority: j.Authority, Certificate: certificate, Key: key,
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return d.WriteFile(privatefile.Summed(data), memberName)
}

// MemberAt reads what [Dir.Member] does of the directory at path, on which a
// host may run.
func MemberAt(path string) (Member, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Member{}, fault.New("usage/argument", "no data directory is named").Because(err)
	}
	return (&Dir{path: abs}).Member()
}

// listName is where a host keeps the newest list of hosts that it has seen.
const listName = "hosts.json"

// List returns the newest list of the deployment's hosts that this one has
// seen; the zero list when it has seen none. It returns data/manifest when what
// it kept is not sound.
func (d *Dir) List() (membership.List, error) {
	data, err := os.ReadFile(d.Path(listName))
	if errors.Is(err, fs.ErrNotExist) {
		return membership.List{}, nil
	}
	if err != nil {
		return membership.List{}, fault.New("data/permissions", "the list of hosts cannot be read").At(d.Path(listName)).Because(err)
	}
	var l membership.List
	if data, err = privatefile.Whole(data); err == nil {
		l, err = membership.Decode(data)
	}
	if err != nil {
		return l, fault.New("data/manifest", "the list of the deployment's hosts is damaged").Because(err).At(d.Path(listName)).Want("remove the file: the host learns the list from the others")
	}
	return l, nil
}

// Learn keeps a list of hosts if it is newer than the one that is kept, and
// returns when it is on the disk. How many hosts there are goes into the
// manifest.
func (d *Dir) Learn(l membership.List) error {
	if have, err := d.List(); err == nil && have.Newer(l) {
		return nil
	}
	if err := d.learn(l); err != nil {
		return err
	}
	return d.update(func(m *Manifest) {
		if m.Cluster != nil {
			m.Cluster.Hosts = l.Hosts
		}
	})
}

// learn puts a list on the disk, unless one as new is there.
func (d *Dir) learn(l membership.List) error {
	if have, err := d.List(); err == nil && !l.Newer(have) {
		return nil
	}
	return d.WriteFile(privatefile.Summed(l.Encode()), listName)
}

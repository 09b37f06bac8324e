package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
)

// The files that Init makes, in a directory of their own.
const (
	AuthorityFile = "ca.pem"     // give it to clients
	authorityKey  = "ca.key"     // signs; may be moved away once hosts have theirs
	ServerFile    = "server.pem" // the host's certificate
	KeyFile       = "server.key" // and its key
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	serverLife    = 365 * 24 * time.Hour
	// skew is how far the clocks of clients may be behind.
	skew = time.Hour
)

// Made says what Init has made.
type Made struct {
	Authority string `json:"authority"`
	// NewAuthority is whether there was none before.
	NewAuthority bool      `json:"new_authority"`
	Certificate  string    `json:"certificate"`
	Key          string    `json:"key"`
	Names        []string  `json:"names"`
	Expires      time.Time `json:"expires"`
}

// Init makes a server's certificate for names (host names and addresses) in
// dir, signed by the authority in authority, which it makes in dir if that is
// where it should be and is absent. This machine's loopback names are always
// among the names. Doing it again renews the certificate.
func Init(dir, authority string, names []string, now time.Time) (Made, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Made{}, unwritable(dir, err)
	}
	names = slices.Compact(slices.Sorted(slices.Values(append([]string{"localhost", "127.0.0.1", "::1"}, names...))))
	m := Made{
		Authority: filepath.Join(dir, AuthorityFile), Certificate: filepath.Join(dir, ServerFile), Key: filepath.Join(dir, KeyFile),
		Names: names, Expires: now.Add(serverLife).UTC().Truncate(time.Second),
	}
	for _, n := range names {
		if !nameable(n) {
			return Made{}, fault.New("usage/argument", "not a host name or an address").At("--host").Got(n)
		}
	}
	ca, signer, made, err := authorityIn(authority, authority == dir, now)
	if err != nil {
		return Made{}, err
	}
	m.NewAuthority = made
	if authority != dir {
		if err := privatefile.Replace(m.Authority, encode("CERTIFICATE", ca.Raw)); err != nil {
			return Made{}, unwritable(m.Authority, err)
		}
	}
	return m, m.issue(ca, signer, now)
}

// hostName is a name of the domain name system, perhaps with a wildcard for
// its first part.
var hostName = regexp.MustCompile(`^(\*\.)?[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)

// nameable says whether a certificate can be for a name.
func nameable(name string) bool {
	return net.ParseIP(name) != nil || len(name) <= 253 && hostName.MatchString(name)
}

// authorityIn reads the authority of a directory, or makes it if it may.
func authorityIn(dir string, may bool, now time.Time) (*x509.Certificate, crypto.Signer, bool, error) {
	certificate, key := filepath.Join(dir, AuthorityFile), filepath.Join(dir, authorityKey)
	_, err := os.Stat(certificate)
	made := errors.Is(err, fs.ErrNotExist) && may
	if made {
		if err := newAuthority(certificate, key, now); err != nil {
			return nil, nil, false, err
		}
	}
	pair, err := read(certificate, key)
	if err != nil {
		return nil, nil, false, err
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !pair.Leaf.IsCA || now.After(pair.Leaf.NotAfter) {
		return nil, nil, false, fault.New("data/permissions", "the authority cannot sign, or not any more").At(certificate)
	}
	return pair.Leaf, signer, made, nil
}

func newAuthority(certificate, key string, now time.Time) error {
	t := frame("Loom deployment authority", now, authorityLife)
	t.IsCA, t.BasicConstraintsValid, t.MaxPathLenZero, t.KeyUsage = true, true, true, x509.KeyUsageCertSign
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	return write(t, t, private, private, certificate, key)
}

// issue writes the server's certificate and key.
func (m Made) issue(ca *x509.Certificate, signer crypto.Signer, now time.Time) error {
	t := frame("Loom host", now, serverLife)
	if t.NotAfter.After(ca.NotAfter) {
		t.NotAfter = ca.NotAfter
	}
	t.KeyUsage, t.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, n := range m.Names {
		if ip := net.ParseIP(n); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, n)
		}
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	return write(t, ca, private, signer, m.Certificate, m.Key)
}

func frame(name string, now time.Time, life time.Duration) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // it never fails
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-skew), NotAfter: now.Add(life),
	}
}

// write signs a certificate and puts it and its key on the disk, the key first:
// a certificate without its key would be found out at the next start only.
func write(t, parent *x509.Certificate, private *ecdsa.PrivateKey, signer crypto.Signer, certificate, key string) error {
	der, err := x509.CreateCertificate(rand.Reader, t, parent, private.Public(), signer)
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	if err := privatefile.Replace(key, encode("PRIVATE KEY", secret)); err != nil {
		return unwritable(key, err)
	}
	if err := privatefile.Replace(certificate, encode("CERTIFICATE", der)); err != nil {
		return unwritable(certificate, err)
	}
	return nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func unwritable(path string, err error) error {
	return fault.New("data/permissions", "a certificate cannot be written").At(path).Because(err)
}

// read returns a certificate and its key; a key that others can read is
// refused.
func read(certificate, key string) (tls.Certificate, error) {
	if _, err := privatefile.Guarded("the key of the certificate", key, "consider it seen"); err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return tls.Certificate{}, fault.New("data/permissions", "the certificate cannot be used").At(certificate).Because(err)
	}
	return pair, nil
}

// first returns the first certificate in PEM.
func first(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("it has no PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

// Server is a certificate that a host shows. It is safe for concurrent use.
type Server struct {
	certificate, key string
	now              func() time.Time

	mu      sync.Mutex
	pair    *tls.Certificate
	changed time.Time // of the file that pair is from
}

// Open reads a server's certificate and key. It returns data/permissions for
// files that cannot be used, keys that others can read, and certificates that
// have expired.
func Open(certificate, key string) (*Server, error) {
	s := &Server{certificate: certificate, key: key, now: time.Now}
	if err := s.load(); err != nil {
		return nil, err
	}
	if s.now().After(s.pair.Leaf.NotAfter) {
		return nil, fault.New("data/permissions", "the certificate expired on %s", s.pair.Leaf.NotAfter.Format(time.DateOnly)).
			At(certificate).Want("renew it: loom auth tls init")
	}
	return s, nil
}

func (s *Server) load() error {
	info, err := os.Stat(s.certificate)
	if err != nil {
		return fault.New("data/permissions", "the certificate cannot be read").At(s.certificate).Because(err)
	}
	pair, err := read(s.certificate, s.key)
	if err != nil {
		return err
	}
	s.pair, s.changed = &pair, info.ModTime()
	return nil
}

// Config returns what connections are accepted with. A certificate that has
// been renewed on the disk is shown from then on; one that cannot be read is
// not, and the last one stays.
func (s *Server) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return s.current(), nil
	}}
}

func (s *Server) current() *tls.Certificate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if info, err := os.Stat(s.certificate); err == nil && !info.ModTime().Equal(s.changed) {
		_ = s.load() // half a renewal: the next connection looks again
	}
	return s.pair
}

// File is where the certificate is.
func (s *Server) File() string { return s.certificate }

// Names returns the names and addresses that the certificate is for.
func (s *Server) Names() []string { return namesOf(s.current().Leaf) }

// Expires is when the certificate ends.
func (s *Server) Expires() time.Time { return s.current().Leaf.NotAfter }

func namesOf(c *x509.Certificate) []string {
	list := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		list = append(list, ip.String())
	}
	return list
}

// Trust returns what a client connects with that trusts the authorities in PEM
// and no others; without any it trusts those of the system.
func Trust(pem []byte) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(pem) == 0 {
		return config, nil
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fault.New("data/permissions", "there is no certificate of an authority in it")
	}
	return config, nil
}

// TrustExactly returns what a client of this machine connects with that trusts
// the server's certificate in a file and nothing else, by whatever address it
// reaches it.
func TrustExactly(file string) (*tls.Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fault.New("data/permissions", "the host's certificate cannot be read").At(file).Because(err)
	}
	config, err := Trust(data)
	if err != nil {
		return nil, fault.From(err).At(file)
	}
	leaf, err := first(data)
	if err != nil {
		return nil, fault.New("data/permissions", "the host's certificate cannot be read").At(file).Because(err)
	}
	if names := namesOf(leaf); len(names) > 0 {
		config.ServerName = names[0]
	}
	return config, nil
}

// Loopback says whether an address, HOST:PORT or HOST, is reached from this
// machine alone.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

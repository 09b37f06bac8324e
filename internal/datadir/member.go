package datadir

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/loomrun/loom/internal/fault"
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

// TLS returns what routes are opened and accepted with: both ends show a
// certificate of the deployment's own authority, and trust no other.
func (m Member) TLS() (*tls.Config, error) {
	pair, err := tls.X509KeyPair([]byte(m.Certificate), []byte(m.Key))
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM([]byte(m.Authority)) {
		return nil, errors.Join(errors.New("no certificate, key and authority that match"), err)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, ServerName: routeName,
		RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}

// Member returns how this host proves that it belongs to its cluster, or
// data/manifest when that is gone.
func (d *Dir) Member() (Member, error) {
	var m Member
	data, err := os.ReadFile(d.Path(memberName))
	if err == nil {
		err = strictly(data, memberFormat, &m)
	}
	if err == nil {
		_, err = m.TLS()
	}
	if err != nil {
		return m, fault.New("data/manifest", "the host's proof that it belongs to the cluster cannot be read").
			At(d.Path(memberName)).Want("give the join file again: loom up --join FILE").Because(err)
	}
	return m, nil
}

// admit keeps what the host needs of a join file.
func (d *Dir) admit(j Join, host string) error {
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
	return d.WriteFile(append(data, '\n'), memberName)
}

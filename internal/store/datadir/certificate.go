package datadir

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
	"math/big"
	"time"
)

// routeName is the name in every host's certificate. Hosts know each other by
// the authority that signed, not by addresses, which change.
const routeName = "host.loom.internal"

// certificates live as long as the deployment: joining again renews a host's.
const certificateLife = 20 * 365 * 24 * time.Hour

// newAuthority makes an authority for one deployment: certificate and key.
func newAuthority(deployment string) (certificate, key string, err error) {
	signer, key, err := newKey()
	if err != nil {
		return "", "", err
	}
	template := frame(deployment)
	template.Subject.CommonName = "authority of " + deployment
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, signer.Public(), signer)
	if err != nil {
		return "", "", fmt.Errorf("authority: %w", err)
	}
	return encodePEM("CERTIFICATE", der), key, nil
}

// issue makes a certificate for the routes of a host: certificate and key.
func (j Join) issue(host string) (certificate, key string, err error) {
	ca, caKey, err := j.authority()
	if err != nil {
		return "", "", err
	}
	signer, key, err := newKey()
	if err != nil {
		return "", "", err
	}
	template := frame(j.Deployment)
	template.Subject.CommonName, template.DNSNames = host, []string{routeName}
	template.NotAfter = ca.NotAfter
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, signer.Public(), caKey)
	if err != nil {
		return "", "", fmt.Errorf("certificate of host %s: %w", host, err)
	}
	return encodePEM("CERTIFICATE", der), key, nil
}

// authority decodes the authority of j, and checks that its halves match.
func (j Join) authority() (*x509.Certificate, crypto.Signer, error) {
	pair, err := tls.X509KeyPair([]byte(j.Authority), []byte(j.AuthorityKey))
	if err != nil {
		return nil, nil, fmt.Errorf("its authority: %w", err)
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !pair.Leaf.IsCA {
		return nil, nil, errors.New("its authority cannot sign")
	}
	return pair.Leaf, signer, nil
}

// frame has what all certificates of a deployment have.
func frame(deployment string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"loom " + deployment}},
		// Hosts' clocks differ.
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(certificateLife),
	}
}

func newKey() (crypto.Signer, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", fmt.Errorf("key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, "", fmt.Errorf("key: %w", err)
	}
	return key, encodePEM("PRIVATE KEY", der), nil
}

func encodePEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

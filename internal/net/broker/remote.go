package broker

import (
	"crypto/tls"
	"errors"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/certificate"
	"github.com/loomrun/loom/internal/net/identity"
)

// DialAs connects to a host as the identity of credentials. An empty url means
// the one in the credentials. With control it is the CEO's way in, to the
// account of signed commands; request/denied if the credentials have none. It
// returns request/denied when the host does not know the identity, or not any
// more, and host/not-running when none answers.
func DialAs(c identity.Credentials, url string, control bool, options ...nats.Option) (*nats.Conn, error) {
	if url == "" {
		url = c.URL
	}
	if url == "" {
		return nil, fault.New("usage/argument", "the credentials do not say where the host is").At("--nats").Want("--nats tls://HOST:4222")
	}
	u := user{kind: kind(c.Kind), name: c.Name, inbox: Inbox(string(c.Kind), c.Name), seed: c.Seed}
	if control {
		if u.seed = c.Control; u.seed == nil {
			return nil, fault.New("request/denied", "%s %q has no way to the CEO's account", c.Kind, c.Name).Want("use credentials made with --as ceo")
		}
	}
	pair, err := nkeys.FromSeed(u.seed)
	if err == nil {
		u.public, err = pair.PublicKey()
	}
	if err != nil {
		return nil, fault.New("identity/file", "the credentials hold no user's nkey seed")
	}
	options = append(append(u.options(), nats.Name("loom "+u.name), nats.MaxReconnects(-1)), options...)
	if len(c.Authority) > 0 || strings.HasPrefix(url, "tls://") {
		trust, err := certificate.Trust(c.Authority)
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Secure(trust))
	}
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return nil, unreached(url, err)
	}
	return nc, nil
}

// unreached says why there is no connection.
func unreached(url string, err error) error {
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked) {
		return fault.New("request/denied", "the host at %s does not let the credentials in: unknown, expired or revoked", url).Because(err)
	}
	if untrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fault.New("request/denied", "the certificate of the host at %s is not to be trusted", url).Because(untrusted)
	}
	return fault.New("host/not-running", "no host answers at %s", url).Because(err)
}

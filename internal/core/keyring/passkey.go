package keyring

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	maxAuthenticatorData = 1 << 10
	maxClientData        = 4 << 10
	maxCredential        = 1023
	maxName              = 253

	// authenticator data: the hash of the relying party's id, flags, and a counter
	shortestData = sha256.Size + 1 + 4
	userPresent  = 1 << 0
	userVerified = 1 << 2
)

// material is what a key is made of, in one form for each: a key is the same one
// whether it signs as a passkey or by itself.
func material(k *loomv1.SigningKey) []byte {
	if k.GetPasskey() == nil {
		return k.GetPublicKey()
	}
	public, err := x509.ParsePKIXPublicKey(k.PublicKey)
	if ed, ok := public.(ed25519.PublicKey); ok && err == nil {
		return ed
	}
	return k.PublicKey
}

// passkeyPublic returns the public half of a passkey, which has one encoding alone.
func passkeyPublic(der []byte) (any, error) {
	public, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fault.New("key/invalid", "the passkey's public key is no SubjectPublicKeyInfo").At("public_key")
	}
	switch k := public.(type) {
	case ed25519.PublicKey:
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() {
			return nil, fault.New("key/invalid", "the passkey's curve is %s", k.Curve.Params().Name).At("public_key").Want("P-256, for ES256, or Ed25519")
		}
	default:
		return nil, fault.New("key/invalid", "a passkey of type %T", public).At("public_key").Want("ES256 or EdDSA")
	}
	if again, err := x509.MarshalPKIXPublicKey(public); err != nil || !bytes.Equal(again, der) {
		return nil, fault.New("key/invalid", "the passkey's public key is not in its one encoding").At("public_key")
	}
	return public, nil
}

func checkPasskey(k *loomv1.SigningKey) error {
	if _, err := passkeyPublic(k.PublicKey); err != nil {
		return err
	}
	p := k.Passkey
	if len(p.Credential) == 0 || len(p.Credential) > maxCredential {
		return fault.New("key/invalid", "the credential id has %d bytes", len(p.Credential)).At("credential").Want("1 to %d", maxCredential)
	}
	if !relyingParty(p.RelyingParty) {
		return fault.New("key/invalid", "the relying party is no host name").At("relying_party").Got(p.RelyingParty).Want("a name in small letters, no address")
	}
	if !originOf(p.Origin, p.RelyingParty) {
		return fault.New("key/invalid", "the origin is no page of %q", p.RelyingParty).At("origin").Got(p.Origin).
			Want("https://%[1]s, or http://localhost:PORT for localhost", p.RelyingParty)
	}
	return nil
}

// A relying party is a name, never an address: its last label is no number.
var (
	partyName  = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
	originForm = regexp.MustCompile(`^(https?)://([a-z0-9.-]+)(:[1-9][0-9]{0,4})?$`)
)

func relyingParty(name string) bool { return len(name) <= maxName && partyName.MatchString(name) }

// originOf says whether an origin is one, and its host belongs to a relying party. A
// page without TLS can be of localhost alone, as browsers have it.
func originOf(origin, party string) bool {
	m := originForm.FindStringSubmatch(origin)
	if m == nil || !relyingParty(m[2]) {
		return false
	}
	host := m[2]
	if host != party && !strings.HasSuffix(host, "."+party) {
		return false
	}
	return m[1] == "https" || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// asserted says whether a passkey made the signature of c and, where it did, what is
// wrong with what was signed: an authenticator signs for any page that asks it.
func asserted(k *loomv1.SigningKey, c *loomv1.SignedCommand) (bool, error) {
	a := c.GetAssertion()
	if n := len(a.AuthenticatorData); n < shortestData || n > maxAuthenticatorData || len(a.ClientDataJson) > maxClientData {
		return false, nil
	}
	public, err := passkeyPublic(k.PublicKey)
	if err != nil {
		return false, nil //nolint:nilerr // it was looked at when it was enrolled
	}
	client := sha256.Sum256(a.ClientDataJson)
	message := append(bytes.Clone(a.AuthenticatorData), client[:]...)
	switch p := public.(type) {
	case ed25519.PublicKey:
		if !ed25519.Verify(p, message, c.Signature) {
			return false, nil
		}
	case *ecdsa.PublicKey:
		if sum := sha256.Sum256(message); !ecdsa.VerifyASN1(p, sum[:], c.Signature) {
			return false, nil
		}
	}
	return true, checkAssertion(k.Passkey, a, c.Payload)
}

// checkAssertion refuses evidence that is not of a person who confirmed this very
// payload, on the page that the key was enrolled for.
func checkAssertion(p *loomv1.Passkey, a *loomv1.Assertion, payload []byte) error {
	said, err := clientData(a.ClientDataJson)
	if err != nil {
		return err
	}
	challenge, party := sha256.Sum256(SignedBytes(payload)), sha256.Sum256([]byte(p.RelyingParty))
	flags := a.AuthenticatorData[sha256.Size]
	refuse := func(format string, args ...any) *fault.Error {
		return fault.New("key/evidence", format, args...).At("assertion")
	}
	switch {
	case said.Type != "webauthn.get":
		return refuse("the evidence is of type %q", said.Type)
	case subtle.ConstantTimeCompare([]byte(said.Challenge), []byte(base64.RawURLEncoding.EncodeToString(challenge[:]))) != 1:
		return refuse("the evidence is for another payload")
	case said.Origin != p.Origin || said.CrossOrigin:
		return refuse("the evidence is of a page of another origin").Got(said.Origin).Want("%s", p.Origin)
	case subtle.ConstantTimeCompare(a.AuthenticatorData[:sha256.Size], party[:]) != 1:
		return refuse("the evidence is for another relying party than %q", p.RelyingParty)
	case flags&userPresent == 0:
		return refuse("nobody was at the authenticator")
	case flags&userVerified == 0:
		return refuse("the authenticator did not make sure who it was: no PIN, no finger")
	}
	return nil
}

// client is what the browser says of where and for what it asked.
type client struct {
	Type, Challenge, Origin string
	CrossOrigin             bool
}

// clientData reads client data strictly: each name once, in its very letters.
func clientData(data []byte) (client, error) {
	var c client
	d := json.NewDecoder(bytes.NewReader(data))
	bad := fault.New("key/evidence", "the client data is no object of JSON with each name once").At("assertion")
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return c, bad
	}
	fields := map[string]any{"type": &c.Type, "challenge": &c.Challenge, "origin": &c.Origin, "crossOrigin": &c.CrossOrigin}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok || seen[name] {
			return c, bad
		}
		seen[name] = true
		var raw json.RawMessage
		into, known := fields[name]
		if !known {
			into = &raw
		}
		if err := d.Decode(into); err != nil {
			return c, bad
		}
	}
	if _, err := d.Token(); err != nil || len(bytes.TrimSpace(data[d.InputOffset():])) > 0 {
		return c, bad
	}
	return c, nil
}

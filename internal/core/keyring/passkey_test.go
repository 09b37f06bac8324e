package keyring_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/keyring/keyringtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	party  = "loom.example.org"
	origin = "https://loom.example.org:7420"
)

func newAuthenticator(name string, private crypto.Signer) *keyringtest.Authenticator {
	return keyringtest.New(name, private, party, origin)
}

func es256(t testing.TB) crypto.Signer {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func eddsa(t testing.TB) crypto.Signer {
	_, k, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestSIGN04_EvidenceIsForOnePayloadOnOnePageByAPersonWhoWasVerified alters everything
// that evidence says, signed properly, and then each byte of it, not signed again.
func TestSIGN04_EvidenceIsForOnePayloadOnOnePageByAPersonWhoWasVerified(t *testing.T) {
	payload := []byte("approve shop-2")
	for alg, private := range map[string]crypto.Signer{"ES256": es256(t), "EdDSA": eddsa(t)} {
		a := newAuthenticator("phone", private)
		if err := keyring.CheckKey(a.Key); err != nil {
			t.Fatalf("%s: %v", alg, err)
		}
		for _, tt := range []struct {
			name, code string
			alter      func(*keyringtest.Said)
		}{
			{"as it should be", "", nil},
			{"counted, backed up, with extensions", "", func(s *keyringtest.Said) { s.Flags |= 0x80 | 0x10 | 0x08 }},
			{"more that a browser says", "", func(s *keyringtest.Said) { s.More = `,"crossOrigin":false,"other":{"a":[1,null]}` }},
			{"without a word on frames", "", func(s *keyringtest.Said) { s.More = "" }},
			{"a registration", "key/evidence", func(s *keyringtest.Said) { s.Type = "webauthn.create" }},
			{"no type", "key/evidence", func(s *keyringtest.Said) { s.Type = "" }},
			{"another payload", "key/evidence", func(s *keyringtest.Said) {
				other := sha256.Sum256(keyring.SignedBytes([]byte("approve shop-3")))
				s.Challenge = base64.RawURLEncoding.EncodeToString(other[:])
			}},
			{"the payload without its prefix", "key/evidence", func(s *keyringtest.Said) {
				bare := sha256.Sum256(payload)
				s.Challenge = base64.RawURLEncoding.EncodeToString(bare[:])
			}},
			{"the challenge padded", "key/evidence", func(s *keyringtest.Said) { s.Challenge += "=" }},
			{"another origin", "key/evidence", func(s *keyringtest.Said) { s.Origin = "https://evil.example.org" }},
			{"another port", "key/evidence", func(s *keyringtest.Said) { s.Origin = "https://loom.example.org" }},
			{"no TLS", "key/evidence", func(s *keyringtest.Said) { s.Origin = "http://loom.example.org:7420" }},
			{"in a frame of another page", "key/evidence", func(s *keyringtest.Said) { s.More = `,"crossOrigin":true` }},
			{"another relying party", "key/evidence", func(s *keyringtest.Said) { s.Party = "example.org" }},
			{"nobody there", "key/evidence", func(s *keyringtest.Said) { s.Flags = 4 }},
			{"not verified who", "key/evidence", func(s *keyringtest.Said) { s.Flags = 1 }},
			{"a name twice", "key/evidence", func(s *keyringtest.Said) { s.More = `,"origin":"https://loom.example.org:7420"` }},
			{"a name in other letters does not count", "key/evidence", func(s *keyringtest.Said) { s.Origin, s.More = "https://evil.org", `,"Origin":"`+origin+`"` }},
			{"a type that is no text", "key/evidence", func(s *keyringtest.Said) { s.More = `,"crossOrigin":"no"` }},
			{"more behind it", "key/evidence", func(s *keyringtest.Said) { s.More = `}{"a":1` }},
		} {
			if err := keyring.Check(a.Key, a.Confirm(payload, tt.alter)); fault.Code(err) != tt.code {
				t.Errorf("%s, %s: %v, want %q", alg, tt.name, err, tt.code)
			}
		}
		good := a.Confirm(payload, nil)
		for _, field := range []struct {
			name string
			of   func(*loomv1.SignedCommand) *[]byte
		}{
			{"payload", func(c *loomv1.SignedCommand) *[]byte { return &c.Payload }},
			{"signature", func(c *loomv1.SignedCommand) *[]byte { return &c.Signature }},
			{"authenticator data", func(c *loomv1.SignedCommand) *[]byte { return &c.Assertion.AuthenticatorData }},
			{"client data", func(c *loomv1.SignedCommand) *[]byte { return &c.Assertion.ClientDataJson }},
		} {
			for i := range *field.of(good) {
				c := proto.CloneOf(good)
				(*field.of(c))[i] ^= 1
				if err := keyring.Check(a.Key, c); err == nil {
					t.Errorf("%s: %s with byte %d altered is accepted", alg, field.name, i)
				}
			}
			c := proto.CloneOf(good)
			*field.of(c) = nil
			if err := keyring.Check(a.Key, c); err == nil {
				t.Errorf("%s: without %s it is accepted", alg, field.name)
			}
		}
		// What a passkey signs is nothing without evidence, nor is evidence of another key.
		bare := proto.CloneOf(good)
		bare.Assertion = nil
		other := newAuthenticator("other", es256(t))
		for what, err := range map[string]error{"no evidence": keyring.Check(a.Key, bare), "another key": keyring.Check(other.Key, good)} {
			if fault.Code(err) != "approval/signature" {
				t.Errorf("%s, %s: %v", alg, what, err)
			}
		}
	}
}

// A key is enrolled only as something that can be checked, in its one encoding, for a
// page that a browser would take its relying party from.
func TestSIGN04_APasskeyIsEnrolledForOnePage(t *testing.T) {
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsa2048, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		ok   bool
		edit func(*loomv1.SigningKey)
	}{
		{"sound", true, func(*loomv1.SigningKey) {}},
		{"the host itself", true, func(k *loomv1.SigningKey) { k.Passkey.Origin = "https://loom.example.org" }},
		{"a name above the page's", true, func(k *loomv1.SigningKey) { k.Passkey.RelyingParty = "example.org" }},
		{"loopback", true, func(k *loomv1.SigningKey) {
			k.Passkey.RelyingParty, k.Passkey.Origin = "localhost", "http://localhost:7420"
		}},
		{"no TLS", false, func(k *loomv1.SigningKey) { k.Passkey.Origin = "http://loom.example.org" }},
		{"an address", false, func(k *loomv1.SigningKey) {
			k.Passkey.RelyingParty, k.Passkey.Origin = "127.0.0.1", "https://127.0.0.1"
		}},
		{"another's page", false, func(k *loomv1.SigningKey) { k.Passkey.Origin = "https://loom.example.com" }},
		{"a name that only ends alike", false, func(k *loomv1.SigningKey) { k.Passkey.Origin = "https://evilloom.example.org" }},
		{"a path", false, func(k *loomv1.SigningKey) { k.Passkey.Origin += "/" }},
		{"a user", false, func(k *loomv1.SigningKey) { k.Passkey.Origin = "https://a@loom.example.org" }},
		{"capitals", false, func(k *loomv1.SigningKey) { k.Passkey.Origin = "https://Loom.example.org" }},
		{"no relying party", false, func(k *loomv1.SigningKey) { k.Passkey.RelyingParty = "" }},
		{"no origin", false, func(k *loomv1.SigningKey) { k.Passkey.Origin = "" }},
		{"no credential", false, func(k *loomv1.SigningKey) { k.Passkey.Credential = nil }},
		{"a credential too long", false, func(k *loomv1.SigningKey) { k.Passkey.Credential = make([]byte, 1024) }},
		{"a raw key", false, func(k *loomv1.SigningKey) { k.PublicKey = make([]byte, 32) }},
		{"something behind the key", false, func(k *loomv1.SigningKey) { k.PublicKey = append(slices.Clone(k.PublicKey), 0) }},
		{"another curve", false, func(k *loomv1.SigningKey) { k.PublicKey, _ = x509.MarshalPKIXPublicKey(p384.Public()) }},
		{"RSA", false, func(k *loomv1.SigningKey) { k.PublicKey, _ = x509.MarshalPKIXPublicKey(rsa2048.Public()) }},
		{"no name", false, func(k *loomv1.SigningKey) { k.Name = "" }},
		{"a name that is none", false, func(k *loomv1.SigningKey) { k.Name = "My phone" }},
		{"a long name", false, func(k *loomv1.SigningKey) { k.Name = strings.Repeat("a", 33) }},
		{"enrolled by its own word", false, func(k *loomv1.SigningKey) { k.EnrolledBy = []string{"first"} }},
		{"in a project", false, func(k *loomv1.SigningKey) { k.Project = "shop" }},
	} {
		k := newAuthenticator("phone", es256(t)).Key
		tt.edit(k)
		if err := keyring.CheckKey(k); (err == nil) != tt.ok || err != nil && fault.Code(err) != "key/invalid" {
			t.Errorf("%s: %v, want ok: %t", tt.name, err, tt.ok)
		}
	}
}

// FuzzEvidence holds evidence of anybody's making against a key: it is refused, and
// what is accepted says the challenge, the page and that a person was verified.
func FuzzEvidence(f *testing.F) {
	a := newAuthenticator("phone", eddsa(f))
	payload := []byte("p")
	good := a.Confirm(payload, nil)
	f.Add(good.Assertion.AuthenticatorData, good.Assertion.ClientDataJson, false)
	f.Add(good.Assertion.AuthenticatorData, []byte(`{"type":"webauthn.get","type":"x"}`), true)
	f.Add([]byte{}, []byte(`{`), true)
	f.Fuzz(func(t *testing.T, data, client []byte, sign bool) {
		c := proto.CloneOf(good)
		c.Assertion = &loomv1.Assertion{AuthenticatorData: data, ClientDataJson: client}
		if sign { // by the right key, over whatever it is
			c.Signature = a.Sign(data, client)
		}
		if keyring.Check(a.Key, c) != nil {
			return
		}
		challenge := sha256.Sum256(keyring.SignedBytes(payload))
		id := sha256.Sum256([]byte(party))
		if !bytes.HasPrefix(data, id[:]) || data[32]&5 != 5 || !bytes.Contains(client, []byte(base64.RawURLEncoding.EncodeToString(challenge[:]))) || !bytes.Contains(client, []byte("webauthn.get")) {
			t.Errorf("accepted: %x %s", data, client)
		}
	})
}

// Package keyringtest is an authenticator for tests: it answers as a passkey would, and
// says what a test wants it to say.
package keyringtest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"

	"github.com/loomrun/loom/internal/core/keyring"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Authenticator has one credential, of a page.
type Authenticator struct {
	// Key is the credential as it is enrolled.
	Key *loomv1.SigningKey

	private crypto.Signer
}

// New returns an authenticator with a private key, of P-256 or Ed25519.
func New(name string, private crypto.Signer, party, origin string) *Authenticator {
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		panic(err) // the key is none
	}
	passkey := &loomv1.Passkey{RelyingParty: party, Origin: origin, Credential: []byte("credential of " + name)}
	return &Authenticator{&loomv1.SigningKey{Name: name, PublicKey: der, Passkey: passkey}, private}
}

// Said is what browser and authenticator say.
type Said struct {
	Type, Challenge, Origin, Party string
	// More is put behind the origin, as it is.
	More  string
	Flags byte
}

// Confirm signs a payload, as a person would who confirms it on the credential's page.
// alter may change what is said before it is signed.
func (a *Authenticator) Confirm(payload []byte, alter func(*Said)) *loomv1.SignedCommand {
	challenge := sha256.Sum256(keyring.SignedBytes(payload))
	s := Said{
		"webauthn.get", base64.RawURLEncoding.EncodeToString(challenge[:]), a.Key.Passkey.Origin, a.Key.Passkey.RelyingParty, `,"crossOrigin":false`, 1 | 4,
	}
	if alter != nil {
		alter(&s)
	}
	client := fmt.Appendf(nil, `{"type":%q,"challenge":%q,"origin":%q%s}`, s.Type, s.Challenge, s.Origin, s.More)
	id := sha256.Sum256([]byte(s.Party))
	data := append(append(id[:], s.Flags), 0, 0, 0, 7)
	return &loomv1.SignedCommand{
		Payload: payload, Signature: a.Sign(data, client), Assertion: &loomv1.Assertion{AuthenticatorData: data, ClientDataJson: client},
	}
}

// Sign signs whatever it is.
func (a *Authenticator) Sign(data, client []byte) []byte {
	sum := sha256.Sum256(client)
	message := append(bytes.Clone(data), sum[:]...)
	var opts crypto.SignerOpts = crypto.Hash(0)
	if _, ok := a.private.(*ecdsa.PrivateKey); ok {
		digest := sha256.Sum256(message)
		message, opts = digest[:], crypto.SHA256
	}
	signature, err := a.private.Sign(nil, message, opts)
	if err != nil {
		panic(err) // it signs anything
	}
	return signature
}

// Package ceokey keeps the CEO's signing key: an nkey in a file of mode 0600
// outside the data directory. Whoever can read the file is the CEO, so it is
// never in a data directory, a log, an event or a prompt; only its public half
// leaves this package, and signatures.
package ceokey

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nkeys"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/privatefile"
	"github.com/loomrun/loom/internal/core/keyring"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// validFor is how long a signed command may be presented.
const validFor = 5 * time.Minute

// Key signs in the CEO's name.
type Key struct {
	pair   nkeys.KeyPair
	public string
}

// DefaultPath returns where the key of this user is kept:
// $XDG_CONFIG_HOME/loom/ceo.nk, or what the system uses in its place.
func DefaultPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fault.New("data/permissions", "no configuration directory for the CEO's key: %s", err).Want("--key FILE, or XDG_CONFIG_HOME or HOME set")
	}
	return filepath.Join(dir, "loom", "ceo.nk"), nil
}

// Open reads the key at path; it refuses a file that others can read.
func Open(path string) (*Key, error) {
	if _, err := privatefile.Guarded("the CEO's key", path, "consider it seen"); err != nil {
		return nil, err
	}
	seed, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.New("data/permissions", "the CEO's key cannot be read").At(path).Because(err)
	}
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
	if err != nil {
		return nil, fault.New("data/permissions", "the file is not an nkey seed").At(path)
	}
	return withPublic(pair)
}

// OpenOrCreate is Open, but makes a new key when there is no file. created
// tells which.
func OpenOrCreate(path string) (key *Key, created bool, err error) {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		key, err = Open(path)
		return key, false, err
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, false, err
	}
	if err := write(path, pair); err != nil {
		return nil, false, fault.New("data/permissions", "the CEO's key cannot be written").At(path).Because(err)
	}
	key, err = withPublic(pair)
	return key, true, err
}

// write makes the file under another name first, so that a crash leaves either
// no key or a whole one, and links it, so that two starts agree on one.
func write(path string, pair nkeys.KeyPair) error {
	seed, err := pair.Seed()
	if err != nil {
		return err
	}
	if err := durable.MakeAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".ceo-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, werr := f.Write(append(seed, '\n'))
	if err := errors.Join(werr, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return durable.Directory(filepath.Dir(path))
}

func withPublic(pair nkeys.KeyPair) (*Key, error) {
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fault.New("data/permissions", "the CEO's key is damaged: %s", err)
	}
	return &Key{pair, public}, nil
}

// Public returns the public half, "U...".
func (k *Key) Public() string { return k.public }

// Public returns the public key, "U...", that bytes are.
func Public(raw []byte) (string, error) {
	if len(raw) != ed25519.PublicKeySize {
		return "", fault.New("id/malformed", "a public key of %d bytes, want %d", len(raw), ed25519.PublicKeySize)
	}
	public, err := nkeys.Encode(nkeys.PrefixByteUser, raw)
	if err != nil {
		return "", fault.New("id/malformed", "not a public key: %s", err)
	}
	return string(public), nil
}

// ID names the public half of a key that is enrolled: an nkey, "U...", or of a passkey
// "passkey:" and the SHA-256 of its public key, relying party and origin.
func ID(k *loomv1.SigningKey) string {
	p := k.GetPasskey()
	if p == nil {
		public, err := Public(k.GetPublicKey())
		if err != nil {
			return ""
		}
		return public
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%x %q %q", k.PublicKey, p.RelyingParty, p.Origin))
	return "passkey:" + hex.EncodeToString(sum[:])
}

// Parse returns the bytes of a public key, "U...".
func Parse(public string) (ed25519.PublicKey, error) {
	raw, err := nkeys.Decode(nkeys.PrefixByteUser, []byte(public))
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, fault.New("id/malformed", "not the public half of a user's nkey").Got(public)
	}
	return raw, nil
}

// Decide signs the answer to an approval.
func (k *Key) Decide(deployment, projectID string, d *loomv1.DecideApproval) (*loomv1.SignedCommand, error) {
	return k.Sign(deployment, projectID, &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Decide{Decide: d}})
}

// Move signs that an execution goes on at another node.
func (k *Key) Move(deployment, projectID string, m *loomv1.MoveExecution) (*loomv1.SignedCommand, error) {
	return k.Sign(deployment, projectID, &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Move{Move: m}})
}

// Close signs that an execution and its bead end.
func (k *Key) Close(deployment, projectID string, c *loomv1.CloseExecution) (*loomv1.SignedCommand, error) {
	return k.Sign(deployment, projectID, &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Close{Close: c}})
}

// Pause signs that work within a scope is held.
func (k *Key) Pause(deployment, projectID string, p *loomv1.PauseWork) (*loomv1.SignedCommand, error) {
	return k.Sign(deployment, projectID, &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Pause{Pause: p}})
}

// Resume signs that a pause ends.
func (k *Key) Resume(deployment, projectID string, r *loomv1.ResumeWork) (*loomv1.SignedCommand, error) {
	return k.Sign(deployment, projectID, &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Resume{Resume: r}})
}

// Define signs a version of a definition.
func (k *Key) Define(deployment, projectID string, c *loomv1.ChangeDefinition) (*loomv1.SignedCommand, error) {
	return k.Sign(deployment, projectID, &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Define{Define: c}})
}

// Enrol signs that another key signs in the CEO's name too.
func (k *Key) Enrol(deployment, projectID string, e *loomv1.EnrolKey) (*loomv1.SignedCommand, error) {
	return k.Sign(deployment, projectID, &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_EnrolKey{EnrolKey: e}})
}

// Revoke signs that another key signs no more.
func (k *Key) Revoke(deployment, projectID string, r *loomv1.RevokeKey) (*loomv1.SignedCommand, error) {
	return k.Sign(deployment, projectID, &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_RevokeKey{RevokeKey: r}})
}

// Envelope signs the pre-authentication encoding of a DSSE envelope. It begins with
// "DSSEv1 " and so is never taken for a command.
func (k *Key) Envelope(encoding []byte) ([]byte, error) {
	if !bytes.HasPrefix(encoding, []byte("DSSEv1 ")) {
		return nil, fault.New("command/malformed", "not the encoding of an envelope")
	}
	return k.pair.Sign(encoding)
}

// Sign signs a command for a project of a deployment, to be used once, within
// five minutes. It reads the verb of cmd and fills in everything else.
func (k *Key) Sign(deployment, projectID string, cmd *loomv1.CeoCommand) (*loomv1.SignedCommand, error) {
	return k.SignAt(time.Now(), deployment, projectID, cmd)
}

// SignAt is Sign on a machine whose clock says now.
func (k *Key) SignAt(now time.Time, deployment, projectID string, cmd *loomv1.CeoCommand) (*loomv1.SignedCommand, error) {
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // it never fails
	payload, err := proto.MarshalOptions{Deterministic: true}.Marshal(&loomv1.CeoCommand{
		Deployment: deployment, Project: projectID, Nonce: hex.EncodeToString(nonce),
		IssuedAt: timestamppb.New(now), NotAfter: timestamppb.New(now.Add(validFor)),
		Verb: cmd.Verb,
	})
	if err != nil { // the one thing that a message of this contract can have wrong
		return nil, fault.New("request/parameter", "a text is not valid UTF-8").Want("write it in UTF-8")
	}
	signature, err := k.pair.Sign(keyring.SignedBytes(payload))
	if err != nil {
		return nil, err
	}
	return &loomv1.SignedCommand{Payload: payload, PublicKey: k.public, Signature: signature}, nil
}

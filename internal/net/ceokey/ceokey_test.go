package ceokey_test

import (
	"crypto/ed25519"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/net/ceokey"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Each verb is signed for one place, for a while, with a nonce of its own.
func TestWF09_EveryVerbIsSignedForOnePlaceAndOnce(t *testing.T) {
	key, _, err := ceokey.OpenOrCreate(filepath.Join(t.TempDir(), "ceo.nk"))
	if err != nil {
		t.Fatal(err)
	}
	public, err := ceokey.Parse(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	nonces := map[string]bool{}
	for verb, sign := range map[string]func() (*loomv1.SignedCommand, error){
		"decide":     func() (*loomv1.SignedCommand, error) { return key.Decide("dp", "shop", &loomv1.DecideApproval{}) },
		"move":       func() (*loomv1.SignedCommand, error) { return key.Move("dp", "shop", &loomv1.MoveExecution{}) },
		"close":      func() (*loomv1.SignedCommand, error) { return key.Close("dp", "shop", &loomv1.CloseExecution{}) },
		"pause":      func() (*loomv1.SignedCommand, error) { return key.Pause("dp", "shop", &loomv1.PauseWork{}) },
		"resume":     func() (*loomv1.SignedCommand, error) { return key.Resume("dp", "shop", &loomv1.ResumeWork{}) },
		"enrol_key":  func() (*loomv1.SignedCommand, error) { return key.Enrol("dp", "shop", &loomv1.EnrolKey{}) },
		"revoke_key": func() (*loomv1.SignedCommand, error) { return key.Revoke("dp", "shop", &loomv1.RevokeKey{}) },
		"define":     func() (*loomv1.SignedCommand, error) { return key.Define("dp", "shop", &loomv1.ChangeDefinition{}) },
	} {
		c, err := sign()
		if err != nil {
			t.Fatal(err)
		}
		cmd := &loomv1.CeoCommand{}
		if err := proto.Unmarshal(c.Payload, cmd); err != nil {
			t.Fatal(err)
		}
		m := cmd.ProtoReflect()
		if got := string(m.WhichOneof(m.Descriptor().Oneofs().ByName("verb")).Name()); got != verb {
			t.Errorf("signed %s, want %s", got, verb)
		}
		if cmd.Deployment != "dp" || cmd.Project != "shop" || !cmd.NotAfter.AsTime().After(cmd.IssuedAt.AsTime()) || cmd.Nonce == "" || nonces[cmd.Nonce] {
			t.Errorf("%s is signed as %v", verb, cmd)
		}
		nonces[cmd.Nonce] = true
		if c.PublicKey != key.Public() || !ed25519.Verify(public, keyring.SignedBytes(c.Payload), c.Signature) {
			t.Errorf("the signature of %s is not the key's", verb)
		}
	}
}

package host

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/keyring/keyringtest"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/token"
	"github.com/loomrun/loom/internal/ops/vault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// knock presents a signed command over HTTP, and returns the status and the code of what
// is wrong.
func (d *deployment) knock(t *testing.T, secret string, c *loomv1.SignedCommand) (int, string) {
	t.Helper()
	body, err := protojson.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.host.Load().HTTP()+"/api/v1/commands", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	var problem struct{ Code string }
	if err := json.Unmarshal(data, &problem); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return reply.StatusCode, problem.Code
}

// payload is a command in its bytes, for one project of a deployment.
func payload(t *testing.T, deployment, of, nonce string, cmd *loomv1.CeoCommand) []byte {
	t.Helper()
	cmd.Deployment, cmd.Project, cmd.Nonce = deployment, of, nonce
	cmd.IssuedAt, cmd.NotAfter = timestamppb.Now(), timestamppb.New(time.Now().Add(time.Minute))
	data, err := proto.Marshal(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func pausing(reason string) *loomv1.CeoCommand {
	return &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Pause{Pause: &loomv1.PauseWork{Scope: loomv1.PauseScope_PAUSE_SCOPE_PROJECT, Reason: reason}}}
}

// TestSIGN04_EvidenceOutlivesTheHost: a passkey that was enrolled over HTTP signs, what is
// no evidence of its person is refused, and the audit of the files says the same once the
// host is gone. TestSIGN04_WhoeverMayReadKnocks is the first half of it: a token that may
// read, and nothing else, presents what the CEO has signed.
func TestSIGN04_EvidenceOutlivesTheHost(t *testing.T) {
	longtest.Skip(t)
	d, _ := site(t, "shop")
	_, secret, err := token.Create(d.config.Data, "page", []string{"read"}, 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	first, err := ceokey.Open(d.config.CEOKey)
	if err != nil {
		t.Fatal(err)
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	phone := keyringtest.New("phone", private, "localhost", "http://localhost:7420")
	deployment := d.host.Load().Deployment()
	for _, of := range []string{project.System, "shop"} {
		c, err := first.Enrol(deployment, of, &loomv1.EnrolKey{Key: phone.Key, Reason: "a phone"})
		if err != nil {
			t.Fatal(err)
		}
		if status, code := d.knock(t, secret, c); status != http.StatusOK {
			t.Fatalf("enrolled in %s: %d %s", of, status, code)
		}
	}
	other := payload(t, deployment, "shop", "n2", pausing("another"))
	for _, tt := range []struct {
		name, code string
		status     int
		alter      func(*keyringtest.Said)
		also       func(*loomv1.SignedCommand)
	}{
		{"as it should be", "", http.StatusOK, nil, nil},
		{"another payload", "key/evidence", http.StatusForbidden, nil, func(c *loomv1.SignedCommand) { c.Payload = other }},
		{"another origin", "key/evidence", http.StatusForbidden, func(s *keyringtest.Said) { s.Origin = "http://localhost:7421" }, nil},
		{"another relying party", "key/evidence", http.StatusForbidden, func(s *keyringtest.Said) { s.Party = "example.org" }, nil},
		{"nobody verified", "key/evidence", http.StatusForbidden, func(s *keyringtest.Said) { s.Flags = 1 }, nil},
		{"no evidence", "approval/signature", http.StatusForbidden, nil, func(c *loomv1.SignedCommand) { c.Assertion = nil }},
	} {
		c := phone.Confirm(payload(t, deployment, "shop", "n-"+tt.name, pausing("for "+tt.name)), tt.alter)
		if tt.also != nil {
			tt.also(c)
		}
		if status, code := d.knock(t, secret, c); status != tt.status || code != tt.code {
			t.Errorf("%s: %d %s, want %d %s", tt.name, status, code, tt.status, tt.code)
		}
	}
	d.host.Load().Stop(t.Context())
	store, err := vault.Open(d.config.Data)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	audit, err := store.Audit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := audit.Err(); err != nil {
		t.Errorf("the audit: %v", err)
	}
	by := map[string]int{}
	for _, act := range audit.Acts {
		if act.Signature == "valid" {
			by[act.Kind+" by "+act.Key]++
		}
	}
	if by["override-given by phone"] != 1 || by["key-enrolled by first"] != 2 || len(by) != 2 {
		t.Errorf("signed: %v", by)
	}
}

// TestSIGN04_WhoeverMayReadKnocks: the token is no authority, and what nobody signed is
// refused; without a token there is not even a door.
func TestSIGN04_WhoeverMayReadKnocks(t *testing.T) {
	longtest.Skip(t)
	d, secret := site(t, "shop")
	stranger, _, err := ceokey.OpenOrCreate(t.TempDir() + "/stranger.nk")
	if err != nil {
		t.Fatal(err)
	}
	c, err := stranger.Pause(d.host.Load().Deployment(), "shop", &loomv1.PauseWork{Scope: loomv1.PauseScope_PAUSE_SCOPE_PROJECT, Reason: "mine now"})
	if err != nil {
		t.Fatal(err)
	}
	if status, code := d.knock(t, secret, c); status != http.StatusForbidden || code != "approval/signature" {
		t.Errorf("a stranger's: %d %s", status, code)
	}
	if status, code := d.knock(t, secret, &loomv1.SignedCommand{}); status != http.StatusNotFound || code != "project/unknown" {
		t.Errorf("nothing at all: %d %s", status, code)
	}
	if status, _ := d.knock(t, "no token", c); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	var last int
	for range 40 { // a refusal is on record, and must not fill the journal
		if last, _ = d.knock(t, secret, c); last == http.StatusTooManyRequests {
			return
		}
	}
	t.Errorf("the 42nd refusal at once: %d", last)
}

package identity_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/identity"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// store is that of a data directory which a host has used.
func store(t *testing.T) (identity.Store, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return identity.NewFile(dir), filepath.Join(dir, identity.FileName)
}

func add(t *testing.T, s identity.Store, r identity.Request) (identity.User, identity.Secrets) {
	t.Helper()
	u, secrets, err := identity.Add(t.Context(), s, r, noon)
	if err != nil {
		t.Fatalf("Add(%+v): %v", r, err)
	}
	return u, secrets
}

func TestSEC01_NoPrivateKeyIsKept(t *testing.T) {
	s, path := store(t)
	seen := map[string]bool{}
	for _, kind := range identity.Kinds() {
		r := identity.Request{Name: "n-" + string(kind), Kind: kind}
		if kind == identity.Worker {
			r.Roles = []string{"qa", "lead", "qa"}
		}
		u, secrets := add(t, s, r)
		for _, half := range []struct {
			public string
			seed   []byte
		}{{u.Key, secrets.Seed}, {u.Control, secrets.Control}} {
			if half.public == "" && half.seed == nil && kind != identity.CEO {
				continue
			}
			pair, err := nkeys.FromSeed(half.seed)
			if err != nil {
				t.Fatal(err)
			}
			if public, err := pair.PublicKey(); err != nil || public != half.public || seen[public] {
				t.Errorf("%s: the halves do not match, or were there before: %v", kind, err)
			}
			seen[half.public] = true
			data, err := os.ReadFile(path)
			if err != nil || bytes.Contains(data, half.seed) {
				t.Errorf("%s: the file holds the private key (%v)", kind, err)
			}
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v; want mode 0600", info, err)
	}
}

func TestSEC01_ANameStandsForOneIdentityForGood(t *testing.T) {
	s, _ := store(t)
	ctx := t.Context()
	before, _ := add(t, s, identity.Request{Name: "ci", Kind: identity.Publisher})
	again := identity.Request{Name: "ci", Kind: identity.Operator}
	if _, _, err := identity.Add(ctx, s, again, noon); fault.Code(err) != "identity/exists" {
		t.Errorf("the same name again: %v, want identity/exists", err)
	}
	after, _, err := identity.Rotate(ctx, s, "ci", time.Hour, noon.Add(time.Hour))
	if err != nil || after.Key == before.Key || after.Kind != before.Kind || !after.Expires.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("Rotate: %+v, %v", after, err)
	}
	for range 2 { // the second changes nothing
		if err := identity.Revoke(ctx, s, "ci", noon.Add(3*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := identity.Add(ctx, s, again, noon); fault.Code(err) != "identity/exists" {
		t.Errorf("the name of one that was revoked: %v, want identity/exists", err)
	}
	if _, _, err := identity.Rotate(ctx, s, "ci", 0, noon); fault.Code(err) != "identity/unknown" {
		t.Errorf("a new key for one that was revoked: %v, want identity/unknown", err)
	}
	u, err := identity.Get(ctx, s, "ci")
	if err != nil || u.Valid(noon) || !u.Revoked.Equal(noon.Add(3*time.Hour)) {
		t.Errorf("Get: %+v, %v", u, err)
	}
	for _, err := range []error{
		identity.Revoke(ctx, s, "cj", noon),
		func() error { _, _, err := identity.Rotate(ctx, s, "cj", 0, noon); return err }(),
		func() error { _, err := identity.Get(ctx, s, "cj"); return err }(),
	} {
		if fault.Code(err) != "identity/unknown" || !strings.Contains(err.Error(), `"ci"`) {
			t.Errorf("one that never was: %v, want identity/unknown and a hint", err)
		}
	}
}

func TestSEC01_RequestsThatCannotBe(t *testing.T) {
	s, path := store(t)
	many := make([]string, 17)
	for i := range many {
		many[i] = "p" + string(rune('a'+i))
	}
	for _, tt := range []struct {
		what string
		r    identity.Request
		code string
	}{
		{"no name", identity.Request{Kind: identity.Observer}, "id/malformed"},
		{"a wildcard", identity.Request{Name: "a.>", Kind: identity.Observer}, "id/malformed"},
		{"a name of the host's own", identity.Request{Name: "operator", Kind: identity.Observer}, "usage/argument"},
		{"a long name", identity.Request{Name: strings.Repeat("a", 41), Kind: identity.Observer}, "usage/argument"},
		{"no kind", identity.Request{Name: "a"}, "usage/argument"},
		{"an unknown kind", identity.Request{Name: "a", Kind: "anonymous"}, "usage/argument"},
		{"an operator of a project", identity.Request{Name: "a", Kind: identity.Operator, Projects: []string{"p"}}, "usage/argument"},
		{"a project that is a wildcard", identity.Request{Name: "a", Kind: identity.Publisher, Projects: []string{"*"}}, "id/malformed"},
		{"seventeen projects", identity.Request{Name: "a", Kind: identity.Publisher, Projects: many}, "usage/argument"},
		{"a worker of no role", identity.Request{Name: "a", Kind: identity.Worker}, "usage/argument"},
		{"a role that is a wildcard", identity.Request{Name: "a", Kind: identity.Worker, Roles: []string{">"}}, "id/malformed"},
		{"a publisher with a role", identity.Request{Name: "a", Kind: identity.Publisher, Roles: []string{"qa"}}, "usage/argument"},
		{"no time", identity.Request{Name: "a", Kind: identity.Observer, Life: time.Millisecond}, "usage/argument"},
		{"91 days", identity.Request{Name: "a", Kind: identity.Observer, Life: 91 * 24 * time.Hour}, "usage/argument"},
	} {
		if _, _, err := identity.Add(t.Context(), s, tt.r, noon); fault.Code(err) != tt.code {
			t.Errorf("%s: %v, want %s", tt.what, err, tt.code)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a refused request left a file")
	}
	nobody := identity.NewFile(t.TempDir())
	if _, _, err := identity.Add(t.Context(), nobody, identity.Request{Name: "a", Kind: identity.Observer}, noon); fault.Code(err) != "data/manifest" {
		t.Errorf("in a directory that no host has used: %v, want data/manifest", err)
	}
}

func TestSEC01_AnIdentityIsGoodUntilItExpires(t *testing.T) {
	s, _ := store(t)
	u, _ := add(t, s, identity.Request{Name: "ci", Kind: identity.Publisher})
	for after, want := range map[time.Duration]bool{0: true, identity.MaxLife - time.Second: true, identity.MaxLife: false} {
		if got := u.Valid(noon.Add(after)); got != want {
			t.Errorf("valid %v later: %t", after, got)
		}
	}
}

func TestSEC01_ADamagedListIsRefusedWhole(t *testing.T) {
	for what, change := range map[string]func(string) string{
		"not JSON":        func(s string) string { return s[1:] },
		"a key twice":     func(s string) string { return strings.Replace(s, `"eve"`, `"eva"`, 1) + "" },
		"another kind":    func(s string) string { return strings.Replace(s, `"observer"`, `"king"`, 1) },
		"a key that none": func(s string) string { return strings.Replace(s, `"key": "U`, `"key": "X`, 1) },
		"a wildcard":      func(s string) string { return strings.Replace(s, `"shop"`, `">"`, 1) },
		"a way in":        func(s string) string { return strings.Replace(s, `"kind": "observer"`, `"kind": "ceo"`, 1) },
	} {
		s, path := store(t)
		add(t, s, identity.Request{Name: "ci", Kind: identity.Publisher, Projects: []string{"shop"}})
		add(t, s, identity.Request{Name: "eve", Kind: identity.Observer})
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := change(string(data))
		if what == "a key twice" {
			text = strings.TrimSuffix(strings.TrimSpace(text), "]") + "," + strings.TrimPrefix(strings.TrimSpace(string(data)), "[")
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if all, err := s.List(t.Context()); fault.Code(err) != "identity/file" {
			t.Errorf("%s: %v, %v; want identity/file", what, all, err)
		}
		if _, _, err := identity.Add(t.Context(), s, identity.Request{Name: "x", Kind: identity.Observer}, noon); fault.Code(err) != "identity/file" {
			t.Errorf("%s, then one more: %v, want identity/file", what, err)
		}
	}
}

func TestSEC01_ChangesAtOnceLoseNothing(t *testing.T) {
	s, _ := store(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			_, _, err := identity.Add(t.Context(), s, identity.Request{Name: "n" + string(rune('a'+i)), Kind: identity.Observer}, noon)
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if all, err := s.List(t.Context()); err != nil || len(all) != 8 {
		t.Errorf("%d identities, %v; want 8", len(all), err)
	}
}

func TestSEC01_CredentialsAreOneFile(t *testing.T) {
	s, _ := store(t)
	u, secrets := add(t, s, identity.Request{Name: "ann", Kind: identity.CEO})
	authority := []byte("-----BEGIN CERTIFICATE-----\nSUNB\n-----END CERTIFICATE-----\n")
	c := identity.Credentials{Name: u.Name, Kind: u.Kind, Deployment: "dp-1", URL: "tls://h:4222", Secrets: secrets, Authority: authority}
	path := filepath.Join(t.TempDir(), "ann.creds")
	if err := c.Write(path); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(path); fault.Code(err) != "data/permissions" {
		t.Errorf("over one that is there: %v, want data/permissions", err)
	}
	got, err := identity.ReadCredentials(path)
	if err != nil || !bytes.Equal(got.Encode(), c.Encode()) || got.URL != c.URL || !bytes.Equal(got.Control, secrets.Control) {
		t.Errorf("ReadCredentials: %+v, %v", got, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// As the NATS libraries read a file of an nkey.
	pair, err := nkeys.ParseDecoratedNKey(data)
	if err != nil {
		t.Fatal(err)
	}
	if public, err := pair.PublicKey(); err != nil || public != u.Key {
		t.Errorf("other clients read %s, %v; want %s", public, err, u.Key)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := identity.ReadCredentials(path); fault.Code(err) != "data/permissions" {
		t.Errorf("one that others can read: %v, want data/permissions", err)
	}
	if _, err := identity.ReadCredentials(path + "x"); fault.Code(err) != "data/permissions" {
		t.Errorf("one that is not there: %v, want data/permissions", err)
	}
}

// FuzzDecode reads what anybody may hand over as credentials. What is refused
// tells nothing of what was in it.
func FuzzDecode(f *testing.F) {
	_, seed, err := newSeed()
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range []identity.Credentials{
		{Name: "ci", Kind: identity.Publisher, Secrets: identity.Secrets{Seed: seed}},
		{Name: "ann", Kind: identity.CEO, Secrets: identity.Secrets{Seed: seed, Control: seed}, URL: "tls://x:1", Authority: []byte("-----BEGIN CERTIFICATE-----\nx\n")},
		{},
	} {
		f.Add(c.Encode())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := identity.Decode(data)
		if err != nil {
			if len(c.Seed) > 8 && strings.Contains(err.Error(), string(c.Seed)) {
				t.Errorf("the refusal tells the key: %v", err)
			}
			return
		}
		again, err := identity.Decode(c.Encode())
		if err != nil || again.Name != c.Name || again.Kind != c.Kind || !bytes.Equal(again.Seed, c.Seed) {
			t.Errorf("again: %+v, %v; want %+v", again, err, c)
		}
	})
}

func newSeed() (string, []byte, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", nil, err
	}
	public, err := pair.PublicKey()
	seed, serr := pair.Seed()
	return public, seed, errors.Join(err, serr)
}

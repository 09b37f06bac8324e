package token_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/token"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// directory is a data directory that a host has used.
func directory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func create(t *testing.T, dir, name string, scopes ...string) string {
	t.Helper()
	_, secret, err := token.Create(dir, name, scopes, 0, noon)
	if err != nil {
		t.Fatalf("Create(%s): %v", name, err)
	}
	return secret
}

func TestSEC01_ATokenIsGoodForItsScopesUntilItExpires(t *testing.T) {
	dir := directory(t)
	reads, submits := create(t, dir, "grafana", endpoint.Read), create(t, dir, "ci", endpoint.Submit, endpoint.Read)
	now := noon
	keys := token.NewKeys(dir, func() time.Time { return now })
	for _, tt := range []struct {
		secret string
		scopes []string
		after  time.Duration
		name   string
		want   string
	}{
		{reads, []string{endpoint.Read}, 0, "grafana", ""},
		{reads, []string{endpoint.Read, endpoint.Audit}, 0, "grafana", ""},
		{reads, []string{endpoint.Submit}, 0, "grafana", "token/scope"},
		{reads, nil, 0, "grafana", "token/scope"},
		{submits, []string{endpoint.Submit}, 0, "ci", ""},
		{submits, []string{endpoint.Read}, 0, "ci", ""},
		{submits, []string{endpoint.Operate}, 0, "ci", "token/scope"},
		{reads, []string{endpoint.Read}, token.MaxLife - time.Second, "grafana", ""},
		{reads, []string{endpoint.Read}, token.MaxLife, "", "token/unknown"}, // at that very instant
		{"", []string{endpoint.Read}, 0, "", "token/unknown"},
		{reads + "x", []string{endpoint.Read}, 0, "", "token/unknown"},
		{reads[:len(reads)-1], []string{endpoint.Read}, 0, "", "token/unknown"},
		{strings.ToUpper(reads), []string{endpoint.Read}, 0, "", "token/unknown"},
	} {
		now = noon.Add(tt.after)
		name, err := keys.Check(tt.secret, tt.scopes...)
		if name != tt.name || fault.Code(err) != tt.want {
			t.Errorf("Check(%.10s..., %v) %v later = %q, %v; want %q, %q", tt.secret, tt.scopes, tt.after, name, err, tt.name, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "loom_") {
			t.Errorf("the refusal tells the secret: %v", err)
		}
	}
}

func TestSEC01_TheFileHoldsNoSecret(t *testing.T) {
	dir := directory(t)
	secret := create(t, dir, "grafana", endpoint.Read)
	if len(secret) < len("loom_")+43 { // 256 bits
		t.Errorf("secret has %d bytes", len(secret))
	}
	if other := create(t, dir, "other", endpoint.Read); other == secret {
		t.Error("two tokens are the same")
	}
	path := filepath.Join(dir, "tokens.json")
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), strings.TrimPrefix(secret, "loom_")) {
		t.Errorf("the file, %v, holds the secret:\n%s", err, data)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	left, err := filepath.Glob(path + ".[0-9]*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSEC01_RevokedIsRefusedAtTheNextLook(t *testing.T) {
	dir := directory(t)
	keys := token.NewKeys(dir, func() time.Time { return noon })
	if _, err := keys.Check("loom_x", endpoint.Read); fault.Code(err) != "token/unknown" {
		t.Errorf("without any token: %v", err)
	}
	secret := create(t, dir, "grafana", endpoint.Read)
	if _, err := keys.Check(secret, endpoint.Read); err != nil {
		t.Errorf("made after the keys were opened: %v", err)
	}
	if err := token.Revoke(dir, "grafana"); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Check(secret, endpoint.Read); fault.Code(err) != "token/unknown" {
		t.Errorf("after it was revoked: %v, want token/unknown", err)
	}
	if err := token.Revoke(dir, "grafana"); fault.Code(err) != "token/unknown" {
		t.Errorf("a second Revoke = %v, want token/unknown", err)
	}
}

func TestSEC01_CreateRefuses(t *testing.T) {
	dir := directory(t)
	create(t, dir, "taken", endpoint.Read)
	for _, tt := range []struct {
		dir, name string
		scopes    []string
		life      time.Duration
		want      string
	}{
		{dir, "fine", []string{"read"}, time.Second, ""},
		{dir, "longest", []string{"read"}, token.MaxLife, ""},
		{dir, "taken", []string{"read"}, 0, "token/exists"},
		{dir, "", []string{"read"}, 0, "id/malformed"},
		{dir, "Not a name", []string{"read"}, 0, "id/malformed"},
		{dir, "none", nil, 0, "usage/argument"},
		{dir, "approver", []string{"approve"}, 0, "usage/argument"},
		{dir, "late", []string{"read"}, token.MaxLife + time.Second, "usage/argument"},
		{dir, "never", []string{"read"}, -time.Hour, "usage/argument"},
		{t.TempDir(), "early", []string{"read"}, 0, "data/manifest"},
	} {
		if _, _, err := token.Create(tt.dir, tt.name, tt.scopes, tt.life, noon); fault.Code(err) != tt.want {
			t.Errorf("Create(%q, %v, %v) = %v, want %q", tt.name, tt.scopes, tt.life, err, tt.want)
		}
	}
}

func TestSEC01_AFileThatCannotBeTrustedLetsNobodyIn(t *testing.T) {
	for _, tt := range []struct {
		name  string
		wreck func(path string) error
	}{
		{"others may read it", func(path string) error { return os.Chmod(path, 0o640) }},
		{"it is damaged", func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) }},
		{"it is a directory", func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o700)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := directory(t)
			secret := create(t, dir, "grafana", endpoint.Read)
			keys := token.NewKeys(dir, func() time.Time { return noon })
			if err := tt.wreck(filepath.Join(dir, "tokens.json")); err != nil {
				t.Fatal(err)
			}
			if _, err := keys.Check(secret, endpoint.Read); fault.Code(err) != "token/file" {
				t.Errorf("Check = %v, want token/file", err)
			}
			if _, err := token.List(dir); fault.Code(err) != "token/file" {
				t.Errorf("List = %v, want token/file", err)
			}
		})
	}
}

func TestSEC01_ManyAtOnceLoseNothing(t *testing.T) {
	dir := directory(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, _, err := token.Create(dir, fmt.Sprint("t", i), []string{endpoint.Read}, 0, noon); err != nil {
				t.Errorf("Create: %v", err)
			}
		})
	}
	wg.Wait()
	all, err := token.List(dir)
	if err != nil || len(all) != 20 {
		t.Errorf("%d tokens, %v; want 20", len(all), err)
	}
}

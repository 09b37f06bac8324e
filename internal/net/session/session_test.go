package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/session"
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

func invite(t *testing.T, dir string, life time.Duration, scopes ...string) string {
	t.Helper()
	link, err := session.Invite(dir, scopes, life, noon)
	if err != nil {
		t.Fatalf("Invite: %v", err)
	}
	return link
}

func TestSEC01_ALinkIsExchangedOnceWithinMinutes(t *testing.T) {
	dir := directory(t)
	now := noon
	k := session.NewKeeper(dir, func() time.Time { return now })
	for _, tt := range []struct {
		after time.Duration
		want  string
	}{
		{0, ""},
		{session.LinkLife - time.Nanosecond, ""},
		{session.LinkLife, "session/link"}, // at that very instant
	} {
		now = noon
		link := invite(t, dir, time.Hour, endpoint.Read)
		if _, err := k.Check(link, endpoint.Read); fault.Code(err) != "session/unknown" {
			t.Errorf("a link in the place of a cookie: %v, want session/unknown", err)
		}
		now = noon.Add(tt.after)
		s, cookie, err := k.Exchange(link, "Mozilla/5.0 \x1b[31m(é)")
		if fault.Code(err) != tt.want {
			t.Fatalf("Exchange %v later: %v, want %q", tt.after, err, tt.want)
		}
		if err != nil {
			continue
		}
		if s.Browser != "Mozilla/5.0 [31m()" || !s.Expires.Equal(s.Created.Add(time.Hour)) {
			t.Errorf("session %+v: want an hour, and a browser without control characters", s)
		}
		if _, err := k.Check(cookie, endpoint.Read); err != nil {
			t.Errorf("Check: %v", err)
		}
		if _, _, err := k.Exchange(link, ""); fault.Code(err) != "session/link" {
			t.Errorf("a second exchange: %v, want session/link", err)
		}
		if _, _, err := k.Exchange(cookie, ""); fault.Code(err) != "session/link" {
			t.Errorf("a cookie in the place of a link: %v, want session/link", err)
		}
	}
}

// Of many who come with one link at once, one is signed in.
func TestSEC01_OneOfManyGetsTheSession(t *testing.T) {
	dir := directory(t)
	k := session.NewKeeper(dir, func() time.Time { return noon })
	link := invite(t, dir, 0, endpoint.Read)
	var in atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, _, err := k.Exchange(link, ""); err == nil {
				in.Add(1)
			}
		})
	}
	all.Wait()
	if in.Load() != 1 {
		t.Errorf("%d were signed in with one link", in.Load())
	}
}

func TestSEC01_ASessionHoldsForItsScopesUntilItEnds(t *testing.T) {
	dir := directory(t)
	now := noon
	k := session.NewKeeper(dir, func() time.Time { return now })
	one, cookie, err := k.Exchange(invite(t, dir, 0, endpoint.Read, endpoint.Operate, endpoint.Read), "b")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		secret string
		scopes []string
		after  time.Duration
		name   string
		want   string
	}{
		{cookie, []string{endpoint.Read}, 0, one.Name, ""},
		{cookie, []string{endpoint.Submit, endpoint.Operate}, 0, one.Name, ""},
		{cookie, []string{endpoint.Submit}, 0, one.Name, "session/scope"},
		{cookie, nil, 0, one.Name, "session/scope"},
		{cookie, []string{endpoint.Read}, session.Life - time.Second, one.Name, ""},
		{cookie, []string{endpoint.Read}, session.Life, "", "session/unknown"},
		{"", []string{endpoint.Read}, 0, "", "session/unknown"},
		{cookie + "x", []string{endpoint.Read}, 0, "", "session/unknown"},
	} {
		now = noon.Add(tt.after)
		s, err := k.Check(tt.secret, tt.scopes...)
		if s.Name != tt.name || fault.Code(err) != tt.want {
			t.Errorf("Check(%.5s..., %v) %v later = %q, %v; want %q, %q", tt.secret, tt.scopes, tt.after, s.Name, err, tt.name, tt.want)
		}
	}
	now = noon
	if err := session.Revoke(dir, one.Name); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Check(cookie, endpoint.Read); fault.Code(err) != "session/unknown" {
		t.Errorf("after it was revoked: %v, want session/unknown", err)
	}
	if err := session.Revoke(dir, one.Name); fault.Code(err) != "session/unknown" {
		t.Errorf("a second Revoke = %v, want session/unknown", err)
	}
}

func TestSEC01_TheFileHoldsNoSecretOfASession(t *testing.T) {
	dir := directory(t)
	link := invite(t, dir, 0, endpoint.Read)
	_, cookie, err := session.NewKeeper(dir, func() time.Time { return noon }).Exchange(link, "b")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sessions.json")
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), link) || strings.Contains(string(data), cookie) || len(link) < 43 || len(cookie) < 43 {
		t.Errorf("the file, %v, holds a secret, or one is short:\n%s", err, data)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

func TestSEC01_WhatCannotBeASessionChangesNothing(t *testing.T) {
	longtest.Skip(t)
	dir := directory(t)
	for _, tt := range []struct {
		scopes []string
		life   time.Duration
		want   string
	}{
		{nil, 0, "usage/argument"},
		{[]string{"approve"}, 0, "usage/argument"},
		{[]string{endpoint.Audit}, 0, "usage/argument"},
		{[]string{endpoint.Read}, time.Second, "usage/argument"},
		{[]string{endpoint.Read}, session.MaxLife, ""},
		{[]string{endpoint.Read}, session.MaxLife + time.Second, "usage/argument"},
	} {
		if _, err := session.Invite(dir, tt.scopes, tt.life, noon); fault.Code(err) != tt.want {
			t.Errorf("Invite(%v, %v): %v, want %q", tt.scopes, tt.life, err, tt.want)
		}
	}
	all, err := session.List(dir, noon)
	if err != nil || len(all) != 1 {
		t.Errorf("%d sessions, %v; want the one that can be", len(all), err)
	}
	if _, err := session.Invite(t.TempDir(), []string{endpoint.Read}, 0, noon); fault.Code(err) != "data/manifest" {
		t.Errorf("in a directory that no host has used: %v", err)
	}
	for range 199 {
		invite(t, dir, 0, endpoint.Read)
	}
	if _, err := session.Invite(dir, []string{endpoint.Read}, 0, noon); fault.Code(err) != "session/full" {
		t.Errorf("the 201st: %v, want session/full", err)
	}
	if _, err := session.Invite(dir, []string{endpoint.Read}, 0, noon.Add(session.LinkLife)); err != nil {
		t.Errorf("after they have expired: %v", err)
	}
}

package web_test

import (
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/net/session"
	"github.com/loomrun/loom/internal/net/web"
)

const (
	ownPage  = "Sec-Fetch-Site: same-origin"
	byHand   = "Sec-Fetch-Site: none"
	sameSite = "Sec-Fetch-Site: same-site"
	foreign  = "Sec-Fetch-Site: cross-site"
)

// visited is a site with a page, and the directory of its sessions.
func visited(t *testing.T) (*site, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return startAt(t, nil, func(c *web.Config) {
		c.Sessions = session.NewKeeper(dir, time.Now)
		c.Page = fstest.MapFS{"index.html": {Data: []byte("<!doctype html>the page")}, "assets/a-1.js": {Data: []byte("let a")}, "README.md": {Data: []byte("not for browsers")}}
	}), dir
}

// link is a new link to sign in with, without the site's address.
func link(t *testing.T, w *site, dir string, scopes ...string) string {
	t.Helper()
	secret, err := session.Invite(dir, scopes, 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(web.SignIn(w.s.URL(), secret), w.s.URL())
}

// signIn returns the header with the cookie of a new session.
func signIn(t *testing.T, w *site, dir string, scopes ...string) (header string, set *http.Cookie) {
	t.Helper()
	a := w.do("GET", link(t, w, dir, scopes...), "", byHand)
	set, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
	if err != nil || a.status != http.StatusSeeOther {
		t.Fatalf("sign in: %d %s, cookie %v", a.status, a.body, err)
	}
	return "Cookie: " + set.Name + "=" + set.Value, set
}

// Browsers are sent to a name only where no other account of the machine can be there by
// that name.
func TestSEC01_TheNameLeadsToNobodyElse(t *testing.T) {
	probe, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Logf("no IPv6 here: %v", err)
		w, _ := visited(t)
		if !strings.HasPrefix(w.s.PageURL(), "http://localhost:") {
			t.Errorf("browsers are sent to %s", w.s.PageURL())
		}
		return
	}
	defer probe.Close()
	_, port, _ := net.SplitHostPort(probe.Addr().String())
	taken := startAt(t, nil, func(c *web.Config) { c.Listen = "127.0.0.1:" + port })
	if got, want := taken.s.PageURL(), "http://127.0.0.1:"+port; got != want {
		t.Errorf("somebody else is at [::1]:%s, and browsers are sent to %s, want %s", port, got, want)
	}
	w, _ := visited(t)
	if got := w.s.PageURL(); got != strings.Replace(w.s.URL(), "127.0.0.1", "localhost", 1) {
		t.Errorf("browsers are sent to %s", got)
	}
	reply, err := http.Get(strings.Replace(w.s.URL(), "127.0.0.1", "[::1]", 1) + "/")
	if err != nil {
		t.Fatalf("the host is not at the other address: %v", err)
	}
	reply.Body.Close()
	if l, err := net.Listen("tcp", strings.TrimPrefix(strings.Replace(w.s.URL(), "127.0.0.1", "[::1]", 1), "http://")); err == nil {
		l.Close()
		t.Error("somebody else can listen there")
	}
}

func TestSEC01_TheLinkIsExchangedForACookie(t *testing.T) {
	w, dir := visited(t)
	address := link(t, w, dir, endpoint.Read)
	for _, tt := range []struct {
		method  string
		headers []string
		want    string
	}{ // none of these uses the link up
		{"POST", []string{ownPage, asJSON}, "request/method"},
		{"HEAD", []string{byHand}, ""},
		{"GET", []string{foreign}, "request/origin"},
		{"GET", []string{sameSite}, "request/origin"},
		{"GET", []string{byHand, "Sec-Purpose: prefetch;prerender"}, "request/origin"},
		{"GET", []string{"Host: rebound.example"}, "request/host"},
	} {
		if a := w.do(tt.method, address, "", tt.headers...); a.code() != tt.want || a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s with %v: %d %s, want %q and no cookie", tt.method, tt.headers, a.status, a.body, tt.want)
		}
	}
	a := w.do("GET", address, "", byHand)
	set, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
	if err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	if !set.HttpOnly || set.SameSite != http.SameSiteStrictMode || set.Path != "/" || set.Domain != "" || set.Secure || set.MaxAge != int(session.Life/time.Second) {
		t.Errorf("cookie %q", a.header.Get("Set-Cookie"))
	}
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/" || a.header.Get("Referrer-Policy") != "no-referrer" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d to %q with %v", a.status, a.header.Get("Location"), a.header)
	}
	if a := w.do("GET", address, "", byHand); a.code() != "session/link" || a.status != 403 {
		t.Errorf("a second time: %d %s", a.status, a.body)
	}
	if strings.Contains(w.logs.String(), set.Value) {
		t.Errorf("the log tells the secret:\n%s", w.logs)
	}
}

func TestSEC01_WhatASessionMayAsk(t *testing.T) {
	w, dir := visited(t)
	all, _ := signIn(t, w, dir, session.Scopes()...)
	reads, _ := signIn(t, w, dir, endpoint.Read)
	for _, tt := range []struct {
		request string
		headers []string
		want    string
	}{
		{"GET /api/v1/beads", []string{all, ownPage}, ""},
		{"GET /api/v1/beads", []string{all, byHand}, ""},
		{"GET /api/v1/beads", []string{all}, "request/origin"}, // who says nothing is no browser
		{"GET /api/v1/beads", []string{all, foreign}, "request/origin"},
		{"GET /api/v1/beads", []string{all, sameSite}, "request/origin"}, // another port of this machine
		{"GET /api/v1/beads", []string{ownPage}, "token/unknown"},
		{"GET /api/v1/beads", []string{all + "x", ownPage}, "session/unknown"},
		{"GET /api/v1/beads", []string{all, ownPage, "Host: rebound.example"}, "request/host"},
		{"GET /api/v1/beads", []string{all, ownPage, "Authorization: Bearer bad"}, "token/unknown"}, // the token counts
		{"POST /api/v1/updates", []string{all, ownPage}, ""},
		{"POST /api/v1/updates", []string{reads, ownPage}, "session/scope"},
		{"POST /api/v1/updates", []string{all, byHand}, "request/origin"},
		{"POST /api/v1/updates", []string{all, foreign, "Origin: http://evil.example"}, "request/origin"},
		{"POST /api/v1/updates", []string{all, ownPage, "Origin: null"}, "request/origin"},
		{"POST /api/v1/commands", []string{all, foreign}, "request/origin"},
		{"POST /api/v1/commands", []string{all, sameSite}, "request/origin"},
		{"GET /api/v1/session", []string{all, ownPage}, ""},
		{"GET /api/v1/session", []string{"Authorization: Bearer good-read"}, "session/unknown"},
	} {
		method, path, _ := strings.Cut(tt.request, " ")
		if a := w.do(method, path, "{}", append(tt.headers, asJSON)...); a.code() != tt.want {
			t.Errorf("%s with %v: %d %s, want %q", tt.request, tt.headers, a.status, a.body, tt.want)
		}
	}
	list, err := session.List(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.h.mu.Lock()
	asked := strings.Join(w.h.asked, "\n")
	w.h.mu.Unlock()
	if want := "update by IDENTITY_KIND_OPERATOR session-" + list[0].Name; !strings.Contains(asked, want) {
		t.Errorf("asked:\n%s\nwant %s", asked, want)
	}
}

func TestSEC01_SigningOutAndRevokingEndASession(t *testing.T) {
	w, dir := visited(t)
	out, _ := signIn(t, w, dir, endpoint.Read)
	revoked, _ := signIn(t, w, dir, endpoint.Read)
	stays, _ := signIn(t, w, dir, endpoint.Read)
	if a := w.do("POST", "/api/v1/session/end", "{}", out, foreign, asJSON); a.code() != "request/origin" {
		t.Errorf("another page signs out: %d %s", a.status, a.body)
	}
	a := w.do("POST", "/api/v1/session/end", "{}", out, ownPage, asJSON)
	if a.status != 200 || !strings.Contains(a.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Fatalf("sign out: %d %s %v", a.status, a.body, a.header)
	}
	list, err := session.List(dir, time.Now())
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if err := session.Revoke(dir, list[0].Name); err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]string{out: "session/unknown", revoked: "session/unknown", stays: ""} {
		if a := w.do("GET", "/api/v1/beads", "", header, ownPage); a.code() != want || want != "" && a.status != 401 {
			t.Errorf("afterwards: %d %s, want %q", a.status, a.body, want)
		}
	}
}

// A browser, as the library has one, follows the link by itself.
func TestUI01_ABrowserFollowsTheLinkToThePage(t *testing.T) {
	w, dir := visited(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.s.URL()+link(t, w, dir, endpoint.Read), nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := (&http.Client{Jar: jar}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK || reply.Request.URL.RequestURI() != "/" || len(jar.Cookies(reply.Request.URL)) != 1 {
		t.Errorf("%d at %s with cookies %v", reply.StatusCode, reply.Request.URL, jar.Cookies(reply.Request.URL))
	}
}

func TestUI01_ThePagesFiles(t *testing.T) {
	w, _ := visited(t)
	for _, tt := range []struct{ path, kind, cache string }{
		{"/", "text/html; charset=utf-8", "no-store"},
		{"/assets/a-1.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
	} {
		a := w.do("GET", tt.path, "")
		if a.status != 200 || a.header.Get("Content-Type") != tt.kind || a.header.Get("Cache-Control") != tt.cache {
			t.Errorf("GET %s: %d %v", tt.path, a.status, a.header)
		}
		policy := a.header.Get("Content-Security-Policy")
		if strings.Contains(policy, "unsafe") || !strings.HasPrefix(policy, "default-src 'none'; script-src 'self';") || !strings.Contains(policy, "require-trusted-types-for 'script'") {
			t.Errorf("GET %s: policy %q", tt.path, policy)
		}
	}
	for _, path := range []string{"/assets/none.js", "/README.md", "/assets/", "/assets/..%2findex.html", "/assets/..%2fREADME.md", "/index.html"} {
		if a := w.do("GET", path, ""); a.code() != "request/unknown" {
			t.Errorf("GET %s: %d %s", path, a.status, a.body)
		}
	}
	if a := w.do("POST", "/", "{}", asJSON); a.status != 404 && a.status != 405 {
		t.Errorf("POST /: %d %s", a.status, a.body)
	}
}

// A page asks for more at once than a program does; the limit is its own, and there is one.
func TestSEC01_ASessionHasItsOwnLimits(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	noon := time.Now()
	w := startAt(t, func() time.Time { return noon }, func(c *web.Config) { c.Sessions = session.NewKeeper(dir, time.Now) })
	header, _ := signIn(t, w, dir, endpoint.Read)
	for i := range 101 {
		want := ""
		if i == 100 {
			want = "request/too-many"
		}
		if a := w.do("GET", "/api/v1/beads", "", header, ownPage); a.code() != want {
			t.Fatalf("request %d: %d %s, want %q", i, a.status, a.body, want)
		}
	}
}

package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/web"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestSEC01_WhoMayAskWhat(t *testing.T) {
	w := start(t)
	for _, tt := range []struct {
		method, path, token string
		want                int
	}{
		{"GET", "/healthz", "", 200},
		{"GET", "/readyz", "", 200},
		{"GET", "/api/v1/openapi.json", "", 200},
		{"HEAD", "/healthz", "", 200},
		{"GET", "/metrics", "", 401},
		{"GET", "/metrics", "good-read", 200},
		{"GET", "/metrics", "good-submit", 403},
		{"GET", "/api/v1/metrics/workflows", "", 401},
		{"GET", "/api/v1/beads", "", 401},
		{"GET", "/api/v1/beads", "bad", 401},
		{"GET", "/api/v1/beads", "good-read", 200},
		{"GET", "/api/v1/beads", "good-audit", 403},
		{"GET", "/api/v1/beads", "good-operate", 403},
		{"GET", "/api/v1/notices", "good-audit", 200},
		{"GET", "/api/v1/notices", "good-read", 200},
		{"GET", "/api/v1/notices", "good-submit", 403},
		{"POST", "/api/v1/submissions", "good-read", 403},
		{"POST", "/api/v1/submissions", "good-submit", 200},
		{"POST", "/api/v1/submissions", "good-operate", 403},
		{"POST", "/api/v1/updates", "good-submit", 403},
		{"POST", "/api/v1/updates", "good-operate", 200},
		{"POST", "/api/v1/forks", "good-operate", 200},
		{"POST", "/api/v1/beads", "good-read", 405},
		{"DELETE", "/api/v1/beads", "good-operate", 405},
		{"GET", "/api/v1/submissions", "good-submit", 405},
		{"POST", "/api/v1/approvals", "good-operate", 404}, // nothing here can approve
		{"POST", "/api/v1/inbox", "good-operate", 405},
		{"GET", "/", "good-read", 404},
		{"GET", "/api/v1/", "good-read", 404},
		{"GET", "/debug/pprof/", "good-read", 404},
		{"GET", "/api/v1/beads/../../../metrics", "good-read", 404},
		{"GET", "//metrics", "good-read", 404},
		{"GET", "/metrics/", "good-read", 404},
	} {
		headers := []string{asJSON}
		if tt.token != "" {
			headers = append(headers, "Authorization: Bearer "+tt.token)
		}
		a := w.do(tt.method, tt.path, "{}", headers...)
		if a.status != tt.want {
			t.Errorf("%s %s with %q: %d %s, want %d", tt.method, tt.path, tt.token, a.status, a.body, tt.want)
		}
		if a.status == 401 && a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s %s: 401 without WWW-Authenticate", tt.method, tt.path)
		}
	}
}

func TestSEC01_EveryAnswerIsGuarded(t *testing.T) {
	w := start(t)
	for _, path := range []string{"/healthz", "/nothing", "/api/v1/beads", "/metrics"} {
		a := w.do("GET", path, "", reader)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Access-Control-Allow-Origin": "", "Set-Cookie": "", "Server": "",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("GET %s: %s is %q, want %q", path, name, got, want)
			}
		}
		if kind := a.header.Get("Content-Type"); strings.Contains(kind, "html") {
			t.Errorf("GET %s: %s", path, kind)
		}
	}
}

func TestSEC01_OtherHostsAndOriginsAreRefused(t *testing.T) {
	w := start(t)
	own := strings.TrimPrefix(w.s.URL(), "http://")
	_, port, _ := strings.Cut(own, ":")
	post := "POST /api/v1/submissions"
	for _, tt := range []struct {
		request string
		headers []string
		want    string
	}{
		{"GET /healthz", nil, ""},
		{"GET /healthz", []string{"Host: localhost:" + port}, ""},
		{"GET /healthz", []string{"Host: LOCALHOST:" + port}, ""},
		{"GET /healthz", []string{"Host: [::1]:" + port}, ""},
		{"GET /healthz", []string{"Host: localhost"}, "request/host"},
		{"GET /healthz", []string{"Host: rebound.example:" + port}, "request/host"},
		{"GET /healthz", []string{"Host: 127.0.0.1.example:" + port}, "request/host"},
		{"GET /api/v1/beads", []string{"Host: rebound.example:" + port}, "request/host"},
		{post, nil, ""},
		{post, []string{"Origin: http://" + own}, ""},
		{post, []string{"Origin: http://localhost:" + port, "Host: localhost:" + port}, ""},
		{post, []string{"Origin: http://localhost:" + port}, "request/origin"},
		{post, []string{"Origin: https://" + own}, "request/origin"},
		{post, []string{"Origin: http://evil.example"}, "request/origin"},
		{post, []string{"Origin: null"}, "request/origin"},
		{post, []string{"Origin: http://" + own + ".evil.example"}, "request/origin"},
		{post, []string{"Sec-Fetch-Site: cross-site"}, "request/origin"},
		{post, []string{"Sec-Fetch-Site: same-origin", "Origin: http://" + own}, ""},
		{"GET /healthz", []string{"Origin: http://evil.example"}, ""}, // it changes nothing, and the page cannot read it
		{"OPTIONS /api/v1/submissions", []string{"Origin: http://evil.example", "Access-Control-Request-Method: POST"}, "request/origin"},
	} {
		method, path, _ := strings.Cut(tt.request, " ")
		token := "Authorization: Bearer good-read,submit"
		if a := w.do(method, path, "{}", append(tt.headers, token, asJSON)...); a.code() != tt.want {
			t.Errorf("%s with %v: %d %s, want %q", tt.request, tt.headers, a.status, a.body, tt.want)
		}
	}
}

func TestSEC01_LimitsOfARequest(t *testing.T) {
	w := start(t)
	big := strings.Repeat("x", 1<<20+1)
	if a := w.do("POST", "/api/v1/submissions", big[:1<<20], "Authorization: Bearer good-submit", asJSON); a.status != 200 {
		t.Errorf("a body of 1 MiB: %d %s", a.status, a.body)
	}
	a := w.do("POST", "/api/v1/submissions", big, "Authorization: Bearer good-submit", asJSON)
	if a.status != 413 || a.code() != "request/too-large" || !strings.Contains(a.body, "1048576") {
		t.Errorf("a byte more: %d %s", a.status, a.body)
	}
	if a := w.do("POST", "/api/v1/submissions", "{}", "Authorization: Bearer good-submit", "Content-Type: text/plain"); a.status != 415 || a.code() != "request/media-type" {
		t.Errorf("a body that is not JSON: %d %s", a.status, a.body)
	}
	if a := w.do("POST", "/api/v1/submissions", "{}", "Authorization: Bearer good-submit", asJSON, "Content-Encoding: gzip"); a.status != 415 || a.code() != "request/media-type" || !strings.Contains(a.body, "gzip") {
		t.Errorf("a body that is encoded: %d %s", a.status, a.body)
	}
	head := "GET /healthz HTTP/1.1\r\nHost: " + strings.TrimPrefix(w.s.URL(), "http://") + "\r\nConnection: close\r\nX: "
	if got := w.raw(head + strings.Repeat("x", 12<<10) + "\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("headers of 12 KiB: %.60q", got)
	}
	if got := w.raw(head + strings.Repeat("x", 17<<10) + "\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 431") {
		t.Errorf("headers of 17 KiB: %.60q", got)
	}
	for _, text := range []string{
		"\x00\x01\x02\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /healthz HTTP/1.1\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"POST /api/v1/submissions HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET http://evil.example/healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
	} {
		if got := w.raw(text); strings.Contains(got, " 200 ") {
			t.Errorf("%q is answered %.80q", text, got)
		}
	}
}

// Names of headers are in any case: some clients and proxies write them small.
func TestHTTP_HeadersAreNamedInAnyCase(t *testing.T) {
	w := start(t)
	head := " HTTP/1.1\r\nhost: " + strings.TrimPrefix(w.s.URL(), "http://") + "\r\nconnection: close\r\n"
	if got := w.raw("GET /api/v1/beads" + head + "authorization: bearer good-read\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("a small authorization: %.200q", got)
	}
	body := `{"goal":"g"}`
	post := "POST /api/v1/submissions" + head + fmt.Sprintf("content-length: %d\r\nauthorization: Bearer good-submit\r\ncontent-type: application/json\r\n\r\n", len(body))
	if got := w.raw(post + body); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("a small content-type: %.200q", got)
	}
	if got := w.raw(strings.Replace(post, "connection:", "origin: http://evil.example\r\nconnection:", 1) + body); !strings.Contains(got, "request/origin") {
		t.Errorf("a small origin of others: %.200q", got)
	}
}

func TestSEC01_TwentyRequestsASecond(t *testing.T) {
	var late atomic.Int64 // seconds
	began := time.Now()
	w := startAt(t, func() time.Time { return began.Add(time.Duration(late.Load()) * time.Second) })
	refused := func() (n int) {
		for range 60 {
			switch a := w.do("GET", "/api/v1/locks", "", reader); {
			case a.status == 429 && a.code() == "request/too-many" && a.header.Get("Retry-After") != "":
				n++
			case a.status != 200:
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
		return n
	}
	for range 3 {
		if n := refused(); n != 40 {
			t.Errorf("%d of 60 requests of one moment were refused, want 40", n)
		}
		late.Add(1)
	}
	refused()
	if a := w.do("GET", "/api/v1/locks", "", "Authorization: Bearer good-read#2"); a.status != 200 {
		t.Errorf("another token: %d, want its own allowance", a.status)
	}
	if a := w.do("GET", "/healthz", ""); a.status != 200 {
		t.Errorf("health: %d", a.status)
	}
}

func TestHTTP_WhatIsAskedReachesTheService(t *testing.T) {
	w := start(t)
	for _, tt := range []struct{ path, want string }{
		{"/api/v1/beads", `bead by IDENTITY_KIND_PUBLISHER token-read: {}`},
		{"/api/v1/beads?project=shop&filter=open&limit=5&labels=a&labels=b&text=total%20wrong", `bead by IDENTITY_KIND_PUBLISHER token-read: {"project":"shop","filter":"open","limit":5,"text":"totalwrong","labels":["a","b"]}`},
		{"/api/v1/beads/shop-1", `bead by IDENTITY_KIND_PUBLISHER token-read: {"id":"shop-1"}`},
		{"/api/v1/executions/shop-1-x1/history", `history by IDENTITY_KIND_PUBLISHER token-read: {"execution":"shop-1-x1"}`},
		{"/api/v1/executions/shop-1/state?at=1.1.5.0", `state by IDENTITY_KIND_PUBLISHER token-read: {"execution":"shop-1","at":{"partition":1,"epoch":"1","sequence":"5"}}`},
		{"/api/v1/metrics/workflows?process=p&from=2026-01-02T12:00:00Z", `metrics by IDENTITY_KIND_PUBLISHER token-read: {"process":"p","from":"2026-01-02T12:00:00Z"}`},
		{"/api/v1/workflows/auto-bug-workflow?project=shop", `workflow by IDENTITY_KIND_PUBLISHER token-read: {"project":"shop","id":"auto-bug-workflow"}`},
	} {
		a := w.do("GET", tt.path, "", reader)
		if last := w.h.asked[len(w.h.asked)-1]; a.status != 200 || last != tt.want {
			t.Errorf("GET %s: %d, asked\n%s, want\n%s", tt.path, a.status, last, tt.want)
		}
	}
	w.do("POST", "/api/v1/submissions", `{"goal":"g"}`, asJSON, "Authorization: Bearer good-submit")
	w.do("POST", "/api/v1/updates", `{"close":{}}`, asJSON, operator)
	want := []string{`submit by IDENTITY_KIND_PUBLISHER token-submit: {"goal":"g"}`, `update by IDENTITY_KIND_OPERATOR token-operate: {"close":{}}`}
	if diff := cmp.Diff(want, w.h.asked[len(w.h.asked)-2:]); diff != "" {
		t.Errorf("asked by POST (-want +got):\n%s", diff)
	}
}

func TestHTTP_BadParametersAreToldByName(t *testing.T) {
	w := start(t)
	for i, tt := range []struct{ path, where, want string }{
		{"/api/v1/beads?porject=shop", "query", `did you mean \"project\"`},
		{"/api/v1/beads?id=shop-1", "query", ""},
		{"/api/v1/beads?limit=-1", "limit", "a number from 0"},
		{"/api/v1/inbox?oldest=yes", "oldest", "true or false"},
		{"/api/v1/beads?limit=4294967296", "limit", ""},
		{"/api/v1/beads?project=a&project=b", "project", "2 times"},
		{"/api/v1/beads?project=%ff", "project", "not text"},
		{"/api/v1/beads?labels=%ff", "labels", "not text"},
		{"/api/v1/beads?a=%zz", "query", "cannot be read"},
		{"/api/v1/metrics/workflows?from=yesterday", "from", "2026-01-02T12:00:00Z"},
		{"/api/v1/notices?after=1.2", "position", "four numbers"},
		{"/api/v1/events?after=1.2", "position", "four numbers"},
		{"/api/v1/executions/shop-1/state?at=x", "position", ""},
		{"/api/v1/executions/shop-1/state?number=x", "number", ""},
	} {
		a := w.do("GET", tt.path, "", fmt.Sprintf("Authorization: Bearer good-read#%d", i))
		var p struct{ Where, Code string }
		_ = json.Unmarshal([]byte(a.body), &p)
		if a.status != 400 || p.Where != tt.where || !strings.Contains(a.body, tt.want) {
			t.Errorf("GET %s: %d %s, want 400 at %q with %q", tt.path, a.status, a.body, tt.where, tt.want)
		}
	}
}

func TestHTTP_ARouteThatIsNearlyOneIsNamed(t *testing.T) {
	w := start(t)
	for path, want := range map[string]string{
		"/api/v1/bead": "did you mean \\\"/api/v1/beads\\\"? /api/v1/openapi.json", "/api/v1/zzzzzzzzzzz": "\"hint\":\"/api/v1/openapi.json",
	} {
		if a := w.do("GET", path, "", reader); a.status != 404 || a.code() != "request/unknown" || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %s, want %s", path, a.status, a.body, want)
		}
	}
}

func TestHTTP_RefusalsOfServicesKeepTheirCode(t *testing.T) {
	w := start(t)
	for code, status := range map[string]int{
		"bead/unknown": 404, "project/unknown": 404, "graph/unknown-node": 404, "id/malformed": 400, "usage/argument": 400, "submit/empty-goal": 400, "submit/too-large": 422,
		"submit/key-reused": 409, "request/denied": 403, "host/unavailable": 503, "host/stopping": 503, "journal/chain": 500,
		"position/beyond": 409, "projection/failed": 503, "internal/error": 500, "from/tomorrow": 500,
	} {
		w.h.answers["lock"] = &loomv1.View{Error: &loomv1.Error{Code: code, Message: "because", Where: "there", Hint: "do this"}}
		a := w.do("GET", "/api/v1/locks", "", "Authorization: Bearer good-read#"+strings.ReplaceAll(code, "/", ""))
		if a.status != status || a.code() != code || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s %s, want %d", code, a.status, a.header.Get("Content-Type"), a.body, status)
		}
		var p map[string]any
		if err := json.Unmarshal([]byte(a.body), &p); err != nil || p["status"] != float64(status) || p["title"] != http.StatusText(status) || p["detail"] == "" || p["type"] == "" {
			t.Errorf("%s: problem %v, %v", code, p, err)
		}
	}
}

// What goes wrong inside is for the log.
func TestSEC01_InsidesAreNotTold(t *testing.T) {
	w := start(t)
	w.h.answers["panic"] = &loomv1.View{}
	a := w.do("GET", "/api/v1/host", "", reader)
	if a.status != 500 || a.code() != "internal/error" || strings.Contains(a.body, "secret") || strings.Contains(a.body, "goroutine") {
		t.Errorf("a handler that breaks down: %d %s", a.status, a.body)
	}
	if log := w.logs.String(); !strings.Contains(log, "secret") {
		t.Errorf("the log: %s", log)
	}
	w.h.answers["lock"] = &loomv1.View{Error: fault.From(fmt.Errorf("open /a/secret/path: no")).Proto()}
	if a := w.do("GET", "/api/v1/locks", "", reader); strings.Contains(a.body, "secret") || a.code() != "internal/error" {
		t.Errorf("an error without a code: %d %s", a.status, a.body)
	}
}

func TestOPS_Readiness(t *testing.T) {
	w := start(t)
	w.h.parts = []web.Part{{Name: "partitions"}, {Name: "journal 00", Code: "journal/full"}}
	a := w.do("GET", "/readyz", "")
	if a.status != 503 || !strings.Contains(a.body, `{"name":"journal 00","code":"journal/full"}`) || !strings.Contains(a.body, `"ready":false`) {
		t.Errorf("a journal that is full: %d %s", a.status, a.body)
	}
	if a := w.do("GET", "/healthz", ""); a.status != 200 {
		t.Errorf("it lives all the same: %d", a.status)
	}
}

func TestHTTP_AnswersAreOnOneLineAndSafeInAnyContext(t *testing.T) {
	w := start(t)
	w.h.answers["bead"] = &loomv1.View{Beads: []*loomv1.Bead{{Id: "shop-1", Goal: "a\nb </script> \x1b[31m", FiledBy: &loomv1.Identity{Name: "x"}}}}
	a := w.do("GET", "/api/v1/beads", "", reader)
	if strings.Count(a.body, "\n") != 1 || strings.ContainsAny(a.body, "<>\x1b") || !strings.Contains(a.body, `"filed_by":{"name":"x"}`) {
		t.Errorf("answer: %q", a.body)
	}
}

func TestHTTP_AddressesThatAreNotServed(t *testing.T) {
	w := start(t)
	taken := strings.TrimPrefix(w.s.URL(), "http://")
	for address, want := range map[string]string{
		"0.0.0.0:0": "host/insecure", ":7420": "host/insecure", "192.0.2.1:0": "host/insecure", "example.com:80": "host/insecure",
		"127.0.0.1": "usage/argument", "nonsense": "usage/argument", taken: "host/port",
	} {
		s, err := web.Start(t.Context(), web.Config{Listen: address, Services: w.h, Keys: w.keys})
		if fault.Code(err) != want {
			t.Errorf("Start on %q = %v, want %s", address, err, want)
		}
		if s != nil {
			s.Stop(context.WithoutCancel(t.Context()))
		}
	}
}

// TestSEC01_HTTPOverTLS is what a port that is open to the network is like: TLS
// alone, for the names that it has and no others.
func TestSEC01_HTTPOverTLS(t *testing.T) {
	w := start(t)
	fake := httptest.NewUnstartedServer(nil)
	fake.StartTLS() // for its certificate
	defer fake.Close()
	s, err := web.Start(t.Context(), web.Config{
		Listen: "0.0.0.0:0", TLS: fake.TLS, Hosts: []string{"example.com", "proxy.example:8443"}, Services: w.h, Keys: w.keys,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop(context.WithoutCancel(t.Context()))
	address, secure := strings.CutPrefix(s.URL(), "https://127.0.0.1:")
	if !secure {
		t.Fatalf("URL %s", s.URL())
	}
	for _, tt := range []struct {
		host, origin string
		want         int
	}{
		{"example.com:" + address, "", http.StatusOK},
		{"EXAMPLE.com:" + address, "https://EXAMPLE.com:" + address, http.StatusOK},
		{"proxy.example:8443", "", http.StatusOK},
		{"127.0.0.1:" + address, "", http.StatusOK},
		{"example.com", "", http.StatusMisdirectedRequest},
		{"proxy.example:" + address, "", http.StatusMisdirectedRequest},
		{"rebound.example:" + address, "", http.StatusMisdirectedRequest},
		{"example.com:" + address, "http://example.com:" + address, http.StatusForbidden},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/api/v1/submissions", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = tt.host
		r.Header.Set("Authorization", "Bearer good-read,submit")
		r.Header.Set("Content-Type", "application/json")
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		a, err := fake.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if a.StatusCode != tt.want || a.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("for %s from %q: %s, want %d", tt.host, tt.origin, a.Status, tt.want)
		}
	}
	if a, err := http.Get("http://127.0.0.1:" + address + "/healthz"); err == nil {
		_ = a.Body.Close()
		if a.StatusCode == http.StatusOK {
			t.Error("plain HTTP is answered")
		}
	}
}

func TestHTTP_MetersHaveNoLabelsOfOthersMaking(t *testing.T) {
	m := web.NewMeters()
	m.Watch([]web.Family{{Name: "loom_things_total", Help: "Things.", Labels: []string{"sort"}}}, func() []web.Figure {
		return []web.Figure{{Family: "loom_things_total", Labels: []string{"good"}, Value: 3}, {Family: "loom_other", Value: 1}}
	})
	w := &site{t: t, h: newHost(), keys: &keys{}}
	s, err := web.Start(t.Context(), web.Config{Listen: "127.0.0.1:0", Services: w.h, Keys: w.keys, Meters: m})
	if err != nil {
		t.Fatal(err)
	}
	w.s = s
	t.Cleanup(func() { s.Stop(context.WithoutCancel(t.Context())) })
	w.do("GET", "/chosen/by/a/client", "", reader)
	w.do("GET", "/api/v1/beads/shop-1", "", reader)
	body := w.do("GET", "/metrics", "", reader).body
	for _, line := range []string{
		`loom_things_total{sort="good"} 3`, `loom_http_requests_total{route="none",status="404"} 1`,
		`loom_http_requests_total{route="/api/v1/beads/{id}",status="200"} 1`, "go_goroutines ", "loom_journal_append_seconds_count 0",
	} {
		if !slices.ContainsFunc(strings.Split(body, "\n"), func(l string) bool { return strings.HasPrefix(l, line) }) {
			t.Errorf("/metrics has no %s", line)
		}
	}
	if strings.Contains(body, "chosen") || strings.Contains(body, "shop-1") || strings.Contains(body, "loom_other") {
		t.Errorf("/metrics has what a client chose:\n%s", body)
	}
}

func TestTOOL06_TheProtocolNeedsATokenAndGetsItsScopes(t *testing.T) {
	w := start(t)
	for _, tt := range []struct {
		headers []string
		status  int
		body    string
	}{
		{nil, 401, ""},
		{[]string{"Authorization: Bearer good-audit"}, 403, ""},
		{[]string{"Authorization: Bearer good-read"}, 200, `{"Name":"token-read","Scopes":["read"]}`},
		{[]string{"Authorization: Bearer good-submit,operate"}, 200, `{"Name":"token-submit,operate","Scopes":["submit","operate"]}`},
		{[]string{operator, "Origin: http://evil.example"}, 403, ""},
		{[]string{operator, "Host: evil.example"}, 421, ""},
	} {
		a := w.do("POST", "/mcp", "{}", append(tt.headers, asJSON)...)
		if a.status != tt.status || tt.body != "" && strings.TrimSpace(a.body) != tt.body {
			t.Errorf("%v: %d %s", tt.headers, a.status, a.body)
		}
	}
	if a := w.do("GET", "/mcp", "", operator); a.status != 405 {
		t.Errorf("GET: %d", a.status)
	}
}

package web_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/net/web"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const everything = "Authorization: Bearer good-read,submit,operate"

// An answer that whoever asks has already is not sent again, and one that has changed is.
func TestAPI01_WhatHasNotChangedIsNotSentAgain(t *testing.T) {
	w := start(t)
	first := w.do("GET", "/api/v1/beads", "", everything)
	tag := first.header.Get("ETag")
	if first.status != 200 || tag == "" {
		t.Fatalf("the first answer: %d, tag %q", first.status, tag)
	}
	if again := w.do("GET", "/api/v1/beads", "", everything, `If-None-Match: "other", `+tag); again.status != 304 || again.body != "" {
		t.Errorf("the same question: %d with %q, want 304 with nothing", again.status, again.body)
	}
	w.h.mu.Lock()
	w.h.answers["bead"] = &loomv1.View{Next: "shop-1"}
	w.h.mu.Unlock()
	if changed := w.do("GET", "/api/v1/beads", "", everything, "If-None-Match: "+tag); changed.status != 200 || changed.header.Get("ETag") == tag {
		t.Errorf("what has changed: %d, tag %q as before", changed.status, tag)
	}
	if told := w.do("POST", "/api/v1/submissions", "{}", everything, asJSON); told.header.Get("ETag") != "" {
		t.Errorf("what was done has the tag %q", told.header.Get("ETag"))
	}
}

// The header Idempotency-Key is another name for the caller's own id in a body.
func TestAPI01_AKeyInTheHeaderIsTheCallersID(t *testing.T) {
	w := start(t)
	for _, tt := range []struct {
		path, body, key string
		status          int
		asked           string
	}{
		{"/api/v1/submissions", `{"goal":"g"}`, "k-1", 200, `{"goal":"g","idempotency_key":"k-1"}`},
		{"/api/v1/submissions", `{"goal":"g","idempotency_key":"k-1"}`, "k-1", 200, `{"goal":"g","idempotency_key":"k-1"}`},
		{"/api/v1/submissions", `{"goal":"g","idempotency_key":"k-2"}`, "k-1", 400, ""},
		{"/api/v1/messages", `{"id":"shop-1"}`, `"<`, 200, `{"id":"shop-1","request":"\"\u003c"}`},
		{"/api/v1/updates", `{}`, "k-1", 400, ""},
		{"/api/v1/submissions", `[1]`, "k-1", 200, `[1]`},
		{"/api/v1/submissions", `null`, "k-1", 200, `null`},
		{"/api/v1/messages", `{"id":"shop-1","request":"a<b/c"}`, "a<b/c", 200, `"request":"a\u003cb/c"}`},
		{"/api/v1/messages", `{"id":"shop-1","request":"\u0061\/b"}`, "a/b", 200, `"request":"a/b"}`},
		{"/api/v1/messages", `{"id":"shop-1","request":null}`, "k-1", 400, ""},
	} {
		w.h.mu.Lock()
		w.h.asked = nil
		w.h.mu.Unlock()
		a := w.do("POST", tt.path, tt.body, everything, asJSON, "Idempotency-Key: "+tt.key)
		w.h.mu.Lock()
		asked := strings.Join(w.h.asked, "\n")
		w.h.mu.Unlock()
		if a.status != tt.status || (tt.asked == "") != (asked == "") || !strings.HasSuffix(asked, tt.asked) {
			t.Errorf("%s with %s and the key %s: %d, asked %q; want %d and %q", tt.path, tt.body, tt.key, a.status, asked, tt.status, tt.asked)
		}
	}
}

// Every call has a name of its own, and says how it may be refused.
func TestAPI01_CallsHaveNamesAndSayHowTheyAreRefused(t *testing.T) {
	var d struct {
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Security    []any
			Responses   map[string]any
		}
	}
	if err := json.Unmarshal([]byte(start(t).do("GET", "/api/v1/openapi.json", "").body), &d); err != nil || len(d.Servers) != 1 {
		t.Fatalf("%v, servers %v", err, d.Servers)
	}
	seen := map[string]string{}
	for path, calls := range d.Paths {
		for method, o := range calls {
			if other := seen[o.OperationID]; o.OperationID == "" || other != "" {
				t.Errorf("%s %s has the name %q, as %q", method, path, o.OperationID, other)
			}
			seen[o.OperationID] = path
			if o.Security == nil || o.Responses["400"] == nil || len(o.Security) > 0 && (o.Responses["401"] == nil || o.Responses["429"] == nil) {
				t.Errorf("%s %s does not say who may ask, or how it is refused: %v %v", method, path, o.Security, o.Responses)
			}
		}
	}
	if seen["getExecutionsByIdTranscript"] == "" || seen["postSubmissions"] == "" {
		t.Errorf("names are %v", seen)
	}
}

// With TLS all tabs of a browser share one connection.
func TestAPI01_WithTLSThereIsHTTP2(t *testing.T) {
	longtest.Skip(t)
	pair := httptest.NewTLSServer(http.NotFoundHandler())
	defer pair.Close()
	s, err := web.Start(t.Context(), web.Config{Listen: "127.0.0.1:0", TLS: &tls.Config{Certificates: pair.TLS.Certificates}, Services: newHost(), Keys: &keys{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop(t.Context())
	roots := x509.NewCertPool()
	roots.AddCert(pair.Certificate())
	for _, two := range []bool{true, false} {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: two}}
		reply, err := c.Get(s.URL() + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		_ = reply.Body.Close()
		if want := map[bool]int{true: 2, false: 1}[two]; reply.StatusCode != http.StatusOK || reply.ProtoMajor != want {
			t.Errorf("%s %s, want HTTP/%d", reply.Proto, reply.Status, want)
		}
	}
}

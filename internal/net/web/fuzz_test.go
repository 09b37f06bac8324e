package web_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzRequests: whatever a client sends, a handler answers with a status of
// HTTP, never breaks down, tells nothing of its insides, and calls no service
// for somebody without a token.
func FuzzRequests(f *testing.F) {
	for _, s := range []string{
		"GET /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"GET /api/v1/beads?limit=1&labels=a HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer good-read\r\n\r\n",
		"GET /api/v1/beads/%2e%2e%2fx HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer good-read\r\n\r\n",
		"POST /api/v1/submissions HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 2\r\nAuthorization: Bearer good-submit\r\n\r\n{}",
		"GET /api/v1/executions/x/state?at=0.0.0.0&time=x HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer good-read\r\n\r\n",
		"GET /metrics HTTP/1.1\r\nHost: HOST\r\nAuthorization: bearer  good-read\r\nAuthorization: x\r\n\r\n",
		"0 * HTTP/0.0\r\nHost: HOST\n\n",
		"TRACE * HTTP/1.1\r\nHost: HOST\r\nOrigin: null\r\n\r\n",
		"GET //api//v1/../v1/openapi.json HTTP/1.0\r\nHost: HOST\r\n\r\n",
		"GET /api/v1/metrics/workflows?from=9999-12-31T23:59:59.999999999Z HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer good-read\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	w := start(f)
	own := strings.TrimPrefix(w.s.URL(), "http://")
	f.Fuzz(func(t *testing.T, data []byte) {
		r := parsed([]byte(strings.ReplaceAll(string(data), "HOST", own)))
		if r == nil || r.URL.Path == "/api/v1/events" || r.URL.Path == "/api/v1/live" {
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		before := len(w.h.asked)
		out := httptest.NewRecorder()
		w.s.Handler().ServeHTTP(out, r.WithContext(ctx))
		body := out.Body.String()
		if out.Code < 200 || out.Code > 599 {
			t.Errorf("status %d", out.Code)
		}
		if out.Code >= 400 && !strings.HasPrefix(out.Header().Get("Content-Type"), "application/problem+json") {
			t.Errorf("%d with %q", out.Code, out.Header().Get("Content-Type"))
		}
		if log := w.logs.String(); strings.Contains(log, "broke down") {
			t.Errorf("a handler broke down: %s", log)
		}
		if strings.Contains(body, "goroutine ") && r.URL.Path != "/metrics" || strings.Contains(body, ".go:") {
			t.Errorf("insides are told: %.200s", body)
		}
		if len(w.h.asked) > before && !strings.Contains(strings.Join(r.Header.Values("Authorization"), " "), "good-") {
			t.Errorf("a service was asked without a token")
		}
	})
}

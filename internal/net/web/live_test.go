package web_test

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/loomrun/loom/internal/net/web"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What models write is streamed to whoever may read, of the work that is asked for and no
// other, in its order.
func TestAPI01_HUM02_WordsAreStreamedAsTheyCome(t *testing.T) {
	w := start(t)
	ctx, leave := context.WithCancel(t.Context())
	reply, r := w.stream(ctx, "/api/v1/live?project=shop&bead=shop-1&agent=lead/1", "good-read", "")
	if reply.StatusCode != http.StatusOK || reply.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d, %s", reply.StatusCode, reply.Header.Get("Content-Type"))
	}
	if e, err := next(r); err != nil || e.comment != "listening" {
		t.Fatalf("first: %+v, %v", e, err)
	}
	for _, p := range []*loomv1.Writing{
		{Project: "shop", Bead: "shop-2", Role: "lead", Agent: "lead/1", Text: "of another bead"},
		{Project: "shop", Bead: "shop-1", Role: "lead", Agent: "lead/2", Text: "of another agent"},
		{Project: "shop", Bead: "shop-1", Role: "lead", Agent: "lead/1", Text: "one\n"},
		{Project: "shop", Bead: "shop-1", Role: "lead", Agent: "lead/1", Text: "<two>"},
	} {
		if !w.h.writes(p) {
			t.Fatal("nobody listens")
		}
	}
	for _, want := range []string{"one\n", "<two>"} {
		e, err := next(r)
		if err != nil {
			t.Fatal(err)
		}
		got := &loomv1.Writing{}
		if err := protojson.Unmarshal([]byte(e.data), got); err != nil || got.Text != want || got.Agent != "lead/1" || e.id != "" {
			t.Errorf("got %+v, %v, want %q of lead/1 without an id", e, err, want)
		}
	}
	leave()
	for w.h.writes(&loomv1.Writing{}) { // until it is seen that who listened has left
		runtime.Gosched()
	}
}

// A reader that is too slow is told that some of it is lost, and hears what comes after.
func TestAPI01_WhoListensTooSlowlyIsTold(t *testing.T) {
	w := start(t)
	_, r := w.stream(t.Context(), "/api/v1/live", "good-read", "")
	if _, err := next(r); err != nil {
		t.Fatal(err)
	}
	large := &loomv1.Writing{Text: strings.Repeat("x", 20_000)}
	for range 3 * web.MaxUnsent { // more than there is room for, here and on the way
		w.h.writes(large)
	}
	lost := false
	for !lost {
		e, err := next(r)
		if err != nil {
			t.Fatal(err)
		}
		lost = e.kind == "lost"
	}
	w.h.writes(&loomv1.Writing{Text: "after"})
	for {
		e, err := next(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(e.data, "after") {
			return
		}
	}
}

// Whoever may not read hears nothing, and what can be no name is refused.
func TestAPI01_SEC01_WhoMayNotReadHearsNothing(t *testing.T) {
	w := start(t)
	for _, tt := range []struct {
		query, token string
		status       int
		code         string
	}{
		{"", "good-submit", 403, "token/scope"},
		{"", "bad", 401, "token/unknown"},
		{"?project=a.*", "good-read", 400, "id/malformed"},
		{"?bead=%3E", "good-read", 400, "id/malformed"},
		{"?agent=lead", "good-read", 400, "id/malformed"},
		{"?since=now", "good-read", 400, "request/parameter"},
		{"?project=elsewhere", "good-read", 503, "host/unavailable"},
	} {
		a := w.do("GET", "/api/v1/live"+tt.query, "", "Authorization: Bearer "+tt.token)
		if a.status != tt.status || a.code() != tt.code {
			t.Errorf("%q with %s: %d %s, want %d %s", tt.query, tt.token, a.status, a.code(), tt.status, tt.code)
		}
	}
}

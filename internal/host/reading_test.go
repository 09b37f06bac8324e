package host_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/net/identity"
	"github.com/loomrun/loom/internal/net/token"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// loud is what a tool prints: more than an entry of a transcript carries, and in it
// what becomes a secret later on.
const (
	laterSecret = "hunter2-7f3c9a1e55d0"
	printed     = 90_000 // bytes, at least
)

// prints runs a command that prints much, and finds nothing to mend.
func prints(r *model.Request) (*model.Response, error) {
	for _, m := range r.Messages {
		if m.Role == model.RoleTool {
			return nothing(r)
		}
	}
	return &model.Response{Text: "I look.", Stop: model.StopTools, Calls: []*loomv1.ToolCall{{
		Id: "c1", Tool: "shell", Arguments: `{"command":"echo ` + laterSecret + `; seq 20000; echo the end"}`,
	}}}, nil
}

// reading is a host of two projects, one of which has done something, over NATS as an
// observer of that project and of the other, and over HTTP.
type reading struct {
	*host.Host
	ops, its, others *client.Client
	secret           string
	execution        string
}

func startReading(t *testing.T) *reading {
	t.Helper()
	c := config(t, scripted.New("prints", prints))
	c.Listen, c.HTTP = "127.0.0.1:0", "127.0.0.1:0"
	other := filepath.Join(t.TempDir(), "other")
	if err := git.Create(t.Context(), other, "main", "first", []git.File{{Path: "a.txt", Data: []byte("one\n")}}); err != nil {
		t.Fatal(err)
	}
	c.Projects = append(c.Projects, host.Project{ID: "other", Repository: other})
	dir, err := datadir.Open(c.Data)
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	credentials := map[string]identity.Credentials{}
	for _, project := range []string{"shop", "other"} {
		u, s, err := identity.Add(t.Context(), identity.NewFile(c.Data), identity.Request{Name: "of-" + project, Kind: identity.Observer, Projects: []string{project}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		credentials[project] = identity.Credentials{Name: u.Name, Kind: u.Kind, Secrets: s}
	}
	_, secret, err := token.Create(c.Data, "reader", []string{"read"}, 0, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	h := start(t, c)
	filed, err := connect(t, h, "anonymous").Report(t.Context(), report())
	if err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, connect(t, h, "operator"), filed.Execution)
	h.Stop(t.Context())
	c.Secrets = []string{"SHOP_TOKEN=" + laterSecret} // from the next start on
	h = start(t, c)
	as := func(project string) *client.Client {
		nc, err := broker.DialAs(credentials[project], h.URL(), false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return client.New(nc)
	}
	return &reading{Host: h, ops: connect(t, h, "operator"), its: as("shop"), others: as("other"), secret: secret, execution: filed.Execution}
}

// awaitEnd waits until an execution has ended.
func awaitEnd(t *testing.T, ops *client.Client, execution string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	err := ops.Follow(ctx, &loomv1.NoticesRequest{Project: "shop", Execution: execution, Kinds: []string{"execution-ended"}}, true, func(*loomv1.Notice) error {
		return context.Canceled
	})
	if ctx.Err() != nil {
		t.Fatalf("execution %s never ended: %v", execution, err)
	}
}

func (r *reading) get(t *testing.T, path string, header ...string) (*http.Response, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.HTTP()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+r.secret)
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	reply, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(q)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply, string(body)
}

// What a tool printed is read whole by the name that the journal has for it, over NATS
// and HTTP, in parts and ranges, without secrets, and by nobody who may not read the
// project whose events name it.
func TestSUB04_SEC01_SEC02_WhatWasPrintedIsReadByItsName(t *testing.T) {
	r, ctx := startReading(t), t.Context()
	entries := transcript(t, r.ops, &loomv1.TranscriptRequest{Execution: r.execution, Limit: 3})
	var result *loomv1.TranscriptEntry
	for _, e := range entries {
		if e.Kind == loomv1.TranscriptKind_TRANSCRIPT_KIND_RESULT {
			result = e
		}
	}
	if result == nil || !result.Clipped || result.Tool != "shell" || len(result.Text) > 64<<10 {
		t.Fatalf("no result of the call, or whole: %v", result)
	}
	sum := result.Blob.Sha256
	whole, last, err := r.its.ReadBlob(ctx, "shop", sum)
	text := string(whole)
	if err != nil || len(whole) < printed || !strings.Contains(text, "\n19999\n20000\nthe end\n") || !last.Redacted || strings.Contains(text, laterSecret) {
		t.Errorf("read whole: %d bytes ending in %q, redacted %t, %v", len(whole), text[max(0, len(text)-40):], last.GetRedacted(), err)
	}
	part, err := r.its.Blobs(ctx, &loomv1.BlobRequest{Project: "shop", Sha256: sum[:12], Offset: 100, Limit: 50})
	if err != nil || string(part.Data) != text[100:150] || part.Size != uint64(len(whole)) || part.Blob.Sha256 != sum {
		t.Errorf("a part: %v, %v", part, err)
	}
	stray := strings.Repeat("ab", 32)
	for name, tt := range map[string]struct {
		as   *client.Client
		q    *loomv1.BlobRequest
		code string
	}{
		"of another project":        {r.others, &loomv1.BlobRequest{Project: "other", Sha256: sum}, "blob/unknown"},
		"for another project":       {r.others, &loomv1.BlobRequest{Project: "shop", Sha256: sum}, "request/denied"},
		"narrowed, for all":         {r.its, &loomv1.BlobRequest{Sha256: sum}, "request/denied"},
		"a name that nobody has":    {r.its, &loomv1.BlobRequest{Project: "shop", Sha256: stray}, "blob/unknown"},
		"no name":                   {r.its, &loomv1.BlobRequest{Project: "shop"}, "id/malformed"},
		"too short a beginning":     {r.its, &loomv1.BlobRequest{Project: "shop", Sha256: sum[:7]}, "id/malformed"},
		"a path":                    {r.its, &loomv1.BlobRequest{Project: "shop", Sha256: "../../secrets"}, "id/malformed"},
		"more than an answer has":   {r.its, &loomv1.BlobRequest{Project: "shop", Sha256: sum, Limit: 1 << 20}, "usage/argument"},
		"a project that is unknown": {r.ops, &loomv1.BlobRequest{Project: "shpo", Sha256: sum}, "project/unknown"},
		"the operator":              {r.ops, &loomv1.BlobRequest{Sha256: sum}, ""},
	} {
		if got, err := tt.as.Blobs(ctx, tt.q); fault.Code(err) != tt.code || err != nil && len(got.GetData()) > 0 {
			t.Errorf("%s: %v, want %q", name, err, tt.code)
		}
	}
	reply, body := r.get(t, "/api/v1/blobs/"+sum)
	if reply.StatusCode != http.StatusOK || body != text || reply.Header.Get("Content-Type") != "text/plain; charset=utf-8" || reply.Header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("over HTTP: %s %v, %d bytes", reply.Status, reply.Header, len(body))
	}
	reply, body = r.get(t, "/api/v1/blobs/"+sum+"?project=shop", "Range", "bytes=-8")
	if reply.StatusCode != http.StatusPartialContent || body != text[len(text)-8:] {
		t.Errorf("its last bytes over HTTP: %s %q", reply.Status, body)
	}
	if reply, body = r.get(t, "/api/v1/blobs/"+sum+"?project=other"); reply.StatusCode == http.StatusOK || !strings.Contains(body, "blob/unknown") {
		t.Errorf("of another project over HTTP: %s %.200s", reply.Status, body)
	}
}

// transcript reads pages until the end.
func transcript(t *testing.T, c *client.Client, q *loomv1.TranscriptRequest) (all []*loomv1.TranscriptEntry) {
	t.Helper()
	if err := c.FollowTranscript(t.Context(), q, true, func(e *loomv1.TranscriptEntry) error { all = append(all, e); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// A transcript has everything in order, whatever the size of its pages; it is read
// within one's own projects, and ends with its execution.
func TestSUB04_SEC01_ATranscriptHasEverythingInOrder(t *testing.T) {
	r, ctx := startReading(t), t.Context()
	want := "PROMPT SAID CALL RESULT SAID CALL OUTCOME"
	for _, limit := range []uint32{0, 1, 2, 1000} {
		var kinds []string
		for _, e := range transcript(t, r.its, &loomv1.TranscriptRequest{Execution: "shop-1", Limit: limit}) {
			kinds = append(kinds, strings.TrimPrefix(e.Kind.String(), "TRANSCRIPT_KIND_"))
			if len(e.Text) > 64<<10 || e.Node != "triage" || e.Attempt != "shop-1-x1-a1" || e.Time == nil || e.Position == nil || e.Role != "qa-engineer" || strings.Contains(e.Text, laterSecret) {
				t.Errorf("an entry that says too little, or a secret: %.400s", e)
			}
			if answer := e.Kind == loomv1.TranscriptKind_TRANSCRIPT_KIND_SAID; (e.Usage != nil) != answer {
				t.Errorf("%s has usage %v: each answer says once what it used", e.Kind, e.Usage)
			}
		}
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("%d a page: %s, want %s", limit, got, want)
		}
	}
	for name, tt := range map[string]struct {
		as   *client.Client
		q    *loomv1.TranscriptRequest
		code string
	}{
		"by its number":         {r.its, &loomv1.TranscriptRequest{Execution: "shop-1", Attempt: "1", Node: "triage"}, ""},
		"of another project":    {r.others, &loomv1.TranscriptRequest{Execution: "shop-1"}, "request/denied"},
		"an attempt of another": {r.its, &loomv1.TranscriptRequest{Execution: "shop-1", Attempt: "7"}, "attempt/unknown"},
		"a node that is none":   {r.its, &loomv1.TranscriptRequest{Execution: "shop-1", Node: "nowhere"}, "usage/argument"},
		"an unknown execution":  {r.its, &loomv1.TranscriptRequest{Execution: "shop-9"}, "execution/unknown"},
		"too many":              {r.its, &loomv1.TranscriptRequest{Execution: "shop-1", Limit: 1001}, "usage/argument"},
	} {
		got, err := tt.as.Transcript(ctx, tt.q)
		if fault.Code(err) != tt.code || tt.code == "" && len(got.Entries) == 0 {
			t.Errorf("%s: %d entries, %v, want %q", name, len(got.GetEntries()), err, tt.code)
		}
	}
	if reply, body := r.get(t, "/api/v1/executions/shop-1/transcript?attempt=1&limit=2"); reply.StatusCode != http.StatusOK || !strings.Contains(body, `"TRANSCRIPT_KIND_PROMPT"`) {
		t.Errorf("over HTTP: %s %.300s", reply.Status, body)
	}
}

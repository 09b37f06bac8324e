package host_test

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	offline "github.com/loomrun/loom/internal/host/reading"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What a host answers to who reads, its data directory answers when the host has
// stopped: the same words, without secrets, and nothing in it is changed by that. While
// it is read no host starts, and while a host runs it is not read.
func TestSUB04_SEC01_AStoppedHostsDirectoryAnswersWhatTheHostAnswered(t *testing.T) {
	r, ctx := startReading(t), t.Context()
	data := r.Data()
	if _, err := offline.OpenAtRest(ctx, data, nil, nil); fault.Code(err) != "data/locked" {
		t.Errorf("beside a running host: %v, want data/locked", err)
	}
	sum := ""
	for _, e := range transcript(t, r.ops, &loomv1.TranscriptRequest{Execution: r.execution}) {
		if e.Kind == loomv1.TranscriptKind_TRANSCRIPT_KIND_RESULT {
			sum = e.Blob.Sha256
		}
	}
	questions := []struct {
		service string
		q       proto.Message
	}{
		{"project", &loomv1.Query{}},
		{"bead", &loomv1.Query{}},
		{"bead", &loomv1.Query{Id: "shop-1"}},
		{"bead", &loomv1.Query{Id: "shop-99"}},
		{"bead", &loomv1.Query{Project: "shpo"}},
		{"execution", &loomv1.Query{Project: "shop"}},
		{"execution", &loomv1.Query{Id: r.execution}},
		{"inbox", &loomv1.Query{}},
		{"graph", &loomv1.Query{Project: "shop"}},
		{"lock", &loomv1.Query{}},
		{"workflow", &loomv1.Query{Project: "other"}},
		{"pause", &loomv1.Query{}},
		{"permission", &loomv1.Query{}},
		{"memory", &loomv1.Query{Project: "shop"}},
		{"session", &loomv1.Query{Project: "shop"}},
		{"conversation", &loomv1.Query{Project: "shop"}},
		{"notices", &loomv1.NoticesRequest{Project: "shop", Kinds: []string{"bead-filed", "attempt-ended", "execution-ended"}}},
		{"notices", &loomv1.NoticesRequest{Project: "shop", Limit: 3}},
		{"transcript", &loomv1.TranscriptRequest{Execution: r.execution}},
		{"blobs", &loomv1.BlobRequest{Sha256: sum}},
		{"state", &loomv1.StateRequest{Execution: r.execution, Number: 5}},
		{"ask", &loomv1.GraphRequest{Project: "shop", Question: loomv1.GraphQuestion_GRAPH_QUESTION_RECENT}},
		{"artifacts", &loomv1.ArtifactsRequest{Project: "other"}},
		{"artifact", &loomv1.ArtifactRequest{Project: "other", Id: "a.txt"}},
		{"why", &loomv1.WhyRequest{Project: "other", Path: "a.txt", Line: 1}},
		{"history", &loomv1.HistoryRequest{Execution: r.execution}},
		{"metrics", &loomv1.MetricsRequest{Project: "shop"}},
		{"cost", &loomv1.CostRequest{}},
	}
	ask := func(c *client.Client, service string, q proto.Message) proto.Message {
		reply := endpoint.Of(service).Reply.ProtoReflect().New().Interface()
		if err := c.Call(ctx, service, q, reply); err != nil && fault.Status(err) == fault.Unavailable {
			t.Errorf("%s: %v", service, err)
		}
		return reply
	}
	var want []proto.Message
	for _, q := range questions {
		want = append(want, ask(r.ops, q.service, q.q))
	}
	r.Stop(ctx)

	before := sums(t, data)
	a, err := offline.OpenAtRest(ctx, data, []string{"SHOP_TOKEN=" + laterSecret}, nil)
	if err != nil {
		t.Fatal(err)
	}
	later := cmp.Options{ // what goes on with time, and with what the host says while it stops
		protocmp.Transform(), protocmp.IgnoreFields(&loomv1.MetricsReply{}, "as_of"), protocmp.IgnoreFields(&loomv1.CostReply{}, "as_of"),
		protocmp.IgnoreFields(&loomv1.View{}, "number"), protocmp.IgnoreFields(&loomv1.GraphReply{}, "number"), protocmp.IgnoreFields(&loomv1.TranscriptReply{}, "next"),
		protocmp.FilterField(&loomv1.NoticesReply{}, "next", cmp.Ignore()),
	}
	off := fault.New("host/not-running", "nobody is there")
	c := client.Over(a.Ask, off)
	asked := map[string]bool{}
	for i, q := range questions {
		asked[q.service] = true
		got := ask(c, q.service, q.q)
		if diff := cmp.Diff(want[i], got, later); diff != "" {
			t.Errorf("%s %v (-running +stopped):\n%s", q.service, q.q, diff)
		}
	}
	for _, e := range endpoint.All() {
		switch err := c.Call(ctx, e.Name, e.Request, e.Reply.ProtoReflect().New().Interface()); {
		case offline.Reads(e.Name) != asked[e.Name]:
			t.Errorf("%s is read without a host: %t, and was compared: %t", e.Name, offline.Reads(e.Name), asked[e.Name])
		case !offline.Reads(e.Name) && fault.Code(err) != "host/not-running":
			t.Errorf("%s without a host: %v, want host/not-running", e.Name, err)
		}
	}
	if err := c.Follow(ctx, &loomv1.NoticesRequest{}, true, func(*loomv1.Notice) error { return nil }); fault.Code(err) != "host/not-running" {
		t.Errorf("following a stopped host: %v", err)
	}
	if err := c.Present(ctx, "decide", &loomv1.SignedCommand{}); fault.Code(err) != "host/not-running" {
		t.Errorf("presenting to a stopped host: %v", err)
	}
	second, err := offline.OpenAtRest(ctx, data, nil, nil)
	if err != nil {
		t.Fatalf("two read at once: %v", err)
	}
	config := config(t, scripted.New("prints", prints))
	config.Data = data
	if h, err := host.Start(ctx, config); fault.Code(err) != "data/locked" {
		t.Errorf("a start while it is read: %v, want data/locked", err)
		if err == nil {
			h.Stop(ctx)
		}
	}
	for _, one := range []*offline.AtRest{a, second} {
		if err := one.Close(); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(before, sums(t, data)); diff != "" {
		t.Errorf("reading changed the directory:\n%s", diff)
	}
}

// Tables that are gone or lag are made anew for who reads, and not in the directory.
func TestSUB04_WF11_WhoReadsAStoppedHostNeedsNoTables(t *testing.T) {
	r, ctx := startReading(t), t.Context()
	want, err := r.ops.History(ctx, &loomv1.HistoryRequest{Execution: r.execution})
	if err != nil {
		t.Fatal(err)
	}
	data := r.Data()
	r.Stop(ctx)
	if err := os.Remove(filepath.Join(data, "projection.db")); err != nil {
		t.Fatal(err)
	}
	a, err := offline.OpenAtRest(ctx, data, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	got, err := client.Over(a.Ask, nil).History(ctx, &loomv1.HistoryRequest{Execution: r.execution})
	if diff := cmp.Diff(want, got, protocmp.Transform()); err != nil || diff != "" || len(got.Transitions) == 0 {
		t.Errorf("history without tables: %v\n%s", err, diff)
	}
	if _, err := os.Stat(filepath.Join(data, "projection.db")); err == nil {
		t.Error("reading made tables in the directory")
	}
}

// A damaged journal is named, and nothing behind the damage is read.
func TestSUB04_P3_WhoReadsAStoppedHostHearsOfDamage(t *testing.T) {
	r, ctx := startReading(t), t.Context()
	data := r.Data()
	r.Stop(ctx)
	blocks, err := filepath.Glob(filepath.Join(data, "jetstream", "CORE", "streams", "LOOM_J_*", "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatalf("no blocks: %v", err)
	}
	for _, block := range blocks {
		bytes, err := os.ReadFile(block)
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes) == 0 {
			continue
		}
		bytes[len(bytes)/2] ^= 1
		if err := os.WriteFile(block, bytes, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if a, err := offline.OpenAtRest(ctx, data, nil, nil); fault.Status(err) != fault.Integrity {
		t.Errorf("a flipped bit: %v", err)
		if err == nil {
			a.Close()
		}
	}
}

// sums are the SHA-256 of every file below a directory.
func sums(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	all := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = sha256.Sum256(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

package commitlock_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestLOCK01_AClaimTellsWhatBecameOfIt(t *testing.T) {
	w := newWorld(t)
	w.acquire("a", "h1")
	w.now = noon.Add(time.Second)
	w.acquire("b", "h2")
	w.now = noon.Add(2 * time.Second)
	w.acquire("b", "h3") // keeps its place, and since when it waits
	claim := func(request, host string, asked, granted time.Duration, token uint64) *loomv1.LockClaim {
		c := &loomv1.LockClaim{Request: request, Execution: "demo-1-x1", Holder: ask(request, host).Holder, AskedAt: timestamppb.New(noon.Add(asked))}
		if token != 0 {
			c.Token, c.GrantedAt, c.Until = token, timestamppb.New(noon.Add(granted)), timestamppb.New(noon.Add(granted+5*time.Minute))
		}
		return c
	}
	w.claimed("a", claim("a", "h1", 0, 0, 1<<40+2))
	w.claimed("b", claim("b", "h3", time.Second, 0, 0))

	w.now = noon.Add(3 * time.Second)
	w.take(w.table.Release(w.now, repo, w.token()))
	w.claimed("b", claim("b", "h3", time.Second, 3*time.Second, 1<<40+6))
	w.claimed("a", nil)
}

// claimed checks what became of a request; nil is nothing.
func (w *world) claimed(request string, want *loomv1.LockClaim) {
	w.t.Helper()
	got, ok := w.table.Claim(repo, request)
	if ok != (want != nil) {
		w.t.Fatalf("Claim(%s) = %v, %t; want %v", request, got, ok, want)
	}
	if diff := same(want, got); want != nil && diff != "" {
		w.t.Fatalf("Claim(%s) differs: %s", request, diff)
	}
}

func TestLOCK01_AnUnknownLockIsFree(t *testing.T) {
	w := newWorld(t)
	if s := w.table.Status(repo); s.Repository != repo || s.Holder != nil {
		t.Errorf("Status = %v, want a free lock", s)
	}
	if c, ok := w.table.Claim(repo, ""); ok {
		t.Errorf("Claim of nobody = %v", c)
	}
	if r := w.table.Repositories(); len(r) != 0 {
		t.Errorf("Repositories() = %q after a mere look", r)
	}
}

func TestLOCK01_ReadsAreNotTheTable(t *testing.T) {
	w := newWorld(t)
	w.acquire("a", "h1")
	w.acquire("b", "h2")
	w.acquire("c", "h3")
	before := w.table.Status(repo)
	w.now = noon.Add(time.Minute)
	w.take(w.table.Renew(w.now, repo, w.token()))
	w.take(w.table.Release(w.now, repo, w.token()))
	h := before.Holder
	if h.Request != "a" || !h.Until.AsTime().Equal(noon.Add(5*time.Minute)) || before.Queue[0].Request != "b" || len(before.Queue) != 2 {
		t.Errorf("an earlier Status changed: %v", before)
	}
	after := w.table.Status(repo)
	after.Holder, after.Queue[0], after.LastToken = nil, nil, 0
	if w.holder() != "b" || w.table.Status(repo).Queue[0].GetRequest() != "c" {
		t.Errorf("writing to a Status changed the table: %v", w.table.Status(repo))
	}
}

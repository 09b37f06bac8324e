package tool_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// recalled is a memory that answers as it is told.
type recalled struct {
	answer   *loomv1.MemoryEntry
	found    *loomv1.MemoryContext
	fail     error
	requests []string
	kept     []*loomv1.MemoryEntry
	searched []*loomv1.OfferMemory
}

func (r *recalled) Keep(_ context.Context, request string, e *loomv1.MemoryEntry) (*loomv1.MemoryEntry, error) {
	r.requests, r.kept = append(r.requests, request), append(r.kept, e)
	return r.answer, r.fail
}

func (r *recalled) Search(_ context.Context, q *loomv1.OfferMemory) (*loomv1.MemoryContext, error) {
	r.searched = append(r.searched, q)
	return r.found, r.fail
}

func TestMEM01_MemoryKeep(t *testing.T) {
	for _, tt := range []struct {
		answer *loomv1.MemoryEntry
		want   string
	}{
		{&loomv1.MemoryEntry{Id: "m7", Count: 1}, "kept as m7\n"},
		{&loomv1.MemoryEntry{Id: "m7", Count: 3}, "m7 says that already, 3 times now\n"},
		{&loomv1.MemoryEntry{Id: "m7", Count: 1, Contradicts: []string{"m1", "m4"}}, "kept as m7; it contradicts m1, m4\n"},
		{
			&loomv1.MemoryEntry{Id: "m7", Count: 1, Trust: loomv1.MemoryTrust_MEMORY_TRUST_UNTRUSTED},
			"kept as m7; it is untrusted, and ends with this work unless a person vouches for it\n",
		},
	} {
		m := &recalled{answer: tt.answer}
		s := tool.New(tool.Workspace{Root: t.TempDir(), Memory: m}, nil)
		r := ok(t, do(t, s, "memory_keep", args{"type": "risk", "text": "the disk is full", "from": "https://example.com/a", "tags": []string{"disk"}}))
		if r.Output != tt.want || m.requests[0] != "c1" {
			t.Errorf("%q with the request %q, want %q", r.Output, m.requests[0], tt.want)
		}
		want := &loomv1.MemoryEntry{Type: "risk", Text: "the disk is full", Tags: []string{"disk"}, Sources: []*loomv1.MemorySource{{Address: "https://example.com/a"}}}
		if !proto.Equal(m.kept[0], want) {
			t.Errorf("kept %v, want %v", m.kept[0], want)
		}
	}
	m := &recalled{fail: fault.New("memory/access", "node build may not write there")}
	s := tool.New(tool.Workspace{Root: t.TempDir(), Memory: m}, nil)
	if r := do(t, s, "memory_keep", args{"type": "risk", "text": "a"}); r.Code != "memory/access" {
		t.Errorf("a refusal of the project is %q, %q", r.Code, r.Output)
	}
	for _, bad := range []args{{"type": "risk"}, {"text": "a"}, {"type": "risk", "text": "a", "layer": "project"}} {
		if r := do(t, s, "memory_keep", bad); r.Code == "" || len(m.kept) != 1 {
			t.Errorf("%v is taken: %q", bad, r.Output)
		}
	}
	if r := do(t, tool.New(tool.Workspace{Root: t.TempDir()}, nil), "memory_keep", args{"type": "risk", "text": "a"}); r.Code != "tool/failed" {
		t.Errorf("without a memory: %q", r.Code)
	}
}

func TestMEM01_MemorySearch(t *testing.T) {
	for _, tt := range []struct {
		found *loomv1.MemoryContext
		want  string
	}{
		{&loomv1.MemoryContext{}, "nothing is remembered about that\n"},
		{&loomv1.MemoryContext{LeftOut: 2}, "2 entries are found, and none fits into 1000 tokens\n"},
		{&loomv1.MemoryContext{Text: "m1 risk (70%): a\n", Items: make([]*loomv1.MemoryItem, 1), LeftOut: 2}, "m1 risk (70%): a\n[2 more did not fit]\n"},
	} {
		m := &recalled{found: tt.found}
		s := tool.New(tool.Workspace{Root: t.TempDir(), Memory: m}, nil)
		r := ok(t, do(t, s, "memory_search", args{"text": "disk", "type": "risk", "tag": "io"}))
		if r.Output != tt.want {
			t.Errorf("%q, want %q", r.Output, tt.want)
		}
		if got := fmt.Sprintf("%s %s %s %d", m.searched[0].Text, m.searched[0].Types, m.searched[0].WantedTags, m.searched[0].Tokens); got != "disk [risk] [io] 1000" {
			t.Errorf("searched for %s", got)
		}
	}
}

package project_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// extracting stores a process whose work lands, and of whose phase is said what is worth
// remembering.
func (d *desk) extracting(process string) *loomv1.SubmitReply {
	d.t.Helper()
	d.configured(func(c *loomv1.ProjectConfig) { c.Checks = []string{"go test ./..."} })
	write := task("write", "backend-engineer")
	write.Phase = &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_WORK}
	def := line(process, "1.0", append([]*loomv1.NodeDefinition{write}, duties()...)...)
	def.Guide = &loomv1.Guide{MemoryTypes: []*loomv1.MemoryType{{Type: "trap"}}}
	say := task("write-memory", "backend-engineer")
	say.Type, say.Detached, say.Outcome = loomv1.NodeType_NODE_TYPE_TASK, true, map[string]string{"memory": "object"}
	say.Phase = &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_REMEMBER, Of: "write", ModelTier: 1}
	def.Nodes = append(def.Nodes, say)
	def.Edges = append(def.Edges, &loomv1.EdgeDefinition{Id: "write-say", From: "write", To: "write-memory"})
	d.store(def)
	return d.file(&loomv1.Submission{Goal: "mend it", Process: process})
}

// landed has the work of a phase done, with a tool that it uses on the way, and landed.
func (d *desk) landed(tool string) {
	d.t.Helper()
	b, who := d.claim("backend-engineer")
	if tool != "" {
		c := &loomv1.ToolCall{Id: "c1-1", Tool: tool, Arguments: "{}"}
		d.calls(b, who, c)
		d.ok(recordOf(b, who, intent(c)))
		d.ok(recordOf(b, who, turn.FinishedFact(c.Id, &loomv1.ToolResult{Status: loomv1.ToolStatus_TOOL_STATUS_OK})))
	}
	out := proposed("p1")
	out.Summary, out.Notes = "the cart is mended", "The cart rounded each line."
	d.gives(b, who, out)
	for _, role := range []string{"engineering-manager", "qa-engineer", "engineering-manager"} {
		b, who := d.claim(role)
		d.gives(b, who, result(b, success, ""))
	}
}

// entries is the outcome of whoever says what is worth remembering.
func entries(list ...any) *loomv1.Outcome {
	return outcome(success, map[string]any{"memory": map[string]any{"entries": list}})
}

// What a phase has found is kept with the end of the attempt that says it, once: an answer
// that is given again keeps nothing more, and what is said again in later work is counted.
func TestMEM01_WhatAPhaseFoundIsKeptOnce(t *testing.T) {
	d := newDesk(t)
	d.extracting("carts")
	d.landed("")
	out := entries(
		map[string]any{"type": "discovery", "text": "The cart rounds each line and not the total.", "confidence": 90, "tags": []any{"money"}},
		map[string]any{"type": "trap", "text": "Tests of carts pass without prices.", "confidence": 60},
	)
	b, who := d.claim("backend-engineer")
	if !strings.Contains(b.CameTo, "the cart is mended\nThe cart rounded each line.") || strings.Contains(b.CameTo, "completed") {
		t.Errorf("it is asked about %q", b.CameTo)
	}
	d.gives(b, who, out)
	n := len(d.events)
	d.gives(b, who, out)
	d.restart()
	if len(d.events) != n {
		t.Errorf("the same answer again led to %v", d.events[n:])
	}
	want := []string{"discovery The cart rounds each line and not the total."} // the other is not sure enough to last
	if got := d.saidIn(&loomv1.Query{}); !slices.Equal(got, want) {
		t.Fatalf("kept: %q, want %q", got, want)
	}
	e := d.entry(t, "The cart rounds each line and not the total.")
	if e.Trust != loomv1.MemoryTrust_MEMORY_TRUST_AGENT || e.Layer != loomv1.MemoryLayer_MEMORY_LAYER_DURABLE || e.Confidence != 90 || e.Process != "carts" ||
		!slices.Equal(e.Tags, []string{"carts", "money", "write"}) || e.Attempt != b.Attempt.Id || len(e.Sources) != 1 || !strings.HasPrefix(e.Sources[0].Attempt, "shop-1-x1-") {
		t.Errorf("kept as %v", e)
	}
	d.file(&loomv1.Submission{Goal: "mend it again", Process: "carts"})
	d.landed("")
	d.work("backend-engineer", entries(map[string]any{"type": "discovery", "text": "the CART rounds each line, and not the total"}))
	if e := d.entry(t, "The cart rounds each line and not the total."); e.Count != 2 {
		t.Errorf("said again it is %v", e)
	}
}

// What a phase has read of the web makes what it found untrusted: it waits for a person,
// is offered to nobody, and goes if nobody comes. So does what is said to come from a file.
func TestMEM01_WhatAPhaseReadOnTheWebWaitsForAPerson(t *testing.T) {
	for _, tt := range []struct {
		tool, from string
		untrusted  bool
	}{{"web_fetch", "", true}, {"mcp_shop_read", "", true}, {"", "notes.md", true}, {"", "https://example.com/a", true}, {"file_read", "", false}} {
		d := newDesk(t)
		d.extracting("carts")
		d.landed(tt.tool)
		const text = "All totals are gross."
		d.work("backend-engineer", entries(map[string]any{"type": "discovery", "text": text, "confidence": 95, "from": tt.from}))
		e := d.entry(t, text)
		if !tt.untrusted {
			if e.Trust != loomv1.MemoryTrust_MEMORY_TRUST_AGENT || e.Expires != nil || e.Layer != loomv1.MemoryLayer_MEMORY_LAYER_DURABLE {
				t.Errorf("after %q: %v", tt.tool, e)
			}
			continue
		}
		if e.Trust != loomv1.MemoryTrust_MEMORY_TRUST_UNTRUSTED || e.Layer != loomv1.MemoryLayer_MEMORY_LAYER_SESSION || e.Expires == nil {
			t.Errorf("after %q, from %q: %v", tt.tool, tt.from, e)
		}
		d.file(&loomv1.Submission{Goal: "mend the totals again", Process: "carts"})
		b, who := d.claim("backend-engineer")
		if got := d.ok(offers(b, who, "are totals gross")).GetMemories(); len(got.Items) > 0 {
			t.Errorf("offered: %v", got)
		}
		if tt.from == "notes.md" { // a person vouches for it
			d.ok(&loomv1.Command{Body: &loomv1.Command_ChangeMemory{ChangeMemory: &loomv1.ChangeMemory{Id: e.Id, Trust: true, Promote: true, ClearExpires: true}}})
			if e := d.entry(t, text); e.Layer != loomv1.MemoryLayer_MEMORY_LAYER_DURABLE {
				t.Errorf("vouched for it is %v", e)
			}
			continue
		}
		d.wait(31 * 24 * time.Hour)
		if got := d.saidIn(&loomv1.Query{}); slices.Contains(got, "discovery "+text) {
			t.Errorf("after a month there is %q", got)
		}
	}
}

// What is no entry is kept by nobody, and neither is what a phase that failed has found.
func TestMEM01_WhatIsNoEntryIsNotKept(t *testing.T) {
	for _, out := range []*loomv1.Outcome{
		entries(map[string]any{"type": "nonsense", "text": "a"}), entries("a"), entries(),
		outcome(success, map[string]any{"memory": map[string]any{}}), outcome(failed, nil),
	} {
		d := newDesk(t)
		d.extracting("carts")
		d.landed("")
		d.work("backend-engineer", out)
		if got := d.saidIn(&loomv1.Query{Type: "discovery"}); len(got) > 0 {
			t.Errorf("%v: kept %q", out, got)
		}
	}
}

// saidIn is remembered, without the entries' ids and what the runtime says itself.
func (d *desk) saidIn(q *loomv1.Query) (texts []string) {
	for _, line := range d.remembered(q) {
		_, rest, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(rest, "error ") {
			texts = append(texts, rest)
		}
	}
	return texts
}

// entry returns the entry of a text.
func (d *desk) entry(t *testing.T, text string) *loomv1.MemoryEntry {
	t.Helper()
	for _, e := range d.s.Snapshot().GetMemory().GetEntries() {
		if e.Text == text {
			return e
		}
	}
	t.Fatalf("nobody keeps %q", text)
	return nil
}

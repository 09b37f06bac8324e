package memory_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/memory"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	agent   = loomv1.MemoryTrust_MEMORY_TRUST_AGENT
	person  = loomv1.MemoryTrust_MEMORY_TRUST_PERSON
	runtime = loomv1.MemoryTrust_MEMORY_TRUST_RUNTIME
	alien   = loomv1.MemoryTrust_MEMORY_TRUST_UNTRUSTED
	l1      = loomv1.MemoryLayer_MEMORY_LAYER_SESSION
	l2      = loomv1.MemoryLayer_MEMORY_LAYER_DURABLE
)

// world is a memory with its log, as a project has it.
type world struct {
	*memory.Memory
	t   interface{ Fatalf(string, ...any) }
	now time.Time
	log []*loomv1.Event
}

func newWorld(t interface{ Fatalf(string, ...any) }) *world {
	return &world{Memory: memory.New(), t: t, now: noon}
}

// emit stamps, applies and logs a fact.
func (w *world) emit(e *loomv1.Event) error {
	e.Number, e.Time = uint64(len(w.log)+1), timestamppb.New(w.now)
	if err := w.Apply(e); err != nil {
		return err
	}
	w.log = append(w.log, proto.CloneOf(e))
	return nil
}

// as is a turn of somebody: of an agent it is at attempt x1-a1 of execution x1.
func (w *world) as(trust loomv1.MemoryTrust) *memory.Turn {
	t := &memory.Turn{Now: w.now, Trust: trust, Emit: w.emit}
	if trust == agent {
		t.Bead, t.Execution, t.Node, t.Attempt = "b1", "x1", "build", "x1-a1"
	}
	return t
}

func (w *world) do(t *memory.Turn, c *loomv1.Command) (*loomv1.Answer, error) {
	before, events := w.Hash(), len(w.log)
	a, err := w.Decide(t, c)
	if err != nil && fault.Code(err) == "" {
		w.t.Fatalf("%T: %v", c.Body, err)
	}
	if err != nil && (w.Hash() != before || len(w.log) != events) {
		w.t.Fatalf("%T was refused with %v and changed the memory", c.Body, err)
	}
	return a, err
}

func (w *world) tryKeep(t *memory.Turn, e *loomv1.MemoryEntry) (*loomv1.MemoryEntry, error) {
	a, err := w.do(t, &loomv1.Command{Body: &loomv1.Command_KeepMemory{KeepMemory: &loomv1.KeepMemory{Entry: e}}})
	return a.GetMemory(), err
}

func (w *world) keep(t *memory.Turn, e *loomv1.MemoryEntry) *loomv1.MemoryEntry {
	kept, err := w.tryKeep(t, e)
	if err != nil {
		w.t.Fatalf("keep %q: %v", e.Text, err)
	}
	return kept
}

func (w *world) change(t *memory.Turn, c *loomv1.ChangeMemory) (*loomv1.MemoryEntry, error) {
	a, err := w.do(t, &loomv1.Command{Body: &loomv1.Command_ChangeMemory{ChangeMemory: c}})
	return a.GetMemory(), err
}

func (w *world) forget(t *memory.Turn, id string) (*loomv1.MemoryEntry, error) {
	a, err := w.do(t, &loomv1.Command{Body: &loomv1.Command_ForgetMemory{ForgetMemory: &loomv1.ForgetMemory{Id: id, Reason: "wrong"}}})
	return a.GetMemory(), err
}

func (w *world) offer(t *memory.Turn, c *loomv1.OfferMemory) *loomv1.MemoryContext {
	a, err := w.do(t, &loomv1.Command{Body: &loomv1.Command_OfferMemory{OfferMemory: c}})
	if err != nil {
		w.t.Fatalf("offer: %v", err)
	}
	return a.GetMemories()
}

func (w *world) end(completed bool) {
	if err := w.EndSession(w.as(runtime), "x1", completed, func(*loomv1.MemoryEntry) bool { return true }); err != nil {
		w.t.Fatalf("end of the session: %v", err)
	}
}

func (w *world) get(id string) *loomv1.MemoryEntry {
	e, ok := w.Entry(id)
	if !ok {
		w.t.Fatalf("no entry %s", id)
	}
	return e
}

func entry(kind, text string) *loomv1.MemoryEntry { return &loomv1.MemoryEntry{Type: kind, Text: text} }

func ids(items []*loomv1.MemoryItem) []string {
	var list []string
	for _, i := range items {
		list = append(list, i.Entry.Id)
	}
	return list
}

func codeOf(t *testing.T, what string, err error, want string) {
	t.Helper()
	if got := fault.Code(err); got != want {
		t.Errorf("%s: %q (%v), want %q", what, got, err, want)
	}
}

package histories

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/ops/demo"
	"github.com/loomrun/loom/internal/store/datadir"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// owner approves.
type owner struct{}

func (owner) Say(string)           {}
func (owner) Event(*loomv1.Notice) {}
func (owner) Decide(context.Context, *loomv1.Approval, string) (loomv1.ApprovalDecision, string, error) {
	return loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, "fine", nil
}

// recordDemo runs the demo on a real host and returns what its journal has.
func recordDemo(t *testing.T) []*loomv1.Batch {
	t.Helper()
	dir := t.TempDir()
	policy, _ := scripted.Named(scripted.Default)
	r, err := demo.Run(t.Context(), demo.Options{Model: scripted.New(scripted.Default, policy), Keep: dir, View: owner{}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := datadir.Open(r.Data)
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	b, err := broker.Start(t.Context(), broker.Config{Dir: data})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	for i := range data.Manifest().Partitions {
		log, err := natsjournal.New(t.Context(), b.Core(), i)
		if err != nil {
			t.Fatal(err)
		}
		if batches := readAll(t, log, dir); hasProject(batches, "demo") {
			return batches
		}
	}
	t.Fatal("the demo left no journal")
	return nil
}

// readAll reads a journal and seals it anew with other words for the directory
// that it was made in, which is nobody's business.
func readAll(t *testing.T, log journal.Log, dir string) (batches []*loomv1.Batch) {
	t.Helper()
	head := journal.Head{}
	err := log.Read(t.Context(), 1, func(seq uint64, b *loomv1.Batch) error {
		for _, e := range b.Events {
			replace(e.ProtoReflect(), dir, "/srv/demo")
		}
		sealed := journal.Seal(head, int(b.Partition), b.Epoch, b.Writer, b.Id, b.Events)
		head = journal.Head{Sequence: seq, Epoch: b.Epoch, Hash: sealed.Hash}
		batches = append(batches, sealed.Batch)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return batches
}

func hasProject(batches []*loomv1.Batch, id string) bool {
	for _, b := range batches {
		for _, e := range b.Events {
			if e.Project == id {
				return true
			}
		}
	}
	return false
}

// replace puts other words into the texts of m.
func replace(m protoreflect.Message, old, with string) {
	text := func(v protoreflect.Value) protoreflect.Value {
		return protoreflect.ValueOfString(strings.ReplaceAll(v.String(), old, with))
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			v.Map().Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
				if f.MapValue().Message() != nil {
					replace(e.Message(), old, with)
				} else if f.MapValue().Kind() == protoreflect.StringKind {
					v.Map().Set(k, text(e))
				}
				return true
			})
		case f.IsList():
			for i := range v.List().Len() {
				if f.Message() != nil {
					replace(v.List().Get(i).Message(), old, with)
				} else if f.Kind() == protoreflect.StringKind {
					v.List().Set(i, text(v.List().Get(i)))
				}
			}
		case f.Message() != nil:
			replace(v.Message(), old, with)
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, text(v))
		}
		return true
	})
}

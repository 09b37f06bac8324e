package workflow_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/document"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const diffText = "--- a/cart.go\n+++ b/cart.go\n@@ -1 +1 @@\n-< 50\n+<= 50\n"

// proposal is an approval in which everything is set that a person is shown.
func proposal(t testing.TB) *loomv1.Approval {
	t.Helper()
	fields, err := structpb.NewStruct(map[string]any{"cause": "off by one", "parts": []any{1.5, true, "x"}, "at": map[string]any{"line": 7.0}})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(diffText))
	a := &loomv1.Approval{
		Id: "shop-2", Bead: "shop-1", Execution: "shop-1-x1", Node: "approve", Visit: 1,
		Kind: loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL, Question: "Shall this land?", Reason: "why",
		Change: &loomv1.Change{
			Base: "b1", Commit: "w1", Tree: "t1", PatchDigest: "p1", FilesTotal: 1, Makers: []string{"implementer"},
			Files:    []*loomv1.ChangedFile{{Path: "cart.go", Status: "modified", Added: 1, Removed: 1}},
			Diff:     &loomv1.BlobRef{Sha256: hex.EncodeToString(sum[:]), Size: uint64(len(diffText)), MediaType: "text/x-diff"},
			Warnings: []*loomv1.PatchWarning{{Kind: "large", Path: "cart.go", Line: 3, Text: "it is large", Action: loomv1.PatchAction_PATCH_ACTION_GATE}},
		},
		History:   []*loomv1.Attempt{{Id: "shop-1-x1-a4", Node: "approve", Outcome: &loomv1.Outcome{Summary: "tried"}}},
		Options:   []loomv1.ApprovalDecision{approve, requestChanges, reject},
		NextSteps: []string{"approve: go on after approve"},
		AskedAt:   timestamppb.New(noon), Checks: []string{"go test ./... " + strings.Repeat("x", 400)},
		Halts: true, Gate: true, Ballot: "d7", Choices: []*loomv1.Choice{{Id: "d8", Title: "lock files"}},
		Permission: &loomv1.PermissionQuestion{Attempt: "a1", Call: "c1", Role: "qa", Tool: "shell", Subjects: []string{"rm"}, Arguments: "{}", Digest: "d"},
		Wanted:     &loomv1.Budget{Tokens: 5, MicroUsd: 6}, OfProject: true, Keys: 2,
		Intent: "The total is wrong",
		Plan: &loomv1.Plan{
			Number: 1, Why: "two parts", Phases: []*loomv1.PlannedPhase{{Id: "one", Description: "first"}},
			LeftOut: []*loomv1.LeftOut{{Phase: "two", Reason: "not needed"}},
		},
		Work: []*loomv1.Attempt{{Node: "verify", Role: "qa", Outcome: &loomv1.Outcome{
			Summary: "passes", Notes: "ok", Fields: fields,
			Checks: []*loomv1.CheckRun{{Command: "go test ./...", Passed: true, ExitCode: -1, Commit: "c1", Output: &loomv1.BlobRef{Sha256: "aa", Size: 3}}},
		}}},
		Usage:      &loomv1.Usage{InputTokens: 100, OutputTokens: 7, CostMicroUsd: 12, CostKnown: true},
		Considered: []*loomv1.Considered{{Id: "d3", Type: loomv1.DecisionType_DECISION_TYPE_OPTION, Status: loomv1.DecisionStatus_DECISION_STATUS_ABANDONED, Title: "round up", Why: "wrong", Author: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: "implementer/1@h1"}}},
	}
	a.Digest = workflow.Digest(a)
	return a
}

// P9: an approval that is shown with any other value than the one that is signed, be it
// by one byte, is refused, whatever field it is in: every field at every depth has a
// row, made from what the message has, so that a new field needs none.
func TestP09_WhatIsShownIsWhatIsSigned(t *testing.T) {
	base := proposal(t)
	if err := workflow.CheckShown(base, diffText); err != nil {
		t.Fatal("as it is:", err)
	}
	seen := map[string]string{base.Digest: "the approval itself"}
	rows := 0
	for _, row := range others(base) {
		free := notCovered[strings.FieldsFunc(row.path, func(r rune) bool { return r == '.' || r == ' ' })[0]]
		err := workflow.CheckShown(row.shown, diffText)
		if free != (err == nil) {
			t.Errorf("another %s: %v, free: %t", row.path, err, free)
		}
		if free {
			continue
		}
		rows++
		if code := fault.Code(err); code != "approval/shown" {
			t.Errorf("another %s: code %s", row.path, code)
		}
		d := workflow.Digest(row.shown)
		if other, ok := seen[d]; ok {
			t.Errorf("another %s has the digest of %s", row.path, other)
		}
		seen[d] = row.path
	}
	if rows < 80 {
		t.Errorf("%d rows: the table does not reach into the approval", rows)
	}
}

// notCovered are the fields that the answer or whoever shows an approval sets.
var notCovered = map[string]bool{"asked_at": true, "decision": true, "comment": true, "decided_by": true, "decided_at": true, "overlaps": true, "signed": true}

// P9: the text of the diff is held against the approval too.
func TestP09_AnotherDiffIsRefused(t *testing.T) {
	base := proposal(t)
	for i := range diffText {
		other := []byte(diffText)
		other[i] ^= 1
		if err := workflow.CheckShown(base, string(other)); fault.Code(err) != "approval/shown" {
			t.Fatalf("byte %d differs: %v", i, err)
		}
	}
	for _, other := range []string{"", diffText + "\n", diffText[1:]} {
		if err := workflow.CheckShown(base, other); fault.Code(err) != "approval/shown" {
			t.Errorf("diff %q: %v", other, err)
		}
	}
	without := proto.CloneOf(base)
	without.Change = nil
	without.Digest = workflow.Digest(without)
	if err := workflow.CheckShown(without, diffText); fault.Code(err) != "approval/shown" {
		t.Errorf("a diff where there is no change: %v", err)
	}
	if err := workflow.CheckShown(without, ""); err != nil {
		t.Errorf("no change, no diff: %v", err)
	}
}

// P9: parts that are moved over a border between fields do not read alike, and the
// digest is what the documents say, so that others can compute it.
func TestP09_TheDigestIsAsDocumented(t *testing.T) {
	field := func(n, length uint64, value string) []byte {
		out := binary.BigEndian.AppendUint64(nil, n)
		return append(binary.BigEndian.AppendUint64(out, length), value...)
	}
	number := string(binary.BigEndian.AppendUint64(nil, 2))
	a := &loomv1.Approval{Id: "shop-2", Visit: 2, Checks: []string{"ab", "c"}, Wanted: &loomv1.Budget{Tokens: 2}}
	inner := string(field(1, 8, number))
	want := sha256.Sum256(bytes.Join([][]byte{
		[]byte("loom.v1.approval/2\n"), field(1, 6, "shop-2"), field(5, 8, number), field(19, 2, "ab"), field(19, 1, "c"), field(26, 24, inner),
	}, nil))
	if got := workflow.Digest(a); got != hex.EncodeToString(want[:]) {
		t.Errorf("Digest = %s, want %x", got, want)
	}
	moved := proto.CloneOf(a)
	moved.Checks = []string{"a", "bc"}
	if workflow.Digest(moved) == workflow.Digest(a) {
		t.Error("checks that are cut elsewhere have the same digest")
	}
}

// P9, WF-07: what the engine asks has all that a person needs, and is what it says.
func TestWF07_AnApprovalShowsWhoDidWhat(t *testing.T) {
	w := bug(t, "approve")
	a := w.approval("approve")
	if a.Digest != workflow.Digest(a) || len(a.Digest) != 64 {
		t.Errorf("digest = %q, want the approval's own", a.Digest)
	}
	if a.Intent == "" || len(a.Work) == 0 {
		t.Fatalf("intent %q, work %v: want what was asked for and who did what", a.Intent, a.Work)
	}
	for _, done := range a.Work {
		if done.Node == "" || done.Role == "" || done.Outcome == nil {
			t.Errorf("work = %v, want a node, a role and an outcome", done)
		}
	}
}

type row struct {
	path  string
	shown *loomv1.Approval
}

// others returns the approval once for each value in it, with that one changed.
func others(base *loomv1.Approval) (rows []row) {
	var walk func(at func(*loomv1.Approval) protoreflect.Message, prefix string)
	walk = func(at func(*loomv1.Approval) protoreflect.Message, prefix string) {
		fields := at(base).Descriptor().Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			if prefix == "" && f.Name() == "digest" {
				continue // it is what the others are held against
			}
			path := prefix + string(f.Name())
			change := func(where string, do func(m protoreflect.Message)) {
				c := proto.CloneOf(base)
				do(at(c))
				rows = append(rows, row{where, c})
			}
			switch {
			case f.IsMap():
				change(path, func(m protoreflect.Message) {
					m.Mutable(f).Map().Set(protoreflect.ValueOfString("more").MapKey(), m.Mutable(f).Map().NewValue())
				})
			case f.IsList():
				change(path+" grown", func(m protoreflect.Message) { l := m.Mutable(f).List(); l.Append(l.NewElement()) })
				for j := range at(base).Get(f).List().Len() {
					if f.Message() != nil {
						walk(func(a *loomv1.Approval) protoreflect.Message { return at(a).Mutable(f).List().Get(j).Message() }, fmt.Sprintf("%s.%d.", path, j))
						continue
					}
					change(fmt.Sprintf("%s.%d", path, j), func(m protoreflect.Message) { l := m.Mutable(f).List(); l.Set(j, another(l.Get(j))) })
				}
			case f.Message() != nil && at(base).Has(f) && !strings.HasPrefix(string(f.Message().FullName()), "google."):
				change(path+" gone", func(m protoreflect.Message) { m.Clear(f) })
				walk(func(a *loomv1.Approval) protoreflect.Message { return at(a).Mutable(f).Message() }, path+".")
			case f.Message() != nil:
				change(path, func(m protoreflect.Message) {
					if m.Has(f) {
						m.Clear(f)
					} else {
						m.Set(f, m.NewField(f))
					}
				})
			default:
				change(path, func(m protoreflect.Message) { m.Set(f, another(m.Get(f))) })
			}
		}
	}
	walk(func(a *loomv1.Approval) protoreflect.Message { return a.ProtoReflect() }, "")
	return rows
}

// another is a value that differs in as little as possible.
func another(v protoreflect.Value) protoreflect.Value {
	switch x := v.Interface().(type) {
	case string:
		if x == "" {
			return protoreflect.ValueOfString("x")
		}
		return protoreflect.ValueOfString(x[:len(x)-1] + string(x[len(x)-1]^1))
	case bool:
		return protoreflect.ValueOfBool(!x)
	case protoreflect.EnumNumber:
		return protoreflect.ValueOfEnum(x + 1)
	case int32:
		return protoreflect.ValueOfInt32(x + 1)
	case int64:
		return protoreflect.ValueOfInt64(x + 1)
	case uint32:
		return protoreflect.ValueOfUint32(x + 1)
	case uint64:
		return protoreflect.ValueOfUint64(x + 1)
	}
	panic(fmt.Sprintf("an approval has a value of type %T", v.Interface()))
}

// An approval shows the document that was made and the hash of its spec, and the
// digest binds both: one byte of the spec that is another one is another approval.
func TestBYD11_AnApprovalBindsTheSpecOfADocument(t *testing.T) {
	spec := []byte(`{"sections":[{"heading":"A","id":"a"}],"title":"T","version":"0.2"}`)
	shown := func(spec []byte, preview string) *loomv1.Approval {
		return &loomv1.Approval{Id: "p-2", Question: "Go?", Work: []*loomv1.Attempt{{Id: "p-1-x1-a4", Node: "materialize", Outcome: &loomv1.Outcome{
			Document: &loomv1.ShownDocument{File: "a.docx", SpecHash: document.HashBytes(spec), Preview: preview, Changes: []string{"replace title \"T\""}},
		}}}}
	}
	a := shown(spec, "# T\n")
	a.Digest = workflow.Digest(a)
	if err := workflow.CheckShown(a, ""); err != nil {
		t.Fatal(err)
	}
	for i := range spec {
		other := bytes.Clone(spec)
		other[i] ^= 1
		b := shown(other, "# T\n")
		b.Digest = a.Digest // the answer that was signed
		if err := workflow.CheckShown(b, ""); fault.Code(err) != "approval/shown" {
			t.Fatalf("byte %d of the spec is another: %v", i, err)
		}
	}
	b := shown(spec, "# U\n")
	if workflow.Digest(b) == a.Digest {
		t.Error("another preview has the same digest")
	}
}

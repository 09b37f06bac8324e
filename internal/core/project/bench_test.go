package project_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// waiting is a project in which n executions wait for the CEO, each after a
// task that was done.
func waiting(b *testing.B, n int) *yard {
	b.Helper()
	y := newYard(b, "researcher")
	y.must(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: &loomv1.Definition{
		Name: "ask", Version: "1.0",
		Nodes: []*loomv1.NodeDefinition{
			{Id: "start", Type: loomv1.NodeType_NODE_TYPE_START},
			{Id: "work", Type: loomv1.NodeType_NODE_TYPE_TASK, Role: "implementer", MaxAttempts: 3},
			{Id: "ask", Type: loomv1.NodeType_NODE_TYPE_APPROVAL},
			{Id: "end", Type: loomv1.NodeType_NODE_TYPE_END},
		},
		Edges: []*loomv1.EdgeDefinition{{Id: "e1", From: "start", To: "work"}, {Id: "e2", From: "work", To: "ask"}, {Id: "e3", From: "ask", To: "end"}},
	}}}})
	who := agentOf("implementer", 1)
	for range n {
		y.file("ask", normal)
		brief, err := y.take(who)
		if err != nil {
			b.Fatal(err)
		}
		y.answer(brief.Attempt.Id, who, success)
	}
	return y
}

var sizes = []int{10, 10_000}

// BenchmarkClaim claims an attempt and gives it back, while so many wait.
func BenchmarkClaim(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			y := newYard(b, "researcher")
			for range n {
				y.file("fan", normal)
			}
			who := agentOf("researcher", 1)
			b.ReportAllocs()
			for b.Loop() {
				brief, err := y.take(who)
				if err != nil {
					b.Fatal(err)
				}
				y.must(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: brief.Attempt.Id, Claimant: who, Reason: "drain"}}})
			}
		})
	}
}

// BenchmarkSweep finds out what is to be in the work queue, while so many
// attempts wait.
func BenchmarkSweep(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			y := newYard(b, "researcher")
			for range n {
				y.file("fan", normal)
			}
			var tickets project.Tickets
			b.ReportAllocs()
			for b.Loop() {
				if len(tickets.Offer(y.s))+len(tickets.Again()) == 0 {
					b.Fatal("no tickets")
				}
			}
		})
	}
}

// BenchmarkSnapshot makes the state of a project with so many executions that
// wait for the CEO ready to be written, and what others follow from.
func BenchmarkSnapshot(b *testing.B) {
	for _, n := range sizes {
		y := waiting(b, n)
		b.Run(fmt.Sprint("whole/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				data, err := proto.Marshal(y.s.Snapshot())
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(data)), "bytes")
			}
		})
	}
}

// BenchmarkRestore takes such a state up again from its bytes.
func BenchmarkRestore(b *testing.B) {
	for _, n := range sizes {
		y := waiting(b, n)
		data, err := proto.Marshal(y.s.Snapshot())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p := &loomv1.ProjectState{}
				if err := proto.Unmarshal(data, p); err != nil {
					b.Fatal(err)
				}
				if _, err := project.Adopt(y.cfg, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

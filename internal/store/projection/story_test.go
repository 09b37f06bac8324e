package projection_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// noon is when stories begin.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// project writes the events of one project, in order.
type project struct {
	id     string
	number uint64
	now    time.Time
	beads  int
	events []*loomv1.Event
}

func newProject(id string, start time.Time) *project {
	p := &project{id: id, now: start}
	p.add(&loomv1.Event{Fact: &loomv1.Event_ProjectRegistered{ProjectRegistered: &loomv1.ProjectRegistered{
		Config: &loomv1.ProjectConfig{Id: id, TargetBranch: "main"},
	}}})
	p.add(&loomv1.Event{Fact: &loomv1.Event_DefinitionStored{DefinitionStored: &loomv1.DefinitionStored{
		Definition: definition(), Hash: "h-fix",
	}}})
	return p
}

func definition() *loomv1.Definition {
	return &loomv1.Definition{
		Name: "fix", Version: "1.0",
		Nodes: []*loomv1.NodeDefinition{
			{Id: "start", Type: loomv1.NodeType_NODE_TYPE_START},
			{Id: "work", Type: loomv1.NodeType_NODE_TYPE_TASK, Role: "implementer", MaxAttempts: 3},
			{Id: "check", Type: loomv1.NodeType_NODE_TYPE_TASK, Role: "qa-engineer", MaxAttempts: 3},
			{Id: "end", Type: loomv1.NodeType_NODE_TYPE_END},
		},
		Edges: []*loomv1.EdgeDefinition{
			{Id: "e1", From: "start", To: "work"}, {Id: "e2", From: "work", To: "check"}, {Id: "e3", From: "check", To: "end"},
		},
	}
}

// add gives an event its number, project and a time a little later.
func (p *project) add(e *loomv1.Event) {
	p.number++
	p.now = p.now.Add(1_234_567 * time.Microsecond)
	e.Number, e.Project, e.Time = p.number, p.id, timestamppb.New(p.now)
	p.events = append(p.events, e)
}

// story is a bead that is worked on: one rework, then the end. Its events come
// one at a time, so that several can be told at once.
func (p *project) story() []func() {
	p.beads++
	bead := fmt.Sprintf("%s-%d", p.id, p.beads)
	x := bead + "-x1"
	context, _ := structpb.NewStruct(map[string]any{"service": "api", "tries": 3})
	do := func(node, attempt string, fact *loomv1.Event) func() {
		return func() {
			e := proto.CloneOf(fact)
			e.Bead, e.Execution, e.Node, e.Attempt = bead, x, node, attempt
			p.add(e)
		}
	}
	steps := []func(){
		func() {
			p.add(&loomv1.Event{Bead: bead, Fact: &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{Bead: &loomv1.Bead{
				Id: bead, Project: p.id, Type: loomv1.BeadType_BEAD_TYPE_BUG, Status: loomv1.BeadStatus_BEAD_STATUS_OPEN,
				Goal: "mend " + bead, Process: "fix", Priority: loomv1.Priority_PRIORITY_URGENT, Context: context,
			}}}})
		},
		do("", "", &loomv1.Event{Fact: &loomv1.Event_BeadStatusChanged{BeadStatusChanged: &loomv1.BeadStatusChanged{Status: loomv1.BeadStatus_BEAD_STATUS_IN_PROGRESS}}}),
		do("", "", &loomv1.Event{Fact: &loomv1.Event_ExecutionStarted{ExecutionStarted: &loomv1.ExecutionStarted{Definition: "fix", Version: "1.0", DefinitionHash: "h-fix"}}}),
		do("start", "", completed()),
		do("start", "", taken("e1", "start", "work", "success")),
	}
	for visit := range uint32(2) {
		steps = append(steps, p.attempt(do, x, "work", visit+1, 2*visit+1)...)
		steps = append(steps, do("work", "", completed()), do("work", "", taken("e2", "work", "check", "success")))
		steps = append(steps, p.attempt(do, x, "check", visit+1, 2*visit+2)...)
		if visit == 0 {
			steps = append(steps, do("check", "", &loomv1.Event{Fact: &loomv1.Event_ReworkStarted{ReworkStarted: &loomv1.ReworkStarted{
				To: "work", Count: 1, ResetNodes: []string{"work", "check"}, ResetEdges: []string{"e2"}, Reason: "a test fails",
			}}}))
		}
	}
	return append(steps,
		do("check", "", completed()),
		do("check", "", taken("e3", "check", "end", "success")),
		do("end", "", completed()),
		do("", "", &loomv1.Event{Fact: &loomv1.Event_ExecutionEnded{ExecutionEnded: &loomv1.ExecutionEnded{Status: loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED}}}),
		do("", "", &loomv1.Event{Fact: &loomv1.Event_BeadStatusChanged{BeadStatusChanged: &loomv1.BeadStatusChanged{Status: loomv1.BeadStatus_BEAD_STATUS_CLOSED}}}),
	)
}

// attempt is dispatched, taken, worked on with a tool, and answered; the first
// at a check fails.
func (p *project) attempt(do func(string, string, *loomv1.Event) func(), x, node string, visit, number uint32) []func() {
	id := fmt.Sprintf("%s-a%d", x, number)
	outcome := &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, Summary: node + " is done"}
	if node == "check" && visit == 1 {
		outcome = &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE, Summary: "a test fails", Code: "verify/failed"}
	}
	return []func(){
		do(node, id, &loomv1.Event{Fact: &loomv1.Event_AttemptDispatched{AttemptDispatched: &loomv1.AttemptDispatched{Role: "implementer", Visit: visit, Number: 1}}}),
		do(node, id, &loomv1.Event{Fact: &loomv1.Event_AttemptClaimed{AttemptClaimed: &loomv1.AttemptClaimed{Generation: 1, Claimant: &loomv1.Claimant{Agent: "implementer/1", Host: "h1", Epoch: 1}}}}),
		do(node, id, &loomv1.Event{Fact: &loomv1.Event_TurnStarted{TurnStarted: &loomv1.TurnStarted{Model: "scripted:demo"}}}),
		do(node, id, &loomv1.Event{Fact: &loomv1.Event_ModelAnswered{ModelAnswered: &loomv1.ModelAnswered{Answer: &loomv1.ModelAnswer{Model: "scripted:demo", Scripted: true}}}}),
		do(node, id, &loomv1.Event{Fact: &loomv1.Event_ToolFinished{ToolFinished: &loomv1.ToolFinished{Tool: "shell", Result: &loomv1.ToolResult{Status: 1, Summary: "go test ./..."}}}}),
		do(node, id, &loomv1.Event{Fact: &loomv1.Event_ToolFinished{ToolFinished: &loomv1.ToolFinished{Tool: "todo", Result: &loomv1.ToolResult{Status: 1, Todo: &loomv1.TodoList{
			Items: []*loomv1.TodoItem{{Text: "mend " + node, Status: loomv1.TodoStatus_TODO_STATUS_IN_PROGRESS}},
		}}}}}),
		do(node, id, &loomv1.Event{Fact: &loomv1.Event_AttemptEnded{AttemptEnded: &loomv1.AttemptEnded{Outcome: outcome}}}),
	}
}

func completed() *loomv1.Event {
	return &loomv1.Event{Fact: &loomv1.Event_NodeCompleted{NodeCompleted: &loomv1.NodeCompleted{Succeeded: true}}}
}

func taken(edge, from, to, outcome string) *loomv1.Event {
	return &loomv1.Event{Fact: &loomv1.Event_EdgeSettled{EdgeSettled: &loomv1.EdgeSettled{Edge: edge, From: from, To: to, Taken: true, Outcome: outcome}}}
}

// journal is a partition's batches, the one of sequence 1 first.
type journal []*loomv1.Batch

// write cuts events into batches of 1 to most, chained.
func write(r *rand.Rand, partition uint32, most int, events []*loomv1.Event) journal {
	var j journal
	for len(events) > 0 {
		n := min(1+r.IntN(most), len(events))
		j, events = append(j, &loomv1.Batch{Partition: partition, Epoch: 1, Events: events[:n]}), events[n:]
	}
	chain(j)
	return j
}

// chain gives batches their ids and hashes.
func chain(j journal) {
	var previous []byte
	for i, b := range j {
		b.Id, b.Previous = fmt.Sprintf("%d-%d", b.Partition, i), previous
		sum := sha256.Sum256(fmt.Appendf(nil, "%x %s", previous, b.Id))
		b.Hash, previous = sum[:], sum[:]
	}
}

// tell interleaves the stories of some beads of a project.
func tell(r *rand.Rand, p *project, beads int) []*loomv1.Event {
	var stories [][]func()
	for range beads {
		stories = append(stories, p.story())
	}
	for len(stories) > 0 {
		i := r.IntN(len(stories))
		stories[i][0]()
		if stories[i] = stories[i][1:]; len(stories[i]) == 0 {
			stories = append(stories[:i], stories[i+1:]...)
		}
	}
	return p.events
}

// journals are two partitions; the first holds two projects, one after another.
func journals(r *rand.Rand, beads int) []journal {
	first := append(tell(r, newProject("demo", noon), beads), tell(r, newProject("other", noon.Add(-time.Hour)), beads)...)
	return []journal{
		write(r, 0, 7, first),
		write(r, 1, 7, tell(r, newProject("third", noon.Add(time.Minute)), beads)),
	}
}

func source(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

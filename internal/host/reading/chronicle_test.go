package reading

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/journals"
	"github.com/loomrun/loom/internal/store/blob"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// chronicle is the journals of a deployment whose projects work, and all that
// their executions were.
type chronicle struct {
	t      testing.TB
	rng    *rand.Rand
	now    time.Time
	logs   []journal.Log
	heads  []journal.Head
	states map[string]*project.State
	snaps  *journal.MemorySnapshots
	blobs  blob.Store
	told   []told
}

// told is an event and its place.
type told struct {
	at    *loomv1.Position
	event *loomv1.Event
}

// was is an execution after an event of its project.
type was struct {
	told
	state *loomv1.Execution
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// projectsOf is who works in which partition of two.
var projectsOf = [][]string{{"crate", "store"}, {"annex"}}

// newChronicle has projects work for some batches.
func newChronicle(t testing.TB, seed uint64, batches int) *chronicle {
	c := &chronicle{
		t: t, rng: rand.New(rand.NewPCG(seed, 7)), now: noon, snaps: journal.NewMemorySnapshots(), blobs: blob.NewMemory(),
		states: map[string]*project.State{}, heads: make([]journal.Head, 2),
	}
	auto, _ := processes.Builtin(roles.Builtin()).Get(project.AutoBug)
	for p, ids := range projectsOf {
		c.logs = append(c.logs, journal.NewMemory(p))
		for _, id := range ids {
			c.states[id] = project.New(c.config(id))
			register := &loomv1.RegisterProject{Config: &loomv1.ProjectConfig{Id: id, Repository: "/src/" + id, TargetBranch: "main"}}
			c.append(p, c.do(id, &loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: register}}))
			c.append(p, c.do(id, &loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: auto}}}))
		}
	}
	for range batches {
		c.batch(c.rng.IntN(2))
	}
	return c
}

func (c *chronicle) config(id string) project.Config {
	return project.Config{ID: id, Deployment: "dp-1", Epoch: 1}
}

func (c *chronicle) set() *journals.Set { return &journals.Set{Logs: c.logs, Blobs: c.blobs} }

func (c *chronicle) history() history { return history{c.set()} }

func (c *chronicle) pasts() *pasts { return newPasts(c.set(), c.snaps, c.config) }

// batch appends what one to four commands decide.
func (c *chronicle) batch(p int) {
	var events []*loomv1.Event
	for range 1 + c.rng.IntN(4) {
		c.now = c.now.Add(time.Duration(c.rng.IntN(40)) * time.Second)
		id := projectsOf[p][c.rng.IntN(len(projectsOf[p]))]
		events = append(events, c.step(id)...)
	}
	c.append(p, events)
}

func (c *chronicle) step(id string) []*loomv1.Event {
	switch queued := c.states[id].Queued(); {
	case len(queued) == 0 || c.rng.IntN(6) == 0:
		return c.do(id, &loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{
			Goal: fmt.Sprintf("mend %d", c.rng.IntN(1000)),
		}}}})
	case c.rng.IntN(4) == 0:
		return c.do(id, &loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
	default:
		a := queued[c.rng.IntN(len(queued))]
		who := &loomv1.Claimant{Agent: a.Role + "/1", Host: "h1", Epoch: 1}
		events := c.do(id, &loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: a.Attempt, Generation: a.Generation, Claimant: who}}})
		status := loomv1.OutcomeStatus(2 + c.rng.IntN(2))
		return append(events, c.do(id, &loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{
			Attempt: a.Attempt, Claimant: who, Outcome: &loomv1.Outcome{Status: status, Summary: "tried"},
		}}})...)
	}
}

func (c *chronicle) do(id string, cmd *loomv1.Command) []*loomv1.Event {
	cmd.Project, cmd.Actor = id, &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "h1"}
	events, _, err := c.states[id].Do(c.now, cmd)
	if err != nil {
		c.t.Fatalf("%T: %v", cmd.Body, err)
	}
	return events
}

// append makes events durable and notes where they are.
func (c *chronicle) append(p int, events []*loomv1.Event) {
	if len(events) == 0 {
		return
	}
	b := journal.Seal(c.heads[p], p, 1, "h1.1", fmt.Sprint(len(c.told)), events)
	seq, err := c.logs[p].Append(c.t.Context(), c.heads[p].Sequence, b)
	if err != nil {
		c.t.Fatal(err)
	}
	c.heads[p] = journal.Head{Sequence: seq, Epoch: 1, Hash: b.Hash}
	for i, e := range events {
		c.told = append(c.told, told{&loomv1.Position{Partition: uint32(p), Epoch: 1, Sequence: seq, Index: uint32(i)}, e})
	}
}

// live replays a project and returns its executions after each of its events.
func (c *chronicle) live(id string) map[string][]was {
	s, seen := project.New(c.config(id)), map[string][]was{}
	for _, t := range c.told {
		if t.event.Project != id {
			continue
		}
		if err := s.Apply(proto.CloneOf(t.event)); err != nil {
			c.t.Fatal(err)
		}
		v, err := s.Look(project.Executions, &loomv1.Query{Limit: 1000})
		if err != nil {
			c.t.Fatal(err)
		}
		for _, x := range v.Executions {
			full, err := s.Look(project.Executions, &loomv1.Query{Id: x.Id})
			if err != nil {
				c.t.Fatal(err)
			}
			seen[x.Id] = append(seen[x.Id], was{t, full.Executions[0]})
		}
	}
	return seen
}

// keep saves a snapshot of a project as of the batch with that sequence.
func (c *chronicle) keep(id string, partition int, seq uint64, hash []byte) {
	s := project.New(c.config(id))
	for _, t := range c.told {
		if t.event.Project == id && t.at.Sequence <= seq {
			if err := s.Apply(proto.CloneOf(t.event)); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	ref, err := c.snaps.Save(c.t.Context(), &loomv1.Snapshot{Partition: uint32(partition), Epoch: 1, Sequence: seq, Hash: hash, State: s.Snapshot()})
	if err != nil {
		c.t.Fatal(err)
	}
	index := &loomv1.SnapshotIndex{Partition: uint32(partition), Projects: map[string]*loomv1.SnapshotRef{id: ref}}
	if err := c.snaps.SaveIndex(c.t.Context(), index); err != nil {
		c.t.Fatal(err)
	}
}

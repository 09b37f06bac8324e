package actors_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func decide(title string) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{
		Node: &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Title: title, Confidence: 80},
	}}}
}

// graphAt returns the graph as a host has it, and its number.
func (m *member) graphAt(q *loomv1.GraphRequest) *loomv1.GraphReply {
	m.f.t.Helper()
	q.Project = "shop"
	reply, err := m.projects.Ask(m.ctx, q)
	if err != nil {
		m.f.t.Fatal(err)
	}
	return reply
}

// TestGRAPH07_AnyHostAnswersFromItsOwnFold writes over one host, while another
// serves the project, and reads over both and a third: each reads its own
// writes, and all have the same graph at the same number.
func TestGRAPH07_AnyHostAnswersFromItsOwnFold(t *testing.T) {
	f := newFleet(t)
	a := f.host("h1")
	a.took()
	b, c := f.host("h2"), f.host("h3")
	f.use(b)
	f.register("shop", "researcher")
	var work sync.WaitGroup
	for i := range 4 {
		work.Go(func() {
			for j := range 10 {
				answer, err := b.projects.Do(b.ctx, &loomv1.Command{Project: "shop", Body: decide(fmt.Sprintf("%d of %d", j, i)).Body})
				if err != nil {
					t.Error(err)
					return
				}
				id := answer.GetDecision().GetId()
				for name, q := range map[string]*loomv1.GraphRequest{"all": {}, "what it wrote": {AtLeast: &answer.Number}} {
					q.Project, q.Question, q.Id = "shop", loomv1.GraphQuestion_GRAPH_QUESTION_NEIGHBOURHOOD, id
					reply, err := c.projects.Ask(c.ctx, q)
					if err != nil || len(reply.Graph.Nodes) != 1 || reply.Number < answer.Number {
						t.Errorf("%s: %s of event %d is read elsewhere as %v, %v", name, id, answer.Number, reply, err)
					}
				}
			}
		})
	}
	work.Wait()
	want := a.graphAt(&loomv1.GraphRequest{Limit: 2000})
	for _, m := range []*member{b, c} {
		if got := m.graphAt(&loomv1.GraphRequest{Limit: 2000}); !proto.Equal(got, want) {
			t.Errorf("host %s has\n%v\nand the one that serves it\n%v", m.name, got, want)
		}
		view, err := m.projects.Look(m.ctx, project.Graph, &loomv1.Query{Project: "shop"})
		if err != nil || !proto.Equal(view.Graph, want.Graph) || view.Number != want.Number {
			t.Errorf("host %s shows %v, %v", m.name, view, err)
		}
	}
}

// TestGRAPH07_AGraphIsReadWhileNobodyServesIt has the host go that served it.
func TestGRAPH07_AGraphIsReadWhileNobodyServesIt(t *testing.T) {
	f := newFleet(t)
	a := f.host("h1")
	a.took()
	b := f.host("h2")
	b.barred.Store(true)
	f.use(b)
	f.register("shop", "researcher")
	number := f.must(decide("left")).Number
	a.stop()
	<-f.free // and nobody takes its place
	for name, q := range map[string]*loomv1.GraphRequest{"all": {}, "what was written": {AtLeast: &number}, "whatever is there": {AtLeast: proto.Uint64(0)}} {
		if reply := b.graphAt(q); reply.Number < number || len(reply.Graph.Nodes) != 1 {
			t.Errorf("%s: %v, want at least %d", name, reply, number)
		}
	}
	_, err := b.projects.Ask(b.ctx, &loomv1.GraphRequest{Project: "shop", AtLeast: proto.Uint64(number + 1)})
	wantCode(t, "an event to come", err, "position/beyond")
}

// TestGRAPH07_AFoldBeginsWithSnapshots has a host read a journal from where
// its snapshots end, and from the beginning when they are of another journal.
func TestGRAPH07_AFoldBeginsWithSnapshots(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		t.Run(fmt.Sprintf("damaged %t", damaged), func(t *testing.T) {
			f := newFleet(t)
			a := f.host("h1")
			a.took()
			f.use(a)
			f.register("shop", "researcher")
			first := f.must(decide("left"))
			last, batch, err := f.log.Last(f.ctx)
			if err != nil {
				t.Fatal(err)
			}
			state := project.New(project.Config{ID: "shop", Deployment: "dp-1", Epoch: 1})
			for _, e := range f.events() {
				if err := state.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			snap := &loomv1.Snapshot{Epoch: 1, Sequence: last, Hash: batch.Hash, State: state.Snapshot()}
			if damaged {
				snap.Hash = []byte("of another journal")
			}
			ref, err := f.snaps.Save(f.ctx, snap)
			if err == nil {
				err = f.snaps.SaveIndex(f.ctx, &loomv1.SnapshotIndex{Projects: map[string]*loomv1.SnapshotRef{"shop": ref}, Floor: last, FloorHash: snap.Hash})
			}
			if err != nil {
				t.Fatal(err)
			}
			f.must(decide("right"))
			b := f.host("h2")
			want := a.graphAt(&loomv1.GraphRequest{})
			if got := b.graphAt(&loomv1.GraphRequest{}); !proto.Equal(got, want) || got.Number <= first.Number {
				t.Errorf("it has %v, want %v", got, want)
			}
		})
	}
}

// TestGRAPH07_DamageIsTold has a host that folds a journal in which a batch is
// not what was written say so.
func TestGRAPH07_DamageIsTold(t *testing.T) {
	f := newFleet(t)
	a := f.host("h1")
	a.took()
	f.use(a)
	f.register("shop", "researcher")
	head, batch, err := f.log.Last(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	bad := proto.CloneOf(batch)
	bad.Previous, bad.Hash = batch.Hash, []byte("not its hash")
	if _, err := f.log.Append(context.Background(), head, journal.Again(bad)); err != nil {
		t.Fatal(err)
	}
	b := f.host("h2")
	b.barred.Store(true)
	_, err = b.projects.Ask(b.ctx, &loomv1.GraphRequest{Project: "shop"})
	wantCode(t, "a damaged journal", err, "journal/chain")
}

// TestACT05_AnIdleFoldIsDropped has a host drop its fold all the time, and
// answer all the same.
func TestACT05_AnIdleFoldIsDropped(t *testing.T) {
	f := newFleet(t)
	f.idle = time.Nanosecond
	a := f.host("h1")
	a.took()
	b := f.host("h2")
	f.use(b)
	f.register("shop", "researcher")
	for i := range 20 {
		f.must(decide(fmt.Sprint(i)))
		if reply := b.graphAt(&loomv1.GraphRequest{}); len(reply.Graph.Nodes) != i+1 {
			t.Fatalf("after %d decisions there are %d", i+1, len(reply.Graph.Nodes))
		}
	}
}

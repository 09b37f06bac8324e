package project_test

import (
	"fmt"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Nothing that can be seen of a project tells whether it has rested: all that
// is asked of ended executions, snapshots, hashes, and what was counted.
func TestACT05_RestChangesNothing(t *testing.T) {
	y := newYard(t, "researcher")
	who := agentOf("researcher", 1)
	for range 200 {
		y.file("fan", normal)
		brief, err := y.take(who)
		if err != nil {
			t.Fatal(err)
		}
		y.answer(brief.Attempt.Id, who, success)
	}
	running := y.file("fan", normal)
	awake, err := project.Restore(y.cfg, y.s.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	y.s.Rest()
	hash := awake.Hash()
	for _, ask := range []struct {
		view project.View
		q    *loomv1.Query
	}{
		{project.Executions, &loomv1.Query{Id: "shop-1-x1"}},
		{project.Executions, &loomv1.Query{Id: "shop-7"}},
		{project.Executions, &loomv1.Query{Id: running}},
		{project.Executions, &loomv1.Query{Limit: 150}},
		{project.Executions, &loomv1.Query{Limit: 150, After: "shop-100-x1"}},
		{project.Beads, &loomv1.Query{Id: "shop-7"}},
		{project.Definitions, &loomv1.Query{}},
	} {
		y.s.RestAll()
		got, err := y.s.Look(ask.view, ask.q)
		want, werr := awake.Look(ask.view, ask.q)
		if err != nil || werr != nil || !proto.Equal(got, want) {
			t.Errorf("%s %v: %v, %v\n%v\nwant\n%v", ask.view, ask.q, err, werr, got, want)
		}
	}
	y.s.RestAll()
	if y.s.Hash() != hash {
		t.Error("a state that rested has another hash")
	}
	y.s.RestAll()
	if !proto.Equal(y.s.Snapshot(), awake.Snapshot()) {
		t.Error("a state that rested has another snapshot")
	}
}

// Nothing that can be seen of a project tells whether ended work of it is in
// segments: not what a state says that made them, not what one says that restores what
// remains, nor what one comes to that only folds, even where an event is about work
// that had ended.
func TestACT05_SegmentsChangeNothing(t *testing.T) {
	longtest.Skip(t)
	y := newYard(t, "researcher")
	who := agentOf("researcher", 1)
	var plain *project.State // all of it in memory
	if s, err := project.Restore(y.cfg, y.s.Snapshot()); err != nil {
		t.Fatal(err)
	} else {
		plain = s
	}
	do := func(cmd *loomv1.Command) (*loomv1.Answer, []*loomv1.Event) {
		t.Helper()
		cmd.Project, cmd.Actor = "shop", &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "ann"}
		events, answer, err := y.s.Do(y.now, cmd)
		if err != nil || answer.Error != nil {
			t.Fatalf("%T: %v, %v", cmd.Body, err, answer.GetError())
		}
		for _, e := range events {
			if err := plain.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		y.s.Rest()
		return answer, events
	}
	for i := range 300 {
		do(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{
			Goal: "mend it", Process: "fan", Labels: []string{fmt.Sprint("l", i%7)},
		}}}})
		claim, _ := do(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
			Attempt: "shop-1-x1-a1", Generation: 1, Claimant: who, Any: true,
		}}})
		if i%50 == 49 {
			continue // it goes on
		}
		do(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{
			Attempt: claim.GetBrief().Attempt.Id, Claimant: who, Outcome: &loomv1.Outcome{Status: success, Summary: "done"},
		}}})
	}
	store := &project.MemorySegments{}
	with := y.cfg
	with.Segments = store
	kept, err := project.Restore(with, plain.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	kept.Pack()
	taken := kept.Capture()
	segments := taken.Divide(project.SegmentLeast)
	if len(segments) == 0 {
		t.Fatal("300 beads that have ended are in no segment")
	}
	store.Put(segments...)
	remains, err := taken.State()
	if err != nil {
		t.Fatal(err)
	}
	if len(remains.Beads) != 6 || len(remains.Executions) != 6 {
		t.Errorf("%d beads and %d executions remain, want the 6 that go on", len(remains.Beads), len(remains.Executions))
	}
	live, err := project.Restore(with, plain.Snapshot()) // which is told of them later
	if err != nil {
		t.Fatal(err)
	}
	live.Rest()
	for _, s := range append(segments, segments...) {
		live.Keep(s)
	}
	if live.Unpacked() > 6+64 {
		t.Errorf("%d beads are in memory", live.Unpacked())
	}
	back, err := project.Restore(with, remains)
	if err != nil {
		t.Fatal(err)
	}
	folds := with
	folds.Folds = true
	fold, err := project.Restore(folds, remains)
	if err != nil {
		t.Fatal(err)
	}
	reopened, events := do(&loomv1.Command{Body: &loomv1.Command_ReopenBead{ReopenBead: &loomv1.ReopenBead{Bead: "shop-7", Request: "again"}}})
	if reopened == nil || len(events) == 0 {
		t.Fatal("nothing followed from opening a bead again")
	}
	for name, s := range map[string]*project.State{"told later": live, "restored": back, "folding": fold} {
		for _, e := range events {
			if err := s.Apply(e); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		s.RestAll()
		if name != "folding" {
			for _, ask := range everyView() {
				got, err := s.Look(ask.view, ask.q)
				want, werr := plain.Look(ask.view, ask.q)
				if (err == nil) != (werr == nil) || !proto.Equal(got, want) {
					t.Errorf("%s: %s %v: %v, %v\n%v\nwant\n%v", name, ask.view, ask.q, err, werr, got, want)
				}
			}
		}
		if s.Hash() != plain.Hash() {
			t.Errorf("%s: another hash", name)
		}
	}
}

type ask struct {
	view project.View
	q    *loomv1.Query
}

func everyView() []ask {
	return []ask{
		{project.Executions, &loomv1.Query{Id: "shop-1-x1"}},
		{project.Executions, &loomv1.Query{Id: "shop-7"}},
		{project.Executions, &loomv1.Query{Limit: 150, After: "shop-100-x1"}},
		{project.Executions, &loomv1.Query{Limit: 1000, Filter: "running"}},
		{project.Executions, &loomv1.Query{Id: "shop-999"}},
		{project.Beads, &loomv1.Query{Id: "shop-7"}},
		{project.Beads, &loomv1.Query{Id: "shop-8"}},
		{project.Beads, &loomv1.Query{Limit: 1000}},
		{project.Beads, &loomv1.Query{Limit: 20, Filter: "in_progress"}},
		{project.Beads, &loomv1.Query{Limit: 1000, Labels: []string{"l3"}, After: "shop-200"}},
		{project.Beads, &loomv1.Query{Limit: 1000, Type: "error", Filter: "closed"}},
		{project.Definitions, &loomv1.Query{}},
		{project.Inbox, &loomv1.Query{Filter: "all"}},
	}
}

// A state that cannot read ended work says so, and does not take it for nothing.
func TestACT05_ASegmentThatIsNotThereIsNoSilence(t *testing.T) {
	y := newYard(t, "researcher")
	y.file("fan", normal)
	who := agentOf("researcher", 1)
	brief, err := y.take(who)
	if err != nil {
		t.Fatal(err)
	}
	y.answer(brief.Attempt.Id, who, success)
	y.cfg.Segments = &project.MemorySegments{}
	s, err := project.Restore(y.cfg, y.s.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	s.Pack()
	for _, made := range s.Capture().Divide(1) {
		s.Keep(made) // and nobody stores it
	}
	defer func() {
		if recover() == nil {
			t.Error("a bead whose record is lost was looked for, and no complaint")
		}
	}()
	_, _ = s.Look(project.Beads, &loomv1.Query{Id: "shop-1"})
}

package workflow_test

import (
	"slices"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// steeredLog is the events of simulated executions in which the CEO moves and
// pauses, gates fail, and limits are reached: one of each kind at least.
func steeredLog(t testing.TB) []*loomv1.Event {
	var log []*loomv1.Event
	for seed := uint64(2); seed < 90; seed += 3 {
		m := newSim(t, seed, map[string]int{})
		m.play(60)
		m.finish()
		log = append(log, m.events...)
	}
	return log
}

// FuzzWF10_Apply folds facts of real executions in any order, with their nodes
// and attempts mixed up, and then whatever else. Each is applied or refused; a
// refusal changes nothing; and two folds never differ.
func FuzzWF10_Apply(f *testing.F) {
	log := steeredLog(f)
	f.Add([]byte{0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 0, 0}, []byte{})
	for i, e := range log {
		if i%97 != 0 {
			continue
		}
		raw, err := proto.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		script := make([]byte, 0, 3*(i%40))
		for j := range i % 40 {
			script = append(script, byte((i-i%40+j)>>8), byte(i-i%40+j), 0)
		}
		f.Add(script, raw)
	}
	f.Fuzz(func(t *testing.T, script, raw []byte) {
		d := &double{t: t, a: &loomv1.Execution{}, b: &loomv1.Execution{}}
		d.apply(log[0])
		for step := range slices.Chunk(script[:len(script)/3*3], 3) {
			d.apply(mixed(log, step))
		}
		e := &loomv1.Event{}
		if proto.Unmarshal(raw, e) == nil {
			e.Execution = "p-1-x1"
			d.apply(e)
		}
		workflow.Next(d.a, nil, 0)
		workflow.Queued(d.a)
		workflow.Copy(d.a)
		workflow.Shift(d.a, noon, noon.Add(1))
	})
}

// mixed returns an event of the log, with parts of others by the last byte.
func mixed(log []*loomv1.Event, step []byte) *loomv1.Event {
	e := proto.CloneOf(log[(int(step[0])<<8|int(step[1]))%len(log)])
	other := log[int(step[2])*13%len(log)]
	switch step[2] % 4 {
	case 1:
		e.Node = other.Node
	case 2:
		e.Attempt = other.Attempt
	case 3:
		e.Fact = other.Fact
	}
	return e
}

// double is two folds of the same events.
type double struct {
	t    *testing.T
	a, b *loomv1.Execution
}

func (d *double) apply(e *loomv1.Event) {
	before := proto.CloneOf(d.a)
	errA, errB := workflow.Apply(d.a, proto.CloneOf(e)), workflow.Apply(d.b, proto.CloneOf(e))
	if errA != nil && fault.Code(errA) != "workflow/inconsistent" {
		d.t.Errorf("%T: refused with %v", e.Fact, errA)
	}
	if (errA == nil) != (errB == nil) || !proto.Equal(d.a, d.b) {
		d.t.Errorf("%T: two folds differ: %v, %v", e.Fact, errA, errB)
	}
	if errA != nil && !proto.Equal(before, d.a) {
		d.t.Errorf("%T: refused with %v, and it changed the execution", e.Fact, errA)
	}
}

// A fact that says what became of something is not true twice: its double is
// refused. Those that only add up, or say again what stands, are numbered by
// the project, which takes each number once.
func TestWF10_AFactIsAppliedOnce(t *testing.T) {
	longtest.Skip(t)
	again := []string{"GapNoted", "ChangeProposed", "CandidateMade", "Landed", "ModelAnswered", "LimitLifted", "ReworkStarted", "ExecutionMoved", "GateFailed"}
	seen := map[string]bool{}
	for seed := uint64(2); seed < 200; seed += 3 {
		m := newSim(t, seed, map[string]int{})
		m.play(60)
		x := &loomv1.Execution{}
		for _, e := range m.events {
			if err := fold(x, e); err != nil {
				t.Fatal(err)
			}
			name := string(e.ProtoReflect().WhichOneof(e.ProtoReflect().Descriptor().Oneofs().ByName("fact")).Message().Name())
			seen[name] = true
			before := proto.CloneOf(x)
			err := workflow.Apply(proto.CloneOf(x), e)
			if err == nil && !slices.Contains(again, name) {
				t.Fatalf("seed %d: %s was applied twice:\n%v", seed, name, e)
			}
			if err != nil && !proto.Equal(before, x) {
				t.Fatalf("seed %d: the double of %s changed something", seed, name)
			}
		}
	}
	if len(seen) < 19 {
		t.Errorf("only %d kinds of facts were seen: %v", len(seen), seen)
	}
}

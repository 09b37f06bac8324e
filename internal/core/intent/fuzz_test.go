package intent_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// whole are the facts of a session from opening to end, with an abort and a
// revision on the way.
func whole(t testing.TB) []*loomv1.IntentFact {
	w := newWorld(t)
	w.prepared(naming())
	w.carryOut()
	w.do(ann, abort("why", true))
	w.do(ann, abort("why", true))
	w.do(ann, resume(false))
	w.begin()
	w.carryOut()
	w.do(ann, revise())
	w.do(ann, tell(intent.Goal, "A name for the van."))
	w.do(ann, draft(&loomv1.DraftIntent{}))
	w.do(ann, ready(w.Shown().Digest))
	w.begin()
	w.do(ann, tempo(intent.Allegro))
	w.carryOut()
	w.carryOut()
	w.carryOut()
	w.do(host, judge(met()...))
	w.do(host, deliver("names.md", "choice.md"))
	w.do(host, remember("answer/1"))
	w.do(host, reintegrate())
	return w.facts
}

// Whatever facts and commands come over the wire, they are folded, decided or
// refused; what is decided can be folded.
func FuzzPAT01_AnyBytes(f *testing.F) {
	facts := whole(f)
	for i, fact := range facts {
		raw, err := proto.Marshal(fact)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint(i), raw)
	}
	for _, c := range []*loomv1.IntentCommand{
		open(naming()), ask("Who reads it?", intent.Goal), answer(1, "x"), ready("x"), revise(), validate(), activate("a"), prepare(brief), write(1, files, "x"),
		end(1, 1, done), proceed(1), steer("x", true), tempo(intent.Adagio), abort("x", true), resume(true), judge(met()...), deliver("x"), remember("x"), reintegrate("x"),
	} {
		c.By, c.At = ann, timestamppb.New(noon)
		raw, err := proto.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint(len(facts)/2), raw)
	}
	f.Fuzz(func(t *testing.T, after uint, raw []byte) {
		s := &intent.Session{}
		for _, fact := range facts[:after%uint(len(facts))] {
			if err := s.Apply(fact); err != nil {
				t.Fatal(err)
			}
		}
		c := &loomv1.IntentCommand{}
		if proto.Unmarshal(raw, c) == nil {
			got, err := s.Decide(c)
			if fault.Code(err) == "intent/inconsistent" {
				t.Fatalf("%v is decided to what cannot be folded: %v", c, err)
			}
			for _, fact := range got {
				if err := s.Apply(fact); err != nil {
					t.Fatal(err)
				}
			}
		}
		fact := &loomv1.IntentFact{}
		if proto.Unmarshal(raw, fact) == nil && s.Apply(fact) == nil {
			_, _ = s.Tick(time.Unix(1<<40, 0))
			for _, next := range []*loomv1.IntentCommand{ask("Who reads it?", intent.Goal), draft(&loomv1.DraftIntent{}), resume(true), resume(false), proceed(0), abort("x", true), judge()} {
				for _, by := range []*loomv1.Identity{ann, model, host} {
					next.By, next.At = by, timestamppb.New(noon)
					_, _ = s.Decide(next) // whatever it says, it says it
				}
			}
		}
	})
}

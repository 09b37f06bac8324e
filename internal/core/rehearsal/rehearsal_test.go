package rehearsal_test

import (
	"io/fs"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/core/rehearsal"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// builtin plays the example sessions of all patterns that come with Loom.
func builtin(t *testing.T, play func(t *testing.T, p *loomv1.Pattern, s *processes.ExampleSession)) {
	t.Helper()
	all := processes.Patterns([]processes.Layer{processes.BuiltinLayer()}, roles.Builtin())
	if len(all) != 14 {
		t.Fatalf("%d patterns, want 14", len(all))
	}
	for _, e := range all {
		files := e.Sessions()
		if e.Pattern == nil || len(files) == 0 {
			t.Errorf("%s has no sound file, or no session: %v", e.Name, e.Problems)
		}
		for _, file := range files {
			t.Run(e.Name, func(t *testing.T) {
				data, err := fs.ReadFile(e.Dir, file)
				if err != nil {
					t.Fatal(err)
				}
				s, err := processes.ParseExampleSession(file, data)
				if err != nil {
					t.Fatal(err)
				}
				play(t, e.Pattern, s)
			})
		}
	}
}

// Each of the fourteen goes through the eleven phases as its example says: with
// its questions, its envelope, its outputs, and evidence for what is met.
func TestPAT06_PAT01_EveryPatternPlaysItsSession(t *testing.T) {
	builtin(t, func(t *testing.T, p *loomv1.Pattern, s *processes.ExampleSession) {
		r := rehearsal.Play(p, s)
		for _, problem := range r.Problems {
			t.Error(problem)
		}
		if r.Digest == "" || len(r.Asked) < 4 || r.Runs < len(p.Steps) {
			t.Errorf("digest %q, %d questions, %d runs", r.Digest, len(r.Asked), r.Runs)
		}
		again := rehearsal.Play(p, s)
		for i := range r.Facts {
			if !proto.Equal(r.Facts[i], again.Facts[i]) {
				t.Fatalf("played again, fact %d is %v, was %v", i, again.Facts[i], r.Facts[i])
			}
		}
	})
}

// Whatever the pattern, an abort while a step runs leaves one record, keeps the
// draft of the steps before, empties active memory, and can be resumed at that
// step and rerun with the same envelope.
func TestPAT04_EveryPatternIsAbortedAtEveryStep(t *testing.T) {
	operator := &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "operator"}
	builtin(t, func(t *testing.T, p *loomv1.Pattern, s *processes.ExampleSession) {
		facts := rehearsal.Play(p, s).Facts
		tried := 0
		for i, f := range facts {
			started := f.GetStepStarted()
			if started == nil {
				continue
			}
			tried++
			session, now := &intent.Session{}, time.Time{}
			for _, f := range facts[:i+1] {
				if err := session.Apply(f); err != nil {
					t.Fatal(err)
				}
				now = f.At.AsTime()
			}
			do := func(c *loomv1.IntentCommand) {
				t.Helper()
				now = now.Add(time.Second)
				c.By, c.At = operator, timestamppb.New(now)
				got, err := session.Decide(c)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range got {
					if err := session.Apply(f); err != nil {
						t.Fatal(err)
					}
				}
			}
			_, seal, _ := session.Sealed()
			abort := &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Abort{Abort: &loomv1.AbortPattern{Reason: "enough", SaveDraft: true}}}
			do(abort)
			if session.Aborted() != nil {
				t.Fatalf("step %d: aborted before its boundary", started.Step)
			}
			do(abort)
			want := &loomv1.PatternAbort{Type: "pattern-abort", PatternId: p.Name, AbortedAtStep: started.Step, Reason: "enough", PartialOutputSaved: true}
			if got := session.Aborted().GetRecord(); !proto.Equal(got, want) || session.Active() != 0 {
				t.Errorf("step %d: %v, %d entries of active memory", started.Step, got, session.Active())
			}
			draft := session.Aborted().Draft
			do(&loomv1.IntentCommand{Body: &loomv1.IntentCommand_Resume{Resume: &loomv1.ResumePattern{}}})
			for _, o := range draft {
				if got, ok := session.Output(o.Name); !ok || got.Content.Sha256 != o.Content.Sha256 {
					t.Errorf("step %d: %s of the draft is gone", started.Step, o.Name)
				}
			}
			do(abort)
			do(&loomv1.IntentCommand{Body: &loomv1.IntentCommand_Resume{Resume: &loomv1.ResumePattern{Rerun: true}}})
			if session.Shown().GetDigest() != seal.Digest {
				t.Errorf("step %d: a rerun shows %v", started.Step, session.Shown())
			}
		}
		if tried < len(p.Steps) {
			t.Errorf("%d steps were tried", tried)
		}
	})
}

// What does not go as a file expects is told, each in its own words.
func TestPAT06_ARehearsalFindsWhatIsWrong(t *testing.T) {
	e, err := processes.FindPattern(processes.Patterns([]processes.Layer{processes.BuiltinLayer()}, roles.Builtin()), "option-burst")
	if err != nil {
		t.Fatal(err)
	}
	sound := func() *processes.ExampleSession {
		file := e.Sessions()[0]
		data, err := fs.ReadFile(e.Dir, file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := processes.ParseExampleSession(file, data)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, change := range map[string]func(*processes.ExampleSession){
		`primacy[1]: "How about a jazz night?" was held back by "proposal", expected ""`:                   func(s *processes.ExampleSession) { s.Primacy[1].Refused = "" },
		`intention-capture: envelope: there is no field "aim"`:                                             nil,
		`completion: no output has the evidence for success/1: "never"`:                                    func(s *processes.ExampleSession) { s.Completion["success/1"] = "never" },
		`completion: there is no item "success/9", only success/1, output/options.md, output/shortlist.md`: func(s *processes.ExampleSession) { s.Completion["success/9"] = "x" },
		`steps[1]: "stretch" runs, expected "spread"`:                                                      func(s *processes.ExampleSession) { s.Steps = slices.Delete(s.Steps, 1, 2) },
		`primacy: goal[0]: there is no answer 0`:                                                           func(s *processes.ExampleSession) { s.Envelope["goal"] = []string{"a rocket"} },
		`META validation found [], expected [complete/scope]`:                                              func(s *processes.ExampleSession) { s.Findings = []string{"complete/scope"} },
		`completion: [success/1] is not met, expected []`:                                                  func(s *processes.ExampleSession) { delete(s.Completion, "success/1") },
		`step-execution: step 1 has not left options.md (want write it, or end the step as failed)`:        nil,
		`inputs: the pattern has no input "toy"`:                                                           func(s *processes.ExampleSession) { s.Inputs["toy"] = "x" },
		`1 answers are left: the pattern's own questions were not asked, or are fewer`:                     func(s *processes.ExampleSession) { s.Own = []string{"x"} },
	} {
		if change == nil {
			continue
		}
		s := sound()
		change(s)
		if got := rehearsal.Play(e.Pattern, s).Problems; !slices.Contains(got, name) {
			t.Errorf("%q, want %q among them", got, name)
		}
	}
}

// The same session at each tempo: what steps are held to, and how often it stops,
// differ as the table of tempos says.
func TestPAT03_TempoMeasuredOnEveryPattern(t *testing.T) {
	builtin(t, func(t *testing.T, p *loomv1.Pattern, s *processes.ExampleSession) {
		type measured struct {
			answer, iterations, tier, thinking, questions uint32
			stops                                         int
		}
		declared := 0
		p = proto.CloneOf(p)
		for _, step := range p.Steps {
			step.Tempo = 0
			if step.Stop {
				declared++
			}
		}
		steps := slices.DeleteFunc(slices.Clone(s.Steps), func(run processes.ExampleStep) bool { return run.Fails })
		for i := range steps {
			steps[i].Tempo = ""
		}
		s.Steps = steps
		for tempo, want := range map[loomv1.Tempo]measured{
			intent.Allegro: {2048, 12, 1, 0, 0, 0}, intent.Andante: {8192, 30, 2, 4096, 2, declared}, intent.Adagio: {24576, 60, 3, 16384, 8, len(steps)},
		} {
			p.DefaultTempo = tempo
			r := rehearsal.Play(p, s)
			if len(r.Problems) > 0 {
				t.Fatal(r.Problems)
			}
			got := map[measured]bool{}
			for _, f := range r.Facts {
				if l := f.GetStepStarted().GetLimits(); l != nil {
					got[measured{l.AnswerBytes, l.Iterations, l.ModelTier, l.ThinkingTokens, l.Questions, r.Stops}] = true
				}
			}
			if len(got) != 1 || !got[want] {
				t.Errorf("at %v: %+v, want %+v", tempo, got, want)
			}
		}
	})
}

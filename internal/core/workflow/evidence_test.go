package workflow_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A success without its evidence is recorded as a failure with the code of
// what is missing; the claim itself stays readable.
func TestBYD12_SuccessNeedsItsEvidence(t *testing.T) {
	failedCheck := verified("c1", allChecks...)
	failedCheck.Checks[1].Passed, failedCheck.Checks[1].ExitCode = false, 2
	both := verified("c1", allChecks...)
	both.Checks = append(both.Checks, failedCheck.Checks[1])
	for _, tt := range []struct {
		name, node string
		out        *loomv1.Outcome
		code       string // empty when it is evidence enough
		refusal    string
	}{
		{"commit of the approved patch", "commit", committed("c1", "p1"), "", ""},
		{"commit without a candidate", "commit", good(nil), "outcome/no-evidence", `node "commit" gave no candidate commit with its patch`},
		{"commit of another patch", "commit", committed("c1", "p2"), "git/patch-changed", "candidate c1 has patch p2, but patch p1 was approved"},
		{"all checks passed", "verify", verified("c1", allChecks...), "", ""},
		{"a check was not run", "verify", verified("c1", "go vet ./..."), "outcome/no-evidence", `check "go test ./..." was not run on candidate c1`},
		{"checks of another commit", "verify", verified("c0", allChecks...), "outcome/no-evidence", `check "go vet ./..." was not run on candidate c1`},
		{"a check failed", "verify", failedCheck, "verify/failed", `check "go test ./..." failed on c1 with exit code 2`},
		{"a check passed and failed", "verify", both, "verify/failed", `check "go test ./..." failed on c1 with exit code 2`},
		{"no check at all", "verify", verified("c1"), "outcome/no-evidence", `check "go vet ./..." was not run on candidate c1`},
		{"the candidate landed", "land", landed("c1"), "", ""},
		{"another commit landed", "land", landed("c2"), "outcome/no-evidence", `"c2" landed, but the candidate is "c1"`},
		{"nothing landed", "land", good(map[string]any{"fault": ""}), "outcome/no-evidence", `"" landed, but the candidate is "c1"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := bug(t, tt.node)
			a := w.attempt(tt.node)
			w.answer(t, tt.node, tt.out)
			h := w.x.Nodes[tt.node].History
			got := h[len(h)-1].Outcome
			if tt.code == "" {
				if !proto.Equal(got, tt.out) {
					t.Errorf("recorded %v, want the success as it was given", got)
				}
				return
			}
			if got.Status != failure || got.Code != tt.code || got.Refusal != tt.refusal {
				t.Errorf("recorded %s, %s, %q, want a failure, %s, %q", got.Status, got.Code, got.Refusal, tt.code, tt.refusal)
			}
			if n := len(w.events); w.run().Answer(a.Id, by(a.Role), tt.out) != nil || len(w.events) != n {
				t.Error("the same answer again is not the same again")
			}
			other := proto.CloneOf(tt.out)
			other.Summary = "done differently"
			wantCode(t, "another answer", w.run().Answer(a.Id, by(a.Role), other), "attempt/stale")
		})
	}
}

func TestBYD12_VerificationWithoutAnyCheckShowsNothing(t *testing.T) {
	w := newWorld(t, define("s start\nc task kind=commit\nv task kind=verify max=1\ne end\ns -> c\nc -> v\nv -> e"), nil)
	w.x.Checks, w.x.Change = nil, &loomv1.Change{PatchDigest: "p1"}
	w.answer(t, "c", committed("c1", "p1"))
	w.answer(t, "v", &loomv1.Outcome{Status: success})
	if got := w.x.Nodes["v"].History[0].Outcome; got.Code != "verify/no-check" {
		t.Errorf("recorded %v, want verify/no-check", got)
	}
}

func TestBYD12_OutcomesNameChecksOnce(t *testing.T) {
	w := bug(t, "investigate")
	if got := w.x.Checks; len(got) != 2 || got[0] != "go vet ./..." || got[1] != "go test ./..." {
		t.Errorf("checks = %q, want the project's and the one that triage named", got)
	}
	again := newWorld(t, autoBug(), nil)
	again.x.Checks, again.x.ProjectChecks = []string{"go test ./..."}, []string{"go test ./..."}
	again.answer(t, "triage", triaged("high"))
	if got := again.x.Checks; len(got) != 1 {
		t.Errorf("checks = %q, want each once", got)
	}
	none := newWorld(t, autoBug(), nil)
	none.answer(t, "triage", good(map[string]any{"severity": "low", "specialist": "", "check": ""}))
	if got := none.x.Checks; len(got) != 1 {
		t.Errorf("checks = %q, want no empty one", got)
	}
}

func TestWF08_WithoutAnApprovalBeforeItTheProposedChangeCounts(t *testing.T) {
	const drawing = "s start\na task\nc task kind=commit max=1\ne end\ns -> a\na -> c\nc -> e"
	for patch, want := range map[string]string{"p1": "succeeded", "p2": "waiting"} {
		w := newWorld(t, define(drawing), nil)
		w.answer(t, "a", changed("p1"))
		w.answer(t, "c", committed("c1", patch))
		w.want(t, "c "+want)
	}
	w := newWorld(t, define(drawing), nil)
	w.answer(t, "a", good(nil))
	w.answer(t, "c", committed("c1", "p1"))
	if got, want := w.x.Nodes["c"].History[0].Outcome.Refusal, "no proposed change covers candidate c1"; got != want {
		t.Errorf("refusal = %q, want %q", got, want)
	}
}

// A clean rebase leaves the patch, so the approval stands; another patch
// lapses it, and the work goes back to be approved anew.
func TestWF08_ChangeAndApproval(t *testing.T) {
	t.Run("a rebased change with the same patch keeps the approval", func(t *testing.T) {
		w := bug(t, "commit")
		out := committed("c1", "p1")
		out.Change = proto.CloneOf(w.x.Change)
		out.Change.Base, out.Change.Commit = "b1", "w-rebased"
		w.answer(t, "commit", out)
		if w.x.Change.Base != "b1" || w.x.Approved == nil {
			t.Errorf("change = %v, approved = %v, want the rebased change under the old approval", w.x.Change, w.x.Approved)
		}
		w.want(t, "verify running")
	})
	t.Run("a failed commit that changed the patch asks again", func(t *testing.T) {
		w := bug(t, "commit")
		n := len(w.events)
		out := bad(nil)
		out.Code, out.Change = "git/hook-changed", changed("p2").Change
		w.answer(t, "commit", out)
		check(t, w.since(n), `
			commit answered failure git/hook-changed
			proposed p2
			approval lapsed: another patch was proposed
			commit sends back to approve (0): approve commit
			approve asks: commit sent back what was approved`)
		if a := w.approval("approve"); a.Change.PatchDigest != "p2" || a.Visit != 2 {
			t.Errorf("approval = %v, want a new one about p2", a)
		}
		w.decide(t, "approve", approve, "")
		w.answer(t, "commit", committed("c2", "p2"))
		w.want(t, "verify running")
	})
	t.Run("a change from a parallel branch is asked about anew", func(t *testing.T) {
		w := newWorld(t, define("s start\na task\nb task\ng approval\ne end\ns -> a\ns -> b\na -> g\ng -> e\nb -> e"), nil)
		w.answer(t, "a", changed("p1"))
		old := w.approval("g")
		n := len(w.events)
		w.answer(t, "b", changed("p2"))
		check(t, w.since(n), `
			b answered success
			proposed p2
			approval lapsed: another patch was proposed
			g asks:
			b-e taken: success`)
		wantCode(t, "the old approval", w.run().Decide(old, &loomv1.DecideApproval{Decision: approve}), "approval/lapsed")
	})
	t.Run("a candidate of an older patch cannot land", func(t *testing.T) {
		w := newWorld(t, define(`
			s start
			a task
			b task
			c task kind=commit
			v task kind=verify
			l task kind=land max=1
			e end
			s -> a
			s -> b
			a -> c
			c -> v
			v -> l
			b -> e
			l -> e`), nil)
		w.answer(t, "a", changed("p1"))
		w.answer(t, "c", committed("c1", "p1"))
		w.answer(t, "v", &loomv1.Outcome{Status: success, Checks: verified("c1", "go vet ./...").Checks})
		w.answer(t, "b", changed("p2"))
		out := landed("c1")
		out.Fields = nil
		w.answer(t, "l", out)
		if got := w.x.Nodes["l"].History[0].Outcome; got.Code != "outcome/no-evidence" {
			t.Errorf("recorded %v, want no evidence: p2 came after the verification of p1", got)
		}
		w.want(t, "l waiting")
	})
}

// A verification that was skipped has not vouched for anything.
func TestBYD12_ASkippedVerificationDoesNotCount(t *testing.T) {
	w := newWorld(t, define(`
		s start
		c task kind=commit
		d decision
		v task kind=verify
		l task kind=land max=1
		e end
		s -> c
		c -> d
		d -> v ? false
		d -> l
		v -> l
		l -> e`), nil)
	w.x.Change = &loomv1.Change{PatchDigest: "p1"}
	w.answer(t, "c", committed("c1", "p1"))
	out := landed("c1")
	out.Fields = nil
	w.answer(t, "l", out)
	if got, want := w.x.Nodes["l"].History[0].Outcome.Refusal, `node "v" has not verified candidate c1`; got != want {
		t.Errorf("refusal = %q, want %q", got, want)
	}
}

// With its candidate gone there is nothing that a check could have run on.
func TestBYD12_VerificationOfNothing(t *testing.T) {
	w := newWorld(t, define(`
		s start
		b task
		c task kind=commit
		v task kind=verify
		e end
		s -> b
		s -> c
		c -> v
		v -> e
		b -> e`), nil)
	w.x.Change = &loomv1.Change{PatchDigest: "p1"}
	w.answer(t, "c", committed("c1", "p1"))
	w.answer(t, "b", changed("p2"))
	w.answer(t, "v", &loomv1.Outcome{Status: success, Checks: verified("", "go vet ./...").Checks})
	if got, want := w.x.Nodes["v"].History[0].Outcome.Refusal, "there is no candidate to verify"; got != want {
		t.Errorf("refusal = %q, want %q", got, want)
	}
}

func TestWF08_TheSameChangeIsProposedOnce(t *testing.T) {
	w := newWorld(t, define("s start\na task\nb task\ne end\ns -> a\na -> b\nb -> e"), nil)
	w.answer(t, "a", changed("p1"))
	n := len(w.events)
	w.answer(t, "b", changed("p1"))
	check(t, w.since(n), "b answered success\nb-e taken: success\ncompleted")
}

// What was verified before a later commit says nothing about that commit.
func TestBYD12_AVerificationCountsForItsOwnCandidate(t *testing.T) {
	w := newWorld(t, define(`
		s start
		c task kind=commit
		v task kind=verify
		d task kind=commit
		l task kind=land max=1
		e end
		s -> c
		c -> v
		v -> d
		d -> l
		l -> e`), nil)
	w.x.Change = &loomv1.Change{PatchDigest: "p1"}
	w.answer(t, "c", committed("c1", "p1"))
	w.answer(t, "v", &loomv1.Outcome{Status: success, Checks: verified("c1", "go vet ./...").Checks})
	w.answer(t, "d", committed("c2", "p1"))
	w.answer(t, "l", &loomv1.Outcome{Status: success, Landing: landed("c2").Landing})
	if got, want := w.x.Nodes["l"].History[0].Outcome.Refusal, `node "v" has not verified candidate c2`; got != want {
		t.Errorf("refusal = %q, want %q", got, want)
	}
}

// An approval before the work is none of its result: the commit has no
// evidence, and asking again before the work would not bring any.
func TestWF08_AnApprovalBeforeTheWorkDoesNotCoverIt(t *testing.T) {
	w := newWorld(t, define("s start\ng approval\na task\nc task kind=commit\ne end\ns -> g\ng -> a\na -> c\nc -> e"), nil)
	w.decide(t, "g", approve, "")
	w.answer(t, "a", changed("p1"))
	n := len(w.events)
	w.answer(t, "c", committed("c1", "p1"))
	check(t, w.since(n), `
		c answered failure outcome/no-evidence
		c backs off`)
}

// An approval that was skipped has approved nothing.
func TestWF08_ASkippedApprovalDoesNotLetACommitPass(t *testing.T) {
	w := newWorld(t, define("s start\na task\ng approval\nc task kind=commit max=1\ne end\ns -> a\na -> g ? false\na -> c\ng -> c\nc -> e"), nil)
	w.answer(t, "a", changed("p1"))
	w.want(t, "g skipped")
	w.answer(t, "c", committed("c1", "p1"))
	if got, want := w.x.Nodes["c"].History[0].Outcome.Refusal, "no approved change covers candidate c1"; got != want {
		t.Errorf("refusal = %q, want %q", got, want)
	}
}

// TestWF08_ALandingIsOneFact has the CEO ask for a land node again whose work
// was done: what follows it could not be read.
func TestWF08_ALandingIsOneFact(t *testing.T) {
	w := newWorld(t, define(`
		start start
		work task
		commit task kind=commit role=engineering-manager
		verify task kind=verify role=qa-engineer
		land task kind=land role=engineering-manager
		end end
		start -> work
		work -> commit
		commit -> verify
		verify -> land
		land -> end ? context.missing == 1
	`, func(n map[string]*loomv1.NodeDefinition) {
		for _, id := range []string{"verify", "land"} {
			n[id].Outcome = map[string]string{"fault": "string"}
		}
	}), nil)
	w.answer(t, "work", changed("p1"))
	w.answer(t, "commit", committed("c1", "p1"))
	w.answer(t, "verify", verified("c1", "go vet ./..."))
	w.answer(t, "land", landed("c1"))
	w.decide(t, "land", retry, "")
	from := len(w.events)
	w.answer(t, "land", landed("c1"))
	if story := w.since(from); strings.Contains(story, "landed") {
		t.Errorf("c1 landed a second time:\n%s", story)
	}
	w.decide(t, "land", approve, "")
	w.wantEnd(t, completed)
}

// Where nobody is asked, what the policy gates is not committed.
func TestREAL09_WhatIsGatedIsNotCommittedUnseen(t *testing.T) {
	for _, tt := range []struct {
		action loomv1.PatchAction
		want   string
	}{
		{loomv1.PatchAction_PATCH_ACTION_WARN, ""},
		{loomv1.PatchAction_PATCH_ACTION_GATE, "patch/needs-gate"},
	} {
		w := newWorld(t, define("s start\nc task kind=commit max=1\ne end\ns -> c\nc -> e"), nil)
		w.x.Change = &loomv1.Change{PatchDigest: "p1", Warnings: []*loomv1.PatchWarning{{Kind: "ci", Path: ".github/workflows/x.yml", Text: "it runs", Action: tt.action}}}
		w.answer(t, "c", committed("c1", "p1"))
		if got := w.x.Nodes["c"].History[0].Outcome.Code; got != tt.want {
			t.Errorf("with %s the commit ends with %q, want %q", tt.action, got, tt.want)
		}
	}
}

package agent_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	success = loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS
	failure = loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE
)

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if fault.Code(err) != code {
		t.Errorf("%v (code %q), want code %q", err, fault.Code(err), code)
	}
}

// proposed brings a bench to a change that stands, made by a policy.
func proposed(t *testing.T, hooks string, policy scripted.Policy) (*bench, *loomv1.Brief) {
	t.Helper()
	var files []git.File
	if hooks != "" {
		files = append(files, git.File{Path: ".git/hooks/pre-commit", Data: []byte(hooks), Exec: true})
	}
	b := newBench(t, policy, files...)
	out := b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	if out.Change == nil {
		t.Fatalf("nothing was proposed: %v", out)
	}
	b.seat = &seat{token: 7}
	br := brief("engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT)
	br.Execution.Change = out.Change
	br.Execution.Approved = &loomv1.ApprovedChange{Decision: "d9", PatchDigest: out.Change.PatchDigest}
	br.Execution.Nodes["work"].History = []*loomv1.Attempt{{Id: "shop-1-x1-a1", Role: "backend-engineer", Outcome: out}}
	return b, br
}

func writes() scripted.Policy {
	return script(says(call("file_write", map[string]any{"path": "new.txt", "content": "new\n"})), finish("success"))
}

func TestWF05_CommitFailuresSayWhoseFaultItIs(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct {
		name, hook string
		edit       func(*loomv1.Brief)
		code, at   string
	}{
		{"a hook refuses", "#!/bin/sh\necho no tabs here\nexit 1\n", nil, "git/hook-failed", "change"},
		{"no change stands", "", func(b *loomv1.Brief) { b.Execution.Change = nil }, "", ""},
		{"an older token", "", func(b *loomv1.Brief) { b.Deployment = "dp-2" }, "", ""},
	} {
		t.Run("WF05 "+tt.name, func(t *testing.T) {
			b, br := proposed(t, tt.hook, writes())
			if tt.edit != nil {
				tt.edit(br)
			}
			out := b.must(br)
			if out.Code != tt.code || out.Fields.AsMap()["fault"] != tt.at {
				t.Errorf("outcome %v, want code %q and fault %q", out, tt.code, tt.at)
			}
			if len(b.seat.released) != 1 || b.seat.released[0] != 7 {
				t.Errorf("the lock was given back under %v, want token 7", b.seat.released)
			}
		})
	}
}

// The work of another bead lands the same change: who has it again proposes nothing,
// and the commit names what the target has.
func TestREAL07_AChangeThatLandedIsNotProposedAgain(t *testing.T) {
	longtest.Skip(t)
	b, br := proposed(t, "", writes())
	made := b.must(br)
	land := brief("engineering-manager", loomv1.NodeKind_NODE_KIND_LAND)
	land.Execution.Change, land.Execution.Candidate = br.Execution.Change, made.Candidate
	landed := b.must(land).Landing.GetCommit()
	again := b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	if !again.Unchanged || again.Change.GetPatchDigest() != br.Execution.Change.PatchDigest {
		t.Errorf("the same work again: %v, want it to be found on the target", again)
	}
	b.seat = &seat{token: 8}
	br.Execution.Change, br.Execution.Nodes["work"].History[0].Outcome = nil, again
	c := b.must(br).Candidate
	if !c.GetPresent() || c.Commit != landed || c.DoneByCommit != landed || c.DoneByBead == "" {
		t.Errorf("the commit gave %v, want that %s has it", c, landed)
	}
}

// TestLOCK01_CommitParksWithoutTheLock touches nothing before it is granted.
func TestLOCK01_CommitParksWithoutTheLock(t *testing.T) {
	b, br := proposed(t, "#!/bin/sh\nexit 1\n", writes())
	b.seat.token = 0
	if _, err := b.work(br); !errors.Is(err, actors.ErrParked) || b.seat.parked != 1 || len(b.seat.released) != 0 {
		t.Errorf("without a grant: %v, parked %d times", err, b.seat.parked)
	}
}

// TestP6_LateCommitterIsFenced lets a newer token touch the repository first.
func TestP6_LateCommitterIsFenced(t *testing.T) {
	b, br := proposed(t, "", writes())
	b.seat.token = 9
	first := b.must(br)
	if first.Candidate.GetToken() != 9 {
		t.Fatalf("candidate %v", first.Candidate)
	}
	b.seat = &seat{token: 8}
	land := brief("engineering-manager", loomv1.NodeKind_NODE_KIND_LAND)
	land.Execution.Change, land.Execution.Candidate = br.Execution.Change, first.Candidate
	out := b.must(land)
	if out.Status != failure || out.Code != "git/fenced" || out.Fields.AsMap()["fault"] != "" {
		t.Errorf("under an older token: %v, want git/fenced", out)
	}
	b.seat = &seat{token: 10}
	if out := b.must(land); out.Status != success || out.Landing.GetCommit() != first.Candidate.Commit {
		t.Errorf("under the newest token: %v", out)
	}
	if got := read(t, b.top, "new.txt"); got != "new\n" {
		t.Errorf("the user's clean checkout was not brought along: %q", got)
	}
}

// TestP5_CommitAgainIsTheSameCandidate repeats a commit whose outcome was lost.
func TestP5_CommitAgainIsTheSameCandidate(t *testing.T) {
	b, br := proposed(t, "", writes())
	first := b.must(br).Candidate
	b.seat = &seat{token: 8}
	if again := b.must(br).Candidate; again.GetCommit() != first.GetCommit() {
		t.Errorf("a second candidate %s of the same change, the first was %s", again.GetCommit(), first.GetCommit())
	}
}

// TestWF10_HookThatWritesNoText must not make an outcome that cannot be
// recorded.
func TestWF10_HookThatWritesNoText(t *testing.T) {
	longtest.Skip(t)
	b, br := proposed(t, "#!/bin/sh\nprintf '\\377\\376 caf\\351\\n'\n", writes())
	if out := b.must(br); out.Status != success {
		t.Errorf("outcome %v", out)
	}
	b, br = proposed(t, "#!/bin/sh\nprintf '\\377\\376 caf\\351\\n' >&2\nexit 3\n", writes())
	if out := b.must(br); out.Code != "git/hook-failed" {
		t.Errorf("outcome %v", out)
	}
}

// TestP10_VerifyBelievesItsChecksAlone has a model say what it likes.
func TestP10_VerifyBelievesItsChecksAlone(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct {
		check  string
		says   string
		status loomv1.OutcomeStatus
		code   string
	}{
		{"test -f new.txt", "success", success, ""},
		{"test -f new.txt", "failure", failure, ""},
		{"test -f missing.txt", "success", failure, "verify/failed"},
		{"test -f missing.txt", "failure", failure, ""},
		{"true; exit 3", "success", failure, "verify/failed"},
		{"no-such-command-anywhere", "success", failure, "verify/failed"},
	} {
		t.Run("P10 "+tt.check+" "+tt.says, func(t *testing.T) {
			b, br := proposed(t, "", writes())
			candidate := b.must(br).Candidate
			b.worker.Model = b.asks.count(scripted.New("test", script(finish(tt.says))))
			b.seat = &seat{}
			verify := brief("qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY)
			verify.Execution.Candidate, verify.Execution.Checks = candidate, []string{tt.check}
			out := b.must(verify)
			if out.Status != tt.status || tt.code != "" && out.Code != tt.code {
				t.Errorf("outcome %v, want %s %q", out, tt.status, tt.code)
			}
			if len(out.Checks) != 1 || out.Checks[0].Command != tt.check || out.Checks[0].Commit != candidate.Commit ||
				out.Checks[0].Passed != strings.Contains(tt.check, "new.txt") {
				t.Errorf("checks %v", out.Checks)
			}
		})
	}
}

// TestACT04_ChecksAreNotRunAgain goes on with a verification after its checks.
func TestACT04_ChecksAreNotRunAgain(t *testing.T) {
	longtest.Skip(t)
	b, br := proposed(t, "", writes())
	candidate := b.must(br).Candidate
	b.worker.Model = b.asks.count(scripted.New("test", script(finish("success"))))
	count := t.TempDir() + "/count"
	verify := brief("qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY)
	verify.Execution.Candidate, verify.Execution.Checks = candidate, []string{"echo x >> " + count}
	b.seat = &seat{cutAt: 4, durable: false} // start, intent, result, then the answer
	if _, err := b.work(verify); !errors.Is(err, errCut) {
		t.Fatalf("the cut verification returns %v", err)
	}
	verify.Turn = b.seat.turn
	if out := b.must(verify); out.Status != success {
		t.Errorf("outcome %v", out)
	}
	if got := read(t, count); got != "x\n" {
		t.Errorf("the check ran %d times", strings.Count(got, "x"))
	}
}

// A candidate of a session's work has what was judged, file by file, or is none: what a
// rebase or another hand has changed goes back to the operator.
func TestPAT01_ACandidateIsWhatWasJudged(t *testing.T) {
	for content, code := range map[string]string{"new\n": "", "newer\n": "intent/delivery"} {
		b, br := proposed(t, "", writes())
		br.Step = &loomv1.StepBrief{Session: "s1", Earlier: []*loomv1.StepOutput{{Name: "new.txt", Step: 1, Content: &loomv1.BlobRef{}}}}
		sum := sha256.Sum256([]byte(content))
		br.Step.Earlier[0].Content.Sha256 = hex.EncodeToString(sum[:])
		out := b.must(br)
		if out.Code != code || code != "" && (out.Fields.AsMap()["fault"] != "change" || out.Candidate != nil) {
			t.Errorf("with %q judged: %v, want code %q", content, out, code)
		}
	}
}

package project_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// newCouncil is a desk whose agents can be asked for votes, and a bead of which
// d1 is the goal.
func newCouncil(t *testing.T) *desk {
	d := newDesk(t)
	def, _ := processes.Builtin(roles.Builtin()).Get(project.Consult)
	d.store(def)
	d.report()
	return d
}

// putToVote has an agent open a vote on a decision about the bead.
func (d *desk) putToVote(voters ...string) (decision, left, right string) {
	d.t.Helper()
	about := func(t loomv1.DecisionType, title string) string {
		return d.ok(&loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{
			Node: &loomv1.DecisionNode{Type: t, Title: title, Confidence: 80, Bead: "shop-1", Execution: "shop-1-x1"},
		}}}).GetDecision().Id
	}
	decision = about(loomv1.DecisionType_DECISION_TYPE_DECISION, "which way")
	left, right = about(loomv1.DecisionType_DECISION_TYPE_OPTION, "left"), about(loomv1.DecisionType_DECISION_TYPE_OPTION, "right")
	d.ok(opens(decision, []string{left, right}, voters))
	return decision, left, right
}

func opens(decision string, options, voters []string) *loomv1.Command {
	return &loomv1.Command{
		Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: "qa-engineer/1@h1"},
		Body: &loomv1.Command_OpenBallot{OpenBallot: &loomv1.OpenBallot{Ballot: &loomv1.Ballot{
			Decision: decision, Options: options, Voters: voters, Seconds: 600,
		}}},
	}
}

// questions are the beads that ask for votes on a decision.
func (d *desk) questions(decision string) (list []*loomv1.Bead) {
	d.t.Helper()
	for _, b := range d.s.Snapshot().Beads {
		if b.Ballot == decision {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b *loomv1.Bead) int { return cmp.Or(len(a.Id)-len(b.Id), cmp.Compare(a.Id, b.Id)) })
	return list
}

// stillAsked are the roles that are being asked, sorted.
func (d *desk) stillAsked(decision string) (roles []string) {
	for _, b := range d.questions(decision) {
		if w := project.Word(b.Status); w == "open" || w == "in_progress" {
			roles = append(roles, b.Context.Fields["role"].GetStringValue())
		}
	}
	slices.Sort(roles)
	return roles
}

// castsVote answers the question that a role was asked.
func (d *desk) castsVote(role string, out *loomv1.Outcome) *loomv1.Brief {
	d.t.Helper()
	b, ok := d.triesToVote(role, out)
	if !ok {
		d.t.Fatalf("nothing waits for role %s", role)
	}
	return b
}

// triesToVote is castsVote, if the question does not wait for its next attempt.
func (d *desk) triesToVote(role string, out *loomv1.Outcome) (*loomv1.Brief, bool) {
	d.t.Helper()
	who := agentOf(role, 1)
	answer, err := d.do(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: "shop-1-x1-a1", Generation: 1, Claimant: who, Any: true}}})
	if err != nil {
		return nil, false
	}
	d.ok(&loomv1.Command{
		Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: role + "/1@h1"},
		Body:  &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: answer.GetBrief().Attempt.Id, Claimant: who, Outcome: out}},
	})
	return answer.GetBrief(), true
}

func ballotOf(option string, confidence int) *loomv1.Outcome {
	return outcome(success, map[string]any{"option": option, "confidence": confidence, "rationale": "I have seen it"})
}

func TestGRAPH05_EveryVoterIsAsked(t *testing.T) {
	d := newCouncil(t)
	decision, left, right := d.putToVote("architect", "implementer", "researcher", "juggler")
	if got := d.stillAsked(decision); !slices.Equal(got, []string{"architect", "implementer", "researcher"}) {
		t.Fatalf("asked are %q, want those that the process knows", got)
	}
	b := d.questions(decision)[0]
	if b.Parent != "shop-1" || b.Process != project.Consult || b.Goal != "Vote on "+decision+": which way" || !strings.Contains(b.Description, left+": left") {
		t.Errorf("the question is %v", b)
	}
	brief := d.castsVote("architect", ballotOf(left, 70))
	if brief.Goal != decision || !strings.Contains(brief.Context.Text, "right") {
		t.Errorf("the voter knows %v, goal %s", brief.Context, brief.Goal)
	}
	d.castsVote("implementer", ballotOf(left, 60))
	if n := len(d.ballot(decision).Votes); n != 2 {
		t.Fatalf("%d votes", n)
	}
	d.ok(vote(decision, "researcher", right)) // by message
	d.wait(11 * time.Minute)                  // in which nobody hears of a juggler
	got := d.ballot(decision)
	if got.Result != left || len(got.Votes) != 3 || got.Votes[0].Confidence != 70 || got.Votes[0].Rationale != "I have seen it" || got.Votes[0].Voter.Name != "architect/1@h1" {
		t.Errorf("the ballot is %v", got)
	}
	for _, b := range d.questions(decision) {
		want := "closed "
		if b.Context.Fields["role"].GetStringValue() == "researcher" {
			want = "aborted researcher has voted"
		}
		if got := project.Word(b.Status) + " " + b.Reason; got != want {
			t.Errorf("%s: %s, want %s", b.Id, got, want)
		}
	}
}

func TestGRAPH05_AVoteForNoOptionDoesNotCount(t *testing.T) {
	d := newCouncil(t)
	decision, left, _ := d.putToVote("architect", "implementer")
	for role, out := range map[string]*loomv1.Outcome{"architect": ballotOf("d99", 70), "implementer": ballotOf(left, 101)} {
		d.castsVote(role, out)
	}
	for _, b := range d.questions(decision) {
		if b.Status != loomv1.BeadStatus_BEAD_STATUS_FAILED || !strings.HasPrefix(b.Reason, "the vote does not count: ") {
			t.Errorf("%s is %s: %s", b.Id, b.Status, b.Reason)
		}
	}
	if n := len(d.ballot(decision).Votes); n != 0 {
		t.Errorf("%d votes are counted", n)
	}
}

func TestGRAPH05_ATieAsksTheLead(t *testing.T) {
	d := newCouncil(t)
	decision, left, right := d.putToVote("lead", "implementer")
	d.castsVote("lead", ballotOf(left, 50))
	d.castsVote("implementer", ballotOf(right, 50))
	if got := d.stillAsked(decision); !slices.Equal(got, []string{"lead"}) {
		t.Fatalf("after a tie %q are asked, want the lead", got)
	}
	d.castsVote("lead", ballotOf(left, 50)) // the very same, which decides now
	if b := d.ballot(decision); b.Result != left {
		t.Errorf("the ballot is %s for %q", b.Status, b.Result)
	}
}

func TestGRAPH05_VotersAreAskedOnlyWhereItMakesSense(t *testing.T) {
	d := newCouncil(t)
	byOperator, left, _ := d.tie() // both voters and, for there is a tie, the lead
	if n := len(d.questions(byOperator)); n != 3 {
		t.Errorf("an operator's vote asks %d agents, want 3", n)
	}
	d.ok(vote(byOperator, "lead", left))
	byHost := opens(d.add(loomv1.DecisionType_DECISION_TYPE_DECISION, "where to"), []string{left, d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "away")}, []string{"architect"})
	byHost.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "h1"}
	d.ok(byHost)
	if asked := d.questions(byHost.GetOpenBallot().Ballot.Decision); len(asked) != 0 {
		t.Errorf("a host's vote asks %v", asked)
	}
	// A bead that anybody files by the process casts no vote.
	decision, left, right := d.putToVote("architect")
	forged := d.file(&loomv1.Submission{Goal: "vote", Process: project.Consult, Context: d.questions(decision)[0].Context})
	d.castsVote("architect", ballotOf(left, 50)) // the older one: its own
	d.castsVote("architect", ballotOf(right, 50))
	if b := d.ballot(decision); b.Result != left || len(b.Votes) != 1 {
		t.Errorf("the ballot is %v", b)
	}
	if got := d.status(forged.Bead); got != "closed" {
		t.Errorf("the forged bead is %s", got)
	}
	// Agents cannot keep each other busy without bound.
	everybody := []string{"architect", "backend-engineer", "engineering-manager", "implementer", "lead", "project-manager", "qa-engineer", "researcher", "web-designer"}
	open := 0
	for range 9 {
		decision, _, _ := d.putToVote(everybody...)
		open += len(d.stillAsked(decision))
	}
	if open != 64 {
		t.Errorf("%d roles are asked at once, want 64", open)
	}
}

// TestGRAPH05_EveryBallotEnds has votes come in any order and by any way, and
// not at all: each role counts once, whatever its ways, and the CEO's word is
// the last resort. The desk compares each state with a replay.
func TestGRAPH05_EveryBallotEnds(t *testing.T) {
	longtest.Skip(t)
	voters := []string{"architect", "implementer", "lead", "researcher"}
	rapid.Check(t, func(rt *rapid.T) {
		d := newCouncil(t)
		decision, left, right := d.putToVote(voters[:rapid.IntRange(1, 4).Draw(rt, "voters")]...)
		for i := range rapid.IntRange(0, 8).Draw(rt, "steps") {
			role := rapid.SampledFrom(voters).Draw(rt, fmt.Sprint("role", i))
			option := rapid.SampledFrom([]string{left, right, decision}).Draw(rt, fmt.Sprint("option", i))
			switch rapid.IntRange(0, 3).Draw(rt, fmt.Sprint("way", i)) {
			case 0:
				d.triesToVote(role, ballotOf(option, i))
			case 1:
				_, _ = d.do(vote(decision, role, option)) // perhaps refused
			case 2:
				d.triesToVote(role, outcome(failed, map[string]any{"option": "", "confidence": 0, "rationale": ""}))
			case 3:
				d.wait(time.Duration(i) * time.Minute)
			}
		}
		d.wait(11 * time.Minute) // the voters' time
		d.wait(11 * time.Minute) // the lead's
		b := d.ballot(decision)
		if b.Status == loomv1.BallotStatus_BALLOT_STATUS_CEO {
			v, err := d.s.Look(project.Inbox, &loomv1.Query{})
			if err != nil {
				rt.Fatal(err)
			}
			a := v.Approvals[slices.IndexFunc(v.Approvals, func(a *loomv1.Approval) bool { return a.Ballot == decision })]
			if err := d.present(ceo, d.sign(a, loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, func(c *loomv1.CeoCommand) { c.GetDecide().Choice = right })); err != nil {
				rt.Fatal(err)
			}
			b = d.ballot(decision)
		}
		if b.Status != loomv1.BallotStatus_BALLOT_STATUS_CLOSED || b.Result == "" {
			rt.Fatalf("the ballot is %v", b)
		}
		seen := map[string]bool{}
		for _, v := range b.Votes {
			if seen[v.Role] {
				rt.Fatalf("%s has two votes: %v", v.Role, b.Votes)
			}
			seen[v.Role] = true
		}
		if open := d.stillAsked(decision); len(open) > 0 {
			rt.Fatalf("the vote is over and %q are still asked", open)
		}
	})
}

package project_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/commitlock"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestWF13_AnErrorReportBecomesALandedCommit(t *testing.T) {
	d := newDesk(t)
	bead := d.toApproval("p1")
	if got := d.status(bead); got != "waiting" {
		t.Errorf("bead at the approval: %s, want waiting", got)
	}
	d.approve()
	token := d.grant()
	d.work("engineering-manager", candidate("p1", token))
	d.work("qa-engineer", verified("c-p1", true))
	d.work("engineering-manager", landed("c-p1"))
	if got := d.status(bead); got != "closed" {
		t.Errorf("bead at the end: %s, want closed", got)
	}
	if left := d.s.Queued(); len(left) > 0 {
		t.Errorf("still queued: %v", left)
	}
}

func TestWF05_AFailedVerificationGoesBackThroughInvestigationAndANewApproval(t *testing.T) {
	d := newDesk(t)
	bead := d.toApproval("p1")
	d.approve()
	d.work("engineering-manager", candidate("p1", 1))
	d.work("qa-engineer", verified("c-p1", false))
	b := d.work("backend-engineer", proposed("p2"))
	if b.Attempt.Visit != 2 {
		t.Errorf("investigation after a failed verification is visit %d, want 2", b.Attempt.Visit)
	}
	d.approve()
	d.work("engineering-manager", candidate("p2", 2))
	d.work("qa-engineer", verified("c-p2", true))
	d.work("engineering-manager", landed("c-p2"))
	if got := d.status(bead); got != "closed" {
		t.Errorf("bead at the end: %s, want closed", got)
	}
}

func TestP09_OnlyTheCEOsSignatureOnThisDigestCounts(t *testing.T) {
	longtest.Skip(t)
	const approve = loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
	for _, tt := range []struct {
		name string
		kind loomv1.IdentityKind
		edit func(*loomv1.CeoCommand)
		mend func(*loomv1.SignedCommand)
		want string
	}{
		{"another identity", loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, nil, nil, "approval/identity"},
		{"an agent", loomv1.IdentityKind_IDENTITY_KIND_AGENT, nil, nil, "approval/identity"},
		{"another key", ceo, nil, func(c *loomv1.SignedCommand) { c.Signature[0] ^= 1 }, "approval/signature"},
		{"no signature", ceo, nil, func(c *loomv1.SignedCommand) { c.Signature = nil }, "approval/signature"},
		{"changed after signing", ceo, nil, func(c *loomv1.SignedCommand) { c.Payload = append(c.Payload, 0x1a, 0) }, "approval/signature"},
		{"another deployment", ceo, func(c *loomv1.CeoCommand) { c.Deployment = "dp-2" }, nil, "approval/identity"},
		{"another digest", ceo, func(c *loomv1.CeoCommand) { c.GetDecide().Digest = "00" }, nil, "approval/digest"},
		{"expired", ceo, func(c *loomv1.CeoCommand) { c.NotAfter = c.IssuedAt }, nil, "approval/expired"},
		{"no nonce", ceo, func(c *loomv1.CeoCommand) { c.Nonce = "" }, nil, "override/invalid"},
		{"a nonce that is too long to remember", ceo, func(c *loomv1.CeoCommand) { c.Nonce = strings.Repeat("n", project.MaxKey+1) }, nil, "override/invalid"},
		{"not an option", ceo, func(c *loomv1.CeoCommand) {
			c.GetDecide().Decision = loomv1.ApprovalDecision_APPROVAL_DECISION_SKIP
		}, nil, "approval/option"},
		{"a choice where there is none", ceo, func(c *loomv1.CeoCommand) { c.GetDecide().Choice = "nonsense" }, nil, "approval/option"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.toApproval("p1")
			c := d.sign(d.inbox(), approve, tt.edit)
			if tt.mend != nil {
				tt.mend(c)
			}
			before := len(d.events)
			if err := d.present(tt.kind, c); fault.Code(err) != tt.want {
				t.Errorf("presented: %v, want %s", err, tt.want)
			}
			if n := len(d.events) - before; n != 1 || d.events[before].GetApprovalRefused() == nil {
				t.Errorf("%d facts, want the refusal recorded and nothing else", n)
			}
			d.inbox() // it is still open
		})
	}
}

func TestP09_ASignedAnswerIsUsedOnce(t *testing.T) {
	d := newDesk(t)
	d.toApproval("p1")
	first := d.inbox()
	c := d.sign(first, loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES, nil)
	if err := d.present(ceo, c); err != nil {
		t.Fatal(err)
	}
	if err := d.present(ceo, c); err != nil {
		t.Errorf("the same answer again: %v, want nothing to happen", err)
	}
	d.work("backend-engineer", proposed("p2"))
	if err := d.present(ceo, c); err != nil {
		t.Errorf("the same answer much later: %v, want nothing to happen", err)
	}
	if second := d.inbox(); second.Id == first.Id || second.DecidedAt != nil {
		t.Errorf("the new approval %q was answered by an old signature", second.Id)
	}
}

func TestSUB02_TheSameKeyFilesNothingNew(t *testing.T) {
	d := newDesk(t)
	submitAs := func(kind loomv1.IdentityKind, who, goal string) (*loomv1.Answer, error) {
		return d.do(&loomv1.Command{
			Actor: &loomv1.Identity{Kind: kind, Name: who},
			Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{
				Goal: goal, IdempotencyKey: "k1",
			}}},
		})
	}
	submit := func(who, goal string) (*loomv1.Answer, error) {
		return submitAs(loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER, who, goal)
	}
	one, err := submit("a", "mend it")
	if err != nil {
		t.Fatal(err)
	}
	two, err := submit("a", "mend it")
	if err != nil || two.GetSubmit().Bead != one.GetSubmit().Bead || !two.GetSubmit().Duplicate {
		t.Errorf("the same again: %v, %v, want bead %s as a duplicate", two, err, one.GetSubmit().Bead)
	}
	if _, err := submit("a", "mend something else"); fault.Code(err) != "submit/key-reused" {
		t.Errorf("the key for other work: %v, want submit/key-reused", err)
	}
	other, err := submit("b", "mend it")
	if err != nil || other.GetSubmit().Bead == one.GetSubmit().Bead {
		t.Errorf("another publisher's key: %v, %v, want a bead of its own", other, err)
	}
	agent, err := submitAs(loomv1.IdentityKind_IDENTITY_KIND_AGENT, "a", "mend it")
	if err != nil || agent.GetSubmit().Bead == one.GetSubmit().Bead {
		t.Errorf("the key of an agent of the same name: %v, %v, want a bead of its own", agent, err)
	}
	d.now = d.now.Add(24 * time.Hour)
	late, err := submit("a", "mend it")
	if err != nil || late.GetSubmit().Bead == one.GetSubmit().Bead {
		t.Errorf("a day later: %v, %v, want a new bead", late, err)
	}
}

func TestSUB05_TheSameErrorIsCountedOnItsBead(t *testing.T) {
	d := newDesk(t)
	first := d.report()
	again := d.report()
	if again.Bead != first.Bead || !again.Duplicate {
		t.Errorf("second report: %v, want an occurrence of %s", again, first.Bead)
	}
	v, err := d.s.Look(project.Beads, &loomv1.Query{Id: first.Bead})
	if err != nil || v.Beads[0].Occurrences != 2 {
		t.Errorf("bead: %v, %v, want 2 occurrences", v, err)
	}
	low := d.ok(&loomv1.Command{Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: &loomv1.ErrorReport{Service: "checkout", Status: 404, Message: "no such page"}}}})
	if low.GetSubmit().Bead != "" {
		t.Errorf("status 404 filed %s", low.GetSubmit().Bead)
	}
}

func TestSUB03_EverythingWrongIsSaidAtOnceAndNothingChanges(t *testing.T) {
	d := newDesk(t)
	before := d.s.Hash()
	_, err := d.do(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{
		Goal: " ", Process: "no-such", Deadline: timestamppb.New(noon.Add(-time.Hour)), Budget: &loomv1.Budget{Tokens: -1}, Labels: []string{"Not A Token"},
	}}}})
	var codes []string
	f := fault.From(err)
	for _, p := range append([]*fault.Error{f}, f.More...) {
		codes = append(codes, p.Code)
	}
	want := []string{"submit/unknown-process", "submit/empty-goal", "submit/past-deadline", "submit/negative-budget", "id/malformed"}
	if len(codes) != len(want) {
		t.Fatalf("problems %v, want %v", codes, want)
	}
	for i := range want {
		if codes[i] != want[i] {
			t.Errorf("problem %d: %s, want %s", i, codes[i], want[i])
		}
	}
	if d.s.Hash() != before {
		t.Error("a refused submission changed the state")
	}
}

func TestLOCK01_AParkedAttemptIsQueuedAgainWhenTheLockIsItsTurn(t *testing.T) {
	d := newDesk(t)
	d.toApproval("p1")
	d.approve()
	b1, who := d.claim("engineering-manager")
	if b1.Context != nil {
		t.Errorf("who commits is told %q of the graph, and asks no model", b1.Context.Text)
	}
	first := d.ok(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: b1.Attempt.Id, Holder: who}}}).GetLock()

	d.ok(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{Goal: "another"}}}})
	d.work("qa-engineer", triaged())
	d.work("backend-engineer", proposed("p2"))
	d.approve()
	b2, who2 := d.claim("engineering-manager")
	second := d.ok(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: b2.Attempt.Id, Holder: who2}}}).GetLock()
	if second.Token != 0 {
		t.Fatalf("two grants at once: %v and %v", first, second)
	}
	d.ok(&loomv1.Command{Body: &loomv1.Command_ParkAttempt{ParkAttempt: &loomv1.ParkAttempt{Attempt: b2.Attempt.Id, Claimant: who2, WaitsFor: "lock"}}})
	if q := d.s.Queued(); len(q) != 0 {
		t.Fatalf("queued while parked: %v", q)
	}
	stranger := &loomv1.Claimant{Agent: who2.Agent, Host: "another", Epoch: who2.Epoch}
	for _, theirs := range []*loomv1.Command{
		{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: first.Token, Holder: stranger}}},
		{Body: &loomv1.Command_RenewLock{RenewLock: &loomv1.RenewLock{Token: first.Token, Holder: stranger}}},
	} {
		if _, err := d.do(theirs); fault.Code(err) != "lock/stale" {
			t.Errorf("somebody else's grant: %v, want lock/stale", err)
		}
	}
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: first.Token}}})
	q := d.s.Queued()
	if len(q) != 1 || q[0].Attempt != b2.Attempt.Id {
		t.Fatalf("queued after the release: %v, want %s", q, b2.Attempt.Id)
	}
	if _, err := d.do(&loomv1.Command{Body: &loomv1.Command_RenewLock{RenewLock: &loomv1.RenewLock{Token: first.Token}}}); fault.Code(err) != "lock/stale" {
		t.Errorf("renewal with an old token: %v, want lock/stale", err)
	}
}

func TestLOCK01_AHolderIsToldWhatIsLeftOfItsGrant(t *testing.T) {
	d := newDesk(t)
	d.toApproval("p1")
	d.approve()
	b, who := d.claim("engineering-manager")
	ask := func() *loomv1.LockClaim {
		return d.ok(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: b.Attempt.Id, Holder: who}}}).GetLock()
	}
	held := ask()
	d.now = d.now.Add(commitlock.DefaultLease - time.Minute)
	d.ok(&loomv1.Command{Body: &loomv1.Command_RenewLock{RenewLock: &loomv1.RenewLock{Token: held.Token, Holder: who}}})
	d.now = d.now.Add(commitlock.DefaultLease - time.Minute)
	again := ask()
	if again.Token != held.Token || again.Lease.AsDuration() != commitlock.DefaultLease || again.Left.AsDuration() != time.Minute {
		t.Errorf("asked again it holds %v, want a minute of the lease to be left", again)
	}
	v, err := d.s.Look(project.Lock, &loomv1.Query{})
	if err != nil || v.Locks[0].Holder.Lease != nil || v.Locks[0].Holder.Left != nil {
		t.Errorf("the lock keeps what only its holder is told: %v, %v", v, err)
	}
}

func TestWF12_ALockAndAnAttemptEndByJournalTime(t *testing.T) {
	d := newDesk(t)
	d.toApproval("p1")
	d.approve()
	b, who := d.claim("engineering-manager")
	d.ok(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: b.Attempt.Id, Holder: who}}})
	for range 20 {
		at, ok := d.s.Next()
		if !ok {
			break
		}
		d.now = at
		d.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
	}
	if a := d.inbox(); a.Kind != loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
		t.Errorf("after the attempt timed out the inbox has %v, want an escalation", a)
	}
	v, err := d.s.Look(project.Lock, &loomv1.Query{})
	if err != nil || v.Locks[0].Holder != nil {
		t.Errorf("lock after its holder slept: %v, %v, want it free", v, err)
	}
}

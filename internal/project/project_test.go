package project_test

import (
	"crypto/ed25519"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/project"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// desk drives a project's state as a deployment would, and checks at every step
// that a replay from nothing gives the same state.
type desk struct {
	t      *testing.T
	cfg    project.Config
	key    ed25519.PrivateKey
	s      *project.State
	events []*loomv1.Event
	now    time.Time
	nonce  int
}

func newDesk(t *testing.T) *desk {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, key: key, now: noon, cfg: project.Config{ID: "shop", Deployment: "dp-1", Epoch: 1, CEO: public}}
	d.s = project.New(d.cfg)
	d.ok(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main"},
	}}})
	def, _ := processes.Builtin(roles.Builtin()).Get(project.AutoBug)
	d.ok(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: def}}})
	return d
}

// do decides a command and compares the state with a replay.
func (d *desk) do(cmd *loomv1.Command) (*loomv1.Answer, error) {
	d.t.Helper()
	cmd.Project = "shop"
	if cmd.Actor == nil {
		cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "h1"}
	}
	events, answer, err := d.s.Do(d.now, cmd)
	if err != nil {
		d.t.Fatalf("Do(%T): %v", cmd.Body, err)
	}
	d.events = append(d.events, events...)
	again := project.New(d.cfg)
	for _, e := range d.events {
		wire, err := proto.Marshal(e)
		if err != nil {
			d.t.Fatal(err)
		}
		read := &loomv1.Event{}
		if err := proto.Unmarshal(wire, read); err != nil {
			d.t.Fatal(err)
		}
		if err := again.Apply(read); err != nil {
			d.t.Fatalf("replay: %v", err)
		}
	}
	if again.Hash() != d.s.Hash() {
		d.t.Fatalf("after %T a replay of %d events gives another state", cmd.Body, len(d.events))
	}
	return answer, fault.FromProto(answer.GetError())
}

func (d *desk) ok(cmd *loomv1.Command) *loomv1.Answer {
	d.t.Helper()
	answer, err := d.do(cmd)
	if err != nil {
		d.t.Fatalf("%T: %v", cmd.Body, err)
	}
	return answer
}

func (d *desk) report() *loomv1.SubmitReply {
	d.t.Helper()
	return d.ok(&loomv1.Command{Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: &loomv1.ErrorReport{
		Service: "checkout", Status: 500, Kind: "panic", Message: "total 4999 is wrong", Stack: "cart.Total\n\tcart.go:12",
	}}}}).GetSubmit()
}

// claim takes the one queued assignment, which must be of this role.
func (d *desk) claim(role string) (*loomv1.Brief, *loomv1.Claimant) {
	d.t.Helper()
	queued := d.s.Queued()
	if len(queued) != 1 || queued[0].Role != role {
		d.t.Fatalf("queued %v, want one for %s", queued, role)
	}
	who := &loomv1.Claimant{Agent: role + "/1", Host: "h1", Epoch: 1}
	return d.ok(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
		Attempt: queued[0].Attempt, Generation: queued[0].Generation, Claimant: who,
	}}}).GetBrief(), who
}

func (d *desk) work(role string, out *loomv1.Outcome) *loomv1.Brief {
	d.t.Helper()
	b, who := d.claim(role)
	d.ok(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: out}}})
	return b
}

func outcome(status loomv1.OutcomeStatus, fields map[string]any) *loomv1.Outcome {
	f, err := structpb.NewStruct(fields)
	if err != nil {
		panic(err)
	}
	return &loomv1.Outcome{Status: status, Summary: "done", Fields: f}
}

const (
	success = loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS
	failed  = loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE
	more    = loomv1.OutcomeStatus_OUTCOME_STATUS_CONTINUE
)

func triaged() *loomv1.Outcome {
	return outcome(success, map[string]any{"severity": "high", "specialist": "backend-engineer", "check": "go test ./..."})
}

func proposed(digest string) *loomv1.Outcome {
	out := outcome(success, nil)
	out.Change = &loomv1.Change{Base: "b0", Commit: "w-" + digest, Tree: "t-" + digest, PatchDigest: digest, Files: []*loomv1.ChangedFile{{Path: "cart.go", Status: "modified"}}}
	return out
}

func candidate(digest string, token uint64) *loomv1.Outcome {
	out := outcome(success, map[string]any{"fault": ""})
	out.Candidate = &loomv1.Candidate{Commit: "c-" + digest, Tree: "t", Base: "b0", PatchDigest: digest, Token: token}
	return out
}

func verified(commit string, passed bool) *loomv1.Outcome {
	out := outcome(success, map[string]any{"fault": ""})
	if !passed {
		out = outcome(failed, map[string]any{"fault": "change"})
	}
	out.Checks = []*loomv1.CheckRun{{Command: "go test ./...", Passed: passed, Commit: commit}}
	return out
}

func landed(commit string) *loomv1.Outcome {
	out := outcome(success, map[string]any{"fault": ""})
	out.Landing = &loomv1.Landing{Commit: commit, Ref: "refs/heads/main", Target: "main"}
	return out
}

// inbox returns the one open approval.
func (d *desk) inbox() *loomv1.Approval {
	d.t.Helper()
	v, err := d.s.Look(project.Inbox, &loomv1.Query{})
	if err != nil || len(v.Approvals) != 1 {
		d.t.Fatalf("inbox: %v, %v, want one approval", v.GetApprovals(), err)
	}
	return v.Approvals[0]
}

// sign signs an answer to a, after edit had its way with the command.
func (d *desk) sign(a *loomv1.Approval, decision loomv1.ApprovalDecision, edit func(*loomv1.CeoCommand)) *loomv1.SignedCommand {
	d.t.Helper()
	d.nonce++
	cmd := &loomv1.CeoCommand{
		Deployment: "dp-1", Project: "shop", Nonce: time.Duration(d.nonce).String(),
		IssuedAt: timestamppb.New(d.now), NotAfter: timestamppb.New(d.now.Add(time.Minute)),
		Verb: &loomv1.CeoCommand_Decide{Decide: &loomv1.DecideApproval{Approval: a.Id, Digest: a.Digest, Decision: decision}},
	}
	if edit != nil {
		edit(cmd)
	}
	payload, err := proto.Marshal(cmd)
	if err != nil {
		d.t.Fatal(err)
	}
	return &loomv1.SignedCommand{Payload: payload, PublicKey: "U", Signature: ed25519.Sign(d.key, project.SignedBytes(payload))}
}

func (d *desk) present(kind loomv1.IdentityKind, c *loomv1.SignedCommand) error {
	d.t.Helper()
	_, err := d.do(&loomv1.Command{Actor: &loomv1.Identity{Kind: kind, Name: "somebody"}, Body: &loomv1.Command_Signed{Signed: c}})
	return err
}

const ceo = loomv1.IdentityKind_IDENTITY_KIND_CEO

func (d *desk) approve() {
	d.t.Helper()
	if err := d.present(ceo, d.sign(d.inbox(), loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, nil)); err != nil {
		d.t.Fatalf("approve: %v", err)
	}
}

func (d *desk) status(bead string) string {
	d.t.Helper()
	v, err := d.s.Look(project.Beads, &loomv1.Query{Id: bead})
	if err != nil {
		d.t.Fatal(err)
	}
	return project.Word(v.Beads[0].Status)
}

// toApproval brings a new bug to the CEO.
func (d *desk) toApproval(digest string) string {
	d.t.Helper()
	bead := d.report().Bead
	d.work("qa-engineer", triaged())
	d.work("backend-engineer", outcome(more, nil))
	d.work("backend-engineer", proposed(digest))
	return bead
}

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

// grant acquires and releases the commit lock for the attempt that is queued,
// as its agent would, and returns the token.
func (d *desk) grant() uint64 {
	d.t.Helper()
	b, who := d.claim("engineering-manager")
	lock := d.ok(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: b.Attempt.Id, Holder: who}}}).GetLock()
	if lock.GetToken() == 0 {
		d.t.Fatalf("lock not granted: %v", lock)
	}
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: lock.Token}}})
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: b.Attempt.Id, Claimant: who, Reason: "test"}}})
	return lock.Token
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
		{"not an option", ceo, func(c *loomv1.CeoCommand) {
			c.GetDecide().Decision = loomv1.ApprovalDecision_APPROVAL_DECISION_SKIP
		}, nil, "approval/option"},
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
	submit := func(who, goal string) (*loomv1.Answer, error) {
		return d.do(&loomv1.Command{
			Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER, Name: who},
			Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: &loomv1.Submission{
				Goal: goal, IdempotencyKey: "k1",
			}}},
		})
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
	want := []string{"submit/empty-goal", "submit/unknown-process", "submit/past-deadline", "submit/negative-budget", "id/malformed"}
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
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: first.Token}}})
	q := d.s.Queued()
	if len(q) != 1 || q[0].Attempt != b2.Attempt.Id {
		t.Fatalf("queued after the release: %v, want %s", q, b2.Attempt.Id)
	}
	if _, err := d.do(&loomv1.Command{Body: &loomv1.Command_RenewLock{RenewLock: &loomv1.RenewLock{Token: first.Token}}}); fault.Code(err) != "lock/stale" {
		t.Errorf("renewal with an old token: %v, want lock/stale", err)
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

// Another agent that goes on with an attempt repeats the call; it adds nothing.
func TestACT04_ADecisionThatIsLoggedAgainIsTheSameOne(t *testing.T) {
	d := newDesk(t)
	d.report()
	log := func(agent string) string {
		return d.ok(&loomv1.Command{
			Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: agent},
			Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{Request: "shop-1-x1-a1/c1-1", Node: &loomv1.DecisionNode{
				Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Title: "mend it", Bead: "shop-1", Execution: "shop-1-x1",
			}}},
		}).GetDecision().GetId()
	}
	if first, again := log("qa-engineer/1@h1"), log("qa-engineer/2@h1"); first != again {
		t.Errorf("one call became two decisions, %s and %s", first, again)
	}
}

// What was approved for one branch does not land on another.
func TestP09_AProjectStaysWhereItsWorkWasApprovedFor(t *testing.T) {
	d := newDesk(t)
	move := &loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "feature"},
	}}}
	d.toApproval("p1")
	if _, err := d.do(move); fault.Code(err) != "project/conflict" {
		t.Errorf("another branch while a change waits for approval: %v, want project/conflict", err)
	}
	if err := d.present(ceo, d.sign(d.inbox(), loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT, nil)); err != nil {
		t.Fatal(err)
	}
	d.ok(move)
}

// A command whose facts could not be made durable is refused before there are any.
func TestWF10_AnOutcomeThatOutgrowsABatchIsRefused(t *testing.T) {
	d := newDesk(t)
	d.report()
	d.work("qa-engineer", triaged())
	b, who := d.claim("backend-engineer")
	out := proposed("p1")
	for range 5000 {
		out.Change.Files = append(out.Change.Files, &loomv1.ChangedFile{Path: "internal/some/package/of/some/length/file.go", Status: "modified"})
	}
	answer := &loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: b.Attempt.Id, Claimant: who, Outcome: out}}}
	if _, err := d.do(answer); fault.Code(err) != "outcome/invalid" {
		t.Errorf("an outcome of %d bytes: %v, want outcome/invalid", proto.Size(out), err)
	}
}

// A list is not a dump: a hundred large beads fit into one answer.
func TestSUB06_AListLeavesOutWhatIsLarge(t *testing.T) {
	d := newDesk(t)
	large := make([]byte, project.MaxDescription)
	for i := range large {
		large[i] = 'x'
	}
	for range 100 {
		if _, _, err := d.s.Do(d.now, &loomv1.Command{Project: "shop", Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{
			Submission: &loomv1.Submission{Goal: "large", Description: string(large)},
		}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range []project.View{project.Beads, project.Executions} {
		list, err := d.s.Look(v, &loomv1.Query{})
		if err != nil || proto.Size(list) > 256<<10 {
			t.Errorf("list of %ss: %d bytes, %v", v, proto.Size(list), err)
		}
	}
	one, err := d.s.Look(project.Beads, &loomv1.Query{Id: "shop-7"})
	if err != nil || len(one.Beads[0].Description) != project.MaxDescription {
		t.Errorf("one bead: %v, want its whole description", err)
	}
}

// A node that named a wrong check can name another; the project's stay.
func TestBYD12_ANodesNewestWordOnChecksCounts(t *testing.T) {
	d := newDesk(t)
	d.ok(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main", Checks: []string{"make lint"}},
	}}})
	d.report()
	name := func(check string) {
		d.work("qa-engineer", outcome(success, map[string]any{"severity": "high", "specialist": "backend-engineer", "check": check}))
	}
	want := func(checks ...string) {
		t.Helper()
		v, err := d.s.Look(project.Executions, &loomv1.Query{Id: "shop-1"})
		if err != nil || !slices.Equal(v.Executions[0].Checks, checks) {
			t.Errorf("checks %q, %v, want %q", v.GetExecutions()[0].GetChecks(), err, checks)
		}
	}
	name("gp test ./...")
	want("make lint", "gp test ./...")
	for range 5 {
		for len(d.s.Queued()) == 0 { // the backoff before another attempt
			d.now, _ = d.s.Next()
			d.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
		}
		d.work("backend-engineer", outcome(failed, nil))
	}
	if err := d.present(ceo, d.sign(d.inbox(), loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES, nil)); err != nil {
		t.Fatal(err)
	}
	name("go test ./...")
	want("make lint", "go test ./...")
}

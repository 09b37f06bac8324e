package project_test

import (
	"crypto/ed25519"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/format"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/workflow"
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
	light  bool // compare with a replay at restarts alone
}

// newer is a build in which some kinds of events are new.
var newer = format.Build{Reads: 2, Kinds: map[string]uint32{"landing-settled": 2, "tools-trusted": 2}}

func newDesk(t *testing.T) *desk {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, key: key, now: noon, cfg: project.Config{ID: "shop", Deployment: "dp-1", Epoch: 1, CEO: public, Compile: compile, Format: newer}}
	d.s = project.New(d.cfg)
	d.ok(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main"},
	}}})
	def, _ := processes.Builtin(roles.Builtin()).Get(project.AutoBug)
	d.ok(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: def}}})
	return d
}

// compiled has what was compiled before: that takes longer than most tests.
var compiled sync.Map

func compile(def *loomv1.Definition) (*workflow.Compiled, error) {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(def)
	if err != nil {
		return nil, err
	}
	if c, ok := compiled.Load(string(data)); ok {
		return c.(*workflow.Compiled), nil
	}
	c, err := workflow.Compile(def)
	if err == nil {
		compiled.Store(string(data), c)
	}
	return c, err
}

// do decides a command and compares the state with a replay.
func (d *desk) do(cmd *loomv1.Command) (*loomv1.Answer, error) {
	d.t.Helper()
	cmd.Project = "shop"
	if cmd.Actor == nil {
		cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "ann"}
	}
	d.s.RestAll()
	events, answer, err := d.s.Do(d.now, cmd)
	if err != nil {
		d.t.Fatalf("Do(%T): %v", cmd.Body, err)
	}
	d.events = append(d.events, events...)
	if d.light {
		return answer, fault.FromProto(answer.GetError())
	}
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
	return &loomv1.SignedCommand{Payload: payload, PublicKey: "U", Signature: ed25519.Sign(d.key, keyring.SignedBytes(payload))}
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

package projection_test

import (
	"crypto/ed25519"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/keyring"
	core "github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow/workflowtest"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

const (
	success = loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS
	failure = loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE
	more    = loomv1.OutcomeStatus_OUTCOME_STATUS_CONTINUE
	approve = loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
)

// player drives the cores of a project as a deployment would, and keeps what
// they emit: the journals that come of it are as real ones are.
type player struct {
	t      testing.TB
	r      *rand.Rand
	id     string
	key    ed25519.PrivateKey
	s      *core.State
	now    time.Time
	serial int
	events []*loomv1.Event
	cuts   []int    // ends of batches: after some commands
	newest uint64   // token of the commit lock
	sloppy bool     // commits are made in all ways that go wrong
	asleep []func() // answers of agents that come late
}

func newPlayer(t testing.TB, r *rand.Rand, id string) *player {
	t.Helper()
	p := &player{t: t, r: r, id: id, key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), now: noon}
	p.s = core.New(core.Config{ID: id, Deployment: "dp-1", Epoch: 1, CEO: p.key.Public().(ed25519.PublicKey)})
	p.register(nil)
	bug, _ := processes.Builtin(roles.Builtin()).Get(core.AutoBug)
	p.store(bug)
	return p
}

func (p *player) register(g *loomv1.Governor) {
	p.do(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: p.id, Repository: "/src/" + p.id, TargetBranch: "main", DefaultProcess: core.AutoBug, Governor: g},
	}}})
}

func (p *player) store(d *loomv1.Definition) {
	p.do(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: d}}})
}

// do gives a command and returns the answer; a refusal is one, too.
func (p *player) do(cmd *loomv1.Command) *loomv1.Answer {
	p.t.Helper()
	if cmd.Actor == nil {
		cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "h1"}
	}
	cmd.Project = p.id
	events, answer, err := p.s.Do(p.now, cmd)
	if err != nil {
		p.t.Fatalf("Do(%T): %v", cmd.Body, err)
	}
	for _, e := range events { // what is in a journal is not what the core works on
		p.events = append(p.events, proto.CloneOf(e))
	}
	return answer
}

// commit ends a batch.
func (p *player) commit() {
	if n := len(p.events); n > 0 && (len(p.cuts) == 0 || p.cuts[len(p.cuts)-1] < n) {
		p.cuts = append(p.cuts, n)
	}
}

// journal returns what was played, in the batches that were committed.
func (p *player) journal(partition uint32) journal {
	p.commit()
	var j journal
	from := 0
	for _, to := range p.cuts {
		j = append(j, &loomv1.Batch{Partition: partition, Epoch: 1, Events: p.events[from:to]})
		from = to
	}
	chain(j)
	return j
}

func (p *player) report() {
	p.serial++
	p.reportOf(p.serial)
}

func (p *player) reportOf(n int) {
	p.do(&loomv1.Command{Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: &loomv1.ErrorReport{
		Service: "checkout", Status: 500, Kind: "panic", Message: "total is wrong in " + letters(n),
	}}}})
}

// letters spells a number: digits and what looks like an address are no part of
// a fingerprint.
func letters(n int) string {
	s := ""
	for ; n > 0; n /= 20 {
		s += string(rune('g' + n%20))
	}
	return s
}

// claim takes a queued assignment.
func (p *player) claim(a *loomv1.Assignment) (*loomv1.Brief, *loomv1.Claimant) {
	who := &loomv1.Claimant{Agent: fmt.Sprintf("%s/%d", a.Role, 1+p.r.IntN(3)), Host: "h1", Epoch: 1}
	return p.do(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
		Attempt: a.Attempt, Generation: a.Generation, Claimant: who,
	}}}).GetBrief(), who
}

func (p *player) answer(attempt string, who *loomv1.Claimant, out *loomv1.Outcome) {
	p.do(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: attempt, Claimant: who, Outcome: out}}})
}

// good is an outcome that counts for the node.
func (p *player) good(b *loomv1.Brief) *loomv1.Outcome {
	x, out := b.GetExecution(), &loomv1.Outcome{Status: success, Summary: b.GetNode().GetId() + " is done"}
	fields := map[string]any{}
	for name, kind := range b.GetNode().GetOutcome() {
		fields[name] = map[string]any{"string": "backend-engineer", "int": 3, "bool": true, "double": 0.5}[kind]
	}
	if _, ok := fields["severity"]; ok {
		fields["severity"] = []string{"low", "medium", "high"}[p.r.IntN(3)]
	}
	out.Fields, _ = structpb.NewStruct(fields)
	p.serial++
	name := fmt.Sprintf("%s-%d", p.id, p.serial)
	switch b.GetNode().GetKind() {
	case loomv1.NodeKind_NODE_KIND_COMMIT:
		out.Candidate = p.candidate(b, name)
	case loomv1.NodeKind_NODE_KIND_VERIFY:
		for _, c := range x.GetChecks() {
			out.Checks = append(out.Checks, &loomv1.CheckRun{Command: c, Passed: true, Commit: x.GetCandidate().GetCommit()})
		}
	case loomv1.NodeKind_NODE_KIND_LAND:
		out.Landing = &loomv1.Landing{Commit: x.GetCandidate().GetCommit(), Ref: "refs/heads/main", Target: "main", Token: p.lock(b)}
	default:
		out.Change = &loomv1.Change{Base: "b0", Commit: "w-" + name, Tree: "t-" + name, PatchDigest: name, Files: []*loomv1.ChangedFile{{Path: name + ".go", Status: "modified"}}}
	}
	return out
}

// candidate is the commit that an agent makes.
func (p *player) candidate(b *loomv1.Brief, name string) *loomv1.Candidate {
	const by = "Loom agent <agent@agents.loom.invalid>"
	c := &loomv1.Candidate{
		Commit: "c-" + name, Tree: "t", Base: "b0", PatchDigest: b.GetExecution().GetApproved().GetPatchDigest(), Token: p.lock(b),
		Author: by, ExpectedAuthor: by, Committer: by, ExpectedCommitter: by, Hooks: []*loomv1.HookResult{{Name: "pre-commit"}},
	}
	if !p.sloppy {
		return c
	}
	switch p.r.IntN(8) {
	case 0:
		c.Author = "Somebody <s@example.com>"
	case 1:
		c.Committer = ""
	case 2:
		c.Author, c.ExpectedAuthor = "", ""
	}
	switch p.r.IntN(5) {
	case 0:
		c.Hooks = nil
	case 1:
		c.Hooks = append(c.Hooks, &loomv1.HookResult{Name: "commit-msg", Skipped: true})
	case 2:
		c.Hooks[0].ExitCode = 1
	}
	if p.r.IntN(10) == 0 {
		c.Token = uint64(p.r.IntN(2))
	}
	return c
}

// lock asks for the commit lock and returns the token, or where another has it the
// newest that was granted, which is that one's.
func (p *player) lock(b *loomv1.Brief) uint64 {
	claim := p.do(&loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{
		Request: b.GetAttempt().GetId(), Execution: b.GetExecution().GetId(), Holder: b.GetAttempt().GetClaimant(),
	}}}).GetLock()
	p.newest = max(p.newest, claim.GetToken())
	return p.newest
}

func (p *player) inbox() []*loomv1.Approval {
	v, err := p.s.Look(core.Inbox, &loomv1.Query{})
	if err != nil {
		p.t.Fatal(err)
	}
	return v.GetApprovals()
}

// sign gives a command of the CEO, signed.
func (p *player) sign(cmd *loomv1.CeoCommand) {
	p.serial++
	cmd.Deployment, cmd.Project, cmd.Nonce = "dp-1", p.id, fmt.Sprint("nonce-", p.serial)
	cmd.IssuedAt, cmd.NotAfter = timestamppb.New(p.now), timestamppb.New(p.now.Add(time.Minute))
	payload, err := proto.Marshal(cmd)
	if err != nil {
		p.t.Fatal(err)
	}
	p.do(&loomv1.Command{Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO, Name: "ceo"}, Body: &loomv1.Command_Signed{
		Signed: &loomv1.SignedCommand{Payload: payload, PublicKey: "U", Signature: ed25519.Sign(p.key, keyring.SignedBytes(payload))},
	}})
}

func (p *player) decide(a *loomv1.Approval, d loomv1.ApprovalDecision) {
	p.sign(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Decide{Decide: &loomv1.DecideApproval{Approval: a.Id, Digest: a.Digest, Decision: d}}})
}

// work plays the bug workflow to its end for that many reports, so many of them
// at once, with agents that answer at once: triage, two cycles of
// investigation, approval, commit, verification, landing. Eight commands share
// a batch.
func (p *player) work(reports, atOnce int) {
	p.register(&loomv1.Governor{Reported: 1e6, SelfFiled: 1e6})
	commands := 0
	step := func() {
		if commands++; commands%8 == 0 {
			p.commit()
		}
		p.now = p.now.Add(200 * time.Microsecond)
	}
	for reports > 0 || len(p.s.Queued()) > 0 || len(p.inbox()) > 0 {
		v, err := p.s.Look(core.Executions, &loomv1.Query{Filter: "running", Limit: 1000})
		if err != nil {
			p.t.Fatal(err)
		}
		for range min(reports, atOnce-len(v.GetExecutions())) {
			p.report()
			reports--
			step()
		}
		for _, a := range p.inbox() {
			p.decide(a, approve)
			step()
		}
		for _, a := range p.s.Queued() {
			b, who := p.claim(a)
			step()
			out := p.good(b)
			if b.GetNode().GetMultiDispatch() && b.GetAttempt().GetNumber() == 1 {
				out = &loomv1.Outcome{Status: more, Summary: "one more cycle", Notes: "look at the cart"}
			}
			p.answer(b.GetAttempt().GetId(), who, out)
			step()
		}
	}
}

// wander does anything that can be done, so many times.
func (p *player) wander(steps int) {
	p.sloppy = true
	for i := range 2 {
		d := workflowtest.Rich(p.r, core.AutoBug)
		d.Name = fmt.Sprint("random-", i)
		p.store(d)
	}
	p.do(&loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{Host: "h1", Roles: &loomv1.HostRoles{
		Epoch: 1, Agents: map[string]uint32{"qa-engineer": 1, "backend-engineer": 1, "engineering-manager": 1, "implementer": 1},
	}}}})
	for range steps {
		p.now = p.now.Add(time.Duration(p.r.IntN(90_000)) * time.Millisecond)
		p.anything()
		if p.r.IntN(3) == 0 {
			p.commit()
		}
	}
}

func (p *player) anything() {
	queued, open := p.s.Queued(), p.inbox()
	switch p.r.IntN(24) {
	case 0, 1:
		p.reportOf(1 + p.r.IntN(12))
	case 2, 3:
		p.submit()
	case 4, 5, 6:
		if at, ok := p.s.Next(); ok && at.After(p.now) {
			p.now = at
		}
		p.do(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
	case 7:
		p.override()
	case 8:
		p.pause()
	case 9:
		p.change()
	case 10, 11, 12:
		if len(open) > 0 {
			a := open[p.r.IntN(len(open))]
			p.decide(a, a.GetOptions()[p.r.IntN(len(a.GetOptions()))])
		}
	case 13:
		if len(p.asleep) > 0 {
			p.asleep[0]()
			p.asleep = p.asleep[1:]
		}
	default:
		if len(queued) > 0 {
			p.attempt(queued[p.r.IntN(len(queued))])
		}
	}
}

func (p *player) submit() {
	p.serial++
	s := &loomv1.Submission{Goal: fmt.Sprint("goal ", p.serial), Process: fmt.Sprint("random-", p.r.IntN(2)), IdempotencyKey: fmt.Sprint("k", p.r.IntN(20))}
	if p.r.IntN(4) == 0 {
		s.BlockedBy = []string{p.anyBead()}
	}
	if p.r.IntN(3) == 0 {
		s.Budget = &loomv1.Budget{Tokens: 100, WallSeconds: 600}
	}
	p.do(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: s}}})
}

// attempt takes an attempt and answers it, gives it back, or lets it lie.
func (p *player) attempt(a *loomv1.Assignment) {
	b, who := p.claim(a)
	if b == nil || p.r.IntN(12) == 0 {
		return
	}
	id := b.GetAttempt().GetId()
	p.serial++
	if p.r.IntN(10) == 0 {
		p.do(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: id, Claimant: who, Reason: "drained"}}})
		return
	}
	p.do(&loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{Attempt: id, Claimant: who, Facts: []*loomv1.Event{
		turn.StartedFact(&loomv1.TurnStarted{Model: "scripted:demo"}),
		turn.AnsweredFact(&loomv1.ModelAnswer{Model: "scripted:demo", Scripted: true, Request: fmt.Sprintf("%064d", p.serial), Usage: &loomv1.Usage{
			InputTokens: uint64(p.r.IntN(50)), OutputTokens: uint64(p.r.IntN(50)), CostKnown: true, CostMicroUsd: uint64(p.r.IntN(9)),
		}}),
	}}}})
	out := p.good(b)
	if (out.GetCandidate() != nil || out.GetLanding() != nil) && p.r.IntN(4) == 0 {
		p.asleep = append(p.asleep, func() { p.answer(id, who, out) })
		return
	}
	switch p.r.IntN(6) {
	case 0:
		p.answer(id, who, &loomv1.Outcome{Status: failure, Summary: "no", Code: "verify/failed", Fields: out.GetFields()})
	case 1:
		p.answer(id, who, &loomv1.Outcome{Status: more, Notes: "more"})
	default:
		p.answer(id, who, out)
	}
}

// anyBead names a bead that was filed, or will be soon.
func (p *player) anyBead() string {
	return fmt.Sprintf("%s-%d", p.id, 1+p.r.IntN(1+int(p.s.Snapshot().GetBeadCount())))
}

// override uses a verb of the CEO, or of an operator, on an execution of any
// state.
func (p *player) override() {
	all := p.s.Snapshot().GetExecutions()
	ids := slices.Sorted(maps.Keys(all))
	if len(ids) == 0 {
		return
	}
	id := ids[p.r.IntN(len(ids))]
	nodes := append(slices.Sorted(maps.Keys(all[id].GetNodes())), "end")
	node := nodes[p.r.IntN(len(nodes))]
	switch p.r.IntN(3) {
	case 0:
		p.sign(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Move{Move: &loomv1.MoveExecution{Execution: id, Node: node, Reason: "elsewhere"}}})
	case 1:
		p.sign(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Close{Close: &loomv1.CloseExecution{Execution: id, Reason: "enough"}}})
	case 2:
		p.serial++
		p.do(&loomv1.Command{Body: &loomv1.Command_ForkExecution{ForkExecution: &loomv1.ForkExecution{Execution: id, Node: node, Reason: "try", Request: fmt.Sprint("f", p.serial)}}})
	}
}

// pause pauses or resumes something.
func (p *player) pause() {
	scope, name := loomv1.PauseScope_PAUSE_SCOPE_PROJECT, ""
	switch p.r.IntN(3) {
	case 0:
		scope, name = loomv1.PauseScope_PAUSE_SCOPE_PROCESS, "random-0"
	case 1:
		scope, name = loomv1.PauseScope_PAUSE_SCOPE_EXECUTION, p.anyBead()+"-x1"
	}
	if p.r.IntN(3) == 0 {
		p.sign(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Pause{Pause: &loomv1.PauseWork{Scope: scope, Name: name, Reason: "wait"}}})
		return
	}
	p.sign(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Resume{Resume: &loomv1.ResumeWork{Scope: scope, Name: name, Reason: "go on"}}})
}

// change changes, closes or reopens a bead.
func (p *player) change() {
	id := p.anyBead()
	p.serial++
	switch p.r.IntN(3) {
	case 0:
		b := &loomv1.Bead{Id: id, Goal: fmt.Sprint("another ", p.serial), Priority: loomv1.Priority(1 + p.r.IntN(3)), BlockedBy: []string{p.anyBead()}}
		p.do(&loomv1.Command{Body: &loomv1.Command_UpdateBead{UpdateBead: &loomv1.UpdateBead{Bead: b, Fields: []string{"goal", "priority", "blocked_by"}[:1+p.r.IntN(3)], Reason: "r"}}})
	case 1:
		p.do(&loomv1.Command{Body: &loomv1.Command_CloseBead{CloseBead: &loomv1.CloseBead{Bead: id, Reason: "r"}}})
	case 2:
		p.do(&loomv1.Command{Body: &loomv1.Command_ReopenBead{ReopenBead: &loomv1.ReopenBead{Bead: id, Reason: "r", Request: fmt.Sprint("o", p.serial)}}})
	}
}

// TestPlayer: what is played is what was meant.
func TestPlayer(t *testing.T) {
	p := newPlayer(t, source(t, 1), "shop")
	p.work(7, 3)
	all := p.s.Snapshot().GetExecutions()
	for _, x := range all {
		if x.GetStatus() != loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED || x.GetLanding() == nil {
			t.Errorf("execution %s: %v %q, want it landed", x.GetId(), x.GetStatus(), x.GetReason())
		}
	}
	if len(all) != 7 {
		t.Errorf("%d executions, want 7", len(all))
	}
}

package project_test

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// twins are two states of one project that are given the same commands. The
// second one is started again from a snapshot now and then.
type twins struct {
	t      *rapid.T
	cfg    project.Config
	key    ed25519.PrivateKey
	one    *project.State
	two    *project.State
	now    time.Time
	events []*loomv1.Event
	nonce  int
	past   []*loomv1.SignedCommand
}

func newTwins(t *rapid.T) *twins {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	w := &twins{t: t, key: key, now: noon, cfg: project.Config{ID: "shop", Deployment: "dp-1", Epoch: 1, CEO: key.Public().(ed25519.PublicKey)}}
	w.one, w.two = project.New(w.cfg), project.New(w.cfg)
	w.do(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main", Grace: durationpb.New(30 * time.Second), DefaultProcess: "small"},
	}}})
	small := line("small", "1.0", task("one", "qa-engineer"), task("two", "project-manager"))
	small.Nodes[1].Timeout = durationpb.New(3 * time.Minute)
	ask := line("ask", "1.0", &loomv1.NodeDefinition{Id: "ok", Type: loomv1.NodeType_NODE_TYPE_APPROVAL, Role: "ceo"}, task("one", "qa-engineer"))
	for _, def := range []*loomv1.Definition{small, ask, line("outer", "1.0", part("in", "small"), part("again", "outer"))} {
		w.do(&loomv1.Command{Body: &loomv1.Command_StoreDefinition{StoreDefinition: &loomv1.StoreDefinition{Definition: def}}})
	}
	return w
}

// do gives both a command. They must decide the same, and neither may be at a
// loss.
func (w *twins) do(cmd *loomv1.Command) *loomv1.Answer {
	cmd.Project = "shop"
	if cmd.Actor == nil {
		cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "ann"}
	}
	w.one.RestAll() // and the other keeps all: nobody may tell them apart
	first, answer, err := w.one.Do(w.now, proto.CloneOf(cmd))
	if err != nil {
		w.t.Fatalf("Do(%T): %v", cmd.Body, err)
	}
	second, _, err := w.two.Do(w.now, proto.CloneOf(cmd))
	if err != nil {
		w.t.Fatalf("Do(%T) after a restart: %v", cmd.Body, err)
	}
	w.same(first, second)
	w.events = append(w.events, first...)
	return answer
}

func (w *twins) same(first, second []*loomv1.Event) {
	if !slices.EqualFunc(first, second, func(a, b *loomv1.Event) bool { return proto.Equal(a, b) }) {
		w.t.Fatalf("a restart makes a difference:\n%v\nafter a restart:\n%v", first, second)
	}
}

// pass lets time go by. Each ticks when it wants to.
func (w *twins) pass(d time.Duration) {
	end := w.now.Add(d)
	run := func(s *project.State) (events []*loomv1.Event) {
		at := w.now
		for range 10_000 {
			next, ok := s.Next()
			if !ok || next.After(end) {
				return events
			}
			if next.After(at) {
				at = next
			}
			more, _, err := s.Do(at, &loomv1.Command{Project: "shop", Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
			if err != nil {
				w.t.Fatalf("tick: %v", err)
			}
			events = append(events, more...)
		}
		w.t.Fatal("timers never come to rest")
		return nil
	}
	w.one.RestAll()
	first, second := run(w.one), run(w.two)
	w.same(first, second)
	w.events = append(w.events, first...)
	w.now = end
}

func (w *twins) sign(verb func(*loomv1.CeoCommand)) {
	w.nonce++
	cmd := &loomv1.CeoCommand{
		Deployment: "dp-1", Project: "shop", Nonce: fmt.Sprint("n", w.nonce),
		IssuedAt: timestamppb.New(w.now), NotAfter: timestamppb.New(w.now.Add(time.Hour)),
	}
	verb(cmd)
	payload, err := proto.Marshal(cmd)
	if err != nil {
		w.t.Fatal(err)
	}
	w.present(&loomv1.SignedCommand{Payload: payload, PublicKey: "U", Signature: ed25519.Sign(w.key, keyring.SignedBytes(payload))})
}

func (w *twins) present(c *loomv1.SignedCommand) {
	w.past = append(w.past, c)
	w.do(&loomv1.Command{Actor: &loomv1.Identity{Kind: ceo}, Body: &loomv1.Command_Signed{Signed: c}})
}

func draw[T any](t *rapid.T, what string, from ...T) T { return rapid.SampledFrom(from).Draw(t, what) }

// id draws an id of something, mostly of something that there is.
func (w *twins) id(t *rapid.T) string {
	return fmt.Sprintf("shop-%d", rapid.IntRange(1, 12).Draw(t, "bead"))
}

func (w *twins) name(t *rapid.T, scope loomv1.PauseScope) string {
	switch scope {
	case oneExecution:
		return w.id(t) + "-x1"
	case oneProcess:
		return draw(t, "process", "small", "ask", "outer", "none")
	}
	return ""
}

// steps are what may happen. Time stands still but in "wait".
func (w *twins) steps() map[string]func(*rapid.T) {
	scope := func(t *rapid.T) loomv1.PauseScope { return draw(t, "scope", oneExecution, oneProcess, allWork) }
	return map[string]func(*rapid.T){
		"": func(*rapid.T) { w.check() },
		"file": func(t *rapid.T) {
			sub := &loomv1.Submission{Goal: "work", Process: draw(t, "process", "small", "small", "ask", "outer")}
			switch rapid.IntRange(0, 5).Draw(t, "limit") {
			case 0:
				sub.Budget = &loomv1.Budget{WallSeconds: 90}
			case 1:
				sub.Deadline = timestamppb.New(w.now.Add(2 * time.Minute))
			case 2:
				sub.BlockedBy = []string{w.id(t)}
			}
			w.do(&loomv1.Command{Body: &loomv1.Command_FileBead{FileBead: &loomv1.FileBead{Submission: sub}}})
		},
		"work": func(t *rapid.T) {
			who := agentOf(draw(t, "role", "qa-engineer", "project-manager"), rapid.IntRange(1, 3).Draw(t, "agent"))
			b := w.do(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: "shop-1-x1-a1", Generation: 1, Claimant: who, Any: true}}}).GetBrief()
			if b == nil || rapid.IntRange(0, 3).Draw(t, "keeps it") == 0 {
				return
			}
			if rapid.IntRange(0, 3).Draw(t, "is limited") == 0 {
				w.do(parksUntil(b, who, w.now.Add(time.Duration(rapid.IntRange(-1, 900).Draw(t, "seconds"))*time.Second)))
				return
			}
			w.do(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{
				Attempt: b.Attempt.Id, Claimant: who, Outcome: outcome(draw(t, "status", success, success, failed), nil),
			}}})
		},
		"decide": func(t *rapid.T) {
			v, err := w.one.Look(project.Inbox, &loomv1.Query{})
			if err != nil || len(v.Approvals) == 0 {
				return
			}
			a := draw(t, "approval", v.Approvals...)
			decision := loomv1.ApprovalDecision(rapid.IntRange(0, 6).Draw(t, "decision"))
			w.sign(func(c *loomv1.CeoCommand) {
				c.Verb = &loomv1.CeoCommand_Decide{Decide: &loomv1.DecideApproval{Approval: a.Id, Digest: a.Digest, Decision: decision}}
			})
		},
		"pause":  func(t *rapid.T) { s := scope(t); w.sign(pauses(s, w.name(t, s), "r")) },
		"resume": func(t *rapid.T) { s := scope(t); w.sign(resumes(s, w.name(t, s), "r")) },
		"resume all": func(*rapid.T) {
			p := w.one.Snapshot()
			for _, pause := range p.Pauses {
				w.sign(resumes(pause.Scope, pause.Name, "r"))
			}
		},
		"move": func(t *rapid.T) {
			w.sign(moves(w.id(t)+"-x1", draw(t, "node", "start", "one", "two", "ok", "in", "end", "no"), "r"))
		},
		"close": func(t *rapid.T) { w.sign(closes(w.id(t)+"-x1", "r")) },
		"define": func(t *rapid.T) {
			v := fmt.Sprintf("1.%d", rapid.IntRange(0, 3).Draw(t, "version"))
			w.sign(defines(line("small", v, task("one", "qa-engineer")), "r"))
		},
		"present again": func(t *rapid.T) {
			if len(w.past) > 0 {
				w.present(draw(t, "command", w.past...))
			}
		},
		"link": func(t *rapid.T) {
			w.do(&loomv1.Command{Body: &loomv1.Command_UpdateBead{UpdateBead: &loomv1.UpdateBead{
				Bead: &loomv1.Bead{Id: w.id(t), BlockedBy: draw(t, "on", nil, []string{w.id(t)})}, Fields: []string{"blocked_by"}, Reason: "r",
			}}})
		},
		"fork": func(t *rapid.T) {
			w.nonce++
			w.do(forks(&loomv1.ForkExecution{Execution: w.id(t) + "-x1", Node: draw(t, "node", "one", "two", "ok", "in"), Request: fmt.Sprint("f", w.nonce)}))
		},
		"reopen": func(t *rapid.T) {
			w.nonce++
			w.do(&loomv1.Command{Body: &loomv1.Command_ReopenBead{ReopenBead: &loomv1.ReopenBead{Bead: w.id(t), Reason: "r", Request: fmt.Sprint("o", w.nonce)}}})
		},
		"roles": func(t *rapid.T) {
			agents := draw(t, "agents", map[string]uint32{"qa-engineer": 1, "project-manager": 2}, map[string]uint32{"qa-engineer": 1}, nil)
			w.do(&loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{Host: draw(t, "host", "h1", "h2"), Roles: &loomv1.HostRoles{Epoch: 1, Agents: agents}}}})
		},
		"host starts again": func(*rapid.T) {
			w.do(&loomv1.Command{Body: &loomv1.Command_ReleaseHost{ReleaseHost: &loomv1.ReleaseHost{Host: "h1", Epoch: 2}}})
		},
		"wait": func(t *rapid.T) { w.pass(time.Duration(rapid.IntRange(0, 100).Draw(t, "seconds")) * time.Second) },
		"restart": func(*rapid.T) {
			s, err := project.Restore(w.cfg, w.two.Snapshot())
			if err != nil {
				w.t.Fatal(err)
			}
			w.two = s
		},
	}
}

// check wants what must always hold.
func (w *twins) check() {
	if w.one.Hash() != w.two.Hash() {
		w.t.Fatal("a restart makes another state")
	}
	p := w.one.Snapshot()
	for id, x := range p.Executions {
		if x.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING {
			if x.HeldSince != nil {
				w.t.Fatalf("%s has ended and is held", id)
			}
			continue
		}
		if parent := p.Executions[x.Parent]; x.Parent != "" && parent.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING {
			w.t.Fatalf("%s runs on after %s has ended", id, x.Parent)
		}
		if got, want := x.HeldSince != nil, mustHold(p, x); got != want {
			w.t.Fatalf("%s is held: %t, want %t", id, got, want)
		}
	}
}

// mustHold says what holds x, found by looking at everything.
func mustHold(p *loomv1.ProjectState, x *loomv1.Execution) bool {
	if x == nil {
		return false
	}
	b := p.Beads[x.Bead]
	hold := x.Paused != nil || x.Closing != nil || x.LimitApproval != "" || b.Status == loomv1.BeadStatus_BEAD_STATUS_BLOCKED
	for _, on := range b.BlockedBy {
		hold = hold || p.Beads[on].GetStatus() != loomv1.BeadStatus_BEAD_STATUS_CLOSED
	}
	for _, pause := range p.Pauses {
		hold = hold || pause.Scope == allWork || pause.Name == x.Definition
	}
	return hold || mustHold(p, p.Executions[x.Parent])
}

// TestWF12_ARestartChangesNothing lets random commands and time go by, and
// starts one of two again now and then: timers fire once, at the same moments,
// and what is held goes on in the same way.
func TestWF12_ARestartChangesNothing(t *testing.T) {
	longtest.Skip(t)
	rapid.Check(t, func(t *rapid.T) {
		w := newTwins(t)
		t.Repeat(w.steps())
		again := project.New(w.cfg)
		for _, e := range w.events {
			if err := again.Apply(proto.CloneOf(e)); err != nil {
				t.Fatalf("replay: %v", err)
			}
		}
		if again.Hash() != w.one.Hash() {
			t.Fatal("a replay gives another state")
		}
	})
}

package project_test

import (
	"crypto/ed25519"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/anymessage"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Whatever a command says, there is an answer: no panic, no state that a replay does not
// give, no error that is Loom's own. A stolen worker, and a person with the CEO's key,
// may send any; between them work goes on.
func TestSEC01_SUB03_AnyCommandHasAnAnswer(t *testing.T) {
	longtest.Skip(t)
	taken := map[string]int{}
	for seed := range uint64(150) {
		newCrowd(t, seed).play(60, taken)
		if t.Failed() {
			return
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(taken)) {
		t.Log(taken[kind], kind)
	}
}

// crowd is a project at work, and somebody who sends it anything.
type crowd struct {
	*desk
	seed uint64
	rand *rand.Rand
	held []*loomv1.Brief
	who  []*loomv1.Claimant
}

func newCrowd(t *testing.T, seed uint64) *crowd {
	c := &crowd{desk: newDesk(t), seed: seed, rand: rand.New(rand.NewPCG(seed, 1))}
	c.light = true
	c.report()
	return c
}

func (c *crowd) play(steps int, taken map[string]int) {
	var last *loomv1.Command
	defer func() {
		if r := recover(); r != nil {
			c.t.Fatalf("seed %d: %v after %v\n%s", c.seed, r, last, debug.Stack())
		}
	}()
	for range steps {
		if c.rand.IntN(3) == 0 {
			c.goOn()
		}
		last = c.command()
		_, err := c.do(last)
		switch fault.Code(err) {
		case "":
			taken[fmt.Sprintf("%T", last.Body)]++
		case "internal/error":
			c.t.Fatalf("seed %d: %v: %v", c.seed, last, err)
		}
		c.now = c.now.Add(time.Duration(c.rand.IntN(20)) * time.Second)
	}
	c.light = false
	c.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
}

// goOn does a step of the work itself.
func (c *crowd) goOn() {
	if queued := c.s.Queued(); len(queued) > 0 && c.rand.IntN(2) == 0 {
		q := queued[c.rand.IntN(len(queued))]
		who := &loomv1.Claimant{Agent: q.Role + "/1", Host: "h1", Epoch: 1}
		answer, err := c.do(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: q.Attempt, Generation: q.Generation, Claimant: who}}})
		if err == nil {
			c.held, c.who = append(c.held, answer.GetBrief()), append(c.who, who)
		}
		return
	}
	if v, err := c.s.Look(project.Inbox, &loomv1.Query{}); err == nil && len(v.Approvals) > 0 {
		_ = c.present(ceo, c.sign(v.Approvals[0], loomv1.ApprovalDecision(1+c.rand.IntN(2)), nil))
		return
	}
	if len(c.held) == 0 {
		_, _ = c.do(&loomv1.Command{Body: &loomv1.Command_FileError{FileError: &loomv1.FileError{Report: &loomv1.ErrorReport{Service: "cart", Kind: fmt.Sprint(len(c.events)), Message: "wrong"}}}})
		return
	}
	k := c.rand.IntN(len(c.held))
	out := []*loomv1.Outcome{triaged(), outcome(more, nil), outcome(failed, nil), proposed("p1"), candidate("p1", 1), verified("c-p1", true), landed("c-p1")}[c.rand.IntN(7)]
	_, _ = c.do(&loomv1.Command{Body: &loomv1.Command_AnswerAttempt{AnswerAttempt: &loomv1.AnswerAttempt{Attempt: c.held[k].GetAttempt().GetId(), Claimant: c.who[k], Outcome: out}}})
	if len(c.held) > 3 {
		c.held, c.who = c.held[1:], c.who[1:]
	}
}

// command returns any command, as it comes over the wire.
func (c *crowd) command() *loomv1.Command {
	m := anymessage.Maker{Rand: c.rand, Known: c.known(), Sound: c.sound()}
	cmd := &loomv1.Command{}
	for cmd.Body == nil {
		m.Fill(cmd)
		switch cmd.Body.(type) {
		case *loomv1.Command_Signed, *loomv1.Command_RegisterProject, *loomv1.Command_RemoveProject, nil:
			cmd.Body = nil
		}
	}
	kinds := []loomv1.IdentityKind{ceo, ceo, loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, loomv1.IdentityKind_IDENTITY_KIND_HOST, loomv1.IdentityKind_IDENTITY_KIND_WORKER, loomv1.IdentityKind_IDENTITY_KIND_AGENT}
	actor := &loomv1.Identity{Kind: kinds[c.rand.IntN(len(kinds))], Name: "h1"}
	if c.rand.IntN(5) == 0 {
		cmd.Body, actor.Kind = &loomv1.Command_Signed{Signed: c.order(m)}, ceo
	}
	read := &loomv1.Command{}
	if err := proto.Unmarshal(c.wire(cmd), read); err != nil {
		c.t.Fatal(err)
	}
	read.Actor = actor
	return read
}

// order returns anything that the CEO's key has signed.
func (c *crowd) order(m anymessage.Maker) *loomv1.SignedCommand {
	order := &loomv1.CeoCommand{}
	m.Fill(order)
	c.nonce++
	order.Deployment, order.Project, order.Nonce = "dp-1", "shop", fmt.Sprint(c.nonce)
	order.IssuedAt, order.NotAfter = timestamppb.New(c.now), timestamppb.New(c.now.Add(time.Minute))
	payload := c.wire(order)
	return &loomv1.SignedCommand{Payload: payload, PublicKey: "U", Signature: ed25519.Sign(c.key, keyring.SignedBytes(payload))}
}

func (c *crowd) wire(m proto.Message) []byte {
	wire, err := proto.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	return wire
}

// known are names that the state has, by the fields that they are for.
func (c *crowd) known() map[string][]string {
	known := map[string][]string{
		"project": {"shop"}, "bead": {"shop-1", "shop-2"}, "parent": {"shop-1"}, "execution": {"shop-1-x1", "shop-2-x1"}, "process": {project.AutoBug},
		"node": {"triage", "reproduce", "diagnose", "fix", "review", "commit", "verify", "land", "end"}, "role": {"lead", "qa-engineer", "backend-engineer"},
		"agent": {"lead/1", "backend-engineer/1"}, "host": {"h1", "h2"}, "type": {"decision", "observation", "risk"}, "status": {"open", "accepted"},
		"repository": {"/src/shop"}, "service": {"checkout"}, "reason": {"it must be"}, "title": {"a title"}, "goal": {"a goal"}, "text": {"a text"},
	}
	known["assignee"], known["to"], known["deployment"], known["summary"] = known["role"], slices.Concat(known["node"], known["role"]), []string{"dp-1"}, known["text"]
	known["id"] = slices.Concat(known["bead"], known["execution"])
	for _, e := range c.events {
		if id := e.GetDecisionAdded().GetNode().GetId(); id != "" {
			for _, field := range []string{"id", "from", "to", "decision", "ballot"} {
				known[field] = append(known[field], id)
			}
		}
		if id := e.GetApprovalRequested().GetApproval().GetId(); id != "" {
			known["approval"] = append(known["approval"], id)
		}
	}
	for _, b := range c.held {
		known["attempt"] = append(known["attempt"], b.GetAttempt().GetId())
		known["request"] = append(known["request"], b.GetAttempt().GetId())
	}
	return known
}

// sound are messages that the state would take.
func (c *crowd) sound() map[protoreflect.FullName][]proto.Message {
	sound := map[protoreflect.FullName][]proto.Message{}
	for _, m := range slices.Concat(messages(c.who), messages([]*loomv1.Outcome{triaged(), proposed("p2"), outcome(more, nil)})) {
		name := m.ProtoReflect().Descriptor().FullName()
		sound[name] = append(sound[name], m)
	}
	return sound
}

func messages[M proto.Message](list []M) (all []proto.Message) {
	for _, m := range list {
		all = append(all, m)
	}
	return all
}

// A pattern without a step makes no workflow, and nobody holds what is queued: not even
// who does not say who they are.
func TestSEC01_SUB03_WhatAnyCommandFound(t *testing.T) {
	d := newDesk(t)
	d.report()
	if _, err := d.do(opensSession(&loomv1.Pattern{Name: "naming"}, "")); fault.Code(err) != "intent/invalid" {
		t.Errorf("a session of a pattern without a step: %v, want intent/invalid", err)
	}
	ask := &loomv1.AskPermission{Attempt: d.s.Queued()[0].Attempt, Calls: []*loomv1.PermissionRequest{{Call: &loomv1.ToolCall{Id: "1", Tool: "shell"}, Ask: true}}}
	if _, err := d.do(&loomv1.Command{Body: &loomv1.Command_AskPermission{AskPermission: ask}}); fault.Code(err) != "attempt/claimed" {
		t.Errorf("a question about what nobody holds: %v, want attempt/claimed", err)
	}
}

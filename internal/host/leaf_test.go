package host_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/identity"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const qa = "qa-engineer"

// worker makes the credentials of a worker of role qa.
func worker(t *testing.T, h *host.Host, data, name string) identity.Credentials {
	t.Helper()
	return workerOf(t, h, data, name, qa)
}

func workerOf(t *testing.T, h *host.Host, data, name string, roles ...string) identity.Credentials {
	t.Helper()
	_, secrets, err := identity.Add(t.Context(), identity.NewFile(data), identity.Request{Name: name, Kind: identity.Worker, Roles: roles}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c := identity.Credentials{Name: name, Kind: identity.Worker, URL: h.URL(), Secrets: secrets}
	eventually(t, "the credentials are let in", func() bool {
		nc, err := broker.DialAs(c, "", false)
		if err == nil {
			nc.Close()
		}
		return err == nil
	})
	return c
}

// withoutQA is a host that listens and has no agent of role qa.
func withoutQA(t *testing.T, p model.Provider) (host.Config, *host.Host) {
	t.Helper()
	c := config(t, p)
	c.Listen, c.Agents = "127.0.0.1:0", map[string]int{qa: 0}
	return c, start(t, c)
}

func startLeaf(t *testing.T, c host.Config, p model.Provider, credentials identity.Credentials) *host.Leaf {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c.Data, c.Model, c.Agents = t.TempDir(), p, map[string]int{qa: 1}
	l, err := host.StartLeaf(ctx, c, credentials, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Stop(context.Background()) })
	return l
}

func presenceOf(t *testing.T, h *host.Host, name string) *loomv1.HostPresence {
	t.Helper()
	reply, err := connect(t, h, "operator").Hosts(t.Context(), &loomv1.HostsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range reply.Hosts {
		if p.Host == name {
			return p
		}
	}
	return nil
}

func closed(t *testing.T, h *host.Host, bead string) bool {
	t.Helper()
	view, err := connect(t, h, "operator").Bead(t.Context(), &loomv1.Query{Project: "shop", Id: bead})
	return err == nil && len(view.Beads) == 1 && view.Beads[0].Status == loomv1.BeadStatus_BEAD_STATUS_CLOSED
}

// TestACT05_ALeafHostDiesInMidTurn: what it had recorded is neither paid for nor
// run again, and another host ends the turn.
func TestACT05_ALeafHostDiesInMidTurn(t *testing.T) {
	log := filepath.Join(t.TempDir(), "ran")
	var here atomic.Int32
	stays := scripted.New("stays", func(r *model.Request) (*model.Response, error) {
		here.Add(1)
		if len(r.Messages) < 2 {
			t.Error("the first answer is asked for again")
		}
		return nothing(r)
	})
	dies := scripted.New("dies", func(*model.Request) (*model.Response, error) {
		return &model.Response{Text: "a look", Stop: model.StopTools, Calls: []*loomv1.ToolCall{{
			Tool: "shell", Arguments: `{"command":"echo ran >> ` + log + `"}`,
		}}}, nil
	})
	second := hangs{dies, make(chan struct{}, 1)}
	c, h := withoutQA(t, stays)
	l := startLeaf(t, c, onceThen{first: dies, then: second, n: new(atomic.Int32)}, worker(t, h, c.Data, "w1"))
	eventually(t, "the leaf host is listed", func() bool {
		p := presenceOf(t, h, "w1")
		return p.GetAlive() && p.Leaf && len(p.Roles) == 1 && len(p.Partitions) == 0
	})
	filed, err := connect(t, h, "operator").Report(t.Context(), report())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-second.asked: // the answer and the command are recorded
	case <-time.After(patience):
		t.Fatal("the leaf host does not work")
	}
	l.Crash()
	eventually(t, "the leaf host is gone", func() bool { p := presenceOf(t, h, "w1"); return p != nil && !p.Alive })
	n := uint32(1)
	if _, err := connect(t, h, "operator").Scale(t.Context(), &loomv1.ScaleRole{Role: qa, Agents: &n}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the bead is closed", func() bool { return closed(t, h, filed.Bead) })
	if ran, err := os.ReadFile(log); string(ran) != "ran\n" || here.Load() != 1 {
		t.Errorf("the command ran %q (%v), and the host asked its model %d times; want once each", ran, err, here.Load())
	}
}

// onceThen answers once as first, and then as then.
type onceThen struct {
	first, then model.Provider
	n           *atomic.Int32
}

func (o onceThen) Name() string   { return o.first.Name() }
func (o onceThen) Scripted() bool { return true }
func (o onceThen) Ask(ctx context.Context, r *model.Request, live func(model.Chunk)) (*model.Response, error) {
	if o.n.Add(1) == 1 {
		return o.first.Ask(ctx, r, live)
	}
	return o.then.Ask(ctx, r, live)
}

// TestACT05_ALeafHostWorksAndStops does a bead whole, and gives up when its
// credentials are revoked.
func TestACT05_ALeafHostWorksAndStops(t *testing.T) {
	c, h := withoutQA(t, scripted.New("unused", nothing))
	credentials := worker(t, h, c.Data, "w1")
	l := startLeaf(t, c, scripted.New("leaf", nothing), credentials)
	filed, err := connect(t, h, "operator").Report(t.Context(), report())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the bead is closed", func() bool { return closed(t, h, filed.Bead) })
	if err := identity.Revoke(t.Context(), identity.NewFile(c.Data), "w1", time.Now()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-l.Done():
		if fault.Code(l.Reason()) != "request/denied" {
			t.Errorf("it ended because of %v", l.Reason())
		}
	case <-time.After(patience):
		t.Error("a leaf host goes on with credentials that were revoked")
	}
}

// TestACT05_WorkOfALoneHostIsSharedOnceOthersMayHaveIt: it is in the memory of
// its host until there is a leaf host, and that one gets what has waited there.
func TestACT05_WorkOfALoneHostIsSharedOnceOthersMayHaveIt(t *testing.T) {
	c, h := withoutQA(t, scripted.New("unused", nothing))
	operator := connect(t, h, "operator")
	filed, err := operator.Report(t.Context(), report())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	followUntil(ctx, t, operator, "the dispatch", func(e *loomv1.Event) bool { return e.GetAttemptDispatched() != nil })
	if n, err := h.Queued(ctx); err != nil || n != 0 {
		t.Errorf("of a host that is alone %d assignments went into the queue, %v", n, err)
	}
	startLeaf(t, c, scripted.New("leaf", nothing), worker(t, h, c.Data, "w1"))
	eventually(t, "the bead is closed", func() bool { return closed(t, h, filed.Bead) })
	if n, err := h.Queued(ctx); err != nil || n == 0 {
		t.Errorf("%d assignments went into the queue, %v; want that of the leaf host", n, err)
	}
}

// TestROLE02_ROLE03_AgentsOfALeafHostAreScaledAndPlaced has a leaf host take its
// share of a role, what is said of it alone, and what its label says.
func TestROLE02_ROLE03_AgentsOfALeafHostAreScaledAndPlaced(t *testing.T) {
	c, h := withoutQA(t, scripted.New("unused", nothing))
	credentials := worker(t, h, c.Data, "w1")
	far := c
	far.Labels = map[string]string{"gpu": "yes"}
	startLeaf(t, far, scripted.New("leaf", nothing), credentials)
	operator := connect(t, h, "operator")
	agents := func(p *loomv1.HostPresence) int {
		for _, r := range p.GetRoles() {
			if r.Role == qa && r.Desired == r.Actual {
				return int(r.Actual)
			}
		}
		return -1
	}
	scale := func(here, there int, q *loomv1.ScaleRole) {
		t.Helper()
		q.Role = qa
		if _, err := operator.Scale(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		eventually(t, fmt.Sprintf("%d agents on the host and %d on the leaf host", here, there), func() bool {
			return agents(presenceOf(t, h, presenceName(t, h))) == here && agents(presenceOf(t, h, "w1")) == there
		})
	}
	eventually(t, "the leaf host has its own number", func() bool { return agents(presenceOf(t, h, "w1")) == 1 })
	scale(2, 2, &loomv1.ScaleRole{Agents: proto.Uint32(4)})
	scale(0, 4, &loomv1.ScaleRole{Confine: &loomv1.Confinement{Labels: map[string]string{"gpu": "yes"}}})
	if _, err := operator.Drain(t.Context(), &loomv1.DrainHost{Host: "w1"}); err != nil {
		t.Fatal(err)
	}
	scale(0, 0, &loomv1.ScaleRole{Host: "w1", Agents: proto.Uint32(3)})
	if _, err := operator.Drain(t.Context(), &loomv1.DrainHost{Host: "w1", Undo: true}); err != nil {
		t.Fatal(err)
	}
	scale(0, 3, &loomv1.ScaleRole{Agents: proto.Uint32(0)})
	for what, q := range map[string]*loomv1.ScaleRole{
		"a number": {Role: "lead", Host: "w1", Agents: proto.Uint32(1)},
		"a place":  {Role: "lead", Confine: &loomv1.Confinement{Hosts: []string{"w1"}}},
	} {
		if _, err := operator.Scale(t.Context(), q); fault.Code(err) != "scale/invalid" {
			t.Errorf("%s of a role that its credentials are not for: %v, want scale/invalid", what, err)
		}
	}
}

// TestSEC01_AStolenWorkerSteersNothing has a worker's credentials in hands that
// keep to no rules.
func TestSEC01_AStolenWorkerSteersNothing(t *testing.T) {
	c, h := withoutQA(t, scripted.New("unused", nothing))
	credentials := worker(t, h, c.Data, "w1")
	nc, err := broker.DialAs(credentials, "", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	beat := func(epoch uint64) {
		t.Helper()
		data, err := proto.Marshal(&loomv1.HostPresence{Host: "w1", Epoch: epoch, Alive: true, Roles: []*loomv1.RoleCount{{Role: qa, Desired: 1}, {Role: "ceo", Desired: 9}}})
		if err == nil {
			err = nc.Publish("loom.v1.leaf.w1", data)
		}
		if err == nil {
			err = nc.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	beat(7)
	eventually(t, "the leaf host is heard of", func() bool { beat(7); return presenceOf(t, h, "w1").GetEpoch() == 7 })
	if roles := presenceOf(t, h, "w1").Roles; len(roles) != 1 || roles[0].Role != qa {
		t.Errorf("it is believed to have agents of roles that it is not for: %v", roles)
	}
	filed, err := connect(t, h, "operator").Report(ctx, report())
	if err != nil {
		t.Fatal(err)
	}
	attempt := filed.Bead + "-x1-a1"
	who := &loomv1.Claimant{Agent: qa + "/1", Host: "w1", Epoch: 7}
	seat := func() *loomv1.SeatRequest {
		return &loomv1.SeatRequest{Claimant: proto.CloneOf(who), Project: "shop", Attempt: attempt, Generation: 1}
	}
	do := func(q *loomv1.SeatRequest, cmd *loomv1.Command) (*loomv1.SeatReply, error) {
		beat(7)
		q.Body = &loomv1.SeatRequest_Command{Command: cmd}
		return host.AskSeat(ctx, nc, q)
	}
	claim := func() *loomv1.Command {
		return &loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: attempt, Generation: 1, Claimant: who}}}
	}

	t.Run("as somebody else", func(t *testing.T) {
		for what, change := range map[string]func(*loomv1.Claimant){
			"another host":      func(c *loomv1.Claimant) { c.Host = presenceName(t, h) },
			"another role":      func(c *loomv1.Claimant) { c.Agent = "backend-engineer/1" },
			"the CEO":           func(c *loomv1.Claimant) { c.Agent = "ceo/1" },
			"no agent":          func(c *loomv1.Claimant) { c.Agent = qa },
			"an agent too many": func(c *loomv1.Claimant) { c.Agent = qa + "/1/2" },
			"an earlier start":  func(c *loomv1.Claimant) { c.Epoch = 6 },
		} {
			q := seat()
			change(q.Claimant)
			if _, err := do(q, claim()); fault.Code(err) != "request/denied" {
				t.Errorf("%s: %v, want request/denied", what, err)
			}
		}
	})
	t.Run("what no agent may", func(t *testing.T) {
		may := map[protoreflect.Name]bool{}
		for _, name := range strings.Fields("claim_attempt release_attempt park_attempt record_turn answer_attempt acquire_lock renew_lock release_lock " +
			"add_decision open_ballot cast_vote ask_permission ask_team reserve_call settle_call form_train record_train keep_memory offer_memory interview_turn") {
			may[protoreflect.Name(name)] = true
		}
		fields := (&loomv1.Command{}).ProtoReflect().Descriptor().Oneofs().ByName("body").Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			cmd := &loomv1.Command{}
			cmd.ProtoReflect().Set(f, cmd.ProtoReflect().NewField(f))
			_, err := do(seat(), cmd)
			if err == nil && f.Name() == "offer_memory" {
				continue // nothing is offered to the agent's own attempt
			}
			if err == nil || !may[f.Name()] && fault.Code(err) != "request/denied" {
				t.Errorf("%s: %v", f.Name(), err)
			}
		}
		if _, err := do(seat(), &loomv1.Command{}); fault.Code(err) != "request/denied" {
			t.Errorf("a command without a body: %v", err)
		}
	})
	secret, err := h.Blobs().Put(ctx, []byte("another project's"), "text/plain")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("blobs without an attempt", func(t *testing.T) {
		q := seat()
		q.Attempt = "shop-9-x1-a1"
		far, blobs := host.FarBlobs(ctx, nc, q)
		if _, err := blobs.Get(far, secret); err == nil {
			t.Error("a blob is read by whoever holds nothing")
		}
		if _, err := blobs.Put(far, []byte("x"), ""); err == nil {
			t.Error("a blob is written by whoever holds nothing")
		}
	})
	if reply, err := do(seat(), claim()); err != nil || reply.GetAnswer().GetBrief().GetAttempt().GetId() != attempt {
		t.Fatalf("claim: %v, %v", reply, err)
	}
	t.Run("blobs of others", func(t *testing.T) {
		far, blobs := host.FarBlobs(ctx, nc, seat())
		if _, err := blobs.Get(far, secret); fault.Code(err) != "request/denied" {
			t.Errorf("a blob that it was not given: %v, want request/denied", err)
		}
		large := bytes.Repeat([]byte("0123456789abcdef"), 3<<16)
		ref, err := blobs.Put(far, large, "text/plain")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := blobs.Get(far, ref); err != nil || !bytes.Equal(got, large) {
			t.Errorf("3 MiB of its own came back as %d bytes, %v", len(got), err)
		}
	})
	t.Run("a grant of nobody", func(t *testing.T) {
		if _, err := do(seat(), &loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: 1}}}); fault.Code(err) != "lock/stale" {
			t.Errorf("%v, want lock/stale", err)
		}
	})
	t.Run("after it was started again", func(t *testing.T) {
		beat(8)
		eventually(t, "the new start is heard of", func() bool { beat(8); return presenceOf(t, h, "w1").GetEpoch() == 8 })
		q := seat()
		q.Body = &loomv1.SeatRequest_Command{Command: claim()}
		if _, err := host.AskSeat(ctx, nc, q); fault.Code(err) != "request/denied" {
			t.Errorf("the earlier start: %v, want request/denied", err)
		}
	})
}

// presenceName returns the name of the host itself.
func presenceName(t *testing.T, h *host.Host) string {
	t.Helper()
	reply, err := connect(t, h, "operator").Hosts(t.Context(), &loomv1.HostsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return reply.By
}

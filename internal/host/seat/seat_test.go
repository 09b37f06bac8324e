package seat

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/blob"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// shop is a project that lets everybody claim, and remembers the last command.
type shop struct{ last *loomv1.Command }

func (p *shop) Do(_ context.Context, cmd *loomv1.Command) (*loomv1.Answer, error) {
	p.last = cmd
	claim := cmd.GetClaimAttempt()
	if claim == nil {
		return &loomv1.Answer{}, nil
	}
	return &loomv1.Answer{Body: &loomv1.Answer_Brief{Brief: &loomv1.Brief{Attempt: &loomv1.Attempt{Id: claim.Attempt, Generation: claim.Generation}}}}, nil
}

func (p *shop) Ask(context.Context, *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	return &loomv1.GraphReply{}, nil
}

type memory map[string][]byte

func (m memory) Put(_ context.Context, data []byte, kind string) (*loomv1.BlobRef, error) {
	ref := blob.Ref(data, kind)
	m[ref.Sha256] = bytes.Clone(data)
	return ref, nil
}

func (m memory) Get(_ context.Context, ref *loomv1.BlobRef) ([]byte, error) {
	return m[ref.Sha256], nil
}

// wired is a client of leaf host w1, which has agents of role qa-engineer, whose requests
// a server answers that keeps blobs in kept.
func wired(t *testing.T, p *shop, kept memory) *Client {
	t.Helper()
	s := New(Config{
		Way: p, Blobs: kept, Roles: roles.Builtin(), Leaf: func(string) uint64 { return 7 }, IsHost: func(string) bool { return false },
		Running: t.Context(), Log: slog.New(slog.DiscardHandler),
	})
	from := broker.Request{Who: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_WORKER, Name: "w1"}, Roles: []string{"qa-engineer"}}
	return &Client{Send: func(ctx context.Context, data []byte) ([]byte, error) {
		r := from
		r.Data = data
		return s.Answer(ctx, r)
	}}
}

// An agent elsewhere has its attempt, in its own name alone.
func TestACT05_AnAgentElsewhereHasItsOwnAttempt(t *testing.T) {
	p := &shop{}
	c := wired(t, p, memory{})
	who := &loomv1.Claimant{Agent: "qa-engineer/1", Host: "w1", Epoch: 7}
	w := c.Sit("shop", who)
	answer, err := w.Do(t.Context(), &loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{Attempt: "shop-1-x1-a1", Generation: 2}}})
	if err != nil || answer.GetBrief().GetAttempt().GetId() != "shop-1-x1-a1" {
		t.Fatalf("claim: %v, %v", answer, err)
	}
	park := &loomv1.ParkAttempt{Attempt: "shop-2-x1-a1", Claimant: &loomv1.Claimant{Agent: "lead/1", Host: "h1"}}
	if _, err := w.Do(t.Context(), &loomv1.Command{Project: "other", Body: &loomv1.Command_ParkAttempt{ParkAttempt: park}}); err != nil {
		t.Fatal(err)
	}
	if got := p.last.GetParkAttempt(); p.last.Project != "shop" || p.last.Actor.GetName() != "qa-engineer/1@w1" || got.Attempt != "shop-1-x1-a1" || got.Claimant.GetHost() != "w1" {
		t.Errorf("the project is asked %v", p.last)
	}
	for what, who := range map[string]*loomv1.Claimant{
		"another host":  {Agent: "qa-engineer/1", Host: "w2", Epoch: 7},
		"another role":  {Agent: "lead/1", Host: "w1", Epoch: 7},
		"another start": {Agent: "qa-engineer/1", Host: "w1", Epoch: 6},
	} {
		if _, err := c.Sit("shop", who).Ask(t.Context(), &loomv1.GraphRequest{}); fault.Code(err) != "request/denied" {
			t.Errorf("%s: %v, want request/denied", what, err)
		}
	}
}

// Blobs of any size cross in parts, and nobody reads what the attempt was not given.
func TestACT05_BlobsCrossInParts(t *testing.T) {
	kept := memory{}
	c := wired(t, &shop{}, kept)
	ctx := At(t.Context(), &loomv1.SeatRequest{
		Claimant: &loomv1.Claimant{Agent: "qa-engineer/1", Host: "w1", Epoch: 7}, Project: "shop", Attempt: "shop-1-x1-a1", Generation: 1,
	})
	for _, size := range []int{0, 1, part, part + 1, 3*part + 5} {
		data := bytes.Repeat([]byte("x"), size)
		ref, err := c.Blobs().Put(ctx, data, "text/plain")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Blobs().Get(ctx, ref); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes came back as %d, %v", size, len(got), err)
		}
	}
	secret, err := kept.Put(t.Context(), []byte("another's"), "text/plain")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Blobs().Get(ctx, secret); fault.Code(err) != "request/denied" {
		t.Errorf("what it was not given: %v, want request/denied", err)
	}
}

// Requests are sent again until a host answers, and not after a refusal.
func TestACT05_RequestsAreSentAgainUntilAHostAnswers(t *testing.T) {
	sent := 0
	c := &Client{Send: func(context.Context, []byte) ([]byte, error) {
		if sent++; sent < 3 {
			return nil, fault.New("host/unavailable", "no host answers")
		}
		return nil, fault.New("request/denied", "no")
	}}
	if _, err := c.Request(t.Context(), &loomv1.SeatRequest{}); fault.Code(err) != "request/denied" || sent != 3 {
		t.Errorf("%v after %d requests, want request/denied after 3", err, sent)
	}
}

package host_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/agents/model/provider"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/agents/model/wire"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// meter is a server that counts what it was asked for, over all who ask.
type meter struct {
	mu    sync.Mutex
	calls int
	total int64
}

// perCall is what each call costs, prompt and answer together: less than is
// held back for it.
const perCall = 3000

func (c *meter) answer(r *model.Request) modeltest.Reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls, c.total = c.calls+1, c.total+perCall
	reply := modeltest.Play(nothing)(r)
	reply.Reported = &modeltest.Reported{Input: perCall - 500, Output: 500}
	return reply
}

// P14: agents of two hosts work under one budget that is less than the work
// costs. The server is asked for no more than there is, and the CEO is asked.
func TestBYD05_TwoHostsNeverOverspend(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	server := &meter{}
	s := modeltest.OpenAI(t, server.answer)
	env := map[string]string{"OPENAI_BASE_URL": s.URL}
	open := func() model.Provider {
		p, err := provider.Config{Env: func(name string) string { return env[name] }, Gates: &wire.Gates{}}.Open("openai:counted")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	c := config(t, scripted.New("nobody", nothing))
	c.Listen, c.Agents = "127.0.0.1:0", map[string]int{qa: 0}
	c.Budget = &loomv1.Budget{Tokens: 9*perCall - 1}
	h := start(t, c)
	startLeaf(t, c, open(), worker(t, h, c.Data, "w1"))
	startLeaf(t, c, open(), worker(t, h, c.Data, "w2"))
	ops := connect(t, h, "operator")
	for range 10 {
		if _, err := ops.Submit(ctx, &loomv1.Submission{Project: "shop", Goal: "look at it", Type: loomv1.BeadType_BEAD_TYPE_BUG}); err != nil {
			t.Fatal(err)
		}
	}
	hosts := map[string]bool{}
	e := followUntil(ctx, t, ops, "the question about the project's budget", func(e *loomv1.Event) bool {
		if r := e.GetCallReserved().GetReservation(); r != nil {
			hosts[r.By.Host] = true
			if r.Tokens < perCall {
				t.Errorf("%d tokens are held back for a call of %d", r.Tokens, perCall)
			}
		}
		return e.GetApprovalRequested().GetApproval().GetOfProject()
	})
	server.mu.Lock()
	defer server.mu.Unlock()
	if asked := e.GetApprovalRequested().Approval; server.total > c.Budget.Tokens || server.calls == 0 || asked.Wanted.GetTokens() <= c.Budget.Tokens {
		t.Errorf("%d calls of %v used %d tokens, of %d; then asked for %v", server.calls, hosts, server.total, c.Budget.Tokens, asked.Wanted)
	}
}

package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/agents/model/provider"
	"github.com/loomrun/loom/internal/agents/model/wire"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// F14: a server that answers 429 for a while, over its real protocol: the work
// is parked, no attempt is lost, and it ends when the server answers.
func TestAGENT02_WorkWaitsForARateLimit(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	refusals, whole := 2, modeltest.Play(nothing)
	s := modeltest.OpenAI(t, func(r *model.Request) modeltest.Reply {
		if refusals > 0 {
			refusals--
			return modeltest.Reply{Status: 429, Headers: map[string]string{"Retry-After": "1"}, Body: `{"error":{"type":"rate_limit_error","message":"slow down"}}`}
		}
		return whole(r)
	})
	env := map[string]string{"OPENAI_BASE_URL": s.URL}
	p, err := provider.Config{
		Env: func(name string) string { return env[name] }, Gates: &wire.Gates{}, Limits: wire.Limits{Patience: 50 * time.Millisecond},
	}.Open("openai:down,openai:busy")
	if err != nil {
		t.Fatal(err)
	}
	h := start(t, config(t, p))
	filed, err := connect(t, h, "anonymous").Report(ctx, report())
	if err != nil {
		t.Fatal(err)
	}
	ops, parked := connect(t, h, "operator"), 0
	followUntil(ctx, t, ops, "the end of the execution", func(e *loomv1.Event) bool {
		if e.GetAttemptParked().GetWaitsFor() == "rate" {
			parked++
		}
		return e.GetExecutionEnded() != nil
	})
	v, err := ops.Execution(ctx, &loomv1.Query{Project: "shop", Id: filed.Execution})
	if err != nil || len(v.Executions) != 1 {
		t.Fatalf("%v, %v", v, err)
	}
	x := v.Executions[0]
	if x.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED || x.Dispatches != 1 || parked != 2 || len(s.Asked()) != 3 {
		t.Errorf("execution %s after %d attempts, parked %d times, asked %d times; want it completed after 1, parked twice, asked 3 times",
			x.Status, x.Dispatches, parked, len(s.Asked()))
	}
}

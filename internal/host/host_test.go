package host_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loomrun/loom/internal/agents/mcp/mcptest"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestMain(m *testing.M) {
	mcptest.ServeIfAsked()
	cutIfAsked()
	// Each waits a second or so, of its own, before it ends; the last, of the
	// object store, waits for ever when its upload ends before it has begun.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"),
		goleak.IgnoreAnyFunction("github.com/golang/glog.(*fileSink).flushDaemon"),
		goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"),
	)
}

const within = 2 * time.Minute

// nothing is the answer of an agent that finds no error to mend.
func nothing(*model.Request) (*model.Response, error) {
	return &model.Response{Text: "nothing is wrong", Stop: model.StopTools, Calls: []*loomv1.ToolCall{{
		Tool: turn.FinishName, Arguments: `{"status":"success","summary":"nothing is wrong","notes":"","fields":{"severity":"none","specialist":"","check":""}}`,
	}}}, nil
}

// hangs never answers, and tells that it was asked.
type hangs struct {
	model.Provider
	asked chan struct{}
}

func (h hangs) Ask(ctx context.Context, _ *model.Request, _ func(model.Chunk)) (*model.Response, error) {
	h.asked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// config is of a host that only this process can reach, over a repository.
func config(t *testing.T, p model.Provider) host.Config {
	t.Helper()
	longtest.Skip(t)
	repository := filepath.Join(t.TempDir(), "shop")
	if err := git.Create(t.Context(), repository, "main", "first", []git.File{{Path: "a.txt", Data: []byte("one\n")}}); err != nil {
		t.Fatal(err)
	}
	return host.Config{
		Data: t.TempDir(), Model: p, CEOKey: filepath.Join(t.TempDir(), "ceo.nk"), Unsandboxed: true,
		Projects: []host.Project{{ID: "shop", Repository: repository}},
	}
}

func start(t *testing.T, c host.Config) *host.Host {
	t.Helper()
	h, err := host.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Stop(context.Background()) })
	return h
}

func connect(t *testing.T, h *host.Host, as string) *client.Client {
	t.Helper()
	nc, err := h.Connect(as)
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(nc)
	t.Cleanup(c.Close)
	return c
}

func report() *loomv1.ErrorReport {
	return &loomv1.ErrorReport{Project: "shop", Service: "checkout", Status: 500, Kind: "panic", Message: "total is wrong", IdempotencyKey: "once"}
}

// TestF1_StopAndStartGoOn stops a host while an agent waits for its model, and
// starts it again: the same bead ends, and nothing was counted twice.
func TestF1_StopAndStartGoOn(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	slow := hangs{scripted.New("slow", nothing), make(chan struct{}, 1)}
	c := config(t, slow)
	h := start(t, c)
	filed, err := connect(t, h, "anonymous").Report(ctx, report())
	if err != nil {
		t.Fatal(err)
	}
	<-slow.asked
	h.Stop(ctx)
	h.Stop(ctx) // again is harmless

	c.Model, c.Projects = scripted.New("quick", nothing), nil // it knows its projects
	h = start(t, c)
	ops := connect(t, h, "operator")
	err = ops.Follow(ctx, &loomv1.NoticesRequest{Project: "shop"}, true, func(n *loomv1.Notice) error {
		if n.Event.GetExecutionEnded() != nil {
			return context.Canceled
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		t.Fatalf("the execution never ended: %v", err)
	}
	v, err := ops.Execution(ctx, &loomv1.Query{Project: "shop", Id: filed.Execution})
	if err != nil || len(v.Executions) != 1 || v.Executions[0].Status != loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED || v.Executions[0].Dispatches != 1 {
		t.Errorf("after the restart: %v, %v; want it completed with one dispatch", v.GetExecutions(), err)
	}
	again, err := connect(t, h, "anonymous").Report(ctx, report())
	if err != nil || again.Bead != filed.Bead || !again.Duplicate {
		t.Errorf("the report again: %v, %v; want bead %s", again, err, filed.Bead)
	}
}

func TestWF10_WhatAHostCannotDoIsRefused(t *testing.T) {
	good := config(t, scripted.New("quick", nothing))
	running := start(t, good)
	for name, tt := range map[string]struct {
		edit func(*host.Config)
		code string
		says string
	}{
		"a data directory in use":    {func(*host.Config) {}, "data/locked", ""},
		"no model":                   {func(c *host.Config) { c.Data, c.Model = t.TempDir(), nil }, "usage/argument", "model"},
		"a repository that is none":  {func(c *host.Config) { c.Data = t.TempDir(); c.Projects[0].Repository = t.TempDir() }, "git/not-a-repository", ""},
		"a branch that is not there": {func(c *host.Config) { c.Data = t.TempDir(); c.Projects[0].Branch = "nowhere" }, "git/unknown-branch", ""},
		"one repository for two": {func(c *host.Config) {
			c.Data = t.TempDir()
			c.Projects = append(c.Projects, host.Project{ID: "farm", Repository: c.Projects[0].Repository})
		}, "project/conflict", "shop"},
		"one repository for two, by its git directory": {func(c *host.Config) {
			c.Data = t.TempDir()
			c.Projects = append(c.Projects, host.Project{ID: "farm", Repository: filepath.Join(c.Projects[0].Repository, ".git")})
		}, "project/conflict", "shop"},
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			c.Projects = append([]host.Project(nil), good.Projects...)
			tt.edit(&c)
			h, err := host.Start(t.Context(), c)
			if err == nil {
				h.Stop(t.Context())
			}
			if fault.Code(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v (code %q), want %s and %q", err, fault.Code(err), tt.code, tt.says)
			}
		})
	}
	if running.Deployment() == "" {
		t.Error("the host that runs has no deployment")
	}
}

// TestP9_OthersCannotDecide has an operator and nobody in particular present
// what only the CEO may.
func TestP9_OthersCannotDecide(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	h := start(t, config(t, scripted.New("quick", nothing)))
	signed := &loomv1.SignedCommand{Payload: []byte("x"), PublicKey: "U", Signature: []byte("y")}
	if err := connect(t, h, "ceo").Present(ctx, "decide", signed); fault.Code(err) != "command/malformed" {
		t.Errorf("nonsense from the CEO's connection: %v", err)
	}
	for _, as := range []string{"anonymous", "operator"} {
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		if err := connect(t, h, as).Present(short, "decide", signed); fault.Code(err) == "" || fault.Code(err) == "command/malformed" {
			t.Errorf("%s reaches the desk: %v", as, err)
		}
		cancel()
	}
	if _, err := connect(t, h, "operator").Inbox(ctx, &loomv1.Query{Project: "shop"}); err != nil {
		t.Errorf("inbox: %v", err)
	}
}

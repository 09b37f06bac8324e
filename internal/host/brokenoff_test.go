//go:build unix

package host_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// atOnce bounds what is to happen at once, on a machine that is busy.
const atOnce = 15 * time.Second

// breaks is a model that never answers, and tells of each call that it began and that
// it was broken off.
type breaks struct {
	model.Provider
	asked, broken chan struct{}
}

func newBreaks() breaks {
	return breaks{scripted.New("silent", nothing), make(chan struct{}, 10), make(chan struct{}, 10)}
}

func (b breaks) Ask(ctx context.Context, _ *model.Request, _ func(model.Chunk)) (*model.Response, error) {
	b.asked <- struct{}{}
	<-ctx.Done()
	b.broken <- struct{}{}
	return nil, ctx.Err()
}

// closeNow ends an execution over a host.
func closeNow(t *testing.T, c host.Config, deployment string, over *client.Client, execution string) {
	t.Helper()
	key, err := ceokey.Open(c.CEOKey)
	if err != nil {
		t.Fatal(err)
	}
	shut, err := key.Close(deployment, "shop", &loomv1.CloseExecution{Execution: execution, Reason: "not wanted", Now: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := over.Command(t.Context(), shut); err != nil {
		t.Fatal(err)
	}
}

func soon(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(atOnce):
		t.Fatalf("not at once: %s", what)
	}
}

// idle says whether no agent of a role works on any host.
func idle(t *testing.T, c *client.Client, role string) bool {
	t.Helper()
	reply, err := c.Hosts(t.Context(), &loomv1.HostsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range reply.Hosts {
		for _, r := range p.Roles {
			if r.Role == role && r.Busy > 0 {
				return false
			}
		}
	}
	return true
}

// TestWF09_ClosingNowBreaksOffTheModelsCall: the agent is free at once, and not when
// the model answers.
func TestWF09_ClosingNowBreaksOffTheModelsCall(t *testing.T) {
	silent := newBreaks()
	c := config(t, silent)
	h := start(t, c)
	ops := connect(t, h, "operator")
	filed, err := ops.Report(t.Context(), report())
	if err != nil {
		t.Fatal(err)
	}
	soon(t, "the model is asked", silent.asked)
	closeNow(t, c, h.Deployment(), ops, filed.Execution)
	soon(t, "the call is broken off", silent.broken)
	eventually(t, "the agent is idle", func() bool { return idle(t, ops, qa) })
	v, err := ops.Execution(t.Context(), &loomv1.Query{Project: "shop", Id: filed.Execution})
	if err != nil || v.Executions[0].Status != loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED {
		t.Errorf("the execution: %v, %v", v.GetExecutions(), err)
	}
}

// TestWF09_ClosingNowReachesALeafHost, which follows no journal.
func TestWF09_ClosingNowReachesALeafHost(t *testing.T) {
	silent := newBreaks()
	c, h := withoutQA(t, scripted.New("unused", nothing))
	startLeaf(t, c, silent, worker(t, h, c.Data, "w1"))
	ops := connect(t, h, "operator")
	filed, err := ops.Report(t.Context(), report())
	if err != nil {
		t.Fatal(err)
	}
	soon(t, "the model of the leaf host is asked", silent.asked)
	closeNow(t, c, h.Deployment(), ops, filed.Execution)
	soon(t, "the call is broken off on the leaf host", silent.broken)
}

// TestWF09_ClosingNowReachesEveryHost: whichever host the command is given to, and
// whichever serves the project, the call is broken off where it is made.
func TestWF09_ClosingNowReachesEveryHost(t *testing.T) {
	longtest.Skip(t)
	silent := newBreaks()
	c := newCluster(t, silent)
	for i := range c.hosts {
		ops := connect(t, c.hosts[i], "operator")
		r := report()
		r.IdempotencyKey = "over " + strconv.Itoa(i)
		r.Message += r.IdempotencyKey
		var filed *loomv1.SubmitReply
		eventually(t, "the report is taken", func() (ok bool) {
			var err error
			filed, err = ops.Report(t.Context(), r)
			return err == nil
		})
		soon(t, "the model is asked", silent.asked)
		closeNow(t, c.configs[0], c.hosts[0].Deployment(), connect(t, c.hosts[(i+1)%3], "operator"), filed.Execution)
		soon(t, "the call is broken off", silent.broken)
	}
}

// TestWF09_ClosingNowEndsCommands: a command that runs is ended with all that it
// has started.
func TestWF09_ClosingNowEndsCommands(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	c := config(t, scripted.New("runs", func(*model.Request) (*model.Response, error) {
		return &model.Response{Text: "a look", Stop: model.StopTools, Calls: []*loomv1.ToolCall{{
			Id: "c1", Tool: "shell", Arguments: `{"command":"exec 3>` + pipe + `; echo up >&3; sleep 600 & sleep 600"}`,
		}}}, nil
	}))
	h := start(t, c)
	ops := connect(t, h, "operator")
	filed, err := ops.Report(t.Context(), report())
	if err != nil {
		t.Fatal(err)
	}
	up, ended := make(chan struct{}), make(chan struct{})
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() {
		f, err := os.Open(pipe)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		r := bufio.NewReader(f)
		if _, err := r.ReadString('\n'); err != nil {
			t.Error(err)
			return
		}
		close(up)
		_, _ = io.Copy(io.Discard, r) // until nobody can write any more
		close(ended)
	})
	soon(t, "the command runs", up)
	closeNow(t, c, h.Deployment(), ops, filed.Execution)
	soon(t, "the command and its child are ended", ended)
	eventually(t, "the agent is idle", func() bool { return idle(t, ops, qa) })
}

// priced is a model that costs something, and never answers.
type priced struct {
	breaks
	cut model.Cut // what is known of its calls
}

func (p priced) Name() string                           { return "test:priced" }
func (p priced) Scripted() bool                         { return false }
func (p priced) MostCost(in, out uint64) (uint64, bool) { return in + 2*out, true }
func (p priced) Ask(ctx context.Context, r *model.Request, f func(model.Chunk)) (*model.Response, error) {
	_, err := p.breaks.Ask(ctx, r, f)
	return nil, model.CutOff(err, p.cut)
}

// TestBYD05_AStoppedHostSaysWhatBrokenCallsCount, and counts no more than there is a
// reason for; the next start goes on, and says the same of costs.
func TestBYD05_AStoppedHostSaysWhatBrokenCallsCount(t *testing.T) {
	for _, tt := range []struct {
		name string
		cut  model.Cut
		want string
		most uint64 // tokens; 0: what was held back
	}{
		{"known", model.Cut{Sent: true, Known: true, Input: 700, Output: 1000}, "1 model call was broken off, and may be charged: up to 1700 tokens, 0.002700 USD count as spent, the prompt, and", 1700},
		{"unknown", model.Cut{Sent: true}, "count as spent, all that was held back for it, because only the provider knows what was used", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := priced{newBreaks(), tt.cut}
			c := config(t, m)
			c.Budget = &loomv1.Budget{Tokens: 1 << 20}
			h := start(t, c)
			if _, err := connect(t, h, "operator").Report(t.Context(), report()); err != nil {
				t.Fatal(err)
			}
			soon(t, "the model is asked", m.asked)
			h.Stop(t.Context())
			if said := h.BrokenOff(); !strings.Contains(said, tt.want) {
				t.Errorf("it says %q, want %q", said, tt.want)
			}
			c.Model = scripted.New("quick", nothing)
			h = start(t, c)
			if said := h.BrokenOff(); said != "" {
				t.Errorf("a host that broke nothing off says %q", said)
			}
			reply, err := connect(t, h, "operator").Cost(t.Context(), &loomv1.CostRequest{By: loomv1.CostGroup_COST_GROUP_ROLE})
			if err != nil {
				t.Fatal(err)
			}
			all := reply.Total
			spent := all.InputTokens + all.OutputTokens
			switch {
			case all.Released != 0:
				t.Errorf("a host that is stopped counts against its agents: %v", all)
			case tt.most != 0 && (spent != tt.most || all.BrokenCalls != 0):
				t.Errorf("%d tokens count, want %d: %v", spent, tt.most, all)
			case tt.most == 0 && (all.BrokenCalls != 1 || all.BrokenTokens != spent || spent < 4096):
				t.Errorf("%d tokens count, want those that were held back: %v", spent, all)
			}
		})
	}
}

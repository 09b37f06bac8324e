// Command worker is the Temporal worker, the load and the approver in one process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"

	"peers/common"
)

const queue = "autobug"

var (
	clk    = common.NewClock()
	ledger *common.Ledger
	toAsk  = make(chan string, 1<<16) // executions that reached the approval node
)

type quiet struct{}

func (quiet) Debug(string, ...any)     {}
func (quiet) Info(string, ...any)      {}
func (quiet) Warn(string, ...any)      {}
func (quiet) Error(m string, a ...any) { fmt.Fprintln(os.Stderr, append([]any{m}, a...)...) }

// Step is every agent step: instant, returns about 200 bytes.
func Step(_ context.Context, id, step string, cycle int) (string, error) {
	clk.Mark(id)
	ledger.Add(id, step, cycle)
	return common.Payload(id, step, cycle), nil
}

func AutoBug(ctx workflow.Context, report string) (string, error) {
	id := workflow.GetInfo(ctx).WorkflowExecution.ID
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumAttempts: 20},
	})
	state := "triage"
	if err := workflow.SetQueryHandler(ctx, "state", func() (string, error) { return state, nil }); err != nil {
		return "", err
	}
	var out string
	do := func(step string, cycle int) error {
		state = step
		return workflow.ExecuteActivity(ctx, Step, id, step, cycle).Get(ctx, &out)
	}
	if err := do("triage", 1); err != nil {
		return "", err
	}
	for cycle := 1; cycle <= 2; cycle++ {
		if err := do("investigate", cycle); err != nil {
			return "", err
		}
	}
	state = "approval"
	if !workflow.IsReplaying(ctx) {
		toAsk <- id
	}
	var verdict string
	workflow.GetSignalChannel(ctx, "approve").Receive(ctx, &verdict)
	if verdict != "approved" {
		return "rejected", nil
	}
	if err := do("commit", 1); err != nil {
		return "", err
	}
	if err := do("verify", 1); err != nil {
		return "", err
	}
	state = "end"
	return out, nil
}

type peer struct{ c client.Client }

func (p peer) Begin(id string) error {
	_, err := p.c.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: id, TaskQueue: queue}, AutoBug, common.Payload(id, "report", 0))
	return err
}

func (p peer) Wait(id string) error {
	var s string
	return p.c.GetWorkflow(context.Background(), id, "").Get(context.Background(), &s)
}

func (p peer) Run(id string) error {
	if err := p.Begin(id); err != nil {
		return err
	}
	return p.Wait(id)
}

func (p peer) approve(id string) error {
	return p.c.SignalWorkflow(context.Background(), id, "", "approve", "approved")
}

// Sweep asks each execution where it stands and approves those that wait, again and
// again for those whose answer did not come. An execution not yet at the approval
// node reaches toAsk by itself.
func (p peer) Sweep(ids []string) error {
	var err error
	for range 10 {
		if ids, err = p.sweepOnce(ids); len(ids) == 0 {
			return nil
		}
	}
	return err
}

func (p peer) sweepOnce(ids []string) (left []string, last error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	sem := make(chan struct{}, 32)
	for _, id := range ids {
		wg.Add(1)
		sem <- struct{}{}
		go func() {
			defer func() { <-sem; wg.Done() }()
			if err := p.look(id); err != nil {
				mu.Lock()
				left, last = append(left, id), err
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	return left, last
}

func (p peer) look(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	d, err := p.c.DescribeWorkflowExecution(ctx, id, "")
	if err != nil || d.GetWorkflowExecutionInfo().GetCloseTime() != nil {
		return err
	}
	v, err := p.c.QueryWorkflow(ctx, id, "", "state")
	if err != nil {
		return err
	}
	var s string
	if err := v.Get(&s); err != nil || s != "approval" {
		return err
	}
	err = p.approve(id)
	var nf *serviceerror.NotFound
	if errors.As(err, &nf) {
		return nil
	}
	return err
}

// registerNamespace makes "default" where the server's start did not, and waits until
// the frontend knows it.
func registerNamespace(addr string) {
	nc, err := client.NewNamespaceClient(client.Options{HostPort: addr, Logger: quiet{}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer nc.Close()
	for range 100 {
		err = nc.Register(context.Background(), &workflowservice.RegisterNamespaceRequest{
			Namespace:                        "default",
			WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
		})
		var exists *serviceerror.NamespaceAlreadyExists
		if err == nil || errors.As(err, &exists) {
			time.Sleep(12 * time.Second) // the frontend refreshes its namespace list each 10 s
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func main() {
	fl := common.WorkerFlags()
	addr := flag.String("addr", "127.0.0.1:17233", "")
	pollers := flag.Int("pollers", 16, "")
	register := flag.Bool("register", false, "register the namespace and end")
	flag.Parse()
	ledger = common.OpenLedger(*fl.Ledger)
	gate := common.NewGate(*fl.Hold)
	if *register {
		registerNamespace(*addr)
		return
	}
	c, err := client.Dial(client.Options{HostPort: *addr, Logger: quiet{}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer c.Close()
	worker.SetStickyWorkflowCacheSize(4000)
	w := worker.New(c, queue, worker.Options{
		MaxConcurrentWorkflowTaskPollers: *pollers, MaxConcurrentActivityTaskPollers: *pollers,
		MaxConcurrentActivityExecutionSize: 1000, MaxConcurrentWorkflowTaskExecutionSize: 1000,
	})
	w.RegisterWorkflow(AutoBug)
	w.RegisterActivity(Step)
	if err := w.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer w.Stop()
	p := peer{c}
	for range 16 {
		go func() {
			for id := range toAsk {
				gate.Wait()
				for k := 0; ; k++ {
					err := p.approve(id)
					var nf *serviceerror.NotFound
					if err == nil || errors.As(err, &nf) || k == 20 {
						break
					}
					time.Sleep(200 * time.Millisecond)
				}
				clk.Mark(id)
			}
		}()
	}
	// readiness: the namespace must be known to the frontend
	for range 200 {
		if _, err := c.CheckHealth(context.Background(), nil); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	common.Drive(fl, p, clk, gate)
}

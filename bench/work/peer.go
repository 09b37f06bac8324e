package main

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// peer is a client of the host: it submits, hears and approves.
type peer struct {
	operator, ceo *client.Client
	observer      *nats.Conn
	key           *ceokey.Key
	deployment    string
	clock         *clock

	mu    sync.Mutex
	beads map[string]string        // by name
	ended map[string]chan struct{} // by bead
	ask   chan *loomv1.Approval
}

func newPeer(ctx context.Context, h *host.Host, o options, clock *clock) (*peer, error) {
	p := &peer{
		deployment: h.Deployment(), clock: clock, beads: map[string]string{}, ended: map[string]chan struct{}{},
		ask: make(chan *loomv1.Approval, 1<<16),
	}
	var err error
	if p.operator, err = client.Dial(data(o)); err != nil {
		return nil, err
	}
	if p.ceo, err = client.DialCEO(data(o)); err != nil {
		return nil, err
	}
	if p.key, err = ceokey.Open(key(o)); err != nil {
		return nil, err
	}
	if p.observer, err = nats.Connect(h.URL()); err != nil { // a client without credentials may read notices
		return nil, err
	}
	for _, kind := range []string{"approval-requested", "execution-ended"} {
		of := subject.About{Project: subject.Must(projectID), Kind: subject.Must(kind)}
		sub, err := p.observer.Subscribe(subject.Notices(of), p.hear)
		if err != nil {
			return nil, err
		}
		if err := sub.SetPendingLimits(-1, -1); err != nil {
			return nil, err
		}
	}
	if err := p.observer.Flush(); err != nil {
		return nil, err
	}
	return p, p.define(ctx)
}

func (p *peer) close() {
	p.observer.Close()
	p.operator.Close()
	p.ceo.Close()
}

// hear takes note of what a notice says.
func (p *peer) hear(m *nats.Msg) {
	n := &loomv1.Notice{}
	if err := proto.Unmarshal(m.Data, n); err != nil {
		return
	}
	switch f := n.Event.GetFact().(type) {
	case *loomv1.Event_ApprovalRequested:
		p.ask <- f.ApprovalRequested.Approval
	case *loomv1.Event_ExecutionEnded:
		p.clock.end(n.Event.Bead)
		close(p.waiter(n.Event.Bead))
	}
}

func (p *peer) waiter(bead string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended[bead] == nil {
		p.ended[bead] = make(chan struct{})
	}
	return p.ended[bead]
}

// begin submits an execution and returns once it is durable.
func (p *peer) begin(ctx context.Context, name string) error {
	at := time.Now()
	r, err := p.operator.Submit(ctx, &loomv1.Submission{Project: projectID, Goal: name, Process: definition, IdempotencyKey: name})
	if err != nil {
		return err
	}
	p.clock.start(r.Bead, at)
	p.mu.Lock()
	p.beads[name] = r.Bead
	p.mu.Unlock()
	return nil
}

// wait blocks until an execution has ended. One that this process did not
// begin may have ended before it was there to hear so.
func (p *peer) wait(ctx context.Context, name string) error {
	p.mu.Lock()
	bead, known := p.beads[name]
	p.mu.Unlock()
	if !known {
		r, err := p.operator.Submit(ctx, &loomv1.Submission{Project: projectID, Goal: name, Process: definition, IdempotencyKey: name})
		if err != nil {
			return err
		}
		bead = r.Bead
		v, err := p.operator.Execution(ctx, &loomv1.Query{Project: projectID, Id: r.Execution})
		if err != nil {
			return err
		}
		if v.Executions[0].Status > loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING {
			return nil
		}
	}
	select {
	case <-p.waiter(bead):
		p.mu.Lock()
		delete(p.ended, bead)
		delete(p.beads, name)
		p.mu.Unlock()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *peer) run(ctx context.Context, name string) error {
	if err := p.begin(ctx, name); err != nil {
		return err
	}
	return p.wait(ctx, name)
}

// approve answers what is asked, by the CEO's signature, until ctx ends.
func (p *peer) approve(ctx context.Context, failed func(error)) {
	for {
		select {
		case a := <-p.ask:
			p.clock.mark(a.Bead)
			if err := p.decide(ctx, a); err != nil && ctx.Err() == nil {
				failed(err)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (p *peer) decide(ctx context.Context, a *loomv1.Approval) error {
	cmd, err := p.key.Decide(p.deployment, projectID, &loomv1.DecideApproval{
		Approval: a.Id, Digest: a.Digest, Decision: loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE,
	})
	if err != nil {
		return err
	}
	return p.ceo.Present(ctx, "decide", cmd)
}

// sweep asks for what waits for an approval since before this process began.
func (p *peer) sweep(ctx context.Context) error {
	for after := ""; ; {
		v, err := p.operator.Inbox(ctx, &loomv1.Query{Project: projectID, Limit: 1000, Newest: true, After: after})
		if err != nil {
			return err
		}
		for _, a := range v.Approvals {
			p.ask <- a
		}
		if after = v.Next; after == "" {
			return nil
		}
	}
}

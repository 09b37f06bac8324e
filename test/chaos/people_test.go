package chaos

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/ops/demo"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// report is the demo's error report for a project.
func report(t *testing.T, project string) *loomv1.ErrorReport {
	t.Helper()
	r := &loomv1.ErrorReport{}
	if err := protojson.Unmarshal(demo.Report(), r); err != nil {
		t.Fatal(err)
	}
	r.Project, r.IdempotencyKey = project, project+"-report"
	return r
}

// publish publishes a report as the failing service would, without
// credentials, and returns once the broker has promised to keep it.
func publish(ctx context.Context, url string, r *loomv1.ErrorReport) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	msg := nats.NewMsg(subject.Error(subject.Must("checkout")))
	msg.Header.Set("Content-Type", "application/json")
	msg.Header.Set(nats.MsgIdHdr, r.IdempotencyKey)
	if msg.Data, err = protojson.Marshal(r); err != nil {
		return err
	}
	_, err = js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
	return err
}

// ceo is the human at the command line, who approves what a workflow proposes
// and nothing else.
type ceo struct {
	c, control *client.Client
	key        *ceokey.Key
	deployment string
}

// ceo comes to a host; nil if that ends before.
func (h *process) ceo(ctx context.Context) *ceo {
	c := h.dial(ctx)
	if c == nil {
		return nil
	}
	p := &ceo{c: c}
	came := h.until(ctx, func() bool {
		about, err := c.Host(ctx, &loomv1.HostRequest{})
		p.deployment = about.GetDeployment()
		return err == nil
	})
	var err error
	if came {
		p.key, err = ceokey.Open(h.place.key)
	}
	if came && err == nil {
		p.control, err = client.DialCEO(h.place.data)
	}
	if !came || err != nil {
		c.Close()
		return nil
	}
	return p
}

func (p *ceo) close() {
	p.c.Close()
	p.control.Close()
}

// answer is what the CEO makes of a question.
type answer func(*loomv1.Approval) loomv1.ApprovalDecision

// approve approves what a workflow proposes, and rejects escalations.
func approve(a *loomv1.Approval) loomv1.ApprovalDecision {
	if a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
		return loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
	}
	return loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
}

// decide answers everything that waits in a project. Answers that come too late
// are harmless.
func (p *ceo) decide(ctx context.Context, project string, answer answer) error {
	v, err := p.c.Inbox(ctx, &loomv1.Query{Project: project})
	if err != nil {
		return err
	}
	for _, a := range v.Approvals {
		d := &loomv1.DecideApproval{Approval: a.Id, Digest: a.Digest, Decision: answer(a), Comment: "as the story wants it"}
		cmd, err := p.key.Decide(p.deployment, project, d)
		if err != nil {
			return err
		}
		if err := p.control.Present(ctx, "decide", cmd); err != nil && fault.Code(err) != "approval/decided" {
			return err
		}
	}
	return nil
}

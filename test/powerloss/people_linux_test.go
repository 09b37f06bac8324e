package powerloss

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/net/ceokey"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/ops/demo"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// witness is everything that people were ever told, over any number of lives of
// the host: what is acknowledged must still be there in the end.
type witness struct {
	mu       sync.Mutex
	told     []*loomv1.Notice
	reached  map[uint32]*loomv1.Position // by partition
	reported map[string]string           // project to the bead, if it was said
	decided  map[string]bool             // approvals
	noted    map[string]string           // title to id of decisions
	remarks  int
}

func newWitness() *witness {
	return &witness{reached: map[uint32]*loomv1.Position{}, reported: map[string]string{}, decided: map[string]bool{}, noted: map[string]string{}}
}

// attend has everybody come to a host and returns what makes them leave. ended
// says that the project's execution has ended.
func (w *witness) attend(h *process, project string) (ended <-chan struct{}, leave func()) {
	ctx, cancel := context.WithCancel(h.m.t.Context())
	over := make(chan struct{}, 1)
	w.mu.Lock()
	if w.ended(project) {
		over <- struct{}{}
	}
	w.mu.Unlock()
	var people sync.WaitGroup
	for _, visit := range []func(context.Context, *client.Client, *process, string){
		func(ctx context.Context, c *client.Client, _ *process, project string) {
			w.watch(ctx, c, project, over)
		},
		w.report, w.approve, w.remark,
	} {
		people.Go(func() {
			c, err := h.dial(ctx)
			if err != nil {
				return
			}
			defer c.Close()
			visit(ctx, c, h, project)
		})
	}
	return over, func() { cancel(); people.Wait() }
}

// ended says whether a project's execution is known to have ended; mu is held.
func (w *witness) ended(project string) bool {
	return slices.ContainsFunc(w.told, func(n *loomv1.Notice) bool {
		return n.Event.Project == project && n.Event.GetExecutionEnded() != nil
	})
}

// watch notes every notice that was not seen before.
func (w *witness) watch(ctx context.Context, c *client.Client, project string, over chan struct{}) {
	for ctx.Err() == nil {
		q := &loomv1.NoticesRequest{After: &loomv1.Cursor{}}
		w.mu.Lock()
		for p := range uint32(64) {
			if at := w.reached[p]; at != nil {
				q.After.Positions = append(q.After.Positions, at)
			}
		}
		w.mu.Unlock()
		_ = c.Follow(ctx, q, true, func(n *loomv1.Notice) error {
			w.mu.Lock()
			w.told = append(w.told, n)
			w.reached[n.Position.Partition] = n.Position
			w.mu.Unlock()
			if n.Event.Project == project && n.Event.GetExecutionEnded() != nil {
				select {
				case over <- struct{}{}:
				default: // it is known
				}
			}
			return nil
		}) // its end is the host's
		if pause(ctx) != nil {
			return
		}
	}
}

// report hands a project's error in, until it is acknowledged, and never again.
func (w *witness) report(ctx context.Context, c *client.Client, h *process, project string) {
	r := &loomv1.ErrorReport{}
	if err := protojson.Unmarshal(demo.Report(), r); err != nil {
		h.m.t.Error(err)
		return
	}
	r.Project, r.IdempotencyKey = project, project+"-report"
	for {
		w.mu.Lock()
		_, done := w.reported[project]
		w.mu.Unlock()
		if done {
			return
		}
		var bead string
		var err error
		if len(project)%2 == 0 {
			bead, err = "", publish(ctx, h.m.data(), r)
		} else {
			var reply *loomv1.SubmitReply
			reply, err = c.Report(ctx, r)
			bead = reply.GetBead()
		}
		if err == nil {
			w.mu.Lock()
			w.reported[project] = bead
			w.mu.Unlock()
			return
		}
		if pause(ctx) != nil {
			return
		}
	}
}

// publish publishes a report as a failing service would, and returns once the
// broker has promised to keep it.
func publish(ctx context.Context, data string, r *loomv1.ErrorReport) error {
	running, err := broker.Find(data)
	if err != nil {
		return err
	}
	nc, err := nats.Connect(running.URL)
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

// approve approves what is proposed, as often as something may wait.
func (w *witness) approve(ctx context.Context, c *client.Client, h *process, project string) {
	for pause(ctx) == nil {
		about, err := c.Host(ctx, &loomv1.HostRequest{})
		if err != nil {
			continue
		}
		key, err := ceokey.Open(h.m.path("ceo.nk"))
		if err != nil {
			h.m.t.Errorf("the CEO's key: %v", err)
			return
		}
		control, err := client.DialCEO(h.m.data())
		if err != nil {
			continue
		}
		for pause(ctx) == nil {
			w.answer(ctx, c, control, func(d *loomv1.DecideApproval) (*loomv1.SignedCommand, error) {
				return key.Decide(about.Deployment, project, d)
			}, project)
		}
		control.Close()
	}
}

// answer answers what waits.
func (w *witness) answer(ctx context.Context, c, control *client.Client, sign func(*loomv1.DecideApproval) (*loomv1.SignedCommand, error), project string) {
	v, err := c.Inbox(ctx, &loomv1.Query{Project: project})
	if err != nil {
		return
	}
	for _, a := range v.Approvals {
		d := &loomv1.DecideApproval{Approval: a.Id, Digest: a.Digest, Decision: loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, Comment: "good"}
		if a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
			d.Decision = loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
		}
		order, err := sign(d)
		if err == nil && control.Present(ctx, "decide", order) == nil {
			w.mu.Lock()
			w.decided[a.Id] = true
			w.mu.Unlock()
		}
	}
}

// remark writes into the decision graph, one remark after another. One that was
// not acknowledged is not sent again.
func (w *witness) remark(ctx context.Context, c *client.Client, _ *process, project string) {
	for pause(ctx) == nil {
		w.mu.Lock()
		w.remarks++
		title := fmt.Sprintf("remark %d", w.remarks)
		w.mu.Unlock()
		answer, err := c.Decide(ctx, &loomv1.DecisionRequest{Project: project, Verb: &loomv1.DecisionRequest_Add{Add: &loomv1.AddDecision{
			Request: title, Node: &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_OBSERVATION, Title: title, Confidence: 50},
		}}})
		if err == nil {
			w.mu.Lock()
			w.noted[title] = answer.GetDecision().GetId()
			w.mu.Unlock()
		}
	}
}

// tail shows the last notices but for remarks.
func (w *witness) tail(n int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	for _, n := range w.told {
		if !strings.HasPrefix(n.Event.GetDecisionAdded().GetNode().GetTitle(), "remark ") {
			lines = append(lines, fmt.Sprintf("  %s %s %s", n.Event.Time.AsTime().Format("15:04:05.000"), n.Kind, n.Summary))
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// place in the log, as a key.
func place(p *loomv1.Position) string {
	return fmt.Sprintf("%d.%d.%d.%d", p.Partition, p.Epoch, p.Sequence, p.Index)
}

// missing holds what people were told against everything that a host has, and
// says what is not there, or there twice.
func (w *witness) missing(all []*loomv1.Notice) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	w.mu.Lock()
	defer w.mu.Unlock()
	kept, titles, reports, decided := map[string]*loomv1.Notice{}, map[string][]string{}, map[string][]string{}, map[string]bool{}
	for _, n := range all {
		kept[place(n.Position)] = n
		switch f := n.Event.Fact.(type) {
		case *loomv1.Event_DecisionAdded:
			titles[f.DecisionAdded.Node.Title] = append(titles[f.DecisionAdded.Node.Title], f.DecisionAdded.Node.Id)
		case *loomv1.Event_BeadFiled:
			if f.BeadFiled.Bead.Type == loomv1.BeadType_BEAD_TYPE_BUG {
				reports[n.Event.Project] = append(reports[n.Event.Project], f.BeadFiled.Bead.Id)
			}
		case *loomv1.Event_ApprovalDecided:
			decided[f.ApprovalDecided.Approval] = true
		}
	}
	for _, n := range w.told {
		if !proto.Equal(kept[place(n.Position)], n) {
			say("told %s: %s; the journal has %q", place(n.Position), n.Summary, kept[place(n.Position)].GetSummary())
		}
	}
	for title, id := range w.noted {
		if got := titles[title]; len(got) != 1 || got[0] != id {
			say("%q was acknowledged as %s, and the graph has %v", title, id, got)
		}
	}
	for project, bead := range w.reported {
		if got := reports[project]; len(got) > 1 || bead != "" && (len(got) == 0 || got[0] != bead) {
			say("the report of %s was acknowledged as %q, and its beads are %v", project, bead, got)
		}
	}
	for id := range w.decided {
		if !decided[id] {
			say("the answer to %s was acknowledged, and is not there", id)
		}
	}
	return problems
}

package chaos

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Orders come in lots, each placed by one publisher in turn, so that those that
// are blocked know the beads of their permits.
const (
	lotSize    = 12
	publishers = 4
)

// press places orders, each until it is acknowledged.
type press struct {
	many *many
	mu   sync.Mutex
	lots []*lot // that nobody is at
	sent map[int]*promise
	left int
}

// lot is orders from first on, of which so many are acknowledged.
type lot struct {
	first, next, end int
	permits          []string
}

// promise is an order that was acknowledged, by the host or by the broker; then
// without a bead.
type promise struct {
	order     *loomv1.Submission
	published bool
	bead      string
}

func newPress(m *many) *press {
	p := &press{many: m, sent: map[int]*promise{}, left: *orders}
	for first := 0; first < *orders; first += lotSize {
		p.lots = append(p.lots, &lot{first: first, next: first, end: min(first+lotSize, *orders)})
	}
	return p
}

// take gives a publisher a lot that it may place something of; nil if there is
// none for now.
func (p *press) take() *lot {
	p.mu.Lock()
	defer p.mu.Unlock()
	allowed := *orders
	if !p.many.last() {
		allowed = min(*orders, 3*p.many.share(*orders)) // so that many are under way at once
	}
	if len(p.lots) == 0 || len(p.sent) >= allowed {
		return nil
	}
	l := p.lots[0]
	p.lots = p.lots[1:]
	return l
}

func (p *press) put(l *lot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.next < l.end {
		p.lots = append([]*lot{l}, p.lots...)
	}
}

func (p *press) done() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sent) == *orders
}

// promised returns what was acknowledged.
func (p *press) promised() []*promise {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []*promise
	for _, n := range slices.Sorted(maps.Keys(p.sent)) {
		list = append(list, p.sent[n])
	}
	return list
}

// work is a publisher's visit to a host: it repeats an order that was
// acknowledged before, and then places others.
func (p *press) work(ctx context.Context, h *process, who int) {
	c := h.dial(ctx)
	if c == nil {
		return
	}
	defer c.Close()
	p.repeat(ctx, h, c, who)
	for l := p.take(); l != nil; l = p.take() {
		ok := p.place(ctx, h, c, l)
		p.put(l)
		if !ok {
			return
		}
	}
}

// repeat places some orders again that were acknowledged, which must change
// nothing.
func (p *press) repeat(ctx context.Context, h *process, c *client.Client, who int) {
	for i, k := range p.promised() {
		if i%publishers == who && i/publishers%7 == p.many.round%7 {
			p.until(ctx, h, func(ask context.Context) bool { return p.send(ask, h, c, k) })
		}
	}
}

// place places a lot's next order.
func (p *press) place(ctx context.Context, h *process, c *client.Client, l *lot) bool {
	k := &promise{order: nextOrder(l)}
	k.published = len(k.order.BlockedBy) == 0 && k.order.Process == "assembly" && has(l.next, "published", 30)
	if !p.until(ctx, h, func(ask context.Context) bool { return p.send(ask, h, c, k) }) {
		return false
	}
	if k.order.Process == "permit" {
		l.permits = append(l.permits, k.bead)
	}
	p.mu.Lock()
	p.sent[l.next] = k
	p.mu.Unlock()
	l.next++
	return true
}

// until asks again until it is done, which it returns.
func (p *press) until(ctx context.Context, h *process, ask func(context.Context) bool) bool {
	return h.until(ctx, func() bool {
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return ask(short)
	})
}

// send sends an order and returns whether it is acknowledged.
func (p *press) send(ctx context.Context, h *process, c *client.Client, k *promise) bool {
	if k.published {
		return publishOrder(ctx, h.running().URL, k.order) == nil
	}
	reply, err := c.Submit(ctx, k.order)
	if err != nil {
		if fault.Status(err) != fault.Unavailable && ctx.Err() == nil && fault.Code(err) != "submit/unknown-process" {
			p.many.t.Errorf("%s: %v", k.order.Goal, err)
		}
		return false // the processes come with the CEO's first visit
	}
	if k.bead != "" && k.bead != reply.Bead {
		p.many.t.Errorf("%s was answered with bead %q, before with %q", k.order.Goal, reply.Bead, k.bead)
	}
	k.bead = reply.Bead
	return true
}

// nextOrder is the next order of a lot: a few permits, others that wait for one or
// for all so far, and many that wait for nothing.
func nextOrder(l *lot) *loomv1.Submission {
	s := &loomv1.Submission{
		Project: crowd, Goal: describe(l.next), Process: "assembly", IdempotencyKey: describe(l.next),
		Context: &structpb.Struct{Fields: map[string]*structpb.Value{"ready": structpb.NewBoolValue(!has(l.next, "unready", 15))}},
	}
	switch l.next - l.first {
	case 0:
		s.Process = "permit"
	case 3, 9:
		s.BlockedBy = l.permits[len(l.permits)-1:]
	case 4:
		s.BlockedBy = l.permits
	case 5:
		s.Process, s.BlockedBy = "component", l.permits
	case 6:
		s.Process, s.BlockedBy = "permit", l.permits
	case 11:
		s.Process = "component"
	}
	return s
}

// publishOrder publishes an order without credentials, and returns once the
// broker has promised to keep it.
func publishOrder(ctx context.Context, url string, s *loomv1.Submission) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	data, err := proto.Marshal(s)
	if err != nil {
		return err
	}
	_, err = js.Publish(ctx, subject.Task(subject.Must(crowd)), data, jetstream.WithMsgID(s.IdempotencyKey), jetstream.WithRetryAttempts(0))
	return err
}

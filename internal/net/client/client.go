// Package client is how programs talk to a running host over NATS: the command
// line, and tests that look at a host from outside. It uses nothing that any
// other NATS client could not use: the subjects and messages of loom.v1.
package client

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Client talks to one host. It is safe for concurrent use.
type Client struct {
	nc  *nats.Conn
	ceo string // in whose name commands are presented; empty means "ceo"

	// Cut, if not nil, is told by Follow of a journal whose beginning is not read,
	// because it was cut off.
	Cut func(*loomv1.JournalCut)

	refusals refusals
}

// Dial connects to the host that runs on a data directory, as its operator. It
// fails with host/not-running when none answers.
func Dial(data string) (*Client, error) { return of(broker.Dial(data)) }

// DialCEO connects to the account of signed commands of that host; Decide is
// all it can do.
func DialCEO(data string) (*Client, error) { return of(broker.DialCEO(data)) }

func of(nc *nats.Conn, err error) (*Client, error) {
	if err != nil {
		return nil, err
	}
	return New(nc), nil
}

// New returns a client over a connection, which Close ends.
func New(nc *nats.Conn) *Client {
	c := &Client{nc: nc}
	c.refusals.listen(nc)
	return c
}

// Close ends the connection.
func (c *Client) Close() { c.nc.Close() }

// Submit files a bead and returns once it is durable.
func (c *Client) Submit(ctx context.Context, s *loomv1.Submission) (*loomv1.SubmitReply, error) {
	reply := &loomv1.SubmitReply{}
	return reply, c.call(ctx, "submit", s, reply)
}

// Report files an error report and returns once it is durable.
func (c *Client) Report(ctx context.Context, r *loomv1.ErrorReport) (*loomv1.SubmitReply, error) {
	reply := &loomv1.SubmitReply{}
	return reply, c.call(ctx, "report", r, reply)
}

// Look asks for a view: bead, execution, inbox, graph, lock, project or
// workflow.
func (c *Client) Look(ctx context.Context, view string, q *loomv1.Query) (*loomv1.View, error) {
	reply := &loomv1.View{}
	return reply, c.call(ctx, view, q, reply)
}

// History returns the transitions of an execution, oldest first.
func (c *Client) History(ctx context.Context, execution string) ([]*loomv1.Transition, error) {
	reply := &loomv1.HistoryReply{}
	err := c.call(ctx, "history", &loomv1.HistoryRequest{Execution: execution}, reply)
	return reply.Transitions, err
}

// longRead is how long a host may take over what it reads from the journal.
const longRead = 90 * time.Second

// State returns an execution as of a moment of its history. It takes a
// minute for a moment that lies a few million events back.
func (c *Client) State(ctx context.Context, q *loomv1.StateRequest) (*loomv1.StateReply, error) {
	ctx, cancel := context.WithTimeout(ctx, longRead)
	defer cancel()
	reply := &loomv1.StateReply{}
	return reply, c.call(ctx, "state", q, reply)
}

// Fork begins a new bead and execution with the state that an execution has, or
// had, at one of its nodes.
func (c *Client) Fork(ctx context.Context, q *loomv1.ForkRequest) (*loomv1.SubmitReply, error) {
	ctx, cancel := context.WithTimeout(ctx, longRead)
	defer cancel()
	reply := &loomv1.SubmitReply{}
	return reply, c.call(ctx, "fork", q, reply)
}

// Say says something to whoever works on an execution.
func (c *Client) Say(ctx context.Context, q *loomv1.SayRequest) (*loomv1.SubmitReply, error) {
	reply := &loomv1.SubmitReply{}
	return reply, c.call(ctx, "say", q, reply)
}

// Ask asks the decision graph. It takes up to half a minute for a moment that
// lies a few million events back.
func (c *Client) Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	ctx, cancel := context.WithTimeout(ctx, longRead)
	defer cancel()
	reply := &loomv1.GraphReply{}
	return reply, c.call(ctx, "ask", q, reply)
}

// WriteGraph changes the decision graph and returns once that is durable.
func (c *Client) WriteGraph(ctx context.Context, r *loomv1.DecisionRequest) (*loomv1.Answer, error) {
	answer := &loomv1.Answer{}
	return answer, c.call(ctx, "decide", r, answer)
}

// Remember writes to the memory and returns once that is durable.
func (c *Client) Remember(ctx context.Context, r *loomv1.MemoryRequest) (*loomv1.Answer, error) {
	answer := &loomv1.Answer{}
	return answer, c.call(ctx, "remember", r, answer)
}

// Metrics asks how workflows fare.
func (c *Client) Metrics(ctx context.Context, q *loomv1.MetricsRequest) (*loomv1.MetricsReply, error) {
	reply := &loomv1.MetricsReply{}
	return reply, c.call(ctx, "metrics", q, reply)
}

// Costs asks what model calls have cost, and how attempts fared.
func (c *Client) Costs(ctx context.Context, q *loomv1.CostRequest) (*loomv1.CostReply, error) {
	reply := &loomv1.CostReply{}
	return reply, c.call(ctx, "cost", q, reply)
}

// Host says what the host is.
func (c *Client) Host(ctx context.Context) (*loomv1.HostReply, error) {
	reply := &loomv1.HostReply{}
	return reply, c.call(ctx, "host", &loomv1.HostRequest{}, reply)
}

// Decide presents the CEO's signed answer to an approval, as Present does.
func (c *Client) Decide(ctx context.Context, cmd *loomv1.SignedCommand) error {
	return c.Present(ctx, "decide", cmd)
}

// Present presents a signed command of the CEO and returns once it is carried
// out, and durable: verb is decide, move, close, pause, resume or define, as
// the command has it. It needs a connection with the CEO's credentials.
func (c *Client) Present(ctx context.Context, verb string, cmd *loomv1.SignedCommand) error {
	token, err := subject.Parse("verb", verb)
	if err != nil {
		return err
	}
	who, err := subject.Parse("identity", cmp.Or(c.ceo, "ceo"))
	if err != nil {
		return err
	}
	return c.request(ctx, subject.CEO(who, token), cmd, &loomv1.Answer{})
}

// Notices returns a page of history.
func (c *Client) Notices(ctx context.Context, q *loomv1.NoticesRequest) (*loomv1.NoticesReply, error) {
	reply := &loomv1.NoticesReply{}
	return reply, c.call(ctx, "notices", q, reply)
}

// pollEvery is how long a follower waits for a wake-up before it looks anyway.
const pollEvery = 2 * time.Second

// Follow calls fn for every notice that q asks for, from its cursor on, each
// once and in order, until fn or ctx ends it. With live it waits for more at
// the end of the journal; else it returns there. Subscriptions only wake it up:
// what it hands out comes from the journal, so nothing is missed over a
// reconnection or a restart of the host. It ends with the connection's error
// when that was closed for good.
func (c *Client) Follow(ctx context.Context, q *loomv1.NoticesRequest, live bool, fn func(*loomv1.Notice) error) error {
	wake := make(chan struct{}, 1)
	if live {
		sub, err := c.nc.Subscribe(subject.EveryNotice(), func(*nats.Msg) {
			select {
			case wake <- struct{}{}:
			default:
			}
		})
		if err != nil {
			return err
		}
		defer func() { _ = sub.Unsubscribe() }()
	}
	q = proto.CloneOf(q)
	for {
		page, err := c.Notices(ctx, q)
		if err != nil && (!live || fault.Status(err) != fault.Unavailable || ctx.Err() != nil || c.nc.IsClosed()) {
			return err
		}
		for _, cut := range page.GetCuts() {
			if c.Cut != nil {
				c.Cut(cut)
			}
		}
		for _, n := range page.GetNotices() {
			if err := fn(n); err != nil {
				return err
			}
		}
		if page.GetNext() != nil {
			q.After = page.Next
		}
		if err == nil && !page.End {
			continue
		}
		if !live {
			return nil
		}
		select {
		case <-wake:
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Call asks a service of the host, by its name on the wire, and fills reply,
// which is that service's answer.
func (c *Client) Call(ctx context.Context, service string, request, reply proto.Message) error {
	a, ok := reply.(answer)
	if !ok {
		return fault.New("internal/error", "%T is no answer of a service", reply)
	}
	return c.call(ctx, service, request, a)
}

type answer interface {
	proto.Message
	GetError() *loomv1.Error
}

// maxRequest is the most bytes that a host reads of a request.
const maxRequest = 256 << 10

func (c *Client) call(ctx context.Context, service string, req proto.Message, reply answer) error {
	return c.request(ctx, subject.Service(subject.Must(service)), req, reply)
}

func (c *Client) request(ctx context.Context, subj string, req proto.Message, reply answer) error {
	data, err := proto.Marshal(req)
	if err != nil {
		return err
	}
	if len(data) > maxRequest { // the server would end the connection
		return fault.New("submit/too-large", "message has %d bytes, the most is %d", len(data), maxRequest)
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
	}
	ctx, done := c.refusals.watch(ctx, subj)
	defer done()
	msg, err := c.nc.RequestWithContext(ctx, subj, data)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return fault.New("host/unavailable", "the host does not serve %s just now", subj)
	case err != nil:
		return because(ctx, err)
	}
	if msg.Header.Get(micro.ErrorCodeHeader) != "" { // the broker's own refusal
		refusal := &loomv1.Error{}
		if err := proto.Unmarshal(msg.Data, refusal); err == nil && refusal.Code != "" {
			return fault.FromProto(refusal)
		}
		return fault.New("host/unavailable", "the host could not answer: %s", msg.Header.Get(micro.ErrorHeader))
	}
	if err := proto.Unmarshal(msg.Data, reply); err != nil {
		return fault.New("host/unavailable", "the answer cannot be read: %s", err)
	}
	return fault.FromProto(reply.GetError())
}

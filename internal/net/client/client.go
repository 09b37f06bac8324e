// Package client is how programs talk to a running host over NATS: the command
// line, and tests that look at a host from outside. It uses nothing that any
// other NATS client could not use: the subjects and messages of loom.v1.
package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Client talks to one host. It is safe for concurrent use.
type Client struct {
	Services

	nc   *nats.Conn    // nil of a client that is Over something else
	off  error         // what such a one says to who wants a connection
	page time.Duration // how long Follow waits for a page
	ceo  string        // in whose name commands are presented; empty means "ceo"

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
	c := &Client{nc: nc, page: pageWithin}
	c.Services.host = c.call
	c.refusals.listen(nc)
	return c
}

// Over returns a client whose services something else than a running host answers, in
// their encodings. Whoever wants to follow, or to present a command, is told off.
func Over(host func(ctx context.Context, service string, request []byte) ([]byte, error), off error) *Client {
	c := &Client{off: off, page: pageWithin}
	c.Services.host = func(ctx context.Context, service string, req proto.Message, reply answer) error {
		data, err := encode(req)
		if err != nil {
			return err
		}
		if data, err = host(ctx, service, data); err != nil {
			return err
		}
		if err := proto.Unmarshal(data, reply); err != nil {
			return err
		}
		return fault.FromProto(reply.GetError())
	}
	return c
}

// Close ends the connection.
func (c *Client) Close() {
	if c.nc != nil {
		c.nc.Close()
	}
}

// View is a method of Services that answers with a view, such as Services.Bead.
type View func(s Services, ctx context.Context, q *loomv1.Query) (*loomv1.View, error)

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

// pollEvery is how long a follower waits for a wake-up before it looks anyway.
const pollEvery = 2 * time.Second

// pageWithin is how long a page of the journal may take: what tells a request that was
// lost, with the host that had taken it, from one that is answered late.
const pageWithin = 20 * time.Second

// Follow calls fn for every notice that q asks for, from its cursor on, each
// once and in order, until fn or ctx ends it. With live it waits for more at
// the end of the journal; else it returns there. Subscriptions only wake it up:
// what it hands out comes from the journal, so nothing is missed over a
// reconnection or a restart of the host. It ends with the connection's error
// when that was closed for good.
func (c *Client) Follow(ctx context.Context, q *loomv1.NoticesRequest, live bool, fn func(*loomv1.Notice) error) error {
	q = proto.CloneOf(q)
	return c.follow(ctx, live, q.Kinds, func() (followed, error) {
		ctx, cancel := context.WithTimeout(ctx, c.page)
		defer cancel()
		page, err := c.Notices(ctx, q)
		if page.GetNext() != nil {
			q.After = page.Next
		}
		return followed{cuts: page.GetCuts(), end: page.GetEnd(), pass: func() error { return each(page.GetNotices(), fn) }}, err
	})
}

// followed is a page of what is followed.
type followed struct {
	cuts []*loomv1.JournalCut
	// end says that there is no more just now, over that there never will be.
	end, over bool
	// pass hands out what is on the page.
	pass func() error
}

// follow asks for more, page after page. With live it waits for more at the end, and for a
// host that is away; else it returns there.
func (c *Client) follow(ctx context.Context, live bool, kinds []string, more func() (followed, error)) error {
	wake, stop, err := c.wakes(live, kinds)
	if err != nil {
		return err
	}
	defer stop()
	for {
		page, err := more()
		if err != nil && (!live || fault.Status(err) != fault.Unavailable || ctx.Err() != nil || c.nc.IsClosed()) {
			return err
		}
		for _, cut := range page.cuts {
			if c.Cut != nil {
				c.Cut(cut)
			}
		}
		if err := page.pass(); err != nil {
			return err
		}
		switch {
		case err == nil && !page.end:
			continue
		case !live || err == nil && page.over:
			return nil
		}
		if err := rest(ctx, wake); err != nil {
			return err
		}
	}
}

// each calls fn for all of a list, until it fails.
func each[T any](list []T, fn func(T) error) error {
	for _, one := range list {
		if err := fn(one); err != nil {
			return err
		}
	}
	return nil
}

// Wakes returns a channel that has something when there may be new notices of some kinds,
// or of any where none is named. What is missed, the services have: it only saves asking.
func (c *Client) Wakes(kinds ...string) (wake <-chan struct{}, stop func(), err error) {
	return c.wakes(true, kinds)
}

// wakes tells that there may be more, where live asks for that. A host makes the notices
// that somebody listens to, so none but those of the kinds that are wanted.
func (c *Client) wakes(live bool, kinds []string) (wake chan struct{}, stop func(), err error) {
	wake = make(chan struct{}, 1)
	if !live || c.nc == nil {
		return wake, func() {}, c.offIf(live)
	}
	var subs []*nats.Subscription
	stop = func() {
		for _, s := range subs {
			_ = s.Unsubscribe()
		}
	}
	for _, about := range aboutKinds(kinds) {
		sub, err := c.nc.Subscribe(about, func(*nats.Msg) {
			select {
			case wake <- struct{}{}:
			default:
			}
		})
		if err != nil {
			stop()
			return wake, func() {}, err
		}
		subs = append(subs, sub)
	}
	return wake, stop, nil
}

// aboutKinds are the subjects of notices of some kinds; those of all where none is named,
// or one that is no kind, which the host refuses.
func aboutKinds(kinds []string) (list []string) {
	for _, k := range kinds {
		token, err := subject.Parse("kind", k)
		if err != nil {
			return []string{subject.EveryNotice()}
		}
		list = append(list, subject.Notices(subject.About{Kind: token}))
	}
	if len(list) == 0 {
		return []string{subject.EveryNotice()}
	}
	return list
}

// offIf is the error of who wants a connection where there is none.
func (c *Client) offIf(wanted bool) error {
	if wanted {
		return c.off
	}
	return nil
}

// rest waits until there may be more.
func rest(ctx context.Context, wake <-chan struct{}) error {
	select {
	case <-wake:
	case <-time.After(pollEvery):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Call asks a service of the host, by its name on the wire, and fills reply,
// which is that service's answer.
func (c *Client) Call(ctx context.Context, service string, request, reply proto.Message) error {
	a, ok := reply.(answer)
	if !ok {
		return fault.New("internal/error", "%T is no answer of a service", reply)
	}
	return c.Services.host(ctx, service, request, a)
}

// asker sends a request to a service and fills the reply.
type asker func(ctx context.Context, service string, request proto.Message, reply answer) error

// ask is the one path of all services: it sends q and returns the filled reply.
func ask[Reply answer](ctx context.Context, host asker, service string, q proto.Message, reply Reply) (Reply, error) {
	if e := endpoint.Of(service); e != nil && e.Slow {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, slowWithin)
		defer cancel()
	}
	return reply, host(ctx, service, q, reply)
}

// slowWithin is longer than a host takes over what it reads from the journal.
const slowWithin = 100 * time.Second

type answer interface {
	proto.Message
	GetError() *loomv1.Error
}

// maxRequest is the most bytes that a host reads of a request.
const maxRequest = 256 << 10

// encode writes a request. It refuses texts that are no UTF-8, of which nobody could
// show what they say.
func encode(req proto.Message) ([]byte, error) {
	data, err := proto.Marshal(req)
	if err != nil {
		return nil, fault.New("request/parameter", "a text is not valid UTF-8").Want("write it in UTF-8")
	}
	return data, nil
}

func (c *Client) call(ctx context.Context, service string, req proto.Message, reply answer) error {
	return c.request(ctx, subject.Service(subject.Must(service)), req, reply)
}

func (c *Client) request(ctx context.Context, subj string, req proto.Message, reply answer) error {
	if c.nc == nil {
		return c.off
	}
	data, err := encode(req)
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
	msg := &nats.Msg{Subject: subj, Data: data, Header: nats.Header{broker.RequestHeader: {rand.Text()}}}
	for {
		err := c.once(ctx, msg, reply)
		if fault.Code(err) != "host/silent" {
			return err
		}
		select {
		case <-time.After(silentFor): // another host takes its place
		case <-ctx.Done():
			return err
		}
	}
}

// silentFor is how long nothing is asked of a host whose peer has just been silent for
// three seconds.
const silentFor = 100 * time.Millisecond

// once sends a request and fills the reply. It may be sent again: its name says that it
// is the same.
func (c *Client) once(ctx context.Context, request *nats.Msg, reply answer) error {
	msg, err := c.nc.RequestMsgWithContext(ctx, request)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return fault.New("host/unavailable", "the host does not serve %s just now", request.Subject)
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

package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/nats-io/nkeys"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Request is a request to a service.
type Request struct {
	Subject string
	// Header is the client's own, "Content-Type" for example.
	Header map[string][]string
	Data   []byte
	// Who made it, as the server saw the connection; never what the request
	// says. It has no kind for a CEO's command: there the signature decides.
	Who *loomv1.Identity
	// Projects are all that it may be about, for a sender who is narrowed to
	// some; empty means any.
	Projects []string
	// Roles are those that a worker may work in.
	Roles []string
}

// Handler answers a request with the body of the reply. It runs on a goroutine
// of its own and may block. An error is answered as a loomv1.Error, with the
// headers of NATS services; use it when the answer has no place for one.
type Handler func(context.Context, Request) ([]byte, error)

// inFlight is how many requests of one service are handled at once.
const inFlight = 256

// Serve answers requests to loom.v1.svc.NAME, for every host that serves it
// one of them gets each request. It returns when the server knows. A message
// without a reply subject is no request and is ignored: nobody waits for it,
// and it is what the server would make of a client that chose a service as
// the reply subject of something else.
func (b *Broker) Serve(name string, handle Handler) error {
	token, err := subject.Parse("service", name)
	if err != nil {
		return err
	}
	return b.add(core, name, subject.Service(token), handle)
}

// ServeSeat answers what agents of leaf hosts ask; the sender is a worker.
func (b *Broker) ServeSeat(handle Handler) error {
	return b.add(core, "seat", subject.Seat(), handle)
}

// ServeCEO answers the signed commands in the account of the CEO.
func (b *Broker) ServeCEO(handle Handler) error {
	return b.add(control, "ceo", subject.CEOs(), handle)
}

func (b *Broker) add(account, name, subj string, handle Handler) error {
	nc := b.conns[account]
	s, err := micro.AddService(nc, micro.Config{Name: "loom-" + name, Version: "1.0.0", QueueGroup: "loom"})
	if err != nil {
		return fmt.Errorf("broker: service %s: %w", name, err)
	}
	slots := make(chan struct{}, inFlight)
	take := micro.HandlerFunc(func(r micro.Request) {
		if r.Reply() == "" {
			return
		}
		slots <- struct{}{}
		if !b.handle(func() {
			defer func() { <-slots }()
			b.answer(account, r, handle)
		}) {
			<-slots
			_ = nc.PublishMsg(refusal(r.Reply(), fault.New("host/stopping", "the host is stopping; try again")))
		}
	})
	err = s.AddEndpoint(name, take, micro.WithEndpointSubject(subj))
	if err == nil && account == core && b.server != nil && b.Clustered() {
		err = b.here(s, name, subj, take)
	}
	if err != nil {
		return fmt.Errorf("broker: service %s: %w", name, err)
	}
	b.mu.Lock()
	b.services = append(b.services, s)
	b.mu.Unlock()
	return flush(context.Background(), nc)
}

// answer handles one request.
func (b *Broker) answer(account string, r micro.Request, handle Handler) {
	ctx, cancel := context.WithTimeout(context.Background(), requestWithin)
	defer cancel()
	ctx, done := b.whileWritable(ctx)
	defer done()
	from, err := b.who(account, r)
	var body []byte
	if err == nil {
		body, err = handle(ctx, Request{Subject: subject.AskedOn(r.Subject()), Header: r.Headers(), Data: r.Data(), Who: from.who, Projects: from.projects, Roles: from.roles})
	}
	if alone := context.Cause(ctx); fault.Code(alone) == "cluster/no-quorum" {
		err = alone // whatever the handler made of its end
	}
	if most := b.conns[account].MaxPayload() - headroom; err == nil && int64(len(body)) > most {
		err = fault.New("answer/too-large", "the answer has %d bytes, the most is %d", len(body), most).Want("ask for less, by id or with a limit")
	}
	reply := &nats.Msg{Subject: r.Reply(), Data: body}
	if err != nil {
		reply = refusal(r.Reply(), fault.From(err))
	}
	// Not by r, which the micro package reads when its handler has returned.
	if err := b.conns[account].PublishMsg(reply); err != nil {
		b.log.Warn("an answer did not leave", "subject", r.Subject(), "error", err)
	}
}

// here has this host answer what its own server is asked on a subject. Without that the
// server gives each request to any host of the cluster: to one that sleeps, too, for the
// eight seconds until its routes are given up.
func (b *Broker) here(s micro.Service, name, subj string, take micro.Handler) error {
	at := subject.At(subject.Must(b.config.Dir.Manifest().Host), subj)
	if err := s.AddEndpoint(name+"-here", take, micro.WithEndpointSubject(at)); err != nil {
		return err
	}
	if err := flush(context.Background(), b.conns[core]); err != nil {
		return err
	}
	hosts, err := b.server.LookupAccount(core)
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.heres = append(b.heres, subj)
	b.mu.Unlock()
	return hosts.AddMapping(subj, at)
}

// elsewhere has the cluster's other hosts answer what this one's server is asked.
func (b *Broker) elsewhere() {
	b.mu.Lock()
	heres := b.heres
	b.heres = nil
	b.mu.Unlock()
	if len(heres) == 0 {
		return
	}
	if hosts, err := b.server.LookupAccount(core); err == nil {
		for _, subj := range heres {
			hosts.RemoveMapping(subj)
		}
	}
}

// RequestHeader carries a name that a client gives a request: one that is sent again
// under the same name has no effect again. It is the sender's own, and at most 128 bytes.
const RequestHeader = "Loom-Request"

// headroom is what headers may take of a message.
const headroom = 4 << 10

// requestWithin bounds a handler: half a minute later the server has forgotten
// where the answer would go.
const requestWithin = 90 * time.Second

// refusal is the answer that carries e.
func refusal(to string, e *fault.Error) *nats.Msg {
	data, err := proto.Marshal(e.Proto())
	if err != nil { // the text is not UTF-8
		data, _ = proto.Marshal(&loomv1.Error{Code: e.Code})
	}
	return &nats.Msg{Subject: to, Data: data, Header: nats.Header{
		micro.ErrorCodeHeader: {strconv.Itoa(int(fault.Status(e)))},
		micro.ErrorHeader:     {headerText(e.Code + ": " + e.Message)},
	}}
}

// Refusal returns the error that an answer of a service carries in its headers,
// or nil.
func Refusal(m *nats.Msg) error {
	if m.Header.Get(micro.ErrorCodeHeader) == "" {
		return nil
	}
	e := &loomv1.Error{}
	if err := proto.Unmarshal(m.Data, e); err != nil || e.Code == "" {
		return fault.New("internal/error", "a host refuses: %s", m.Header.Get(micro.ErrorHeader))
	}
	return fault.FromProto(e)
}

// headerText is s on one line.
func headerText(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

// who returns the identity of the connection that made a request. The server
// writes it into a header as the request comes over from the edge account, in
// place of whatever the client wrote there. A request without it came from
// another host, in the core account. In the control account nobody stamps
// anything, and nothing there is believed.
func (b *Broker) who(account string, r micro.Request) (sender, error) {
	stamp := r.Headers().Get(server.ClientInfoHdr)
	switch {
	case account == control:
		return sender{who: new(loomv1.Identity)}, nil
	case stamp == "":
		return sender{who: b.users[0].identity()}, nil
	}
	var info server.ClientInfo
	if err := json.Unmarshal([]byte(stamp), &info); err != nil {
		return sender{}, fault.New("request/denied", "the request's sender cannot be read")
	}
	if nkeys.IsValidPublicUserKey(info.User) { // the stamp of a server that asks no gate
		return b.holder(info.User)
	}
	return stamped(info.User)
}

// holder returns who has a key, for a server that asks no gate. One that is not
// known may be new: the deployment is asked, once in a while.
func (b *Broker) holder(key string) (sender, error) {
	s, err := b.gate.sender(key)
	now := time.Now().UnixNano()
	if last := b.looked.Load(); err == nil || now-last < int64(lookEvery) || !b.looked.CompareAndSwap(last, now) {
		return s, err
	}
	list, failed := b.Identities().List(context.Background())
	if failed != nil {
		return s, err
	}
	b.gate.admit(list, nil)
	return b.gate.sender(key)
}

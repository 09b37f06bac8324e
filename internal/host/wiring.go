package host

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host/memories"
	"github.com/loomrun/loom/internal/host/registry"
	"github.com/loomrun/loom/internal/host/service"
	"github.com/loomrun/loom/internal/host/writing"
	"github.com/loomrun/loom/internal/net/broker"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// tasks hands the stream of submissions to the intake.
type tasks struct{ *broker.Broker }

func (t tasks) ConsumeTasks(ctx context.Context, handle func(context.Context, actors.Letter) error) error {
	return t.Broker.ConsumeTasks(ctx, func(ctx context.Context, m broker.Task) error {
		return handle(ctx, actors.Letter{
			Subject: m.Subject, ContentType: header(m.Header, "Content-Type"), Data: m.Data, Key: taskKey(m),
			From: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_PUBLISHER},
		})
	})
}

// taskKey names a message of the stream for good: by the id that its publisher
// gave it and its content, so that a publisher's retry files nothing twice and
// nobody can use up another's id; else by the stream's own id.
func taskKey(m broker.Task) string {
	id := header(m.Header, nats.MsgIdHdr)
	if id == "" {
		return m.ID
	}
	sum := sha256.Sum256(m.Data)
	return fmt.Sprintf("%q %x", id, sum)
}

// header returns the first value of a header, however it is spelled.
func header(h map[string][]string, name string) string {
	for k, v := range h {
		if strings.EqualFold(k, name) && len(v) > 0 {
			return v[0]
		}
	}
	return ""
}

// queue hands assignments to agents.
type queue struct{ *broker.Broker }

func (q queue) Pull(ctx context.Context, role string) (actors.Delivery, error) {
	d, err := q.PullWork(ctx, role)
	if err != nil {
		return nil, err
	}
	return delivery{d}, nil
}

type delivery struct{ *broker.Delivery }

func (d delivery) Assignment() *loomv1.Assignment { return d.Delivery.Assignment }
func (d delivery) Ack(context.Context) error      { return d.Delivery.Ack() }

func (h *Host) live(projectID, bead, agent, text string) {
	if h.broker == nil {
		return // of a leaf host: nobody hears it
	}
	p, err := subject.Parse("project", projectID)
	if err != nil {
		return
	}
	b, err := subject.Parse("bead", bead)
	if err != nil {
		return
	}
	role, name, err := subject.Agent(agent)
	if err != nil {
		return
	}
	_ = h.broker.Core().Publish(subject.Live(p, b, role, name), []byte(text)) // live only: nobody is promised it
}

// register registers the configured projects and gives every project the definitions
// that this release brings.
func (h *Host) register(ctx context.Context) error {
	h.known.Changed = h.fleet.Reports.Changed
	h.registrar = registry.New(registry.Config{
		Cells: h.projects, Projects: &h.known, Library: h.library, Named: h.config.named(), Reporting: h.config.Reporting, ForAll: h.config.forAll(),
		Do: h.do, Check: func(c *loomv1.ProjectConfig) error { return fault.Join(h.config.checkProject(c)) },
		Shared: h.broker.Clustered, Moved: h.places.forget,
	})
	return h.registrar.Start(ctx)
}

func (h *Host) do(ctx context.Context, id string, cmd *loomv1.Command) error {
	cmd.Project = id
	cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: h.dir.Manifest().Host}
	_, err := h.projects.Do(ctx, cmd)
	return err
}

// workLost has all projects put their tickets into a work queue that is new.
func (h *Host) workLost() {
	if projects := h.way(); projects != nil { // else none has put any there
		projects.OfferAgain()
	}
}

// way returns the way to the projects, nil before there is one.
func (h *Host) way() *actors.Projects {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.projects
}

func (h *Host) setProjects(p *actors.Projects) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.projects = p
}

// serveWithin bounds a request to a service, and readWithin one that may have
// to read a journal from its beginning.
const (
	serveWithin = 30 * time.Second
	readWithin  = 85 * time.Second
)

// serve opens the host to requests, once every project is known.
func (h *Host) serve(context.Context) error {
	h.writing = h.writer()
	h.intake = h.system.StartIntake(h.ctx, h.projects, gated{tasks{h.broker}, h.space.Admit}, h.known.Only, h.writing.Fit, h.log)
	h.background.Go(func() { h.own.run(h.ctx) })
	services := h.services()
	if err := endpoint.Complete(slices.Collect(maps.Keys(services))); err != nil {
		return err
	}
	for name, f := range services {
		if err := h.broker.Serve(name, h.handler(timeLimit(name), f)); err != nil {
			return err
		}
	}
	if err := h.broker.ServeSeat(h.seats().Answer); err != nil {
		return err
	}
	return h.broker.ServeCEO(h.handler(serveWithin, h.serveCEO))
}

// writer returns what answers the services that change something.
func (h *Host) writer() *writing.Writer {
	return writing.New(writing.Config{
		Host: h.Name(), Data: h.dir.Path(), Projects: h.projects, Way: h.memories().Way(h.projects), Known: &h.known, Registrar: h.registrar,
		Executions: h.reading.Executions, Blobs: h.blobs, Roles: h.roles, Secrets: h.secrets, Admit: h.space.Admit, Room: h.disk.Room, Hosts: h.fleet.Hosts, Lacking: h.tools.lacking,
		AsksModel: h.asksModel(), Submit: func(ctx context.Context, l actors.Letter) *loomv1.SubmitReply { return h.intake.Submit(ctx, l) },
	})
}

// memories do for projects of this host what their memory cannot.
func (h *Host) memories() *memories.Memories {
	return &memories.Memories{States: h.projects, Projects: &h.known, Blobs: h.blobs, Secrets: h.secrets, Log: h.log}
}

// timeLimit bounds a request to a service.
func timeLimit(service string) time.Duration {
	if endpoint.Of(service).Slow {
		return readWithin
	}
	return serveWithin
}

func (h *Host) handler(within time.Duration, f service.Handler) broker.Handler {
	return func(ctx context.Context, r broker.Request) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		defer context.AfterFunc(h.ctx, cancel)() // nobody is left to ask once the host stops
		if err := h.permit(r); err != nil {
			return nil, h.secrets.Error(err)
		}
		kind := header(r.Header, "Content-Type")
		ctx = actors.Asked(ctx, requestName(r.Who, header(r.Header, broker.RequestHeader)))
		reply := f(ctx, service.Call{Subject: r.Subject, ContentType: kind, Data: r.Data, From: r.Who, Projects: r.Projects})
		return encode(kind, h.secrets.Answer(reply))
	}
}

// requestName is what a request is known by that its sender has named, and "" where it
// has not: nobody's names are another's.
func requestName(who *loomv1.Identity, name string) string {
	if name == "" || len(name) > 128 {
		return ""
	}
	return fmt.Sprintf("%d %q %s", who.GetKind(), who.GetName(), name)
}

// serveCEO takes a command that came in over the account of the CEO, whose
// users are its way in; what it is worth, its signature says.
func (h *Host) serveCEO(ctx context.Context, c service.Call) proto.Message {
	cmd := &loomv1.SignedCommand{}
	if err := actors.Decode(c.ContentType, c.Data, cmd); err != nil {
		return &loomv1.Answer{Error: fault.From(err).Proto()}
	}
	from := &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO}
	if rest := subject.After(subject.Must("ceo"), c.Subject); len(rest) > 0 {
		from.Name = rest[0]
	}
	return h.projects.Decide(ctx, from, cmd)
}

package host

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host/journals"
	"github.com/loomrun/loom/internal/host/service"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/net/session"
	"github.com/loomrun/loom/internal/net/token"
	"github.com/loomrun/loom/internal/net/web"
	"github.com/loomrun/loom/internal/page"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// DefaultHTTP is where a host serves HTTP unless it is told otherwise.
const DefaultHTTP = "127.0.0.1:7420"

// urlFile says where HTTP is served, in the data directory, while it is.
const urlFile = "http.url"

// pageFile says where browsers of this machine find it.
const pageFile = "page.url"

// startWeb serves HTTP, if that is configured.
func (h *Host) startWeb(ctx context.Context) error {
	if h.config.HTTP == "" {
		return nil
	}
	h.meters.Watch(families, h.figures)
	all := &services{h: h, all: h.services()}
	s, err := web.Start(ctx, web.Config{
		Listen: h.config.HTTP, TLS: h.addresses.webTLS(), Insecure: h.config.Insecure, Hosts: h.addresses.webHosts(), Services: all, Clean: h.secrets.Error, MCP: all.protocol, Meters: h.meters, Logger: h.log, Page: page.Files(),
		Keys: token.NewKeys(h.dir.Path(), time.Now), Sessions: session.NewKeeper(h.dir.Path(), time.Now),
	})
	if fault.Code(err) == "host/port" && h.config.HTTPIfFree {
		h.log.Warn("no HTTP: the address is taken", "address", h.config.HTTP)
		return nil
	}
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.web = s
	h.mu.Unlock()
	if err := h.dir.WriteFile([]byte(s.PageURL()+"\n"), pageFile); err != nil {
		return err
	}
	return h.dir.WriteFile([]byte(s.URL()+"\n"), urlFile)
}

func (h *Host) stopWeb(ctx context.Context) {
	if h.web != nil {
		_ = os.Remove(h.dir.Path(urlFile)) // one that stays is found out by connecting
		_ = os.Remove(h.dir.Path(pageFile))
		h.web.Stop(ctx)
	}
}

// HTTP returns where the host serves HTTP, or "".
func (h *Host) HTTP() string {
	if h.web == nil {
		return ""
	}
	return h.web.URL()
}

// services are what the host answers, as the web asks.
type services struct {
	h     *Host
	all   map[string]service.Handler
	wakes wakes
}

// Call implements web.Services.
func (s *services) Call(ctx context.Context, name string, from *loomv1.Identity, contentType string, body []byte) proto.Message {
	f, ok := s.all[name]
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit(name))
	defer cancel()
	defer context.AfterFunc(s.h.ctx, cancel)()
	ctx = actors.Asked(ctx, "")
	return s.h.secrets.Answer(f(ctx, service.Call{Subject: subject.Service(subject.Must(name)), ContentType: contentType, Data: body, From: from}))
}

// Ready implements web.Services: partitions have recovered, journals take
// appends, and the projection follows them.
func (s *services) Ready(ctx context.Context) []web.Part {
	part := func(name string, err error) web.Part {
		p := web.Part{Name: name}
		if err != nil {
			p.Code = fault.From(err).Code
		}
		return p
	}
	parts := []web.Part{part("partitions", s.h.projects.Ready(ctx))}
	for _, damage := range s.h.Damage() {
		parts = append(parts, part("stored", damage))
	}
	for i, log := range s.h.journals.Logs {
		parts = append(parts, part(fmt.Sprintf("journal %02d", i), log.(*journals.Timed).Failed(ctx)),
			part(fmt.Sprintf("projection %02d", i), s.h.projection.Failed(i)))
	}
	return parts
}

// Watch implements web.Services.
func (s *services) Watch() (<-chan struct{}, func()) { return s.wakes.watch(s.h.broker.Core()) }

// Live implements web.Services.
func (s *services) Live(project string, fn func(*loomv1.Writing)) (func(), error) {
	return client.Live(s.h.broker.Core(), project, fn)
}

// wakes tells whoever watches that there are new notices. It listens only while
// somebody does.
type wakes struct {
	mu       sync.Mutex
	watchers map[chan struct{}]bool
	sub      *nats.Subscription
}

func (w *wakes) watch(nc *nats.Conn) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watchers == nil {
		w.watchers = map[chan struct{}]bool{}
	}
	w.watchers[c] = true
	if w.sub == nil { // without it watchers look now and then
		w.sub, _ = nc.Subscribe(subject.EveryNotice(), func(*nats.Msg) { w.wake() })
	}
	return c, func() { w.leave(c) }
}

func (w *wakes) leave(c chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watchers, c)
	if len(w.watchers) == 0 && w.sub != nil {
		_ = w.sub.Unsubscribe()
		w.sub = nil
	}
}

func (w *wakes) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

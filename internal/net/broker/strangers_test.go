package broker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// observed are subjects on which observers hear notices and live text.
var observed = []string{
	"loom.v1.notice.shop.shop-1.shop-1.approval-decided.-.-.-", "loom.v1.notice.shop.x", "loom.v1.notice.p.p-1.p-1.bead-filed.h1.qa.qa-1",
	"loom.v1.live.shop.shop-1.qa-engineer.qa-engineer-1", "loom.v1.live.p.x",
}

// TestF56_NobodySpeaksOnNoticesThroughAnAnswer is the attack on observers: a
// client publishes what it may, a task, a report, a request that is answered,
// refused or answered with its own words, and names the subject of a notice as
// its reply subject. The server, and the services, send their answers there.
func TestF56_NobodySpeaksOnNoticesThroughAnAnswer(t *testing.T) {
	o := listen(t)
	for i, reply := range []broker.Handler{
		func(_ context.Context, r broker.Request) ([]byte, error) { return r.Data, nil },
		func(context.Context, broker.Request) ([]byte, error) { return nil, nil },
		func(_ context.Context, r broker.Request) ([]byte, error) {
			return nil, fault.New("request/denied", "no").Got(string(r.Data))
		},
	} {
		if err := o.Serve([]string{"submit", "report", "notices"}[i], reply); err != nil {
			t.Fatal(err)
		}
	}
	heard := make(chan *nats.Msg, 1000)
	var ears []*nats.Conn
	for _, kind := range []string{"anonymous", "publisher", "narrow", "observer", "ann", "operator"} {
		nc := o.as(t, kind)
		ears = append(ears, nc)
		for _, subj := range []string{"loom.v1.notice.>", "loom.v1.live.>"} {
			if kind == "narrow" {
				subj = strings.Replace(subj, ".>", ".shop.>", 1)
			}
			if _, err := nc.Subscribe(subj, func(m *nats.Msg) { heard <- m }); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for kind, may := range map[string][]string{
		"anonymous": {"loom.v1.task.shop", "loom.v1.error.web", "loom.v1.svc.submit", "loom.v1.svc.report", "loom.v1.svc.notices"},
		"publisher": {"loom.v1.task.shop", "loom.v1.error.web", "loom.v1.svc.submit", "loom.v1.svc.report", "loom.v1.svc.notices"},
		"narrow":    {"loom.v1.task.shop", "loom.v1.svc.submit", "loom.v1.svc.report", "loom.v1.svc.notices"},
		"observer":  {"loom.v1.svc.notices"},
		"ann":       {"loom.v1.svc.notices"},
		"operator":  {"loom.v1.task.shop", "loom.v1.error.web", "loom.v1.svc.submit", "loom.v1.svc.report", "loom.v1.svc.notices"},
	} {
		nc := o.as(t, kind)
		for _, from := range may {
			for _, target := range observed {
				if err := nc.PublishRequest(from, target, []byte("CEO APPROVED shop-1: as "+kind+" through "+from)); err != nil {
					t.Fatal(err)
				}
			}
			// What was sent before it has been answered when this is.
			if _, err := nc.Request(from, []byte("last"), 10*time.Second); err != nil {
				t.Errorf("%s: an answer to its own inbox: %s: %v", kind, from, err)
			}
		}
	}
	settleDownServices(t, o)
	// A notice of a host's is heard by each, in two places where it may be.
	n := &loomv1.Notice{Event: &loomv1.Event{Project: "shop", Bead: "shop-1", Fact: &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{Bead: &loomv1.Bead{Id: "shop-1"}}}}, Position: &loomv1.Position{Sequence: 1}}
	if !o.Heard(n.Event) {
		t.Error("the host believes that nobody listens")
	}
	if err := o.PublishNotice(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	late := time.After(10 * time.Second)
	for range ears {
		select {
		case m := <-heard:
			if m.Header.Get("Loom-Position") == "" {
				t.Errorf("an observer heard %q on %s, which no host has published", m.Data, m.Subject)
			}
		case <-late:
			t.Fatal("not every observer hears the notice of a host")
		}
	}
}

// settleDownServices waits until what was sent to services before is answered.
func settleDownServices(t *testing.T, o open) {
	t.Helper()
	for _, name := range []string{"submit", "report", "notices"} {
		for range 300 { // more than are handled at once
			if _, err := o.Core().Request("loom.v1.svc."+name, nil, 10*time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestSEC01_ClientsWithoutCredentialsKeepNobodyOut opens connections without
// credentials until the server takes no more: whoever has credentials connects,
// is answered, and submits.
func TestSEC01_ClientsWithoutCredentialsKeepNobodyOut(t *testing.T) {
	o := listen(t)
	if err := o.Serve("submit", func(context.Context, broker.Request) ([]byte, error) { return []byte("yes"), nil }); err != nil {
		t.Fatal(err)
	}
	const most = 1024
	var all []*nats.Conn
	defer func() {
		for _, nc := range all {
			nc.Close()
		}
	}()
	for {
		nc, err := nats.Connect(o.URL(), nats.NoReconnect())
		if err == nil {
			err = nc.FlushTimeout(10 * time.Second)
		}
		if err != nil {
			if !errors.Is(err, nats.ErrMaxAccountConnectionsExceeded) && !errors.Is(err, nats.ErrConnectionClosed) {
				t.Logf("connection %d: %v", len(all)+1, err)
			}
			break
		}
		if all = append(all, nc); len(all) > most {
			t.Fatalf("%d clients without credentials are connected", len(all))
		}
	}
	if len(all) != most {
		t.Errorf("%d clients without credentials can connect, want %d", len(all), most)
	}
	for _, kind := range []string{"operator", "publisher"} {
		nc, err := o.dial(t, kind)
		if err != nil {
			t.Fatalf("%s cannot connect: %v", kind, err)
		}
		for _, subj := range []string{"loom.v1.svc.submit", "loom.v1.task.shop"} {
			if m, err := nc.Request(subj, []byte("x"), 10*time.Second); err != nil || len(m.Data) == 0 {
				t.Errorf("%s on %s: %v", kind, subj, err)
			}
		}
	}
}

// kept is a log of which the lines are counted.
type kept struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.Write(p)
}

// lines returns the warnings and errors in which a word occurs.
func (k *kept) lines(word string) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for line := range strings.Lines(k.text.String()) {
		if strings.Contains(line, word) && (strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR")) {
			n++
		}
	}
	return n
}

// TestSEC01_ClientsWithoutCredentialsHaveALogBudget has such a client do what it
// must not a thousand times, in each way that the server logs: a few lines come
// of it, and what an identity does is still told.
func TestSEC01_ClientsWithoutCredentialsHaveALogBudget(t *testing.T) {
	log := new(kept)
	path := t.TempDir()
	b, _ := start(t, path, broker.Config{Listen: "127.0.0.1:0", Logger: slog.New(slog.NewTextHandler(log, nil))})
	o := open{Broker: b, path: path}
	nc := o.as(t, "anonymous")
	for i := range 1000 {
		subj := fmt.Sprint("loom.v1.journal.", i)
		_ = nc.Publish(subj, []byte("x"))
		_ = nc.PublishRequest("loom.v1.task.shop", "_R_.x", []byte("x"))
		sub, err := nc.SubscribeSync(fmt.Sprint("loom.v1.work.", i))
		if err != nil {
			t.Fatal(err)
		}
		_ = sub.Unsubscribe()
	}
	for range 50 {
		if bad, err := nats.Connect(o.URL(), nats.UserInfo("root", "secret"), nats.NoReconnect()); err == nil {
			bad.Close()
			t.Fatal("a password lets somebody in")
		}
	}
	if err := nc.FlushTimeout(time.Minute); err != nil {
		t.Fatal(err)
	}
	before := log.lines("")
	if before == 0 || before > 60 {
		t.Errorf("a client without credentials has %d lines written", before)
	}
	operator := o.as(t, "operator")
	if err := operator.Publish("loom.v1.journal.00", []byte("by the operator")); err != nil {
		t.Fatal(err)
	}
	if err := operator.Flush(); err != nil {
		t.Fatal(err)
	}
	if log.lines("operator:operator") != 1 {
		t.Errorf("what the operator was refused is not told once:\n%s", log.text.String())
	}
}

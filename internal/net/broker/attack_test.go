package broker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/journal/journaltest"
	"github.com/loomrun/loom/internal/store/natsjournal"
)

// targets are reply subjects by which an attacker would make the server, or a
// service, write or call where the attacker itself may not.
var targets = []string{
	"loom.v1.journal.00", "loom.v1.journal.01", "loom.v1.work.qa.any.normal.p-1-x1-a1-g1", "loom.v1.dlq.tasks",
	"loom.v1.notice.p.p-1.p-1.bead-filed.-.-.-", "loom.v1.live.p.p-1.qa-engineer.qa-engineer-1", "loom.v1.ceo.ann.approve", "loom-proof",
	"loom.v1.svc.scale", "loom.v1.svc.submit", "loom.v1.actor.h1.1", "loom.v1.name.lock",
	"$O.LOOM_BLOB.C.x", "$O.LOOM_BLOB.M.x", "$KV.x.y",
	"$JS.API.STREAM.PURGE.TASKS", "$JS.API.STREAM.DELETE.TASKS", "$JS.API.STREAM.PURGE.LOOM_J_00", "$JS.API.STREAM.DELETE.LOOM_J_00",
	"$JS.API.STREAM.UPDATE.TASKS", "$JS.API.CONSUMER.DELETE.TASKS.intake", "$JS.API.CONSUMER.CREATE.TASKS",
	"$JS.API.CONSUMER.MSG.NEXT.TASKS.intake", "$JS.ACK.TASKS.intake.1.1.1.1.0",
	"_INBOX_operator.x", "_INBOX_host.x",
}

// TestSEC01_ReplySubjectsReachNothing is the attack on the journal: a client
// publishes what it may, and names as its reply subject what it may not.
func TestSEC01_ReplySubjectsReachNothing(t *testing.T) {
	o := listen(t)
	ctx := t.Context()
	log, err := natsjournal.New(ctx, o.Core(), 0)
	if err != nil {
		t.Fatal(err)
	}
	head := journaltest.Fill(t, log, journal.Head{}, 3)
	stray := make(chan string, 1000)
	// The service answers in the three ways there are: a body, an empty body
	// (which is what the server's own interface takes for a plain request),
	// and an error.
	for i, reply := range []func() ([]byte, error){
		func() ([]byte, error) { return []byte(`{"seq":3}`), nil },
		func() ([]byte, error) { return nil, nil },
		func() ([]byte, error) { return nil, fault.New("request/denied", "no") },
	} {
		name := []string{"submit", "report", "notices"}[i]
		if err := o.Serve(name, func(_ context.Context, r broker.Request) ([]byte, error) { return reply() }); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Serve("scale", func(_ context.Context, r broker.Request) ([]byte, error) {
		if string(r.Data) != "probe" {
			stray <- "service scale was called by " + r.Who.String()
		}
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := o.ServeCEO(func(_ context.Context, r broker.Request) ([]byte, error) {
		if r.Subject != "loom.v1.ceo.ann.approve" || string(r.Data) != `{"seq":1}` && string(r.Data) != "last" {
			stray <- "a CEO's command arrived on " + r.Subject
		}
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	watch(t, o, stray)
	before := states(t, o)
	sent := 0
	for kind, may := range map[string][]string{
		"anonymous": {"loom.v1.task.p", "loom.v1.error.web", "loom.v1.svc.submit", "loom.v1.svc.report", "loom.v1.svc.notices"},
		"publisher": {"loom.v1.task.p", "loom.v1.error.web", "loom.v1.svc.submit", "loom.v1.svc.report", "loom.v1.svc.notices"},
		"operator":  {"loom.v1.task.p", "loom.v1.error.web", "loom.v1.svc.submit", "loom.v1.svc.report", "loom.v1.svc.notices"},
		"narrow":    {"loom.v1.task.shop", "loom.v1.svc.submit", "loom.v1.svc.report", "loom.v1.svc.notices"},
		"observer":  {"loom.v1.svc.notices"},
		"ann":       {"loom.v1.svc.notices"},
		"control":   {"loom.v1.ceo.ann.approve"},
	} {
		nc := o.as(t, kind)
		for _, from := range may {
			for _, target := range targets {
				if err := nc.PublishRequest(from, target, []byte(`{"seq":1}`)); err != nil {
					t.Fatal(err)
				}
				sent++
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		// What was sent before it has been handled when this is answered.
		for _, from := range may {
			if _, err := nc.Request(from, []byte("last"), time.Minute); err != nil {
				t.Fatalf("%s after the attack: %v", from, err)
			}
		}
	}
	settleDown(t, o)
	after := states(t, o)
	for name, was := range before {
		if now := after[name]; now.LastSeq != was.LastSeq && name != "TASKS" || now.FirstSeq < was.FirstSeq || now.Msgs < was.Msgs {
			t.Errorf("stream %s was %+v and is %+v", name, was, now)
		}
	}
	if grown := after["TASKS"].Msgs - before["TASKS"].Msgs; grown < uint64(2*2*(len(targets)-1)) {
		t.Errorf("only %d of %d messages were stored: the attack did not take place", grown, sent)
	}
	select {
	case what := <-stray:
		t.Error(what)
	default:
	}
	if seq, err := log.Append(ctx, 3, journaltest.Batch(head, "after", "")); seq != 4 || err != nil {
		t.Errorf("compare-and-set after the attack: %d, %v; want 4", seq, err)
	}
}

// watch tells of everything that arrives in the core and control accounts that
// nobody there has sent. What is imported for the services does arrive, without
// a reply subject: their handlers must not be called for it.
func watch(t *testing.T, o open, stray chan string) {
	t.Helper()
	for account, nc := range map[string]*nats.Conn{"CORE": o.Core(), "CONTROL": o.Control()} {
		if _, err := nc.Subscribe("loom.v1.>", func(m *nats.Msg) {
			if account == "CONTROL" && (m.Reply == "" || m.Subject == "loom.v1.ceo.ann.approve") {
				return // an answer that the CEO's way in sent astray: no stream and no handler takes it
			}
			if !strings.HasPrefix(m.Subject, "loom.v1.svc.") || m.Subject == "loom.v1.svc.scale" && m.Reply != "" && string(m.Data) != "probe" {
				stray <- fmt.Sprintf("%s: %q arrived on %s", account, m.Data, m.Subject)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}

// settleDown waits until the services have answered what was sent before.
func settleDown(t *testing.T, o open) {
	t.Helper()
	for _, nc := range []*nats.Conn{o.Core(), o.Edge(), o.Tasked(), o.Control()} {
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 { // behind whatever was steered there
		if _, err := o.Core().Request("loom.v1.svc.scale", []byte("probe"), 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
}

func states(t *testing.T, o open) map[string]jetstream.StreamState {
	t.Helper()
	all := map[string]jetstream.StreamState{}
	for _, nc := range []*nats.Conn{o.Core(), o.Tasked()} {
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		list := js.ListStreams(t.Context())
		for info := range list.Info() {
			all[info.Config.Name] = info.State
		}
		if list.Err() != nil {
			t.Fatal(list.Err())
		}
	}
	if len(all) != 8 {
		t.Fatalf("there are %d streams, want 8", len(all))
	}
	return all
}

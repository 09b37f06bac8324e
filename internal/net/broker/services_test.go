package broker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func event(n uint64) *loomv1.Notice {
	return &loomv1.Notice{
		Position: &loomv1.Position{Epoch: 1, Sequence: n}, Kind: "bead-filed", Summary: "p-1 was filed",
		Event: &loomv1.Event{Project: "p", Bead: "p-1", Fact: &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{}}},
	}
}

func TestSUB04_NoticesReachThoseWhoListen(t *testing.T) {
	o := listen(t)
	nc := o.as(t, "anonymous")
	sub, err := nc.SubscribeSync("loom.v1.notice.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []uint64{1, 2, 2} {
		if err := o.PublishNotice(t.Context(), event(n)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"0.1.1.0", "0.1.2.0", "0.1.2.0"} {
		m, err := sub.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if m.Subject != "loom.v1.notice.p.p-1.p-1.bead-filed.-.-.-" || m.Header.Get("Loom-Position") != want || m.Header.Get("Loom-Summary") != "p-1 was filed" {
			t.Errorf("notice %v on %s, want position %s", m.Header, m.Subject, want)
		}
	}
	about := event(3)
	about.Event.Bead = ""
	if err := o.PublishNotice(t.Context(), about); err != nil {
		t.Fatal(err)
	}
	if m, err := sub.NextMsg(5 * time.Second); err != nil || m.Subject != "loom.v1.notice.p.-.-.bead-filed.-.-.-" {
		t.Errorf("a notice about no bead: %v, %v", m, err)
	}
	for _, bad := range []*loomv1.Notice{{}, {Kind: "x", Event: &loomv1.Event{Project: "a.b"}}, {Kind: "x", Event: &loomv1.Event{Project: "p", Bead: ">"}}} {
		if err := o.PublishNotice(t.Context(), bad); fault.Code(err) != "id/malformed" {
			t.Errorf("PublishNotice(%v): %v, want id/malformed", bad, err)
		}
	}
}

// A notice that nobody listens to is not made; who listens decides, and not what
// somebody else listens to.
func TestSUB04_WhetherAnybodyListensIsKnown(t *testing.T) {
	o := listen(t)
	e := event(1).Event
	nc := o.as(t, "anonymous")
	for _, tt := range []struct {
		subject string
		heard   bool
	}{
		{"loom.v1.live.>", false},
		{"loom.v1.notice.q.>", false},
		{"loom.v1.notice.*.*.*.execution-ended.>", false},
		{"loom.v1.notice.*.p-1.>", true},
		{"loom.v1.notice.>", true},
	} {
		if o.Heard(e) {
			t.Fatalf("before %s: somebody listens", tt.subject)
		}
		sub, err := nc.SubscribeSync(tt.subject)
		if err == nil {
			err = nc.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Heard(e); got != tt.heard {
			t.Errorf("with %s: heard %t, want %t", tt.subject, got, tt.heard)
		}
		if err := sub.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if !o.Heard(&loomv1.Event{}) {
		t.Error("what is wrong with an event is not found out")
	}
}

func TestSUB01_ARefusalIsAnErrorMessage(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	if err := b.Serve("submit", func(context.Context, broker.Request) ([]byte, error) {
		return nil, fault.New("submit/empty-goal", "the goal\r\nis empty").At("/goal")
	}); err != nil {
		t.Fatal(err)
	}
	answer, err := b.Edge().Request("loom.v1.svc.submit", []byte("x"), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var got loomv1.Error
	if err := proto.Unmarshal(answer.Data, &got); err != nil || got.Code != "submit/empty-goal" || got.Where != "/goal" || got.Message != "the goal\r\nis empty" {
		t.Errorf("answer %v, %v", &got, err)
	}
	if h := answer.Header.Get("Nats-Service-Error-Code"); h != "3" {
		t.Errorf("error code header %q, want 3", h)
	}
	if h := answer.Header.Get("Nats-Service-Error"); h != "submit/empty-goal: the goal  is empty" {
		t.Errorf("error header %q", h)
	}
	if err := b.Serve("a.b", nil); fault.Code(err) != "id/malformed" {
		t.Errorf("Serve: %v, want id/malformed", err)
	}
}

func TestSUB01_AnAnswerMayBeLargerThanAQuestion(t *testing.T) {
	o := listen(t)
	if err := o.Serve("notices", func(context.Context, broker.Request) ([]byte, error) { return make([]byte, 1<<20), nil }); err != nil {
		t.Fatal(err)
	}
	answer, err := o.as(t, "anonymous").Request("loom.v1.svc.notices", nil, 5*time.Second)
	if err != nil || len(answer.Data) != 1<<20 {
		t.Errorf("an answer of 1 MiB: %v, %v", answer, err)
	}
}

func TestSEC01_AMessageThatNobodyWaitsForIsNoRequest(t *testing.T) {
	o := listen(t)
	called := make(chan string, 10)
	if err := o.Serve("submit", func(_ context.Context, r broker.Request) ([]byte, error) {
		called <- string(r.Data)
		return []byte("ok"), nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, nc := range []*nats.Conn{o.Core(), o.as(t, "anonymous")} {
		if err := nc.Publish("loom.v1.svc.submit", []byte("no reply")); err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Request("loom.v1.svc.submit", []byte("request"), 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	stop(t, o.Broker) // which waits for handlers
	for len(called) > 0 {
		if what := <-called; what != "request" {
			t.Errorf("the handler was called for %q", what)
		}
	}
}

func TestSEC01_TheWayInIsNotTheCEO(t *testing.T) {
	o := listen(t)
	if err := o.ServeCEO(func(_ context.Context, r broker.Request) ([]byte, error) {
		return []byte(r.Subject + " " + r.Who.String()), nil
	}); err != nil {
		t.Fatal(err)
	}
	answer, err := o.as(t, "control").Request("loom.v1.ceo.ann.approve", nil, 5*time.Second)
	if err != nil || string(answer.Data) != "loom.v1.ceo.ann.approve " {
		t.Errorf("answer %v, %v; want no identity", answer, err)
	}
}

func TestSUB01_RequestsAreHandledTogether(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	const n = 50
	var here sync.WaitGroup
	here.Add(n)
	if err := b.Serve("submit", func(context.Context, broker.Request) ([]byte, error) {
		here.Done()
		here.Wait() // until all are being handled
		return []byte("ok"), nil
	}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if _, err := b.Edge().Request("loom.v1.svc.submit", nil, 10*time.Second); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// What a stopped service still passes on is refused, not begun.
func TestOPS01_RequestsWhileItCloses(t *testing.T) {
	for range 5 {
		o := listen(t)
		if err := o.Serve("beads", func(context.Context, broker.Request) ([]byte, error) { return []byte("done"), nil }); err != nil {
			t.Fatal(err)
		}
		nc := o.as(t, "operator")
		inbox := nats.NewInbox()
		inbox = "_INBOX_operator." + inbox[len("_INBOX."):]
		for range 2000 {
			if err := nc.PublishRequest("loom.v1.svc.beads", inbox, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := o.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOPS01_CloseLetsHandlersEnd(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	began, end := make(chan struct{}), make(chan struct{})
	if err := b.ServeCEO(func(context.Context, broker.Request) ([]byte, error) {
		close(began)
		<-end
		return []byte("done"), nil
	}); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	nc, err := b.Local("ceo")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	go func() {
		m, err := nc.Request("loom.v1.ceo.ceo.approve", nil, 10*time.Second)
		if err == nil && string(m.Data) != "done" {
			err = fmt.Errorf("answer %q", m.Data)
		}
		answered <- err
	}()
	<-began
	closed := make(chan error, 1)
	go func() { closed <- b.Close(context.Background()) }()
	select {
	case <-b.Done():
		t.Error("the server stopped under a handler")
	default:
	}
	close(end)
	if err := <-answered; err != nil {
		t.Errorf("the request in flight: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	<-b.Done()
}

package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/broker"
	"github.com/loomrun/loom/internal/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func assignment(role string, n int) *loomv1.Assignment {
	return &loomv1.Assignment{Project: "p", Attempt: fmt.Sprintf("p-1-x1-a%d", n), Generation: 1, Role: role}
}

func publishWork(t *testing.T, b *broker.Broker, all ...*loomv1.Assignment) {
	t.Helper()
	for _, a := range all {
		if err := b.PublishWork(t.Context(), a); err != nil {
			t.Fatalf("PublishWork(%s): %v", a.Attempt, err)
		}
	}
}

// pull pulls within ten seconds.
func pull(t *testing.T, b *broker.Broker, role string) *broker.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	d, err := b.PullWork(ctx, role)
	if err != nil {
		t.Fatalf("PullWork(%s): %v", role, err)
	}
	return d
}

// pullNothing fails the test if there is work for a role.
func pullNothing(t *testing.T, b *broker.Broker, role string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if d, err := b.PullWork(ctx, role); err == nil {
		t.Errorf("PullWork(%s) gives %s, want none", role, d.Assignment.Attempt)
	} else if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("PullWork(%s): %v, want the context's error", role, err)
	}
}

func TestWF10_QueueingAnAttemptAgainIsHarmless(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	one := assignment("qa-engineer", 1)
	publishWork(t, b, one, one, one)
	d := pull(t, b, "qa-engineer")
	if !proto.Equal(d.Assignment, one) {
		t.Errorf("pulled %v, want %v", d.Assignment, one)
	}
	publishWork(t, b, one) // while an agent has it
	pullNothing(t, b, "qa-engineer")
	if err := d.InProgress(); err != nil {
		t.Error(err)
	}
	if err := d.Ack(); err != nil {
		t.Error(err)
	}
	pullNothing(t, b, "qa-engineer")
	publishWork(t, b, one) // its holder died: the journal says that it is open
	if d := pull(t, b, "qa-engineer"); d.Assignment.Attempt != one.Attempt {
		t.Errorf("pulled %v, want %v", d.Assignment, one)
	}
}

func TestWF10_WorkOfARoleIsThatRolesAlone(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	publishWork(t, b, assignment("lead", 1), assignment("architect", 2))
	pullNothing(t, b, "implementer")
	for role, want := range map[string]string{"lead": "p-1-x1-a1", "architect": "p-1-x1-a2"} {
		if d := pull(t, b, role); d.Assignment.Attempt != want {
			t.Errorf("%s got %s, want %s", role, d.Assignment.Attempt, want)
		}
	}
}

func TestWF10_WorkThatIsGivenBackComesAgain(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	publishWork(t, b, assignment("lead", 1))
	if err := pull(t, b, "lead").Nak(time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if d := pull(t, b, "lead"); d.Assignment.Attempt != "p-1-x1-a1" {
		t.Errorf("got %s", d.Assignment.Attempt)
	}
}

func TestWF10_BadAssignments(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	for _, a := range []*loomv1.Assignment{
		{}, {Role: "lead"}, {Role: "lead", Attempt: "a.b"}, {Role: "*", Attempt: "a"}, {Role: "lead", Attempt: ">"},
	} {
		if err := b.PublishWork(t.Context(), a); fault.Code(err) != "id/malformed" {
			t.Errorf("PublishWork(%v): %v, want id/malformed", a, err)
		}
	}
	if _, err := b.PullWork(t.Context(), "a.*"); fault.Code(err) != "id/malformed" {
		t.Errorf("PullWork: %v, want id/malformed", err)
	}
}

// TestWF10_PullingNeverStalls is about a lost wake-up in the client library: a
// busy consumer sat idle for half a minute with work pending. Everything that
// is queued must be pulled promptly, once, by many pullers at once.
func TestWF10_PullingNeverStalls(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	const n, pullers = 3000, 8
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
	defer cancel()
	var seen sync.Map
	var got, twice atomic.Int64
	var wg sync.WaitGroup
	slowest := make([]time.Duration, pullers)
	for p := range pullers {
		wg.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				d, err := b.PullWork(ctx, "lead")
				if err != nil {
					return
				}
				slowest[p] = max(slowest[p], time.Since(began))
				if _, again := seen.LoadOrStore(d.Assignment.Attempt, true); again {
					twice.Add(1)
				}
				if err := d.Ack(); err != nil {
					t.Error(err)
				}
				if got.Add(1) == n {
					cancel()
				}
			}
		})
	}
	for i := range n {
		if err := b.PublishWork(t.Context(), assignment("lead", i)); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if got.Load() != n || twice.Load() > 0 {
		t.Errorf("pulled %d of %d, %d of them twice", got.Load(), n, twice.Load())
	}
	if worst := slices.Max(slowest); worst > 5*time.Second {
		t.Errorf("a puller waited %v while work was queued", worst)
	}
}

func TestWF10_ALostWorkQueueIsMadeAnewAndTold(t *testing.T) {
	told := make(chan struct{}, 8)
	b, _ := start(t, t.TempDir(), broker.Config{WorkLost: func() { told <- struct{}{} }})
	js, err := jetstream.New(b.Core())
	if err != nil {
		t.Fatal(err)
	}
	lose := func() {
		t.Helper()
		if err := js.DeleteStream(t.Context(), "WORK"); err != nil {
			t.Fatal(err)
		}
	}
	wait := func(when string) {
		t.Helper()
		select {
		case <-told:
		case <-time.After(10 * time.Second):
			t.Fatalf("nobody was told %s", when)
		}
	}
	publishWork(t, b, assignment("lead", 1))
	lose()
	publishWork(t, b, assignment("lead", 2))
	wait("when publishing found it gone")
	if d := pull(t, b, "lead"); d.Assignment.Attempt != "p-1-x1-a2" {
		t.Errorf("pulled %s", d.Assignment.Attempt)
	} else if err := d.Ack(); err != nil {
		t.Error(err)
	}
	pulled := make(chan string)
	go func() {
		d, err := b.PullWork(t.Context(), "lead")
		if err != nil {
			pulled <- err.Error()
			return
		}
		pulled <- d.Assignment.Attempt
	}()
	lose()
	wait("when pulling found it gone")
	publishWork(t, b, assignment("lead", 3))
	if got := <-pulled; got != "p-1-x1-a3" {
		t.Errorf("the waiting puller got %s", got)
	}
}

// taskLog collects what a consumer of tasks was given.
type taskLog struct {
	mu   sync.Mutex
	all  []broker.Task
	more chan struct{}
}

func (l *taskLog) add(task broker.Task) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, task)
	l.more <- struct{}{}
	n := 0
	for _, earlier := range l.all {
		if earlier.ID == task.ID {
			n++
		}
	}
	return n
}

func (l *taskLog) wait(t *testing.T, n int) []broker.Task {
	t.Helper()
	for range n {
		select {
		case <-l.more:
		case <-time.After(10 * time.Second):
			t.Fatalf("only %d deliveries came, want %d", len(l.all), n)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// consume runs a consumer until the test ends; handle gets the number of the
// delivery, from 1.
func consume(t *testing.T, b *broker.Broker, handle func(n int, task broker.Task) error) *taskLog {
	t.Helper()
	l := &taskLog{more: make(chan struct{}, 10000)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- b.ConsumeTasks(ctx, func(_ context.Context, task broker.Task) error { return handle(l.add(task), task) })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("ConsumeTasks ends with %v", err)
		}
	})
	return l
}

func pending(t *testing.T, b *broker.Broker, stream string) uint64 {
	t.Helper()
	nc := b.Core()
	if stream == "TASKS" {
		nc = b.Edge()
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

// eventually waits until a stream holds n messages.
func eventually(t *testing.T, b *broker.Broker, stream string, n uint64) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); pending(t, b, stream) != n; {
		if time.Now().After(deadline) {
			t.Fatalf("stream %s holds %d messages, want %d", stream, pending(t, b, stream), n)
		}
	}
}

func TestSUB01_AnAcknowledgedTaskIsHandled(t *testing.T) {
	o := listen(t)
	nc := o.as(t, "anonymous")
	for i := range 5 {
		m := nats.NewMsg("loom.v1.task.p")
		m.Data = []byte(fmt.Sprint(i))
		m.Header.Set("Content-Type", "application/json")
		answer, err := nc.RequestMsg(m, 5*time.Second)
		if err != nil || !strings.Contains(string(answer.Data), `"stream":"TASKS"`) {
			t.Fatalf("publish: %v, %v; want the stream's acknowledgement", answer, err)
		}
	}
	all := consume(t, o.Broker, func(int, broker.Task) error { return nil }).wait(t, 5)
	for i, task := range all {
		if string(task.Data) != fmt.Sprint(i) || task.Subject != "loom.v1.task.p" || task.Header["Content-Type"][0] != "application/json" {
			t.Errorf("task %d is %+v", i, task)
		}
		if age := time.Since(task.Stamp); age < 0 || age > time.Minute {
			t.Errorf("task %d was stamped %v ago", i, age)
		}
	}
	eventually(t, o.Broker, "TASKS", 0)
}

func TestSUB01_OneMessageIDSwallowsNobodysTask(t *testing.T) {
	o := listen(t)
	one, two := o.as(t, "anonymous"), o.as(t, "publisher")
	send := func(nc *nats.Conn, text string) bool {
		m := nats.NewMsg("loom.v1.task.p")
		m.Data = []byte(text)
		m.Header.Set("Nats-Msg-Id", "the-same")
		answer, err := nc.RequestMsg(m, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		return !strings.Contains(string(answer.Data), "duplicate")
	}
	if !send(one, "first") {
		t.Fatal("the first is called a duplicate")
	}
	// The window is as short as the server allows: once it has passed, both
	// are there, and their headers tell the intake that they may be one.
	for deadline := time.Now().Add(5 * time.Second); !send(two, "second"); {
		if time.Now().After(deadline) {
			t.Fatal("the second is still called a duplicate")
		}
	}
	all := consume(t, o.Broker, func(int, broker.Task) error { return nil }).wait(t, 2)
	if string(all[0].Data) != "first" || string(all[1].Data) != "second" || all[1].Header["Nats-Msg-Id"][0] != "the-same" {
		t.Errorf("tasks: %+v", all)
	}
}

func TestSUB01_WhatBecomesOfATask(t *testing.T) {
	for _, tt := range []struct {
		name      string
		fail      func(n int) error
		delivered int
		aside     string
	}{
		{"handled", func(int) error { return nil }, 1, ""},
		{"unavailable twice", func(n int) error {
			if n < 3 {
				return fault.New("host/unavailable", "not now")
			}
			return nil
		}, 3, ""},
		{"refused", func(int) error { return fault.New("submit/malformed", "not a submission") }, 1, "submit/malformed"},
		{"an error without a code, always", func(int) error { return errors.New("odd") }, 5, "internal/error"},
		{"an error without a code, once", func(n int) error {
			if n == 1 {
				return errors.New("odd")
			}
			return nil
		}, 2, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, _ := start(t, t.TempDir(), broker.Config{})
			if _, err := b.Edge().Request("loom.v1.error.web", []byte("x"), 5*time.Second); err != nil {
				t.Fatal(err)
			}
			l := consume(t, b, func(n int, _ broker.Task) error { return tt.fail(n) })
			all := l.wait(t, tt.delivered)
			for _, task := range all {
				if task.ID != all[0].ID {
					t.Errorf("ids %s and %s of one task", task.ID, all[0].ID)
				}
			}
			eventually(t, b, "TASKS", 0)
			if len(l.more) > 0 {
				t.Errorf("%d deliveries too many", len(l.more))
			}
			aside(t, b, tt.aside)
		})
	}
}

// aside checks what was set aside last, by its error's code.
func aside(t *testing.T, b *broker.Broker, code string) {
	t.Helper()
	if code == "" {
		if n := pending(t, b, "DLQ"); n != 0 {
			t.Errorf("%d messages were set aside", n)
		}
		return
	}
	js, err := jetstream.New(b.Core())
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "DLQ")
	if err != nil {
		t.Fatal(err)
	}
	msg, err := s.GetLastMsgForSubject(t.Context(), "loom.v1.dlq.tasks")
	if err != nil {
		t.Fatal(err)
	}
	var got loomv1.SetAside
	if err := proto.Unmarshal(msg.Data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Error.GetCode() != code || got.Stream != "TASKS" || got.Subject != "loom.v1.error.web" || string(got.Data) != "x" {
		t.Errorf("set aside: %v, want code %s", &got, code)
	}
}

func TestSUB01_TasksOfASubjectStayInOrder(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	const n, subjects = 40, 4
	for i := range n {
		for s := range subjects {
			if _, err := b.Edge().Request(fmt.Sprintf("loom.v1.task.p%d", s), []byte{byte(i)}, 5*time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
	next := map[string]byte{}
	for _, task := range consume(t, b, func(int, broker.Task) error { return nil }).wait(t, n*subjects) {
		if task.Data[0] != next[task.Subject] {
			t.Fatalf("%s: task %d came, want %d", task.Subject, task.Data[0], next[task.Subject])
		}
		next[task.Subject]++
	}
}

func TestSUB01_TooLargeIsRefused(t *testing.T) {
	o := listen(t)
	nc := o.as(t, "anonymous")
	if _, err := nc.Request("loom.v1.task.p", make([]byte, 256<<10), 5*time.Second); err != nil {
		t.Errorf("256 KiB: %v", err)
	}
	if _, err := nc.Request("loom.v1.task.p", make([]byte, 256<<10+16<<10+1), 5*time.Second); err == nil {
		t.Error("more than a client may send is taken")
	}
}

func event(n uint64) *loomv1.Notice {
	return &loomv1.Notice{
		Position: &loomv1.Position{Epoch: 1, Sequence: n}, Kind: "bead-filed", Summary: "p-1 was filed",
		Event: &loomv1.Event{Project: "p", Bead: "p-1", Fact: &loomv1.Event_BeadFiled{BeadFiled: &loomv1.BeadFiled{}}},
	}
}

func TestSUB04_NoticesReachSubscribersAndTheirStreamOnce(t *testing.T) {
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
		if m.Subject != "loom.v1.notice.00.p.p-1.bead-filed" || m.Header.Get("Loom-Position") != want || m.Header.Get("Loom-Summary") != "p-1 was filed" {
			t.Errorf("notice %v on %s, want position %s", m.Header, m.Subject, want)
		}
	}
	eventually(t, o.Broker, "NOTICES", 2)
	if n := o.NoticesLost(); n != 0 {
		t.Errorf("%d notices were lost", n)
	}
	about := event(3)
	about.Event.Bead = ""
	if err := o.PublishNotice(t.Context(), about); err != nil {
		t.Fatal(err)
	}
	if m, err := sub.NextMsg(5 * time.Second); err != nil || m.Subject != "loom.v1.notice.00.p.-.bead-filed" {
		t.Errorf("a notice about no bead: %v, %v", m, err)
	}
	for _, bad := range []*loomv1.Notice{{}, {Kind: "x", Event: &loomv1.Event{Project: "a.b"}}, {Kind: ">", Event: &loomv1.Event{Project: "p"}}} {
		if err := o.PublishNotice(t.Context(), bad); fault.Code(err) != "id/malformed" {
			t.Errorf("PublishNotice(%v): %v, want id/malformed", bad, err)
		}
	}
}

func TestSUB01_ARefusalIsAnErrorMessage(t *testing.T) {
	b, _ := start(t, t.TempDir(), broker.Config{})
	if err := b.Serve("submit", func(context.Context, broker.Request) ([]byte, error) {
		return nil, fault.New("submit/empty-goal", "the goal is empty").At("/goal")
	}); err != nil {
		t.Fatal(err)
	}
	answer, err := b.Edge().Request("loom.v1.svc.submit", []byte("x"), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var got loomv1.Error
	if err := proto.Unmarshal(answer.Data, &got); err != nil || got.Code != "submit/empty-goal" || got.Where != "/goal" {
		t.Errorf("answer %v, %v", &got, err)
	}
	if h := answer.Header.Get("Nats-Service-Error-Code"); h != "3" {
		t.Errorf("error code header %q, want 3", h)
	}
	if err := b.Serve("a.b", nil); fault.Code(err) != "id/malformed" {
		t.Errorf("Serve: %v, want id/malformed", err)
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
		m, err := nc.Request("loom.v1.ceo.ann.approve", nil, 10*time.Second)
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

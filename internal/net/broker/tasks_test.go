package broker_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

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
		case <-time.After(2 * time.Minute):
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
		nc = b.Tasked()
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

// TestSUB01_F1_WhatAKillLeftOfTheIntakeIsDropped removes one file of the consumer's
// description, as a kill does in the middle of its making or its removal: the
// next start makes it anew, with nothing of what was being handled.
func TestSUB01_F1_WhatAKillLeftOfTheIntakeIsDropped(t *testing.T) {
	for _, lost := range []string{"meta.sum", "meta.inf"} {
		t.Run(lost, func(t *testing.T) {
			path := t.TempDir()
			unfinished(t, path)
			intake := filepath.Join(path, "jetstream", "TASKS", "streams", "TASKS", "obs", "intake")
			if err := os.Remove(filepath.Join(intake, lost)); err != nil {
				t.Fatal(err)
			}
			b, _ := start(t, path, broker.Config{})
			if left, err := os.ReadDir(intake); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("left of the intake: %v, %v", left, err)
			}
			l := consume(t, b, func(int, broker.Task) error { return nil })
			select {
			case <-l.more:
			case <-time.After(2 * time.Minute):
				t.Fatal("the task does not come again")
			}
			for _, file := range []string{"meta.inf", "meta.sum"} {
				if _, err := os.Stat(filepath.Join(intake, file)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// unfinished runs a broker until a task is being handled.
func unfinished(t *testing.T, path string) {
	t.Helper()
	begun := make(chan struct{}, 100)
	dir, err := datadir.Config{Path: path, Partitions: 2}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	b, err := broker.Start(t.Context(), broker.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, b)
	if _, err := b.Edge().Request("loom.v1.error.web", []byte("x"), time.Minute); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- b.ConsumeTasks(ctx, func(ctx context.Context, _ broker.Task) error {
			begun <- struct{}{}
			<-ctx.Done()
			return fault.New("host/unavailable", "the host is stopped")
		})
	}()
	select {
	case <-begun:
	case <-time.After(2 * time.Minute):
		t.Error("no task comes")
	}
	cancel()
	<-ended
}

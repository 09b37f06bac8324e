package broker_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/journal/journaltest"
	"github.com/loomrun/loom/internal/store/natsjournal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const nextQA = "$JS.API.CONSUMER.MSG.NEXT.WORK.qa"

// assign queues an attempt of role qa, whose consumer is there afterwards.
func assign(t *testing.T, o open, attempt string) {
	t.Helper()
	if err := o.PublishWork(t.Context(), &loomv1.Assignment{Role: "qa", Attempt: attempt, Generation: 1}); err != nil {
		t.Fatal(err)
	}
}

// pulled makes the role's consumer, by pulling what is there and giving it back.
func pulled(t *testing.T, o open) {
	t.Helper()
	d, err := o.PullWork(t.Context(), "qa")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Nak(0); err != nil {
		t.Fatal(err)
	}
}

// TestSEC01_AWorkerPullsTheWorkOfItsRole over a wall between accounts, and takes
// it off the queue.
func TestSEC01_AWorkerPullsTheWorkOfItsRole(t *testing.T) {
	o := listen(t)
	assign(t, o, "p-1-x1-a1")
	pulled(t, o)
	nc := o.as(t, "worker")
	msg, err := nc.Request(nextQA, []byte(`{"batch":1,"expires":60000000000}`), 90*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	a := new(loomv1.Assignment)
	if err := proto.Unmarshal(msg.Data, a); err != nil || a.Attempt != "p-1-x1-a1" {
		t.Fatalf("pulled %v, %v", a, err)
	}
	// The reply subject of a delivery is where it is acknowledged; asked so, the
	// server says when it has done it.
	if _, err := nc.Request(msg.Reply, []byte("+ACK"), time.Minute); err != nil {
		t.Fatalf("acknowledge on %q: %v", msg.Reply, err)
	}
	if n := states(t, o)["WORK"].Msgs; n != 0 {
		t.Errorf("%d messages are in the queue after the acknowledgement", n)
	}
}

// TestSEC01_APullerReachesNothing is the attack on the journal by what is
// pulled: the server delivers the queue's messages to the reply subject of a
// pull, and its acknowledgements to that of an acknowledgement.
func TestSEC01_APullerReachesNothing(t *testing.T) {
	o := listen(t)
	log, err := natsjournal.New(t.Context(), o.Core(), 0)
	if err != nil {
		t.Fatal(err)
	}
	head := journaltest.Fill(t, log, journal.Head{}, 3)
	assign(t, o, "p-1-x1-a1")
	pulled(t, o)
	stray := make(chan string, 1000)
	watch(t, o, stray)
	before := states(t, o)
	nc := o.as(t, "worker")
	for _, target := range targets {
		for _, from := range []string{nextQA, "$JS.ACK.WORK.qa.1.1.1.1.0"} {
			if err := nc.PublishRequest(from, target, []byte(`{"batch":1,"no_wait":true}`)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Request(nextQA, []byte(`{"batch":1,"no_wait":true}`), time.Minute); err != nil { // in order: all that was before is done
		t.Fatal(err)
	}
	for _, account := range []*nats.Conn{o.Core(), o.Edge(), o.Control()} {
		if err := account.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for name, was := range before {
		if now := states(t, o)[name]; now.LastSeq != was.LastSeq || now.FirstSeq < was.FirstSeq {
			t.Errorf("stream %s was %+v and is %+v", name, was, now)
		}
	}
	select {
	case what := <-stray:
		t.Error(what)
	default:
	}
	if seq, err := log.Append(t.Context(), 3, journaltest.Batch(head, "after", "")); seq != 4 || err != nil {
		t.Errorf("compare-and-set after the attack: %d, %v; want 4", seq, err)
	}
}

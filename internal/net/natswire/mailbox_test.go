package natswire

import (
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

// A release of protoactor that keeps its mailboxes elsewhere must be looked at
// before it is used.
func TestTheMailboxIsReadRightly(t *testing.T) {
	if !known {
		t.Fatal("actor.ActorProcess has another shape than actorProcess")
	}
	mailbox := actor.Unbounded()()
	mailbox.RegisterHandlers(nil, held{})
	p := actor.NewActorProcess(mailbox)
	for range 3 {
		p.SendUserMessage(nil, "waits")
	}
	if n := waiting(p); n != 3 {
		t.Errorf("%d messages wait, want 3", n)
	}
}

// held is a dispatcher that never begins.
type held struct{}

func (held) Schedule(func()) {}
func (held) Throughput() int { return 1 }

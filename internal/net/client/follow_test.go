package client

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/longtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// A host that dies with a request takes one page's time of a follower, not all the time
// that the caller has.
func TestMSG01_P1_ALostRequestDelaysAFollowerByOnePage(t *testing.T) {
	longtest.Skip(t)
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server is not ready")
	}
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	asked := 0
	if _, err := nc.Subscribe(subject.Service(subject.Must("notices")), func(m *nats.Msg) {
		if asked++; asked == 1 {
			return // the host has died with it
		}
		data, err := proto.Marshal(&loomv1.NoticesReply{End: true, Notices: []*loomv1.Notice{{Event: &loomv1.Event{Bead: "work-1"}}}})
		if err != nil || m.Respond(data) != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	c := New(nc)
	c.page = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	enough := errors.New("enough")
	err = c.Follow(ctx, &loomv1.NoticesRequest{Project: "work"}, true, func(n *loomv1.Notice) error {
		if n.Event.Bead != "work-1" {
			t.Errorf("it was told of %v", n)
		}
		return enough
	})
	if !errors.Is(err, enough) || asked != 2 {
		t.Errorf("it asked %d times, and ended with %v", asked, err)
	}
}

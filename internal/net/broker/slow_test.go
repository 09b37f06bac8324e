package broker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/datadir"
)

// TestOPS01_AConsumerIsAskedForAgain covers a question to a leader that is
// gone, which nobody answers: however late the caller's deadline is, it is
// asked again soon.
func TestOPS01_AConsumerIsAskedForAgain(t *testing.T) {
	s, err := server.NewServer(&server.Options{DontListen: true, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	var asked atomic.Int32
	answer(t, nc, "$JS.API.CONSUMER.CREATE.WORK.>", func(m *nats.Msg) {
		if asked.Add(1) > 1 {
			_ = m.Respond([]byte(`{"stream_name": "WORK", "name": "qa-engineer", "config": {"durable_name": "qa-engineer"}}`))
		}
	})
	ctx, pulled := context.WithTimeout(t.Context(), 5*time.Minute)
	defer pulled()
	answer(t, nc, "$JS.API.CONSUMER.MSG.NEXT.WORK.qa-engineer", func(*nats.Msg) { pulled() })
	_, err = broker.Over(clusterDir(t), nc).PullWork(ctx, "qa-engineer")
	if !errors.Is(err, context.Canceled) || asked.Load() != 2 {
		t.Errorf("%v after %d questions", err, asked.Load())
	}
}

func answer(t *testing.T, nc *nats.Conn, subject string, f nats.MsgHandler) {
	t.Helper()
	if _, err := nc.Subscribe(subject, f); err != nil {
		t.Fatal(err)
	}
}

// clusterDir is the directory of a host that has joined a cluster.
func clusterDir(t *testing.T) *datadir.Dir {
	t.Helper()
	join, err := datadir.NewJoin("test", 3, 0, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	return opened(t, datadir.Config{Path: t.TempDir(), Join: &join})
}

func opened(t *testing.T, c datadir.Config) *datadir.Dir {
	t.Helper()
	dir, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	return dir
}

// TestOPS01_ALoneHostWaitsForItsDisk covers the first start on a slow disk: what
// is not answered is asked again, for two minutes, and a refusal ends it.
func TestOPS01_ALoneHostWaitsForItsDisk(t *testing.T) {
	dir := opened(t, datadir.Config{Path: t.TempDir()})
	no := errors.New("no")
	for _, tt := range []struct {
		name  string
		slow  int
		last  error
		tries int
		want  error
	}{
		{"at once", 0, nil, 1, nil},
		{"slow", 3, nil, 4, nil},
		{"refused in the end", 2, no, 3, no},
		{"never", 1000, nil, 25, context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				err := broker.Idle(dir).Slowly(t.Context(), func(ctx context.Context) error {
					if tries++; tries > tt.slow {
						return tt.last
					}
					<-ctx.Done()
					return ctx.Err()
				})
				if !errors.Is(err, tt.want) || tries != tt.tries {
					t.Errorf("%v after %d tries, want %v after %d", err, tries, tt.want, tt.tries)
				}
			})
		})
	}
}

package actors

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// lender is a lease that is there for whoever asks; it keeps what it has lent.
type lender struct{ lent chan *loan }

func (l *lender) Acquire(ctx context.Context) (Tenure, error) {
	one := &loan{back: make(chan struct{})}
	select {
	case l.lent <- one:
		return one, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type loan struct {
	once sync.Once
	back chan struct{} // closed when it is given back
}

func (l *loan) Valid() bool             { return true }
func (l *loan) Lost() <-chan struct{}   { return l.back }
func (l *loan) Release(context.Context) { l.once.Do(func() { close(l.back) }) }

// silent tells nobody anything.
type silent struct{}

func (silent) Heard(*loomv1.Event) bool                              { return false }
func (silent) PublishNotice(context.Context, *loomv1.Notice) error   { return nil }
func (silent) PublishWork(context.Context, *loomv1.Assignment) error { return nil }

// TestP6_ATenureThatNobodyHearsOfIsLetGo has a partition stop, or start again, while
// the news that it has been recovered is on its way to it.
func TestP6_ATenureThatNobodyHearsOfIsLetGo(t *testing.T) {
	ends := map[string]func(sys *System, partition *actor.PID, l *lender){
		"it stops": func(sys *System, partition *actor.PID, _ *lender) { _ = sys.sys.Root.StopFuture(partition).Wait() },
		"it starts again": func(sys *System, partition *actor.PID, l *lender) {
			sys.sys.Root.Send(partition, &list{reply: func(*loomv1.CellReply) { panic("planted") }})
			<-l.lent // it recovers for the second time
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			sent, over := make(chan struct{}), make(chan struct{})
			var first sync.Once
			hold := func(next actor.SenderFunc) actor.SenderFunc {
				return func(c actor.SenderContext, to *actor.PID, m *actor.MessageEnvelope) {
					if _, news := m.Message.(*recovered); news {
						first.Do(func() { close(sent); <-over })
					}
					next(c, to, m)
				}
			}
			quiet := slog.New(slog.DiscardHandler)
			sys := NewSystem(quiet, nil, func(s *actor.ActorSystem) { s.Root.WithSenderMiddleware(hold) })
			defer sys.Stop()
			l := &lender{lent: make(chan *loan, 10)}
			projects := sys.StartPartitions(ctx, []Partition{{
				Log: journal.NewMemory(0), Snapshots: journal.NewMemorySnapshots(), Notices: silent{}, Work: silent{}, Clock: NewClock(), Logger: quiet,
				Deployment: "dp-1", Host: "h1", Start: 1, Epoch: 1, Lease: l,
			}}, func(string) int { return 0 }, nil)
			<-sent
			unheard := <-l.lent
			end(sys, projects.partitions[0], l)
			close(over)
			select {
			case <-unheard.back:
			case <-ctx.Done():
				t.Error("nobody has let go of the partition, which nobody serves")
			}
		})
	}
}

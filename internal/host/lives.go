package host

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How many records of lives a host has journaled: so many at once when it starts or
// is scaled, and one a second in the long run. What there is more of is put together.
const (
	lifeBurst  = 128
	lifeRate   = 1.0 // a second
	lifeBatch  = 64  // in one command
	lifeDelay  = 200 * time.Millisecond
	lifeReason = 300 // bytes
)

// lives gathers what happens to the agents of this host until it is journaled. The
// same thing that happens to the same agent before that is one record with a count;
// beyond lifeBurst records, the same thing of one role is. So a crash loop is bounded
// in the journal, and counted in full. Records are in the order in which things
// happened last, so that what is journaled of an agent last is how it is.
type lives struct {
	host  string
	epoch uint64
	woken chan struct{}
	do    func(ctx context.Context, project string, cmd *loomv1.Command) error // in the host's name
	log   *slog.Logger

	mu       sync.Mutex
	pending  []*pendingLife
	sequence uint64
	tokens   float64
	at       time.Time // of tokens
}

// pendingLife is a record that is not sent yet, and whom it is of.
type pendingLife struct {
	*loomv1.LifeRecord
	agents map[string]bool
}

func newLives(host string, epoch uint64, now time.Time) *lives {
	return &lives{host: host, epoch: epoch, woken: make(chan struct{}, 1), tokens: lifeBurst, at: now}
}

// note gathers one thing. It never blocks.
func (l *lives) note(now time.Time, kind loomv1.LifeKind, role, agent, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		select {
		case l.woken <- struct{}{}:
		default:
		}
	}()
	p := l.record(kind, role, agent)
	l.pending = append(slices.DeleteFunc(l.pending, func(q *pendingLife) bool { return q == p }), p)
	p.agents[agent] = true
	p.Life.Agents = uint32(len(p.agents))
	p.Life.Times++
	p.Life.Reason, p.Life.At = strings.ToValidUTF8(reason[:min(len(reason), lifeReason)], ""), timestamppb.New(now)
}

// record returns the record that a thing is put into: its agent's, its role's, or a
// new one.
func (l *lives) record(kind loomv1.LifeKind, role, agent string) *pendingLife {
	for _, p := range l.pending {
		if p.Kind == kind && p.Life.Agent == agent {
			return p
		}
	}
	if len(l.pending) >= lifeBurst {
		agent = "" // several of the role
		for _, p := range l.pending {
			if p.Kind == kind && p.Life.Agent == "" && p.Life.Role == role {
				return p
			}
		}
	}
	return &pendingLife{&loomv1.LifeRecord{Kind: kind, Life: &loomv1.AgentLife{Agent: agent, Role: role, Host: l.host, Epoch: l.epoch}}, map[string]bool{}}
}

// take returns the oldest records, as many as may be journaled now, and how long to
// wait for the next.
func (l *lives) take(now time.Time) (list []*loomv1.LifeRecord, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens = min(l.tokens+now.Sub(l.at).Seconds()*lifeRate, lifeBurst)
	l.at = now
	for len(l.pending) > 0 && len(list) < lifeBatch && l.tokens >= 1 {
		l.tokens--
		l.sequence++
		r := l.pending[0].LifeRecord
		r.Life.Sequence = l.sequence
		list, l.pending = append(list, r), l.pending[1:]
	}
	if len(l.pending) > 0 && len(list) == 0 {
		wait = time.Duration((1 - l.tokens) / lifeRate * float64(time.Second))
	}
	return list, wait
}

// run has what happens to agents journaled in the deployment's own project, until ctx
// ends.
func (l *lives) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-l.woken:
		case <-ctx.Done():
			return
		}
		pause(ctx, lifeDelay) // what happens at once goes at once
		for ctx.Err() == nil {
			list, wait := l.take(time.Now())
			if len(list) == 0 && wait == 0 {
				break
			}
			pause(ctx, wait)
			l.tell(ctx, list)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// tell sends records until they are journaled: to send them again is harmless.
func (l *lives) tell(ctx context.Context, list []*loomv1.LifeRecord) {
	for len(list) > 0 && ctx.Err() == nil {
		within, cancel := context.WithTimeout(ctx, tellWithin)
		err := l.do(within, project.System, &loomv1.Command{Body: &loomv1.Command_RecordLives{RecordLives: &loomv1.RecordLives{
			Host: l.host, Epoch: l.epoch, Records: list,
		}}})
		cancel()
		if err == nil {
			return
		}
		l.log.Warn("what happened to agents is not journaled yet", "records", len(list), "error", err)
		pause(ctx, staffAgain)
	}
}

// Package lives has what happens to the agents of a host journaled: all of it counted,
// and so that a crash loop does not flood the journal.
package lives

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
// is scaled, and perSecond in the long run. What there is more of is put together.
const (
	burst     = 128
	perSecond = 1.0
	batch     = 64 // in one command
	delay     = 200 * time.Millisecond
	maxReason = 300 // bytes

	within = 5 * time.Second // to journal once
	again  = 2 * time.Second // after which what is not journaled is sent again
)

// Keeper gathers what happens to the agents of a host until it is journaled. The
// same thing that happens to the same agent before that is one record with a count;
// beyond burst records, the same thing of one role is. So a crash loop is bounded
// in the journal, and counted in full. Records are in the order in which things
// happened last, so that what is journaled of an agent last is how it is. All methods
// may be called at the same time.
type Keeper struct {
	config Config
	woken  chan struct{}

	mu       sync.Mutex
	pending  []*gathered
	sequence uint64
	tokens   float64
	at       time.Time // of tokens
}

// gathered is a record that is not sent yet, and whom it is of.
type gathered struct {
	*loomv1.LifeRecord
	agents map[string]bool
}

// Config says whose lives are kept. All of it is needed.
type Config struct {
	Host  string
	Epoch uint64 // the start of the host
	// Do sends a command in the name of the host.
	Do  func(ctx context.Context, project string, cmd *loomv1.Command) error
	Log *slog.Logger
}

// New returns a keeper that has gathered nothing yet. Nothing is journaled before
// [Keeper.Run].
func New(c Config, now time.Time) *Keeper {
	return &Keeper{config: c, woken: make(chan struct{}, 1), tokens: burst, at: now}
}

// Note gathers one thing that happened now to an agent of a role, and why. It never
// blocks.
func (k *Keeper) Note(now time.Time, kind loomv1.LifeKind, role, agent, reason string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	defer func() {
		select {
		case k.woken <- struct{}{}:
		default:
		}
	}()
	p := k.record(kind, role, agent)
	k.pending = append(slices.DeleteFunc(k.pending, func(q *gathered) bool { return q == p }), p)
	p.agents[agent] = true
	p.Life.Agents = uint32(len(p.agents))
	p.Life.Times++
	p.Life.Reason, p.Life.At = strings.ToValidUTF8(reason[:min(len(reason), maxReason)], ""), timestamppb.New(now)
}

// record returns the record that a thing is put into: its agent's, its role's, or a
// new one.
func (k *Keeper) record(kind loomv1.LifeKind, role, agent string) *gathered {
	for _, p := range k.pending {
		if p.Kind == kind && p.Life.Agent == agent {
			return p
		}
	}
	if len(k.pending) >= burst {
		agent = "" // several of the role
		for _, p := range k.pending {
			if p.Kind == kind && p.Life.Agent == "" && p.Life.Role == role {
				return p
			}
		}
	}
	return &gathered{&loomv1.LifeRecord{Kind: kind, Life: &loomv1.AgentLife{Agent: agent, Role: role, Host: k.config.Host, Epoch: k.config.Epoch}}, map[string]bool{}}
}

// take returns the oldest records, as many as may be journaled now, and how long to
// wait for the next.
func (k *Keeper) take(now time.Time) (list []*loomv1.LifeRecord, wait time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tokens = min(k.tokens+now.Sub(k.at).Seconds()*perSecond, burst)
	k.at = now
	for len(k.pending) > 0 && len(list) < batch && k.tokens >= 1 {
		k.tokens--
		k.sequence++
		r := k.pending[0].LifeRecord
		r.Life.Sequence = k.sequence
		list, k.pending = append(list, r), k.pending[1:]
	}
	if len(k.pending) > 0 && len(list) == 0 {
		wait = time.Duration((1 - k.tokens) / perSecond * float64(time.Second))
	}
	return list, wait
}

// Run has what happens to agents journaled in the deployment's own project, until ctx
// ends.
func (k *Keeper) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-k.woken:
		case <-ctx.Done():
			return
		}
		pause(ctx, delay) // what happens at once goes at once
		for ctx.Err() == nil {
			list, wait := k.take(time.Now())
			if len(list) == 0 && wait == 0 {
				break
			}
			pause(ctx, wait)
			k.tell(ctx, list)
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
func (k *Keeper) tell(ctx context.Context, list []*loomv1.LifeRecord) {
	for len(list) > 0 && ctx.Err() == nil {
		once, cancel := context.WithTimeout(ctx, within)
		err := k.config.Do(once, project.System, &loomv1.Command{Body: &loomv1.Command_RecordLives{RecordLives: &loomv1.RecordLives{
			Host: k.config.Host, Epoch: k.config.Epoch, Records: list,
		}}})
		cancel()
		if err == nil {
			return
		}
		k.config.Log.Warn("what happened to agents is not journaled yet", "records", len(list), "error", err)
		pause(ctx, again)
	}
}

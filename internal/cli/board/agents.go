package board

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Agents shows what the agents of a host do that only runs agents. Such a host may read
// nothing of the deployment but what its agents need, so what it shows is what they tell.
// Its methods may be called at the same time.
type Agents struct {
	*Board
	teller *teller
	wake   chan struct{}

	mu    sync.Mutex
	news  []*loomv1.Notice
	state State
	rows  map[string]Row // by attempt
}

// Agents returns what shows the agents of a host that only runs agents.
func (b *Board) Agents(host string, projects []string) *Agents {
	kinds := []string{"attempt-claimed", "attempt-parked", "attempt-ended", "claim-released"}
	if b.tty != nil {
		kinds = kinds[1:] // the board shows what is claimed
	}
	return &Agents{
		Board: b, teller: newTeller(kinds), wake: make(chan struct{}, 1), rows: map[string]Row{},
		state: State{Host: host, Projects: projects, AgentsOnly: true},
	}
}

// Hear takes what an agent does, see actors.Told.
func (a *Agents) Hear(b *loomv1.Brief, e *loomv1.Event) {
	if a.off {
		return
	}
	e.Time = timestamppb.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	n := notice.Of(e, nil)
	if !a.console.JSON { // it is this host, which is not named
		n.Summary = strings.ReplaceAll(n.Summary, "@"+a.state.Host, "")
	}
	if slices.Contains(a.teller.kinds, n.Kind) {
		a.news = append(a.news, n)
	}
	switch f := e.GetFact().(type) {
	case *loomv1.Event_AttemptClaimed:
		a.rows[e.Attempt] = Row{
			ID: e.Bead, Goal: b.GetBead().GetGoal(), Stage: Running, Since: e.Time.AsTime(),
			Where: e.Node + " by " + f.AttemptClaimed.GetClaimant().GetAgent(),
		}
	case *loomv1.Event_AttemptEnded, *loomv1.Event_AttemptParked, *loomv1.Event_ClaimReleased:
		delete(a.rows, e.Attempt)
	case *loomv1.Event_ModelAnswered:
		used := f.ModelAnswered.GetAnswer().GetUsage()
		r := a.rows[e.Attempt]
		r.Calls, r.MicroUSD, r.Unpriced = true, r.MicroUSD+used.GetCostMicroUsd(), r.Unpriced || !used.GetCostKnown()
		a.rows[e.Attempt] = r
		a.state.MicroUSD += used.GetCostMicroUsd()
		a.state.Unpriced = a.state.Unpriced || !used.GetCostKnown()
	default:
		return
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Begin shows them, until the board ends.
func (a *Agents) Begin(ctx context.Context) {
	a.begin(ctx, func(ctx context.Context) { a.follow(ctx, a, a.wake) })
}

func (a *Agents) look(context.Context) time.Duration {
	a.mu.Lock()
	news := a.news
	a.news = nil
	a.mu.Unlock()
	for _, n := range news {
		a.tell(a.teller, n)
	}
	return a.ages()
}

func (a *Agents) ages() time.Duration {
	if wait := a.now().ages(time.Now()); wait > 0 {
		return wait
	}
	return lookAt
}

func (a *Agents) last(ctx context.Context) { a.look(ctx) }

func (a *Agents) now() State {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.state
	for _, attempt := range slices.Sorted(maps.Keys(a.rows)) {
		s.Rows = append(s.Rows, a.rows[attempt])
	}
	return s
}

// tell says a notice: a line for people, JSON for machines.
func (b *Board) tell(t *teller, n *loomv1.Notice) {
	if !b.console.JSON {
		b.say(t.line(n))
		return
	}
	data, _ := json.Marshal(console.JSONOf(n))
	fmt.Fprintf(b.screen, "%s\n", data)
}

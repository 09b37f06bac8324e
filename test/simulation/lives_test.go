package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// told is what a host has of its agents' lives to tell, and how far it was heard.
type told struct {
	name     string
	epoch    uint64
	sequence uint64
	waiting  []*loomv1.LifeRecord // without an acknowledgement
	sent     []*loomv1.RecordLives
}

// livesWorld is hosts that tell the deployment's own project what happens to their
// agents, over a wire that loses commands and answers, repeats and reorders.
type livesWorld struct {
	seed    uint64
	rng     *rand.Rand
	step    int
	cfg     project.Config
	state   *project.State
	journal []*loomv1.Event
	saved   *loomv1.ProjectState // a snapshot, of so many events
	savedAt int
	hosts   []*told
	acked   map[string]bool // records that a host was told are journaled
	seen    map[string]bool // records that are
	last    map[string][2]uint64
	broken  string
}

func (w *livesWorld) fail(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf("seed %d: invariant 38, step %d: %s", w.seed, w.step, fmt.Sprintf(format, args...))
	}
}

func lifeKey(host string, epoch, sequence uint64) string {
	return fmt.Sprintf("%s start %d record %d", host, epoch, sequence)
}

// happens is something in the life of an agent, or a new start of its host, which
// forgets what it has not told.
func (w *livesWorld) happens(h *told) {
	if w.rng.IntN(20) == 0 {
		h.epoch, h.sequence, h.waiting = h.epoch+1, 0, nil
		return
	}
	h.sequence++
	h.waiting = append(h.waiting, &loomv1.LifeRecord{
		Kind: loomv1.LifeKind(1 + w.rng.IntN(5)),
		Life: &loomv1.AgentLife{Agent: fmt.Sprintf("lead/%d", 1+w.rng.IntN(3)), Role: "lead", Reason: fmt.Sprint("reason ", h.sequence), Sequence: h.sequence, Times: 1},
	})
}

// tells sends some of what waits, or once more what was sent.
func (w *livesWorld) tells(h *told) {
	if len(h.waiting) > 0 {
		n := 1 + w.rng.IntN(min(len(h.waiting), 5))
		h.sent = append(h.sent, &loomv1.RecordLives{Host: h.name, Epoch: h.epoch, Records: h.waiting[:n]})
	}
	if len(h.sent) == 0 || w.rng.IntN(4) == 0 {
		return
	}
	c := h.sent[len(h.sent)-1-w.rng.IntN(min(len(h.sent), 4))] // perhaps one that was late on its way
	events, answer, err := w.state.Do(noon.Add(time.Duration(w.step)*time.Second), &loomv1.Command{
		Project: project.System, Actor: identity(loomv1.IdentityKind_IDENTITY_KIND_HOST, h.name), Body: &loomv1.Command_RecordLives{RecordLives: proto.CloneOf(c)},
	})
	if err != nil || answer.GetError() != nil {
		w.fail("records are refused: %v, %v", answer.GetError(), err)
		return
	}
	for _, e := range events {
		w.saw(e)
	}
	if w.rng.IntN(3) == 0 {
		return // the acknowledgement is lost
	}
	for _, r := range c.Records {
		w.acked[lifeKey(c.Host, c.Epoch, r.Life.Sequence)] = c.Epoch == h.epoch
		if c.Epoch == h.epoch && len(h.waiting) > 0 && h.waiting[0].Life.Sequence == r.Life.Sequence {
			h.waiting = h.waiting[1:]
		}
	}
}

// saw checks a fact against all before: of each host in the order of its starts and
// records, once, and as it was told.
func (w *livesWorld) saw(e *loomv1.Event) {
	w.journal = append(w.journal, e)
	var l *loomv1.AgentLife
	for _, is := range []*loomv1.AgentLife{e.GetAgentStarted(), e.GetAgentRestarted(), e.GetAgentCrashed(), e.GetAgentGivenUp(), e.GetAgentDrained()} {
		if is != nil {
			l = is
		}
	}
	last := w.last[l.GetHost()]
	switch key := lifeKey(l.GetHost(), l.GetEpoch(), l.GetSequence()); {
	case l == nil:
		w.fail("%T is no fact of a life", e.Fact)
	case w.seen[key]:
		w.fail("%s is journaled twice", key)
	case l.Epoch < last[0] || l.Epoch == last[0] && l.Sequence <= last[1]:
		w.fail("%s is journaled after record %d of start %d", key, last[1], last[0])
	case l.Reason != fmt.Sprint("reason ", l.Sequence) || l.Role != "lead" || !strings.HasPrefix(l.Agent, "lead/"):
		w.fail("%s is journaled as %v", key, l)
	default:
		w.seen[key], w.last[l.Host] = true, [2]uint64{l.Epoch, l.Sequence}
	}
}

// restart has the project begin again, from nothing or a snapshot: it is as it was.
func (w *livesWorld) restart() {
	was := w.state.Hash()
	state, from, err := project.New(w.cfg), 0, error(nil)
	if w.saved != nil && w.rng.IntN(2) == 0 {
		from = w.savedAt
		if state, err = project.Restore(w.cfg, proto.CloneOf(w.saved)); err != nil {
			w.fail("%v", err)
			return
		}
	}
	for _, e := range w.journal[from:] {
		if err := state.Apply(proto.CloneOf(e)); err != nil {
			w.fail("%v", err)
			return
		}
	}
	if state.Hash() != was {
		w.fail("a restart changes the state")
	}
	w.state = state
}

func (w *livesWorld) play() {
	for w.step = range 200 {
		h := w.hosts[w.rng.IntN(len(w.hosts))]
		switch w.rng.IntN(8) {
		case 0, 1, 2:
			w.happens(h)
		case 3, 4, 5:
			w.tells(h)
		case 6:
			w.restart()
		case 7:
			w.saved, w.savedAt = w.state.Snapshot(), len(w.journal)
		}
	}
	for key, present := range w.acked {
		if present && !w.seen[key] {
			w.fail("%s is acknowledged, and not journaled", key)
		}
	}
}

// TestSUB04_LivesSimulation covers what hosts tell of their agents' lives.
func TestSUB04_LivesSimulation(t *testing.T) {
	longtest.Skip(t)
	facts := 0
	for seed := uint64(1); seed <= 300; seed++ {
		w := &livesWorld{
			seed: seed, rng: rand.New(rand.NewPCG(seed, 38)), cfg: project.Config{ID: project.System, Deployment: "dp-1", Epoch: 1},
			hosts: []*told{{name: "h1", epoch: 1}, {name: "h2", epoch: 1}},
			acked: map[string]bool{}, seen: map[string]bool{}, last: map[string][2]uint64{},
		}
		w.state = project.New(w.cfg)
		if w.play(); w.broken != "" {
			t.Fatal(w.broken)
		}
		facts += len(w.journal)
	}
	if facts < 3000 {
		t.Errorf("%d facts of lives in 300 worlds, want at least 10 in each", facts)
	}
}

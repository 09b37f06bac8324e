package actors_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// lockOp is what a client asked of the commit lock, and lockAnswer what it heard.
type lockOp struct {
	client int
	verb   string // acquire, renew, release
	token  uint64
}

type lockAnswer struct {
	token   uint64 // of an acquire; 0 means that it waits
	stale   bool
	unknown bool // the answer was lost: it was done, will be done, or never
}

// lockState is the lock as the rules have it. A grant whose token nobody has
// heard of yet has token 0; it is above last.
type lockState struct {
	holder      int // client, -1 for none
	token, last uint64
	queue       string // clients, a byte each
}

func (s lockState) next() lockState {
	s.holder, s.token = -1, 0
	if s.queue != "" {
		s.holder, s.queue = int(s.queue[0]), s.queue[1:]
	}
	return s
}

// lockModel is the commit lock, whole: one holder, a fair queue, rising tokens.
var lockModel = porcupine.Model{
	Init: func() any { return lockState{holder: -1} },
	Step: func(state, input, output any) (bool, any) {
		s, op, out := state.(lockState), input.(lockOp), output.(lockAnswer)
		if op.verb == "acquire" {
			return acquired(s, op, out)
		}
		holds := s.holder == op.client && (s.token == op.token || s.token == 0 && op.token > s.last)
		if out.unknown && !holds {
			return true, s
		}
		if holds == out.stale {
			return false, s
		}
		if holds && op.verb == "release" {
			s.last = op.token
			s = s.next()
		}
		return true, s
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

func acquired(s lockState, op lockOp, out lockAnswer) (bool, any) {
	waits := slices.Contains([]byte(s.queue), byte(op.client))
	switch {
	case s.holder == -1:
		s.holder = op.client
	case s.holder != op.client && !waits:
		s.queue += string(rune(op.client))
	}
	if out.unknown {
		return true, s
	}
	if s.holder != op.client {
		return out.token == 0, s
	}
	if s.token == 0 {
		s.token = out.token
		return out.token > s.last, s
	}
	return out.token == s.token, s
}

// history is what clients did, as the checker reads it.
type history struct {
	mu     sync.Mutex
	ops    []porcupine.Operation
	grants int
	now    func() int64
	news   chan struct{} // closed when the lock may be free, or it is not known what became of it
	won    chan struct{} // closed when somebody has heard of a grant
}

func newHistory() *history {
	began := time.Now()
	return &history{now: func() int64 { return time.Since(began).Nanoseconds() }, news: make(chan struct{}), won: make(chan struct{})}
}

func (h *history) record(op lockOp, do func() (*loomv1.Answer, error)) lockAnswer {
	call := h.now()
	answer, err := do()
	out, done := lockAnswer{token: answer.GetLock().GetToken()}, h.now()
	switch {
	case fault.Code(err) == "lock/stale":
		out.stale = true
	case err != nil:
		out, done = lockAnswer{unknown: true}, math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if out.token > 0 {
		h.grants++
		close(h.won)
		h.won = make(chan struct{})
	}
	if out.unknown || op.verb == "release" {
		close(h.news)
		h.news = make(chan struct{})
	}
	h.ops = append(h.ops, porcupine.Operation{ClientId: op.client, Input: op, Output: out, Call: call, Return: done})
	return out
}

func (h *history) granted(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.grants >= n
}

// await waits until so many grants were heard of; it is false where ctx ends first.
func (h *history) await(ctx context.Context, n int) bool {
	for {
		h.mu.Lock()
		grants, won := h.grants, h.won
		h.mu.Unlock()
		if grants >= n {
			return true
		}
		select {
		case <-won:
		case <-ctx.Done():
			return false
		}
	}
}

// changed is closed when whoever waits should ask again.
func (h *history) changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.news
}

// site is a rig that is restarted while clients use it.
type site struct {
	*rig
	mu sync.RWMutex
	up chan struct{} // closed when it is up again
}

// ask returns once there is an answer, or the partition is up again that died
// with it.
func (s *site) ask(cmd *loomv1.Command) (*loomv1.Answer, error) {
	s.mu.RLock()
	ctx, projects, up := s.ctx, s.projects, s.up
	s.mu.RUnlock()
	cmd = proto.CloneOf(cmd) // a try that was given up may still be read
	cmd.Project, cmd.Actor = "shop", &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: "h2"}
	answer, err := projects.Do(ctx, cmd)
	if err != nil && fault.Code(err) != "lock/stale" {
		select {
		case <-up:
		case <-time.After(within):
			s.t.Errorf("nobody answers: %v", err)
		}
	}
	return answer, err
}

// restart lets the partition die with what it was doing, and come back.
func (s *site) restart() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start()
	close(s.up)
	s.up = make(chan struct{})
}

// commits is a client: it has an attempt, and takes the lock over and over.
func commits(t *testing.T, ask func(*loomv1.Command) (*loomv1.Answer, error), h *history, n int, attempt string, who *loomv1.Claimant, rounds int) {
	acquire := &loomv1.Command{Body: &loomv1.Command_AcquireLock{AcquireLock: &loomv1.AcquireLock{Request: attempt, Holder: who}}}
	for rounds > 0 && !t.Failed() {
		changed := h.changed()
		got := h.record(lockOp{n, "acquire", 0}, func() (*loomv1.Answer, error) { return ask(acquire) })
		if got.token == 0 {
			select {
			case <-changed:
			case <-time.After(20 * time.Millisecond): // a release may have come in that nobody has heard of
			}
			continue
		}
		h.record(lockOp{n, "renew", got.token}, func() (*loomv1.Answer, error) {
			return ask(&loomv1.Command{Body: &loomv1.Command_RenewLock{RenewLock: &loomv1.RenewLock{Token: got.token}}})
		})
		gone := h.record(lockOp{n, "release", got.token}, func() (*loomv1.Answer, error) {
			return ask(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: got.token}}})
		})
		if !gone.unknown { // else it may still hold it
			rounds--
		}
	}
}

// lockHistory runs clients on a partition that is killed meanwhile.
func lockHistory(t *testing.T, clients, rounds, kills int) []porcupine.Operation {
	s := &site{up: make(chan struct{}), rig: newRig(t).start().register("shop", "qa-engineer")}
	h := newHistory()
	var wg sync.WaitGroup
	for n := range clients {
		s.must(file("shop", fmt.Sprint(n)))
		who := &loomv1.Claimant{Agent: fmt.Sprint("qa-engineer/", n), Host: "h2", Epoch: 1}
		brief := s.must(&loomv1.Command{Body: &loomv1.Command_ClaimAttempt{ClaimAttempt: &loomv1.ClaimAttempt{
			Attempt: fmt.Sprintf("shop-%d-x1-a1", n+1), Generation: 1, Claimant: who,
		}}}).GetBrief()
		wg.Go(func() { commits(t, s.ask, h, n, brief.Attempt.Id, who, rounds) })
	}
	for k := range kills {
		for !h.granted((k + 1) * clients * rounds / (kills + 2)) { // a share of the work, however long that takes
			s.must(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
		}
		s.restart()
	}
	wg.Wait()
	return h.ops
}

func TestP6_LOCK01_TheCommitLockIsLinearizableUnderKills(t *testing.T) {
	for range 3 {
		ops := lockHistory(t, 6, 6, 4)
		if got := porcupine.CheckOperationsTimeout(lockModel, ops, time.Minute); got != porcupine.Ok {
			t.Fatalf("a history of %d operations is %s", len(ops), got)
		}
		lost := 0
		for _, op := range ops {
			if op.Output.(lockAnswer).unknown {
				lost++
			}
		}
		t.Logf("%d operations, %d answers lost", len(ops), lost)
	}
}

// The checker is awake: a grant that nobody should have had is found, and so is
// a token that falls.
func TestP6_LOCK01_APlantedDoubleGrantIsFound(t *testing.T) {
	ops := lockHistory(t, 4, 5, 0)
	i := slices.IndexFunc(ops, func(o porcupine.Operation) bool {
		return o.Input.(lockOp).verb == "release" && !o.Output.(lockAnswer).unknown && !o.Output.(lockAnswer).stale
	})
	if i < 0 {
		t.Fatal("nobody was granted the lock")
	}
	held := ops[i]
	for name, planted := range map[string]porcupine.Operation{
		"a second holder": {
			ClientId: 9, Input: lockOp{9, "acquire", 0}, Output: lockAnswer{token: held.Input.(lockOp).token + 1}, Call: held.Call - 1, Return: held.Call,
		},
		"a release that was believed twice": {
			ClientId: 9, Input: held.Input, Output: held.Output, Call: held.Return + 1, Return: held.Return + 2,
		},
	} {
		if got := porcupine.CheckOperationsTimeout(lockModel, append(slices.Clone(ops), planted), time.Minute); got != porcupine.Illegal {
			t.Errorf("%s: %s", name, got)
		}
	}
}

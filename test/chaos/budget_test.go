package chaos

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/net/broker/brokertest"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var budgetKills = flag.Int("chaos.budget-kills", 3, "how often hosts are killed while a model answers them, under one budget")

// callCosts is what each call costs, and callHolds about what is held back for
// it.
const (
	callCosts = 5000
	callHolds = 7800
)

// till is a server of models that counts what is paid, and may keep a call
// waiting.
type till struct {
	mu    sync.Mutex
	calls int
	keep  bool          // the next call
	kept  chan string   // who made the call that waits
	goOn  chan struct{} // lets it go on
}

// of answers a host.
func (c *till) of(host string) modeltest.Script {
	return func(*model.Request) modeltest.Reply {
		c.mu.Lock()
		c.calls++
		keep := c.keep
		c.keep = false
		c.mu.Unlock()
		if keep {
			c.kept <- host
			<-c.goOn
		}
		return modeltest.Reply{
			Text: "nothing is wrong", Reported: &modeltest.Reported{Input: callCosts - 500, Output: 500},
			Calls: []*loomv1.ToolCall{{
				Id: "c1", Tool: turn.FinishName,
				Arguments: `{"status":"success","summary":"nothing is wrong","notes":"","fields":{"severity":"none","specialist":"","check":""}}`,
			}},
		}
	}
}

// paid is how many calls were made.
func (c *till) paid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// TestBYD05_P14_NoBudgetIsOverspentThroughKills has agents of two hosts work
// under one budget, on the model of a server that counts. Hosts are killed while
// it answers: what a call has cost that is lost, nobody else knows. In the end it
// was paid no more than the budget, and for nothing again that a host has.
func TestBYD05_P14_NoBudgetIsOverspentThroughKills(t *testing.T) {
	s := newPayers(t)
	for n := range *budgetKills {
		s.strike(n)
	}
	s.exhaust()
	s.judge()
}

// payers are a host, and one that only runs agents, under one budget.
type payers struct {
	t          *testing.T
	till       *till
	main, leaf *place
	host, far  *process
	budget     int64
	filed      int
}

func newPayers(t *testing.T) *payers {
	t.Helper()
	s := &payers{t: t, budget: int64(callHolds * (6 + 2**budgetKills)), till: &till{kept: make(chan string, 1), goOn: make(chan struct{}, 1)}}
	s.main = newPlace(t)
	s.main.repository(t, "shop")
	s.leaf = &place{dir: s.main.dir, data: filepath.Join(s.main.dir, "leaf"), key: s.main.key, projects: s.main.projects}
	s.leaf.env = append(slices.Clone(s.main.env), "OPENAI_BASE_URL="+modeltest.OpenAI(t, s.till.of("leaf")).URL)
	s.main.env = append(s.main.env, "OPENAI_BASE_URL="+modeltest.OpenAI(t, s.till.of("main")).URL)
	usual := []string{"--model", "openai:counted", "--agents", "qa-engineer=1"}
	s.main.flags = append(slices.Clone(usual), "--listen", brokertest.Addresses(1)[0], "--project-tokens", fmt.Sprint(s.budget))
	s.leaf.flags = append(slices.Clone(usual), "--agents-only", "--creds", filepath.Join(s.main.dir, "w1.creds"))
	s.host = s.main.start(t)
	add := exec.CommandContext(t.Context(), loom, "auth", "user", "add", "w1", "--as", "worker", "--role", "qa-engineer", "--data", s.main.data)
	add.Dir, add.Env = s.main.dir, s.main.env
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("a worker's credentials: %v\n%s", err, out)
	}
	s.join()
	return s
}

// join starts the host that only runs agents.
func (s *payers) join() {
	s.t.Helper()
	s.far = s.leaf.begin(s.t)
	if !s.far.until(deadline(s.t), func() bool { return strings.Contains(s.far.text(), "Ctrl-C gives back") }) {
		s.t.Fatalf("the other host does not come up\n%s\n%s", s.far.text(), s.host.text())
	}
}

// ask asks the host until it answers well.
func (s *payers) ask(what string, do func(context.Context, *client.Client) error) {
	s.t.Helper()
	one, last := &lone{t: s.t, place: s.main, host: s.host}, error(nil)
	if !s.host.until(deadline(s.t), func() bool { last = one.ask(do); return last == nil }) {
		s.t.Fatalf("not: %s: %v\n%s\n%s", what, last, s.host.text(), s.far.text())
	}
}

// file files beads: each is one call, where none is lost.
func (s *payers) file(n int) {
	s.t.Helper()
	for range n {
		s.filed++
		goal := fmt.Sprintf("look at number %d", s.filed)
		s.ask("a bead is filed", func(ctx context.Context, c *client.Client) error {
			_, err := c.Submit(ctx, &loomv1.Submission{Project: "shop", Goal: goal, Type: loomv1.BeadType_BEAD_TYPE_BUG, IdempotencyKey: goal})
			return err
		})
	}
}

// strike keeps a call waiting and kills who made it; or both hosts; or the other
// one, so that the answer has to wait for that.
func (s *payers) strike(n int) {
	t := s.t
	t.Helper()
	s.till.mu.Lock()
	s.till.keep = true
	s.till.mu.Unlock()
	s.file(2)
	var who string
	select {
	case who = <-s.till.kept:
	case <-deadline(t).Done():
		t.Fatalf("no call is made\n%s\n%s", s.host.text(), s.far.text())
	}
	made, both := n%3 == 0, n%3 == 1
	if both || made == (who == "leaf") {
		s.far.kill()
	}
	if both || made == (who == "main") {
		s.host.kill()
	}
	s.till.goOn <- struct{}{}
	if ended(s.host) {
		s.host = s.main.start(t)
	}
	if ended(s.far) {
		s.join()
	}
}

func ended(h *process) bool {
	select {
	case <-h.ended:
		return true
	default:
		return false
	}
}

// exhaust files more than there is room for, and waits until the CEO is asked.
func (s *payers) exhaust() {
	s.t.Helper()
	s.file(int(s.budget/callCosts) + 1)
	s.ask("the CEO is asked about the budget", func(ctx context.Context, c *client.Client) error {
		v, err := c.Inbox(ctx, &loomv1.Query{Project: "shop"})
		if err == nil && !slices.ContainsFunc(v.Approvals, (*loomv1.Approval).GetOfProject) {
			err = fmt.Errorf("%d calls are made, and %d questions asked", s.till.paid(), len(v.Approvals))
		}
		return err
	})
}

// judge holds the journal against the till.
func (s *payers) judge() {
	t := s.t
	t.Helper()
	reserved, answered := 0, 0
	done := map[string]bool{} // requests of attempts that have an answer
	for _, n := range newRecord().history(t, s.host.client()) {
		if r := n.Event.GetCallReserved().GetReservation(); r != nil {
			reserved++
			if done[n.Event.Attempt+r.Request] {
				t.Errorf("%s: what is answered is asked again: %s", n.Event.Attempt, n.Summary)
			}
		}
		if a := workflow.AnswerOf(n.Event); a != nil {
			answered++
			done[n.Event.Attempt+a.Request] = true
		}
	}
	paid := s.till.paid()
	t.Logf("%d calls, %d answers that hosts have, %d reservations; %d tokens of %d", paid, answered, reserved, paid*callCosts, s.budget)
	if int64(paid*callCosts) > s.budget {
		t.Errorf("%d calls cost %d tokens, of %d", paid, paid*callCosts, s.budget)
	}
	if paid > reserved || answered > paid || answered == paid {
		t.Errorf("%d calls were reserved, %d made, and %d answers are known; want some to be lost", reserved, paid, answered)
	}
}

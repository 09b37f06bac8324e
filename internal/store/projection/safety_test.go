package projection_test

import (
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/commitlock"
	core "github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// toCommit brings two bugs to where their candidates are to be made, and has an agent
// take each.
func (p *player) toCommit() []*loomv1.Brief {
	p.t.Helper()
	p.report()
	p.report()
	return p.both(loomv1.NodeKind_NODE_KIND_COMMIT)
}

// both brings two executions to nodes of a kind, and has an agent take each.
func (p *player) both(kind loomv1.NodeKind) (briefs []*loomv1.Brief) {
	p.t.Helper()
	for len(briefs) < 2 {
		p.now = p.now.Add(time.Second)
		for _, a := range p.inbox() {
			p.decide(a, approve)
		}
		for _, a := range p.s.Queued() {
			b, who := p.claim(a)
			if b.GetNode().GetKind() == kind {
				briefs = append(briefs, b)
				continue
			}
			p.answer(b.GetAttempt().GetId(), who, p.good(b))
		}
	}
	return briefs
}

// succeed answers an attempt with a commit that was made under a token.
func (p *player) succeed(b *loomv1.Brief, token uint64) {
	p.t.Helper()
	out := p.good(b)
	out.Candidate.Token = token
	p.answer(b.GetAttempt().GetId(), b.GetAttempt().GetClaimant(), out)
}

// commitSafety are the targets of commits, by name.
func (p *player) commitSafety() map[string]*loomv1.Target {
	p.t.Helper()
	found := map[string]*loomv1.Target{}
	for _, g := range measure(p.t, filled(p.t, []journal{p.journal(0)}), &loomv1.MetricsRequest{})[0].GetTargets() {
		if g.GetRelation() == "=" {
			found[g.GetName()] = g
		}
	}
	return found
}

// Two agents are at it at once where the lock was taken from one and granted to
// another before the first one's commit is recorded: not where it was given back, or
// the first finds its own again in its next turn.
func TestWF14_LOCK01_CommitsMadeAtOnce(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct {
		name  string
		play  func(p *player, first, second *loomv1.Brief)
		count float64
	}{
		{"in turn", func(p *player, first, second *loomv1.Brief) {
			p.succeed(first, p.lock(first))
			p.now = p.now.Add(time.Second)
			p.succeed(second, p.lock(second))
		}, 0},
		{"the next one waits", func(p *player, first, second *loomv1.Brief) {
			token := p.lock(first)
			p.lock(second)
			p.now = p.now.Add(time.Second)
			p.succeed(first, token) // grants the lock to the second, in the same command
			p.now = p.now.Add(time.Second)
			p.succeed(second, p.lock(second))
		}, 0},
		{"the token is the other's", func(p *player, first, second *loomv1.Brief) {
			p.succeed(second, p.lock(first))
		}, 1},
		{"nobody was granted the token", func(p *player, first, _ *loomv1.Brief) {
			p.succeed(first, p.lock(first)+1)
		}, 1},
		{"no token", func(p *player, first, _ *loomv1.Brief) {
			p.succeed(first, 0)
		}, 1},
		{"the lock has passed on", func(p *player, first, second *loomv1.Brief) {
			token := p.lock(first)
			p.lock(second)
			p.sign(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Release{Release: &loomv1.ReleaseCommitLock{Token: token, Reason: "asleep"}}})
			p.now = p.now.Add(time.Second)
			p.succeed(first, token)
		}, 1},
		{"the lease has lapsed", func(p *player, first, second *loomv1.Brief) {
			token := p.lock(first)
			p.lock(second)
			p.now = p.now.Add(commitlock.DefaultLease + time.Second)
			p.do(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
			p.now = p.now.Add(time.Second)
			p.succeed(first, token)
		}, 1},
		{"the lease has lapsed, and nobody waits", func(p *player, first, _ *loomv1.Brief) {
			token := p.lock(first)
			p.now = p.now.Add(commitlock.DefaultLease + time.Second)
			p.do(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
			p.now = p.now.Add(time.Second)
			p.succeed(first, token)
		}, 0},
		{"given back before it is told", func(p *player, first, second *loomv1.Brief) {
			token := p.lock(first)
			p.lock(second)
			p.do(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: token, Holder: first.GetAttempt().GetClaimant()}}})
			p.now = p.now.Add(time.Second)
			p.succeed(first, token)
		}, 0},
		{"found again in the next turn", func(p *player, first, second *loomv1.Brief) {
			token := p.lock(first)
			p.lock(second)
			p.sign(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Release{Release: &loomv1.ReleaseCommitLock{Token: token, Reason: "asleep"}}})
			p.now = p.now.Add(time.Second)
			p.succeed(second, p.lock(second))
			p.now = p.now.Add(time.Second)
			if again := p.lock(first); again <= token {
				p.t.Fatalf("token %d after %d", again, token)
			}
			p.now = p.now.Add(time.Second)
			p.succeed(first, token)
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlayer(t, source(t, 1), "shop")
			briefs := p.toCommit()
			tt.play(p, briefs[0], briefs[1])
			g := p.commitSafety()["commits made by two agents at once"]
			if g.Measured == nil || g.GetMeasured() != tt.count || g.GetMet() != (tt.count == 0) {
				t.Errorf("measured %v, met %v; want %v", g.Measured, g.Met, tt.count)
			}
		})
	}
}

// Evidence that is not there counts as bad, and where no repository has hooks there
// is nothing to measure.
func TestWF14_AuthorsAndHooksOfCommits(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct {
		name            string
		change          func(c *loomv1.Candidate)
		authors, passed float64
	}{
		{"as it should be", func(*loomv1.Candidate) {}, 1, 1},
		{"another author", func(c *loomv1.Candidate) { c.Author = "Somebody <s@example.com>" }, 0.5, 1},
		{"another committer", func(c *loomv1.Candidate) { c.Committer = "Somebody <s@example.com>" }, 0.5, 1},
		{"authors unknown", func(c *loomv1.Candidate) {
			c.Author, c.Committer, c.ExpectedAuthor, c.ExpectedCommitter = "", "", "", ""
		}, 0.5, 1},
		{"a hook that git does not run", func(c *loomv1.Candidate) {
			c.Hooks = append(c.Hooks, &loomv1.HookResult{Name: "commit-msg", Skipped: true})
		}, 1, 0.5},
		{"a hook that failed", func(c *loomv1.Candidate) { c.Hooks[0].ExitCode = 1 }, 1, 0.5},
		{"no hook in one repository", func(c *loomv1.Candidate) { c.Hooks = nil }, 1, 1},
		{"nothing was committed", func(c *loomv1.Candidate) { c.Present, c.PatchDigest = true, "" }, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlayer(t, source(t, 1), "shop")
			for i, b := range p.toCommit() {
				out := p.good(b)
				if i == 0 {
					tt.change(out.Candidate)
				}
				p.answer(b.GetAttempt().GetId(), b.GetAttempt().GetClaimant(), out)
			}
			targets := p.commitSafety()
			authors, hooks := targets["commits with the right author"], targets["commits that passed every hook"]
			if authors.GetMeasured() != tt.authors || authors.GetMet() != (tt.authors == 1) {
				t.Errorf("authors: %v, want %v", authors, tt.authors)
			}
			if hooks.GetMeasured() != tt.passed || hooks.GetMet() != (tt.passed == 1) {
				t.Errorf("hooks: %v, want %v", hooks, tt.passed)
			}
		})
	}
	p := newPlayer(t, source(t, 1), "shop")
	for _, b := range p.toCommit() {
		out := p.good(b)
		out.Candidate.Hooks = nil
		p.answer(b.GetAttempt().GetId(), b.GetAttempt().GetClaimant(), out)
	}
	if g := p.commitSafety()["commits that passed every hook"]; g.Measured != nil || g.Met != nil {
		t.Errorf("without a hook anywhere: %v", g)
	}
}

// Changes that land with a merge train were all made and landed under its driver's
// grant, though their attempts were granted nothing.
func TestWF14_BYD08_ATrainIsOneAgent(t *testing.T) {
	p := newPlayer(t, source(t, 1), "shop")
	p.do(&loomv1.Command{Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: "shop", Repository: "/src/shop", TargetBranch: "main", DefaultProcess: core.AutoBug, Train: 8},
	}}})
	for _, b := range p.toCommit() {
		p.succeed(b, p.lock(b))
	}
	briefs := p.both(loomv1.NodeKind_NODE_KIND_LAND)
	driver := briefs[0].GetAttempt()
	token := p.lock(briefs[0])
	p.lock(briefs[1])
	train := p.do(&loomv1.Command{Body: &loomv1.Command_FormTrain{FormTrain: &loomv1.FormTrain{Token: token, Holder: driver.GetClaimant()}}}).GetTrain()
	if len(train.GetCars()) != 2 {
		t.Fatalf("train %v, want both on it", train)
	}
	cars := map[string]*loomv1.Car{}
	for i, c := range train.Cars {
		made := proto.CloneOf(c.Candidate)
		made.Commit, made.Token = "m-"+c.Execution, c.Token
		if i == 1 {
			made.Author = "Somebody <s@example.com>"
		}
		cars[c.Attempt] = &loomv1.Car{Verified: c.Candidate.Commit, Candidate: made, Head: "m-" + train.Cars[1].Execution, Token: token}
		for _, command := range c.Checks {
			cars[c.Attempt].Checks = append(cars[c.Attempt].Checks, &loomv1.CheckRun{Command: command, Passed: true, Commit: cars[c.Attempt].Head})
		}
	}
	p.do(&loomv1.Command{Body: &loomv1.Command_RecordTrain{RecordTrain: &loomv1.RecordTrain{Token: token, Holder: driver.GetClaimant(), Cars: cars}}})
	p.now = p.now.Add(time.Second)
	p.do(&loomv1.Command{Body: &loomv1.Command_ReleaseLock{ReleaseLock: &loomv1.ReleaseLock{Token: token, Holder: driver.GetClaimant()}}})
	p.now = p.now.Add(time.Second)
	out := p.good(briefs[0])
	out.Landing = &loomv1.Landing{Commit: cars[driver.GetId()].Candidate.Commit, Head: cars[driver.GetId()].Head, Ref: "refs/heads/main", Target: "main", Token: train.Fence}
	p.answer(driver.GetId(), driver.GetClaimant(), out)
	landed := 0
	for _, e := range p.events {
		if e.GetLanded() != nil {
			landed++
		}
	}
	targets := p.commitSafety()
	if g := targets["commits made by two agents at once"]; landed != 2 || g.Measured == nil || g.GetMeasured() != 0 {
		t.Errorf("%d landed, at once: %v", landed, g)
	}
	if g := targets["commits with the right author"]; g.GetMeasured() != 0.75 {
		t.Errorf("of two commits and their two on the train one has another author: %v", g)
	}
}
